// The portable convolution: any dtype that gemm takes, contiguous tensors, no vendor library but BLAS.
#pragma once
#include "core/tensor.h"
#include "cpu/window.h"

namespace mashal {

// Plain (not transposed) convolution of input (n, c, ...) with weight (out, c / groups, ...) to output (n, out, ...).
struct ConvolutionPlan {
    Window window;
    int64_t groups = 1;
    static constexpr int64_t kMostStride = 64, kMostPadding = 4096;
    bool is_depthwise(const Tensor& input, const Tensor& weight) const {
        // The direct loop copies the padded plane, dealt out by stride: only while that is of the input's order of
        // size.
        if (window.stride[2] > kMostStride || window.padding[1] > kMostPadding || window.padding[2] > kMostPadding)
            return false;
        return groups > 1 && input.size(1) == groups && weight.size(0) == groups && window.in[0] == 1 &&
               window.kernel[0] == 1 && window.padding[0] == 0;
    }
};

void convolution_forward(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight, const Tensor& bias,
                         const Tensor& output);
void convolution_backward_input(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& weight,
                                const Tensor& grad_input);
void convolution_backward_weight(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& input,
                                 const Tensor& grad_weight);

// The same for one float32 input channel a group (out channels = groups = channels), two spatial dimensions.
void depthwise_convolution_forward(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight,
                                   const Tensor& bias, const Tensor& output);
void depthwise_convolution_backward_input(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& weight,
                                          const Tensor& grad_input);
void depthwise_convolution_backward_weight(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& input,
                                           const Tensor& grad_weight);

}  // namespace mashal
