// grid_sampler for two and three spatial dimensions: values at positions of a grid, and the gradients of both.
#include <array>
#include <cmath>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

enum class Mode { Linear, Nearest, Cubic };
enum class Padding { Zeros, Border, Reflection };

struct Settings {
    Mode mode;
    Padding padding;
    bool align_corners;
};

// A position along one axis after padding, and its derivative with respect to the grid value.
template <class T>
struct Placed {
    T at, slope;
};

template <class T>
T unnormalise(T g, int64_t size, bool align) {
    return align ? (g + 1) / 2 * static_cast<T>(size - 1) : ((g + 1) * static_cast<T>(size) - 1) / 2;
}

template <class T>
Placed<T> clip(Placed<T> p, int64_t size) {
    const T top = static_cast<T>(size - 1);
    if (!(p.at > 0)) return {T(0), T(0)};  // NaN too
    if (p.at >= top) return {top, T(0)};
    return p;
}

// Mirrors the position between low / 2 and high / 2 until it lies inside.
template <class T>
Placed<T> reflect(Placed<T> p, int64_t twice_low, int64_t twice_high) {
    if (twice_low == twice_high) return {T(0), T(0)};
    const T low = static_cast<T>(twice_low) / 2, span = static_cast<T>(twice_high - twice_low) / 2;
    T x = p.at - low, slope = p.slope;
    if (x < 0) {
        x = -x;
        slope = -slope;
    }
    const T extra = std::fmod(x, span);
    const bool even = std::fmod(std::floor(x / span), T(2)) == 0;
    return even ? Placed<T>{extra + low, slope} : Placed<T>{span - extra + low, -slope};
}

template <class T>
Placed<T> pad(Placed<T> p, int64_t size, const Settings& s) {
    if (s.padding == Padding::Border) return clip(p, size);
    if (s.padding == Padding::Reflection) {
        p = s.align_corners ? reflect(p, 0, 2 * (size - 1)) : reflect(p, -1, 2 * size - 1);
        return clip(p, size);
    }
    return p;
}

// Up to four taps of one axis: positions (-1: outside), weights, and derivatives of the weights by the grid value.
template <class T>
struct AxisTaps {
    int count = 0;
    std::array<int64_t, 4> index;
    std::array<T, 4> weight, slope;
};

