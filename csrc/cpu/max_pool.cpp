// Maximum pooling (sliding, adaptive, fractional windows) with indices, and the moves along such indices: scatter for
// the gradient and for unpooling, gather for the gradient of those.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "core/vector_target.h"
#include "cpu/copy.h"
#include "cpu/pool_common.h"
#include "cpu/resample.h"
#include "cpu/window.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

template <class F>
void visit_pool_type(std::string_view op, DType t, F&& f) {
    switch (t) {
        case DType::U8: return f(uint8_t{});
        case DType::I8: return f(int8_t{});
        case DType::I16: return f(int16_t{});
        case DType::I32: return f(int32_t{});
        case DType::I64: return f(int64_t{});
        case DType::F32: return f(float{});
        case DType::F64: return f(double{});
        default: raise_error(ErrorKind::NotImplemented, op, "not implemented for '", dtype_legacy_name(t), "'");
    }
}

template <class T>
constexpr T lowest() {
    if constexpr (std::numeric_limits<T>::has_infinity)
        return -std::numeric_limits<T>::infinity();
    else
        return std::numeric_limits<T>::lowest();
}

// As PyTorch: the first of equal maxima wins, and a NaN beats everything before it.
template <class T>
MASHAL_INLINE_LOOP bool replaces(T v, T best) {
    return (v > best) | (v != v);
}

bool is_channels_last(const Tensor& t, size_t spatial) { return !following_strides(t.sizes(), t, spatial).empty(); }

// Half types are pooled in float32: comparison is exact there.
Tensor widened(const Tensor& t) { return is_half(t.dtype()) ? to_dtype(t, DType::F32) : t; }

struct Planes {
    int64_t count, inner;  // inner: elements beside each other at one position (channels-last)
    Planes(const Tensor& t, size_t spatial) : count(1), inner(1) {
        if (is_channels_last(t, spatial)) {
            count = t.size(0);
            inner = t.size(1);
        } else {
            for (size_t d = 0; d + spatial < t.sizes().size(); d++) count *= t.sizes()[d];
        }
    }
};

void announce_pair(Call& c, const IntVec& sizes, const Tensor& like, size_t spatial) {
    const IntVec strides = following_strides(sizes, like, spatial);
    c.specs.push_back({sizes, like.dtype(), like.device(), strides});
    c.specs.push_back({sizes, DType::I64, like.device(), strides});
}

// ---- sliding windows ----
// Row of one tap: best and index of outputs first..last-1, whose inputs lie `Step` apart.
template <class T, int Step>
struct TapRow {
    MASHAL_INLINE_LOOP void operator()(int64_t n, const T* x, int64_t at, int64_t step, T* best, int64_t* index) const {
        for (int64_t j = 0; j < n; j++) {
            const int64_t k = j * (Step != 0 ? Step : step);
            const T v = x[k];
            const bool take = replaces(v, best[j]);
            best[j] = take ? v : best[j];
            index[j] = take ? at + k : index[j];
        }
    }
};

// The first input position of each window: what is reported where nothing exceeds minus infinity.
int64_t first_inside(int64_t o, int64_t stride, int64_t padding, int64_t dilation) {
    const int64_t at = o * stride - padding;
    return at >= 0 ? at : at + (dilation - 1 - at) / dilation * dilation;
}

template <class T>
void pool_plane(const Window& w, const T* x, T* best, int64_t* index) {
    for (int64_t r = 0, j = 0; r < w.out_rows(); r++) {
        const int64_t z = first_inside(r / w.out[1], w.stride[0], w.padding[0], w.dilation[0]);
        const int64_t y = first_inside(r % w.out[1], w.stride[1], w.padding[1], w.dilation[1]);
        for (int64_t o = 0; o < w.out[2]; o++, j++) {
            best[j] = lowest<T>();
            index[j] = (z * w.in[1] + y) * w.in[2] + first_inside(o, w.stride[2], w.padding[2], w.dilation[2]);
        }
    }
    const int64_t step = w.stride[2];
    const auto [d0, d1] = w.useful_taps(0);
    const auto [h0, h1] = w.useful_taps(1);
    const auto [w0, w1] = w.useful_taps(2);
    for (int64_t kd = d0; kd < d1; kd++)
        for (int64_t kh = h0; kh < h1; kh++)
            for (int64_t kw = w0; kw < w1; kw++)
                for_tap_rows(w, kd, kh, kw, 0, w.out_rows(), [&](int64_t r, int64_t at, int64_t first, int64_t last) {
                    const int64_t n = last - first, to = r * w.out[2] + first, from = at + first * step;
                    if (n <= 0) return;
                    if (step == 1)
                        run_vectorised(TapRow<T, 1>{}, n, x + from, from, step, best + to, index + to);
                    else if (step == 2)
                        run_vectorised(TapRow<T, 2>{}, n, x + from, from, step, best + to, index + to);
                    else
                        run_vectorised(TapRow<T, 0>{}, n, x + from, from, step, best + to, index + to);
                });
}

