// Convolution with 3x3 and 5x5 kernels at stride 1 by Winograd's algorithm, with a quarter to half of the
// multiplications. Channels-last float32 tensors.
#pragma once
#include "cpu/convolution.h"

namespace mashal {

// Whether the algorithm applies and is expected to be faster than the direct one. `keep_weight`: the transformed
// kernels are likely to be wanted again.
bool winograd_pays(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight, bool keep_weight);

// The images are channels-last, weight and bias contiguous.
void winograd_forward(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const Tensor& output, bool keep_weight);
void winograd_backward_input(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& weight,
                             const Tensor& grad_input);
void winograd_backward_weight(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& input,
                              const Tensor& grad_weight);

}  // namespace mashal