template <class T>
void cubic_weights(T x, std::array<T, 4>& w, std::array<T, 4>& dw) {
    const T a = T(-0.75), y = 1 - x;
    auto near = [&](T t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
    auto far = [&](T t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
    auto dnear = [&](T t) { return (3 * (a + 2) * t - 2 * (a + 3)) * t; };
    auto dfar = [&](T t) { return (3 * a * t - 10 * a) * t + 8 * a; };
    w = {far(x + 1), near(x), near(y), far(y + 1)};
    dw = {dfar(x + 1), dnear(x), -dnear(y), -dfar(y + 1)};
}

template <class T>
AxisTaps<T> axis_taps(T g, int64_t size, const Settings& s) {
    AxisTaps<T> t;
    const T step = static_cast<T>(s.align_corners ? size - 1 : size) / 2;
    const T raw = unnormalise(g, size, s.align_corners);
    auto inside = [&](T at) { return at >= 0 && at < static_cast<T>(size) ? static_cast<int64_t>(at) : int64_t{-1}; };
    if (s.mode == Mode::Cubic) {  // each tap is padded by itself
        const T base = std::floor(raw);
        t.count = 4;
        cubic_weights(raw - base, t.weight, t.slope);
        for (int k = 0; k < 4; k++) {
            const Placed<T> p = pad(Placed<T>{base + static_cast<T>(k - 1), T(1)}, size, s);
            t.index[static_cast<size_t>(k)] = inside(p.at);
            t.slope[static_cast<size_t>(k)] *= step;
        }
        return t;
    }
    const Placed<T> p = pad(Placed<T>{raw, step}, size, s);
    if (s.mode == Mode::Nearest) {
        t.count = 1;
        t.index[0] = inside(std::nearbyint(p.at));
        t.weight[0] = 1;
        t.slope[0] = 0;
        return t;
    }
    const T base = std::floor(p.at), x = p.at - base;
    t.count = 2;
    t.index = {inside(base), inside(base + 1), -1, -1};
    t.weight = {1 - x, x, 0, 0};
    t.slope = {-p.slope, p.slope, 0, 0};
    return t;
}

struct Problem {
    int64_t batch, channels, spatial;
    std::array<int64_t, 3> in{1, 1, 1};
    int64_t in_size, out_size;
    Settings settings;
};

Settings read_settings(const Call& c, size_t at) {
    for (size_t i = at; i < at + 2; i++)
        MASHAL_CHECK_AS(Value, c.i64(i) >= 0 && c.i64(i) <= 2, "grid_sampler",
                        "interpolation_mode and padding_mode must be 0, 1 or 2, got ", c.i64(i), ".");
    return {static_cast<Mode>(c.i64(at)), static_cast<Padding>(c.i64(at + 1)), c.flag(at + 2)};
}

Problem make_problem(const Tensor& input, const Tensor& grid, Settings s) {
    Problem p{input.size(0), input.size(1), input.dim() - 2, {1, 1, 1}, 1, 1, s};
    for (int64_t d = 0; d < p.spatial; d++) {
        p.in[static_cast<size_t>(3 - p.spatial + d)] = input.size(2 + d);
        p.in_size *= input.size(2 + d);
        p.out_size *= grid.size(1 + d);
    }
    return p;
}

// Taps of one grid point; the grid lists coordinates from the last axis to the first.
template <class T>
void point_taps(const Problem& p, const T* point, AxisTaps<T> axes[3]) {
    for (size_t d = 0; d < 3; d++) {
        const auto own = static_cast<int64_t>(d) - (3 - p.spatial);
        if (own >= 0) {
            axes[d] = axis_taps(point[p.spatial - 1 - own], p.in[d], p.settings);
        } else {
            axes[d].count = 1;
            axes[d].index[0] = 0;
            axes[d].weight[0] = 1;
            axes[d].slope[0] = 0;
        }
    }
}

// Calls f(offset in the plane, i, j, k) for the taps inside the input.
template <class T, class F>
void for_taps(const Problem& p, const AxisTaps<T> axes[3], F&& f) {
    for (size_t i = 0; i < static_cast<size_t>(axes[0].count); i++) {
        if (axes[0].index[i] < 0) continue;
        for (size_t j = 0; j < static_cast<size_t>(axes[1].count); j++) {
            if (axes[1].index[j] < 0) continue;
            for (size_t k = 0; k < static_cast<size_t>(axes[2].count); k++)
                if (axes[2].index[k] >= 0)
                    f((axes[0].index[i] * p.in[1] + axes[1].index[j]) * p.in[2] + axes[2].index[k], i, j, k);
        }
    }
}

void check(std::string_view op, const Tensor& input, const Tensor& grid, const Settings& s) {
    MASHAL_CHECK(input.dim() == 4 || input.dim() == 5, op, "input must be 4-D or 5-D, got input ", text(input), ".");
    MASHAL_CHECK(grid.dim() == input.dim() && grid.sizes().back() == input.dim() - 2 && grid.size(0) == input.size(0),
                 op, "grid must have input's number of dimensions and batch size, and ", input.dim() - 2,
                 " coordinates in its last dimension, got input ", text(input), " and grid ", text(grid), ".");
    MASHAL_CHECK(input.dtype() == grid.dtype(), op, "input and grid must have the same dtype, got input ", text(input),
                 " and grid ", text(grid), ".");
    for (int64_t d = 2; d < input.dim(); d++)
        MASHAL_CHECK(input.size(d) > 0, op, "spatial dimensions of input must not be empty, got input ", text(input),
                     ".");
    MASHAL_CHECK(!(s.mode == Mode::Cubic && input.dim() == 5), op,
                 "bicubic interpolation only supports 4-D input, got input ", text(input), ".");
}

IntVec sampled_sizes(const Tensor& input, const Tensor& grid) {
    IntVec sizes{input.size(0), input.size(1)};
    for (int64_t d = 1; d + 1 < grid.dim(); d++) sizes.push_back(grid.size(d));
    return sizes;
}

void grid_shape(Call& c) {
    const Tensor input = c.tensor(0), grid = c.tensor(1);
    check("grid_sampler", input, grid, read_settings(c, 2));
    c.result(sampled_sizes(input, grid), input.dtype(), input.device());
}

Tensor prepared(const Tensor& t) { return contiguous(to_dtype(t, compute_dtype(t.dtype()))); }

void grid_kernel(Call& c) {
    if (c.out[0].numel() == 0) return;
    const Tensor input = prepared(c.tensor(0)), grid = prepared(c.tensor(1));
    const Tensor out = input.dtype() == c.out[0].dtype() ? c.out[0] : empty(c.out[0].sizes(), input.dtype());
    const Problem p = make_problem(input, grid, read_settings(c, 2));
    visit_floating("grid_sampler", input.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T *x = input.data<T>(), *g = grid.data<T>();
        T* y = out.data<T>();
        AllowThreads threads(out.numel() > 4096);
        parallel_for(0, p.batch * p.out_size, std::max<int64_t>(1, 2048 / p.channels), [&](int64_t begin, int64_t end) {
            AxisTaps<T> axes[3];
            for (int64_t i = begin; i < end; i++) {
                const int64_t n = i / p.out_size, o = i % p.out_size;
                point_taps(p, g + i * p.spatial, axes);
                for (int64_t ch = 0; ch < p.channels; ch++) {
                    const T* plane = x + (n * p.channels + ch) * p.in_size;
                    T sum = 0;
                    for_taps(p, axes, [&](int64_t at, size_t a, size_t b, size_t d) {
                        sum += plane[at] * (axes[0].weight[a] * axes[1].weight[b] * axes[2].weight[d]);
                    });
                    y[(n * p.channels + ch) * p.out_size + o] = sum;
                }
            }
        });
    });
    if (!out.is_same(c.out[0])) copy_into(c.out[0], out);
}

// (grad, input, grid, modes) -> (grad_input, grad_grid)
void backward_shape(Call& c) {
    const Tensor grad = c.tensor(0), input = c.tensor(1), grid = c.tensor(2);
    check("grid_sampler", input, grid, read_settings(c, 3));
    check_shape("grid_sampler", "grad", grad, sampled_sizes(input, grid));
    check_dtype("grid_sampler", "grad", grad, input.dtype());
    c.result(input.sizes(), input.dtype(), input.device());
    c.result(grid.sizes(), grid.dtype(), grid.device());
}

void backward_kernel(Call& c) {
    const Tensor grad = prepared(c.tensor(0)), input = prepared(c.tensor(1)), grid = prepared(c.tensor(2));
    const bool direct = input.dtype() == c.out[0].dtype();
    const Tensor gx = direct ? c.out[0] : empty(c.out[0].sizes(), input.dtype());
    const Tensor gg = direct ? c.out[1] : empty(c.out[1].sizes(), input.dtype());
    fill(gx, Scalar::of(int64_t{0}));
    fill(gg, Scalar::of(int64_t{0}));
    if (grad.numel() > 0) {
        const Problem p = make_problem(input, grid, read_settings(c, 3));
        visit_floating("grid_sampler", input.dtype(), [&](auto zero) {
            using T = decltype(zero);
            const T *gy = grad.data<T>(), *x = input.data<T>(), *g = grid.data<T>();
            T *to_x = gx.data<T>(), *to_g = gg.data<T>();
            AllowThreads threads(grad.numel() > 4096);
            // Grid points may meet in one input element, so an image belongs to one thread.
            parallel_for(0, p.batch, 1, [&](int64_t begin, int64_t end) {
                AxisTaps<T> axes[3];
                for (int64_t i = begin * p.out_size; i < end * p.out_size; i++) {
                    const int64_t n = i / p.out_size, o = i % p.out_size;
                    point_taps(p, g + i * p.spatial, axes);
                    T slope[3] = {0, 0, 0};
                    for (int64_t ch = 0; ch < p.channels; ch++) {
                        const int64_t plane = n * p.channels + ch;
                        const T v = gy[plane * p.out_size + o];
                        for_taps(p, axes, [&](int64_t at, size_t a, size_t b, size_t d) {
                            const T wa = axes[0].weight[a], wb = axes[1].weight[b], wd = axes[2].weight[d];
                            const T value = x[plane * p.in_size + at] * v;
                            to_x[plane * p.in_size + at] += v * (wa * wb * wd);
                            slope[0] += value * (axes[0].slope[a] * wb * wd);
                            slope[1] += value * (wa * axes[1].slope[b] * wd);
                            slope[2] += value * (wa * wb * axes[2].slope[d]);
                        });
                    }
                    for (int64_t d = 0; d < p.spatial; d++)
                        to_g[i * p.spatial + p.spatial - 1 - d] = slope[3 - p.spatial + d];
                }
            });
        });
    }
    if (!direct) {
        copy_into(c.out[0], gx);
        copy_into(c.out[1], gg);
    }
}

const OpRegistration r_grid{"grid_sampler", {.shape = grid_shape, .kernel = grid_kernel}};
const OpRegistration r_backward{"_grid_sampler_backward", {.shape = backward_shape, .kernel = backward_kernel}};

}  // namespace
}  // namespace mashal