template <class T>
struct ChannelRow {
    MASHAL_INLINE_LOOP void operator()(int64_t n, const T* x, int64_t at, T* best, int64_t* index) const {
        for (int64_t j = 0; j < n; j++) {
            const T v = x[j];
            const bool take = replaces(v, best[j]);
            best[j] = take ? v : best[j];
            index[j] = take ? at : index[j];
        }
    }
};

template <class T>
void pool_position(const Window& w, int64_t channels, int64_t o, const T* x, T* best, int64_t* index) {
    const int64_t out_at[3] = {o / (w.out[1] * w.out[2]), o / w.out[2] % w.out[1], o % w.out[2]};
    int64_t first[3];
    for (size_t d = 0; d < 3; d++) first[d] = first_inside(out_at[d], w.stride[d], w.padding[d], w.dilation[d]);
    std::fill_n(best, channels, lowest<T>());
    std::fill_n(index, channels, (first[0] * w.in[1] + first[1]) * w.in[2] + first[2]);
    auto stop = [&](size_t d) {
        return std::min(w.in[d], out_at[d] * w.stride[d] - w.padding[d] + (w.kernel[d] - 1) * w.dilation[d] + 1);
    };
    const int64_t stop0 = stop(0), stop1 = stop(1), stop2 = stop(2);
    for (int64_t z = first[0]; z < stop0; z += w.dilation[0])
        for (int64_t y = first[1]; y < stop1; y += w.dilation[1])
            for (int64_t i = first[2]; i < stop2; i += w.dilation[2]) {
                const int64_t at = (z * w.in[1] + y) * w.in[2] + i;
                run_vectorised(ChannelRow<T>{}, channels, x + at * channels, at, best, index);
            }
}

void max_pool_shape(Call& c) {
    const Tensor input = c.tensor(0);
    announce_pair(c, pool_sizes("max_pool", input, c.ints(1), c.ints(2), c.ints(3), c.ints(4), c.flag(5)), input,
                  c.ints(1).size());
}

void max_pool_kernel(Call& c) {
    const size_t n = c.ints(1).size();
    if (c.out[0].numel() == 0) return;
    const bool last = is_channels_last(c.tensor(0), n);
    const Tensor input = last ? widened(c.tensor(0)) : contiguous(widened(c.tensor(0)));
    const Tensor best = input.dtype() == c.out[0].dtype()
                            ? c.out[0]
                            : empty_strided(c.out[0].sizes(), c.out[0].strides(), input.dtype());
    const Planes planes(input, n);
    const Window w(IntSpan(input.sizes()).last(n), c.ints(1), IntSpan(best.sizes()).last(n), c.ints(2), c.ints(3),
                   c.ints(4));
    int64_t* index = c.out[1].data<int64_t>();
    visit_pool_type("max_pool", input.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* x = input.data<T>();
        T* y = best.data<T>();
        const int64_t size = w.out_size() * planes.inner;
        int64_t cost = 1;
        for (size_t d = 0; d < 3; d++) cost *= std::max<int64_t>(1, w.useful_taps(d).second - w.useful_taps(d).first);
        AllowThreads threads(input.numel() > kGrain);
        if (last) {
            parallel_for(0, planes.count * w.out_size(), std::max<int64_t>(1, kGrain / (planes.inner * cost)),
                         [&](int64_t begin, int64_t end) {
                             for (int64_t i = begin; i < end; i++)
                                 pool_position(w, planes.inner, i % w.out_size(),
                                               x + i / w.out_size() * w.in_size() * planes.inner, y + i * planes.inner,
                                               index + i * planes.inner);
                         });
            return;
        }
        parallel_for(0, planes.count, std::max<int64_t>(1, kGrain / (size * cost)), [&](int64_t begin, int64_t end) {
            for (int64_t p = begin; p < end; p++) pool_plane(w, x + p * w.in_size(), y + p * size, index + p * size);
        });
    });
    if (!best.is_same(c.out[0])) copy_into(c.out[0], best);
}

// ---- windows given by their bounds ----
struct Bounds {
    std::vector<int64_t> begin, end;
};

