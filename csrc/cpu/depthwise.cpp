// Depthwise convolution without reordering: each channel of each image is copied into a padded plane that fits the
// first-level cache, where every tap is a run of neighbouring elements.
#include "cpu/depthwise.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/convolution.h"

namespace mashal {
namespace {

// The padded copy of a plane. Its columns are dealt out by their remainder modulo the stride, so that the elements a
// tap needs are neighbours for any stride.
class Plane {
public:
    // `spread` > 1 puts that many steps between the elements of the source (the rest stays zero).
    Plane(int64_t h, int64_t w, int64_t pad_h, int64_t pad_w, int64_t full_h, int64_t full_w, int64_t deal,
          int64_t spread_h, int64_t spread_w)
        : h_(h),
          w_(w),
          pad_h_(pad_h),
          pad_w_(pad_w),
          full_h_(full_h),
          full_w_(full_w),
          deal_(deal),
          spread_h_(spread_h),
          spread_w_(spread_w),
          segment_((full_w + deal - 1) / deal + kDepthwiseMargin),
          row_(segment_ * deal),
          data_(static_cast<size_t>(full_h * row_ + kDepthwiseMargin), 0.0f) {}

    const float* data() const { return data_.data(); }
    int64_t row() const { return row_; }
    int64_t tap(int64_t y, int64_t x) const { return y * row_ + x % deal_ * segment_ + x / deal_; }
    void fill(const float* source) {
        for (int64_t i = 0; i < h_; i++) {
            const int64_t y = pad_h_ + i * spread_h_;
            if (y >= 0 && y < full_h_) fill_row(source + i * w_, data_.data() + y * row_);
        }
    }

private:
    void fill_row(const float* from, float* to) const {
        const int64_t first = std::max<int64_t>(0, (-pad_w_ + spread_w_ - 1) / spread_w_);
        const int64_t last = std::min(w_, (full_w_ - pad_w_ + spread_w_ - 1) / spread_w_);
        if (first >= last) return;
        if (spread_w_ > 1) {
            for (int64_t j = first; j < last; j++) to[pad_w_ + j * spread_w_] = from[j];
            return;
        }
        if (deal_ == 1) {
            std::memcpy(to + pad_w_ + first, from + first, static_cast<size_t>(last - first) * sizeof(float));
            return;
        }
        for (int64_t j0 = first; j0 < std::min(last, first + deal_); j0++) {  // one remainder after the other
            const int64_t x = pad_w_ + j0;
            float* run = to + x % deal_ * segment_ + x / deal_;
            if (deal_ == 2) {
                for (int64_t j = j0; j < last; j += 2) *run++ = from[j];
            } else {
                for (int64_t j = j0; j < last; j += deal_) *run++ = from[j];
            }
        }
    }

    int64_t h_, w_, pad_h_, pad_w_, full_h_, full_w_, deal_, spread_h_, spread_w_, segment_, row_;
    std::vector<float> data_;
};

// The plane that holds a padded input, for forward and weight gradient.
Plane input_plane(const Window& w) {
    const int64_t need_h = (w.out[1] - 1) * w.stride[1] + (w.kernel[1] - 1) * w.dilation[1] + 1;
    const int64_t need_w = (w.out[2] - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1;
    return Plane(w.in[1], w.in[2], w.padding[1], w.padding[2], need_h, need_w, w.stride[2], 1, 1);
}

std::vector<int64_t> tap_offsets(const Window& w, const Plane& plane) {
    std::vector<int64_t> taps;
    for (int64_t kh = 0; kh < w.kernel[1]; kh++)
        for (int64_t kw = 0; kw < w.kernel[2]; kw++) taps.push_back(plane.tap(kh * w.dilation[1], kw * w.dilation[2]));
    return taps;
}

bool is_large(const Tensor& t) { return t.numel() > kGrain; }

}  // namespace

void depthwise_convolution_forward(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight,
                                   const Tensor& bias, const Tensor& output) {
    const Window& w = p.window;
    const float *x = input.data<float>(), *k = weight.data<float>(), *b = bias ? bias.data<float>() : nullptr;
    float* y = output.data<float>();
    const int64_t channels = p.groups, planes = input.size(0) * channels, taps = w.kernel_size();
    const auto loop = MASHAL_SELECT(depthwise_forward);
    AllowThreads threads(is_large(output));
    parallel_for(0, planes, std::max<int64_t>(1, kGrain / w.out_size()), [&](int64_t begin, int64_t end) {
        Plane plane = input_plane(w);
        const auto offsets = tap_offsets(w, plane);
        for (int64_t i = begin; i < end; i++) {
            plane.fill(x + i * w.in_size());
            loop(w.out[1], w.out[2], plane.data(), w.stride[1] * plane.row(), taps, offsets.data(),
                 k + i % channels * taps, b != nullptr ? b[i % channels] : 0.0f, y + i * w.out_size());
        }
    });
}

void depthwise_convolution_backward_input(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& weight,
                                          const Tensor& grad_input) {
    // A convolution of stride 1 of the spread-out gradient with the mirrored kernel.
    const Window& w = p.window;
    const float *gy = grad_output.data<float>(), *k = weight.data<float>();
    float* gx = grad_input.data<float>();
    const int64_t channels = p.groups, planes = grad_input.size(0) * channels, taps = w.kernel_size();
    const int64_t reach_h = (w.kernel[1] - 1) * w.dilation[1], reach_w = (w.kernel[2] - 1) * w.dilation[2];
    const auto loop = MASHAL_SELECT(depthwise_forward);
    AllowThreads threads(is_large(grad_input));
    parallel_for(0, planes, std::max<int64_t>(1, kGrain / w.in_size()), [&](int64_t begin, int64_t end) {
        Plane plane(w.out[1], w.out[2], reach_h - w.padding[1], reach_w - w.padding[2], w.in[1] + reach_h,
                    w.in[2] + reach_w, 1, w.stride[1], w.stride[2]);
        auto offsets = tap_offsets(w, plane);
        std::reverse(offsets.begin(), offsets.end());
        for (int64_t i = begin; i < end; i++) {
            plane.fill(gy + i * w.out_size());
            loop(w.in[1], w.in[2], plane.data(), plane.row(), taps, offsets.data(), k + i % channels * taps, 0.0f,
                 gx + i * w.in_size());
        }
    });
}

void depthwise_convolution_backward_weight(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& input,
                                           const Tensor& grad_weight) {
    const Window& w = p.window;
    const float *gy = grad_output.data<float>(), *x = input.data<float>();
    float* gw = grad_weight.data<float>();
    const int64_t channels = p.groups, batch = input.size(0), taps = w.kernel_size();
    const auto loop = MASHAL_SELECT(depthwise_weight);
    AllowThreads threads(is_large(grad_output));
    parallel_for(0, channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, batch * w.out_size())),
                 [&](int64_t begin, int64_t end) {
                     Plane plane = input_plane(w);
                     const auto offsets = tap_offsets(w, plane);
                     for (int64_t c = begin; c < end; c++) {
                         std::fill_n(gw + c * taps, taps, 0.0f);
                         for (int64_t n = 0; n < batch; n++) {
                             const int64_t at = n * channels + c;
                             plane.fill(x + at * w.in_size());
                             loop(w.out[1], w.out[2], plane.data(), w.stride[1] * plane.row(), taps, offsets.data(),
                                  gy + at * w.out_size(), gw + c * taps);
                         }
                     }
                 });
}

}  // namespace mashal
