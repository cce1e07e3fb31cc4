// Output sizes of pooling windows, with PyTorch's rules.
#pragma once
#include "cpu/checks.h"

namespace mashal {

inline void check_pool_lists(std::string_view op, const Tensor& input, IntSpan kernel, IntSpan stride, IntSpan padding,
                             IntSpan dilation) {
    const size_t n = kernel.size();
    MASHAL_CHECK(n >= 1 && n <= 3, op, "kernel_size must have 1 to 3 elements, got ", shape_text(kernel), ".");
    MASHAL_CHECK(stride.size() == n && padding.size() == n && dilation.size() == n, op,
                 "kernel_size, stride, padding and dilation must have ", n, " elements each, got kernel_size ",
                 shape_text(kernel), ", stride ", shape_text(stride), ", padding ", shape_text(padding),
                 " and dilation ", shape_text(dilation), ".");
    const auto dim = static_cast<size_t>(input.dim());
    MASHAL_CHECK(dim == n + 1 || dim == n + 2, op, "input must be ", n + 1, "-D or ", n + 2, "-D, got input ",
                 text(input), ".");
    check_window(op, "kernel_size", kernel, 1);
    check_window(op, "stride", stride, 1);
    check_window(op, "dilation", dilation, 1);
    for (size_t i = 0; i < n; i++) {
        MASHAL_CHECK(padding[i] >= 0 && padding[i] <= ((kernel[i] - 1) * dilation[i] + 1) / 2, op,
                     "padding must be non-negative and at most half of kernel_size, got padding ", shape_text(padding),
                     " and kernel_size ", shape_text(kernel), ".");
    }
    for (size_t i = 1; i < dim; i++)
        MASHAL_CHECK(input.sizes()[i] > 0 || (dim == n + 1 && i == 0), op,
                     "all dimensions of input but the batch must be non-empty, got input ", text(input), ".");
}

// Shape of the pooled tensor.
inline IntVec pool_sizes(std::string_view op, const Tensor& input, IntSpan kernel, IntSpan stride, IntSpan padding,
                         IntSpan dilation, bool ceil_mode) {
    check_pool_lists(op, input, kernel, stride, padding, dilation);
    IntVec out = input.sizes();
    const size_t lead = out.size() - kernel.size();
    for (size_t i = 0; i < kernel.size(); i++) {
        const int64_t in = out[lead + i], reach = dilation[i] * (kernel[i] - 1) + 1;
        const int64_t room = in + 2 * padding[i] - reach + (ceil_mode ? stride[i] - 1 : 0);
        int64_t size = room < 0 ? 0 : room / stride[i] + 1;
        // With ceil_mode the last window must still begin inside the input or its left padding.
        if (ceil_mode && (size - 1) * stride[i] >= in + padding[i]) size--;
        MASHAL_CHECK(size > 0, op, "output size would be ", size, " in spatial dimension ", i, ", got input ",
                     text(input), " and kernel_size ", shape_text(kernel), ".");
        out[lead + i] = size;
    }
    return out;
}

}  // namespace mashal
