// Inner loops of scans, by instruction set.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "cpu/isa_select.h"

namespace mashal {

enum class Scan : uint8_t { Sum, Prod, Max, Min, LogSumExp };

// y[r, j] = scan of x[0 .. r, j] for n steps over `cols` neighbouring columns (1: a contiguous row); both arrays have
// rows of `stride` elements. Sums and products accumulate in double or int64. `indices` is written by Max and Min only.
using ScanLoop = void (*)(int64_t n, int64_t stride, int64_t cols, const void* x, void* y, int64_t* indices);

// Max, Min: real types; LogSumExp: F32, F64; others: F32, F64, C64, C128, I64.
MASHAL_FOR_EACH_ISA(ScanLoop scan_loop(Scan op, DType t);)

}  // namespace mashal