template <class T>
void max_between(const T* x, const int64_t in[3], const Bounds axes[3], T* best, int64_t* index) {
    int64_t o = 0;
    for (size_t d = 0; d < axes[0].begin.size(); d++)
        for (size_t h = 0; h < axes[1].begin.size(); h++)
            for (size_t v = 0; v < axes[2].begin.size(); v++, o++) {
                T top = lowest<T>();
                int64_t at = (axes[0].begin[d] * in[1] + axes[1].begin[h]) * in[2] + axes[2].begin[v];
                for (int64_t z = axes[0].begin[d]; z < axes[0].end[d]; z++)
                    for (int64_t y = axes[1].begin[h]; y < axes[1].end[h]; y++)
                        for (int64_t i = axes[2].begin[v]; i < axes[2].end[v]; i++) {
                            const int64_t k = (z * in[1] + y) * in[2] + i;
                            if (replaces(x[k], top)) {
                                top = x[k];
                                at = k;
                            }
                        }
                best[o] = top;
                index[o] = at;
            }
}

// Calls the loop above on every plane; `bounds_of(plane, axes)` fills in the windows.
template <class BoundsOf>
void pool_between(std::string_view op, Call& c, size_t n, BoundsOf&& bounds_of) {
    if (c.out[0].numel() == 0) return;
    const Tensor input = contiguous(widened(c.tensor(0)));
    const Tensor best = empty(c.out[0].sizes(), input.dtype()), index = empty(c.out[1].sizes(), DType::I64);
    int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
    for (size_t i = 0; i < n; i++) {
        in[3 - n + i] = input.sizes()[input.sizes().size() - n + i];
        out[3 - n + i] = best.sizes()[best.sizes().size() - n + i];
    }
    const int64_t in_size = in[0] * in[1] * in[2], out_size = out[0] * out[1] * out[2];
    int64_t* pi = index.data<int64_t>();
    visit_pool_type(op, input.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* x = input.data<T>();
        T* y = best.data<T>();
        const int64_t planes = input.numel() / in_size;
        AllowThreads threads(input.numel() > kGrain);
        parallel_for(0, planes, std::max<int64_t>(1, kGrain / in_size), [&](int64_t begin, int64_t end) {
            Bounds axes[3];
            for (int64_t p = begin; p < end; p++) {
                bounds_of(p, p == begin, in, out, axes);
                max_between(x + p * in_size, in, axes, y + p * out_size, pi + p * out_size);
            }
        });
    });
    copy_into(c.out[0], best);
    copy_into(c.out[1], index);
}

void check_windows_input(std::string_view op, const Tensor& input, IntSpan out) {
    const auto dim = static_cast<size_t>(input.dim());
    MASHAL_CHECK(out.size() >= 1 && out.size() <= 3, op, "output_size must have 1 to 3 elements, got ", shape_text(out),
                 ".");
    MASHAL_CHECK(dim == out.size() + 1 || dim == out.size() + 2, op, "input must be ", out.size() + 1, "-D or ",
                 out.size() + 2, "-D, got input ", text(input), ".");
    for (size_t d = dim - out.size(); d < dim; d++)
        MASHAL_CHECK(input.sizes()[d] > 0, op, "spatial dimensions of input must not be empty, got input ", text(input),
                     ".");
    for (int64_t s : out) MASHAL_CHECK(s >= 0, op, "output_size must not be negative, got ", shape_text(out), ".");
}

IntVec with_spatial(const Tensor& like, IntSpan spatial) {
    IntVec sizes = like.sizes();
    for (size_t i = 0; i < spatial.size(); i++) sizes[sizes.size() - spatial.size() + i] = spatial[i];
    return sizes;
}

void adaptive_shape(Call& c) {
    const Tensor input = c.tensor(0);
    check_windows_input("adaptive_max_pool", input, c.ints(1));
    announce_pair(c, with_spatial(input, c.ints(1)), input, c.ints(1).size());
}
void adaptive_kernel(Call& c) {
    pool_between("adaptive_max_pool", c, c.ints(1).size(),
                 [](int64_t, bool first, const int64_t* in, const int64_t* out, Bounds* axes) {
                     if (!first) return;
                     for (int d = 0; d < 3; d++)
                         for (int64_t o = 0; o < out[d]; o++) {
                             axes[d].begin.push_back(o * in[d] / out[d]);
                             axes[d].end.push_back(((o + 1) * in[d] + out[d] - 1) / out[d]);
                         }
                 });
}

