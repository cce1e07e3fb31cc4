// Sliding windows over up to three spatial dimensions, and their unfolding into the columns of a matrix.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/small_vec.h"

namespace mashal {

// Missing leading dimensions have size 1, so one loop serves 1-D, 2-D and 3-D.
struct Window {
    using Triple = std::array<int64_t, 3>;
    Triple in{1, 1, 1}, kernel{1, 1, 1}, out{1, 1, 1};
    Triple stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};

    Window() = default;
    Window(IntSpan in_sizes, IntSpan kernel_sizes, IntSpan out_sizes, IntSpan strides, IntSpan paddings,
           IntSpan dilations) {
        place(in, in_sizes);
        place(kernel, kernel_sizes);
        place(out, out_sizes);
        place(stride, strides);
        place(padding, paddings);
        place(dilation, dilations);
    }
    static void place(Triple& to, IntSpan from) {
        for (size_t i = 0; i < from.size(); i++) to[3 - from.size() + i] = from[i];
    }
    int64_t in_size() const { return in[0] * in[1] * in[2]; }
    int64_t out_size() const { return out[0] * out[1] * out[2]; }
    int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
    int64_t out_rows() const { return out[0] * out[1]; }
    // Taps of axis d that meet the input for some window, [first, last): the others only see padding.
    std::pair<int64_t, int64_t> useful_taps(size_t d) const {
        const int64_t short_by = padding[d] - (out[d] - 1) * stride[d];
        const int64_t first = short_by > 0 ? (short_by + dilation[d] - 1) / dilation[d] : 0;
        return {first, std::min(kernel[d], (in[d] - 1 + padding[d]) / dilation[d] + 1)};
    }
    // Every window is one element and every element has its window.
    bool is_pointwise() const { return kernel_size() == 1 && stride == Triple{1, 1, 1} && padding == Triple{0, 0, 0}; }
};

// For tap (kd, kh, kw) and the output rows [row0, row1) of out[0] * out[1], calls f(in_offset, first, last) for each:
// outputs first <= j < last of that row lie inside the input, at in_offset + j * stride[2].
template <class F>
void for_tap_rows(const Window& w, int64_t kd, int64_t kh, int64_t kw, int64_t row0, int64_t row1, F&& f) {
    const int64_t x0 = kw * w.dilation[2] - w.padding[2], step = w.stride[2];
    const int64_t first = x0 >= 0 ? 0 : std::min(w.out[2], (-x0 + step - 1) / step);
    const int64_t last = x0 >= w.in[2] ? first : std::max(first, std::min(w.out[2], (w.in[2] - x0 + step - 1) / step));
    for (int64_t r = row0; r < row1; r++) {
        const int64_t z = r / w.out[1] * w.stride[0] - w.padding[0] + kd * w.dilation[0];
        const int64_t y = r % w.out[1] * w.stride[1] - w.padding[1] + kh * w.dilation[1];
        const bool inside = z >= 0 && z < w.in[0] && y >= 0 && y < w.in[1];
        f(r, (z * w.in[1] + y) * w.in[2] + x0, inside ? first : 0, inside ? last : 0);
    }
}

// Row (c, kd, kh, kw) of the column matrix; columns are the outputs of rows [row0, row1).
template <class T>
void unfold_row(const Window& w, const T* plane, int64_t tap, int64_t row0, int64_t row1, T* to) {
    const int64_t kw = tap % w.kernel[2], kh = tap / w.kernel[2] % w.kernel[1], kd = tap / (w.kernel[2] * w.kernel[1]);
    const int64_t n = w.out[2], step = w.stride[2];
    for_tap_rows(w, kd, kh, kw, row0, row1, [&](int64_t, int64_t at, int64_t first, int64_t last) {
        std::fill(to, to + first, T(0));
        if (step == 1 && last > first) {
            std::memcpy(to + first, plane + at + first, static_cast<size_t>(last - first) * sizeof(T));
        } else {
            for (int64_t j = first; j < last; j++) to[j] = plane[at + j * step];
        }
        std::fill(to + last, to + n, T(0));
        to += n;
    });
}

// The transpose of unfold_row: adds a row of the column matrix back into the plane.
template <class T>
void fold_row(const Window& w, T* plane, int64_t tap, int64_t row0, int64_t row1, const T* from) {
    const int64_t kw = tap % w.kernel[2], kh = tap / w.kernel[2] % w.kernel[1], kd = tap / (w.kernel[2] * w.kernel[1]);
    const int64_t n = w.out[2], step = w.stride[2];
    for_tap_rows(w, kd, kh, kw, row0, row1, [&](int64_t, int64_t at, int64_t first, int64_t last) {
        for (int64_t j = first; j < last; j++) plane[at + j * step] += from[j];
        from += n;
    });
}

}  // namespace mashal
