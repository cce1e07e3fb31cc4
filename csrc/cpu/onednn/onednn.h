// The only door to oneDNN. Compiled only with MASHAL_WITH_ONEDNN; callers ask `usable()` at run time as well.
#pragma once
#include "core/tensor.h"
#include "cpu/gemm.h"

namespace mashal::onednn {

// False under MASHAL_DISABLE_ONEDNN=1, which sends everything to the portable kernels.
bool usable();
// Whether products and convolutions of this half type have a vectorised implementation on this processor.
bool fast_half(DType t);

void sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
           const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
// C = A B + bias with half operands; C is of the half type or float32. `bias` is null, or a row of n halves.
void half_matmul(DType t, int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b, const void* bias, void* c,
                 int64_t ldc, DType c_dtype);

// Forward convolution, and the gradients with respect to input and weight. Tensors are (n, c, spatial...) of any dense
// strides; `weight` is (out, in / groups, spatial...). Outputs are written in the strides they have.
struct ConvGeometry {
    IntVec stride, padding, dilation;
    int64_t groups = 1;
};
bool convolution_supported(const Tensor& input, const Tensor& weight, const Tensor& output);
// `keep_weight`: the reordered weight is likely to be wanted again, unchanged.
void convolution_forward(const ConvGeometry& g, const Tensor& input, const Tensor& weight, const Tensor& bias,
                         const Tensor& output, bool keep_weight);
// Either of grad_input and grad_weight may be undefined; grad_output is then reordered only once for both.
void convolution_backward(const ConvGeometry& g, const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                          const Tensor& grad_input, const Tensor& grad_weight);

}  // namespace mashal::onednn