void fractional_shape(Call& c) {
    const char* op = "fractional_max_pool";
    const Tensor input = c.tensor(0), samples = c.tensor(3);
    const IntSpan kernel = c.ints(1), out = c.ints(2);
    check_windows_input(op, input, out);
    MASHAL_CHECK(kernel.size() == out.size(), op, "kernel_size and output_size must have the same length, got ",
                 shape_text(kernel), " and ", shape_text(out), ".");
    check_window(op, "kernel_size", kernel, 1);
    int64_t planes = 1;
    for (size_t d = 0; d + out.size() < input.sizes().size(); d++) planes *= input.sizes()[d];
    MASHAL_CHECK(samples.dim() != 3 || samples.size(0) * samples.size(1) == planes, op,
                 "random_samples must have a row for each plane of input, got random_samples ", text(samples),
                 " and input ", text(input), ".");
    MASHAL_CHECK(
        samples.dim() == 3 && samples.size(2) == static_cast<int64_t>(out.size()) && is_floating(samples.dtype()), op,
        "random_samples must have shape (N, C, ", out.size(), ") and a floating dtype, got random_samples ",
        text(samples), ".");
    for (size_t i = 0; i < out.size(); i++) {
        const int64_t in = input.sizes()[input.sizes().size() - out.size() + i];
        MASHAL_CHECK(out[i] > 0 && out[i] <= in && out[i] + kernel[i] - 1 <= in, op,
                     "output_size + kernel_size - 1 must not exceed the input size (", out[i] + kernel[i] - 1, " vs ",
                     in, " in spatial dimension ", i, "), got input ", text(input), ".");
    }
    announce_pair(c, with_spatial(input, out), input, 0);
}
void fractional_kernel(Call& c) {
    const size_t n = c.ints(1).size();
    const Tensor samples = contiguous(to_dtype(c.tensor(3), DType::F64));
    const double* u = samples.data<double>();
    // The edges of windows depend on the rounding of the samples' own type.
    const bool single = c.tensor(3).dtype() != DType::F64;
    auto round = [single](double v) { return single ? static_cast<double>(static_cast<float>(v)) : v; };
    int64_t kernel[3] = {1, 1, 1};
    for (size_t i = 0; i < n; i++) kernel[3 - n + i] = c.ints(1)[i];
    // Pseudo-random window sequence of B. Graham, "Fractional Max-Pooling" (2014).
    pool_between(
        "fractional_max_pool", c, n, [&](int64_t plane, bool, const int64_t* in, const int64_t* out, Bounds* axes) {
            for (size_t d = 0; d < 3; d++) {
                axes[d] = {};
                // PyTorch reads the samples of two dimensions in the order (width, height), of three as they come.
                const double s =
                    d < 3 - n ? 0.0
                              : u[plane * static_cast<int64_t>(n) + static_cast<int64_t>(n == 2 ? 2 - d : d - (3 - n))];
                const double alpha =
                    out[d] > 1 ? round(static_cast<double>(in[d] - kernel[d]) / static_cast<double>(out[d] - 1)) : 0.0;
                for (int64_t o = 0; o < out[d]; o++) {
                    // Samples outside [0, 1) must not lead outside the input.
                    const double limit = static_cast<double>(in[d] - kernel[d]);
                    const double from =
                        std::floor(round(round(static_cast<double>(o) + s) * alpha)) - std::floor(round(s * alpha));
                    const int64_t at = o == out[d] - 1 || !(from < limit) ? in[d] - kernel[d]
                                                                          : static_cast<int64_t>(std::max(from, 0.0));
                    axes[d].begin.push_back(at);
                    axes[d].end.push_back(at + kernel[d]);
                }
            }
        });
}

// ---- moves along indices ----
void scatter_shape(Call& c) {
    const Tensor input = c.tensor(0), indices = c.tensor(1);
    const IntSpan out = c.ints(2);
    MASHAL_CHECK(equal(input.sizes(), indices.sizes()), "max_unpool",
                 "input and indices must have the same shape, got input ", text(input), " and indices ", text(indices),
                 ".");
    MASHAL_CHECK(indices.dtype() == DType::I64, "max_unpool", "indices must be int64, got indices ", text(indices),
                 ".");
    MASHAL_CHECK(out.size() >= 1 && out.size() <= 3 && input.sizes().size() > out.size(), "max_unpool",
                 "output_size must have 1 to 3 elements, fewer than input has dimensions, got ", shape_text(out),
                 " and input ", text(input), ".");
    for (int64_t s : out)
        MASHAL_CHECK(s >= 0, "max_unpool", "output_size must not be negative, got ", shape_text(out), ".");
    const IntVec sizes = with_spatial(input, out);
    c.specs.push_back({sizes, input.dtype(), input.device(), following_strides(sizes, input, out.size())});
}

