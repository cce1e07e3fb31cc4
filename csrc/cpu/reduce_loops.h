// Inner loops of reductions, by instruction set. The driver (csrc/cpu/reduce_driver.h) cuts tensors of any strides into
// calls of these.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "cpu/isa_select.h"

namespace mashal {

enum class Reduce : uint8_t {
    Sum,
    NanSum,
    Prod,
    Max,  // NaN wins
    Min,
    Any,
    All,
    CountNonzero,
    SumAbs,      // sum |x|
    SumSquares,  // sum |x|^2, in double: no overflow for float
    SumScaled,   // sum (|x| * param)^2: the double 2-norm when SumSquares leaves the range
    SumPower,    // sum |x|^param
    MaxAbs,
    MinAbs,
    Moments,    // count, mean, sum of squared deviations
    LogSumExp,  // maximum, sum of exp(x - maximum)
};

// What Moments and LogSumExp accumulate.
struct MomentsAcc {
    double count, mean, m2;
};
struct LogSumExpAcc {
    double max, sum;  // sum of exp(x) itself where max is infinite
};

// Accumulators are arrays of an op's own type: double for floating sums, int64 for integer ones, the element type for
// Max and Min, uint8 for Any and All, c128 for complex sums.
struct ReduceLoops {
    int acc_size = 0;
    void (*init)(int64_t n, void* acc) = nullptr;
    // acc[r] += reduction of x[r * stride .. + n), for m rows.
    void (*rows)(int64_t m, int64_t stride, int64_t n, const void* x, void* acc, double param) = nullptr;
    // acc[j] += reduction over r of x[r * stride + j], j < n: rows are contiguous, m of them.
    void (*columns)(int64_t m, int64_t stride, int64_t n, const void* x, void* acc, double param) = nullptr;
    // acc[j] += other[j]
    void (*join)(int64_t n, void* acc, const void* other) = nullptr;
};

// Position of the first maximum or minimum (first NaN if there is one).
struct ArgLoops {
    void (*rows)(int64_t m, int64_t stride, int64_t n, const void* x, void* values, int64_t* indices) = nullptr;
    // values and indices for n columns of m rows.
    void (*columns)(int64_t m, int64_t stride, int64_t n, const void* x, void* values, int64_t* indices) = nullptr;
};

MASHAL_FOR_EACH_ISA(ReduceLoops float_reduce_loops(Reduce op, DType t);    // F32, F64, C64, C128
                    ReduceLoops integer_reduce_loops(Reduce op, DType t);  // U8 (also bool), I8 .. I64
                    ReduceLoops special_reduce_loops(Reduce op, DType t);  // powers, Moments, LogSumExp: F32, F64
                    ArgLoops arg_loops(bool largest, DType t);             // real types
)

// Loops for elements of type t (Bool counts as U8); `rows` is null when the op does not exist for it.
ReduceLoops find_reduce_loops(Reduce op, DType t);
ArgLoops find_arg_loops(bool largest, DType t);

}  // namespace mashal
