// The inner loops of all pointwise ops, over contiguous arrays, in three builds (baseline, AVX2, AVX-512) of which the
// best that the processor supports is chosen once per process.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/dtype.h"

namespace mashal {

// `in`: one array of n elements per input, of the op's compute dtype (`where`: the first is bool). `out`: n elements of
// the entry's `out` dtype; it may be one of the inputs but must not overlap them otherwise. bool is one byte, 0 or 1.
// `params`: the op's scalar attributes in schema order, two doubles each when the compute dtype is complex. Integer
// loops saturate them to the type's range, so +-inf serves as "no bound" for clamp.
using PointwiseLoop = void (*)(int64_t n, void* out, const void* const* in, const double* params);

struct PointwiseEntry {
    const char* op;
    DType compute;
    DType out;
    int n_inputs;
    PointwiseLoop loop;
};
struct PointwiseTable {
    const PointwiseEntry* entries;
    int count;
};

// The entry for `op` on `compute`, or null if the op has no loop for it.
const PointwiseEntry* find_pointwise_entry(std::string_view op, DType compute);
// The same, loop and result type only; `out` may be null.
PointwiseLoop find_pointwise_loop(std::string_view op, DType compute, DType* out);

// Casts n elements. float -> integer truncates (out-of-range values as the hardware gives), complex -> real drops the
// imaginary part, anything -> bool is "not zero", float -> f16/bf16 rounds to nearest even. No overlap, except that
// out == in is fine for equal item sizes.
using ConvertLoop = void (*)(int64_t n, void* out, const void* in);
ConvertLoop find_convert_loop(DType from, DType to);

// "baseline", "avx2" or "avx512": what the loops above run on. MASHAL_ISA in the environment asks for a lower one.
const char* active_isa();

// Raised by the integer division loops; out of line, because code compiled for one instruction set must not
// instantiate anything that the linker could share with another.
[[noreturn]] void raise_zero_division();

}  // namespace mashal