// Runs f(plane, position of the index list, element offset inside the plane group) over all (plane, channel, index).
// Both tensors share one layout; `limit` bounds the indices.
template <class F>
void for_indices(const Planes& planes, int64_t n_indices, int64_t limit, const int64_t* index, F&& f) {
    parallel_for(0, planes.count, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n_indices * planes.inner)),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t p = begin; p < end; p++)
                         for (int64_t i = 0; i < n_indices; i++)
                             for (int64_t ch = 0; ch < planes.inner; ch++) {
                                 const int64_t at = (p * n_indices + i) * planes.inner + ch, k = index[at];
                                 MASHAL_CHECK(k >= 0 && k < limit, "max_unpool", "found an invalid max index ", k,
                                              ": indices must lie in [0, ", limit, ").");
                                 f(at, (p * limit + k) * planes.inner + ch);
                             }
                 });
}

void scatter_kernel(Call& c) {
    const Tensor out = c.out[0];
    fill(out, Scalar::of(int64_t{0}));
    if (c.tensor(0).numel() == 0) return;
    const size_t n = c.ints(2).size();
    const bool accumulate = c.flag(3);
    // Values and indices are brought into the layout of the result.
    const bool last = !out.is_contiguous();
    auto laid_out = [&](const Tensor& t) {
        if (!last) return contiguous(t);
        if (is_channels_last(t, n)) return t;
        const Tensor copy = empty_strided(t.sizes(), channels_last_strides(t.sizes()), t.dtype());
        copy_into(copy, t);
        return copy;
    };
    const Tensor values = laid_out(widened(c.tensor(0))), indices = laid_out(c.tensor(1));
    Tensor target = out;
    if (values.dtype() != out.dtype()) target = to_dtype(out, values.dtype());
    const Planes planes(target, n);
    const int64_t limit = out.numel() / planes.count / planes.inner,
                  n_indices = values.numel() / planes.count / planes.inner;
    const int64_t* index = indices.data<int64_t>();
    visit_pool_type("max_unpool", values.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* v = values.data<T>();
        T* y = target.data<T>();
        AllowThreads threads(values.numel() > kGrain);
        if (accumulate)
            for_indices(planes, n_indices, limit, index, [&](int64_t at, int64_t to) { y[to] += v[at]; });
        else
            for_indices(planes, n_indices, limit, index, [&](int64_t at, int64_t to) { y[to] = v[at]; });
    });
    if (!target.is_same(out)) copy_into(out, target);
}

void gather_shape(Call& c) {
    const Tensor input = c.tensor(0), indices = c.tensor(1);
    const int64_t spatial = c.i64(2);
    MASHAL_CHECK(spatial >= 1 && spatial <= 3 && input.dim() > spatial, "max_unpool", "input must have more than ",
                 spatial, " (1 to 3) dimensions, got input ", text(input), ".");
    check_dtype("max_unpool", "indices", indices, DType::I64);
    bool same_planes = indices.dim() == input.dim();
    for (int64_t d = 0; same_planes && d < input.dim() - spatial; d++) same_planes = input.size(d) == indices.size(d);
    MASHAL_CHECK(same_planes, "max_unpool", "indices must agree with input but for the spatial dimensions, got input ",
                 text(input), " and indices ", text(indices), ".");
    c.result(indices.sizes(), input.dtype(), input.device());
}
void gather_kernel(Call& c) {
    if (c.out[0].numel() == 0) return;
    const auto n = static_cast<size_t>(c.i64(2));
    const Tensor input = contiguous(c.tensor(0)), indices = contiguous(c.tensor(1)), out = c.out[0];
    const Planes planes(input, n);
    const int64_t limit = input.numel() / planes.count, n_indices = indices.numel() / planes.count;
    const int64_t* index = indices.data<int64_t>();
    visit_size(input.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* x = input.data<T>();
        T* y = out.data<T>();
        AllowThreads threads(indices.numel() > kGrain);
        for_indices(planes, n_indices, limit, index, [&](int64_t at, int64_t from) { y[at] = x[from]; });
    });
}

const OpRegistration r_max_pool{"_max_pool",
                                {.shape = max_pool_shape, .kernel = max_pool_kernel, .layout = Layout::Follow}};
const OpRegistration r_adaptive{"_adaptive_max_pool", {.shape = adaptive_shape, .kernel = adaptive_kernel}};
const OpRegistration r_fractional{"_fractional_max_pool", {.shape = fractional_shape, .kernel = fractional_kernel}};
const OpRegistration r_scatter{"_plane_scatter",
                               {.shape = scatter_shape, .kernel = scatter_kernel, .layout = Layout::Follow}};
const OpRegistration r_gather{"_plane_gather", {.shape = gather_shape, .kernel = gather_kernel}};

}  // namespace
}  // namespace mashal
