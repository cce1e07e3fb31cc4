// Convolution with a 1x1 kernel of channels-last float32 images: a matrix product over all positions.
#pragma once
#include "cpu/convolution.h"

namespace mashal {

// Whether the convolution is such a product, and large enough for our own loops to be the faster way.
bool pointwise_pays(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight);

// The images are channels-last, weight and bias contiguous. `keep_weight`: the packed weight is likely to be wanted
// again.
void pointwise_forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& output,
                       bool keep_weight);

}  // namespace mashal
