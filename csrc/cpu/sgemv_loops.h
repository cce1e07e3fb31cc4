// Inner loops of the float32 product of a matrix and a vector, by instruction set. Both read the matrix once, at the
// speed of memory.
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

// y[i * incy] = alpha sum_p w[i * ld + p] x[p] + beta y[i * incy]. With beta 0, y is never read.
struct SgemvRows {
    int64_t rows, k;
    const float* w;
    int64_t ld;
    const float* x;
    float alpha, beta;
    float* y;
    int64_t incy;
};

MASHAL_FOR_EACH_ISA(void sgemv_rows(const SgemvRows& s);
                    // y[j] += sum_i scale[i] w[i * ld + j] for j < n.
                    void sgemv_columns(int64_t rows, int64_t n, const float* w, int64_t ld, const float* scale,
                                       float* y);)

}  // namespace mashal
