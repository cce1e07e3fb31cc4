// Inner loops of the normalisations, by instruction set. T is float or double; w and b may be null (ones, zeros).
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

template <class T>
struct NormLoops {
    // y = (x - mean) * rstd * w + b
    void (*normalise)(int64_t n, const T* x, T mean, T rstd, const T* w, const T* b, T* y);
    // sums of g w and g w (x - mean)
    void (*sums)(int64_t n, const T* g, const T* x, T mean, const T* w, double* sum_g, double* sum_gx);
    // dx = rstd (g w - mean_g - (x - mean) rstd mean_gx); if given: dw += g (x - mean) rstd, db += g
    void (*normalise_backward)(int64_t n, const T* g, const T* x, T mean, T rstd, const T* w, T mean_g, T mean_gx,
                               T* dx, T* dw, T* db);
    // y = a x + c
    void (*affine)(int64_t n, const T* x, T a, T c, T* y);
    // y = a g + b x + c
    void (*combine)(int64_t n, const T* g, const T* x, T a, T b, T c, T* y);
    // The same for m rows of n channels, with coefficients per channel.
    void (*affine_columns)(int64_t m, int64_t n, const T* x, const T* a, const T* c, T* y);
    void (*combine_columns)(int64_t m, int64_t n, const T* g, const T* x, const T* a, const T* b, const T* c, T* y);
    // sum_g[j] += g, sum_gx[j] += g (x - mean[j]) over m rows of n channels
    void (*sums_columns)(int64_t m, int64_t n, const T* g, const T* x, const T* mean, double* sum_g, double* sum_gx);
};

MASHAL_FOR_EACH_ISA(NormLoops<float> norm_loops_float(); NormLoops<double> norm_loops_double();)

template <class T>
const NormLoops<T>& norm_loops();

}  // namespace mashal
