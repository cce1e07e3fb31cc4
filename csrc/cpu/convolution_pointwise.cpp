#include "cpu/convolution_pointwise.h"

#include <algorithm>

#include "core/blocking.h"
#include "cpu/isa_select.h"
#include "cpu/sgemm.h"

namespace mashal {

bool pointwise_pays(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight) {
    const Window& w = p.window;
    for (size_t d = 0; d < w.kernel.size(); d++)
        if (w.kernel[d] != 1 || w.stride[d] != 1 || w.padding[d] != 0) return false;
    constexpr int64_t kFewestChannels = 64, kFewestPositions = 32;
    return selected_isa() == Isa::Avx512 && p.groups == 1 && input.dtype() == DType::F32 &&
           std::min(weight.size(0), weight.size(1)) >= kFewestChannels &&
           input.numel() / weight.size(1) >= kFewestPositions;
}

void pointwise_forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& output,
                       bool keep_weight) {
    const int64_t k = weight.size(1), n = weight.size(0), m = input.numel() / k;
    const Tensor matrix = alias(weight, IntVec{k, n}, IntVec{1, k}, weight->offset);
    const Ref<KeptWeight> kept = keep_weight ? kept_weight(matrix) : Ref<KeptWeight>();
    const SgemmProblem product{.m = m,
                               .n = n,
                               .k = k,
                               .a = {input.data(), k, false},
                               .b = {weight.data(), k, true},
                               .c = output.data<float>(),
                               .ldc = n,
                               .bias = bias ? bias.data<float>() : nullptr};
    AllowThreads threads(static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > 100e3);
    sgemm(product, kept ? &kept->packed : nullptr);
}

}  // namespace mashal
