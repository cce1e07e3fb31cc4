// Inner loops of the softmax family and of cross entropy, by instruction set. T is float or double.
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

template <class T>
struct SoftmaxLoops {
    // One contiguous row; y may be x.
    void (*row)(int64_t n, const T* x, T* y, bool log);
    // gradient of one row from g and the result `out`; gi may be g.
    void (*row_backward)(int64_t n, const T* g, const T* out, T* gi, bool log);
    // `cols` <= 256 neighbouring columns of n elements, rows `stride` apart.
    void (*columns)(int64_t n, int64_t stride, int64_t cols, const T* x, T* y, bool log);
    void (*columns_backward)(int64_t n, int64_t stride, int64_t cols, const T* g, const T* out, T* gi, bool log);
    // log(sum(exp(x))) of a row.
    T (*log_sum_exp)(int64_t n, const T* x);
    // y[i] = (exp(x[i] - shift) - uniform * (w == null ? 1 : w[i])) * scale, with `keep` scaling the first term.
    void (*probabilities)(int64_t n, const T* x, T shift, T keep, T uniform, const T* w, T scale, T* y);
    // sum of x[i] (times w[i])
    double (*weighted_sum)(int64_t n, const T* x, const T* w);
};

MASHAL_FOR_EACH_ISA(SoftmaxLoops<float> softmax_loops_float(); SoftmaxLoops<double> softmax_loops_double();)

template <class T>
const SoftmaxLoops<T>& softmax_loops();

}  // namespace mashal
