#include "cpu/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/blocking.h"
#include "core/parallel.h"
#include "core/vector_target.h"
#include "cpu/copy.h"

namespace mashal {

// ---- tables ----
bool AxisTable::is_selection() const {
    if (static_cast<int64_t>(index.size()) != out) return false;
    for (int64_t o = 0; o < out; o++)
        if (start[static_cast<size_t>(o)] != o || weight[static_cast<size_t>(o)] != 1.0) return false;
    return true;
}

bool AxisTable::is_identity() const {
    if (in != out || !is_selection()) return false;
    for (int64_t o = 0; o < out; o++)
        if (index[static_cast<size_t>(o)] != o) return false;
    return true;
}

int64_t AxisTable::uniform_taps() const {
    const int64_t taps = out > 0 ? start[1] : 0;
    for (int64_t o = 0; o < out; o++)
        if (start[static_cast<size_t>(o) + 1] != (o + 1) * taps) return 0;
    return taps;
}

AxisTable AxisTable::transposed() const {
    AxisTable t;
    t.in = out;
    t.out = in;
    t.start.assign(static_cast<size_t>(in) + 1, 0);
    for (int64_t i : index) t.start[static_cast<size_t>(i) + 1]++;
    for (size_t i = 0; i < static_cast<size_t>(in); i++) t.start[i + 1] += t.start[i];
    t.index.resize(index.size());
    t.weight.resize(weight.size());
    std::vector<int64_t> next(t.start.begin(), t.start.end() - 1);
    for (int64_t o = 0; o < out; o++)
        for (int64_t k = start[static_cast<size_t>(o)]; k < start[static_cast<size_t>(o) + 1]; k++) {
            const auto to = static_cast<size_t>(next[static_cast<size_t>(index[static_cast<size_t>(k)])]++);
            t.index[to] = o;
            t.weight[to] = weight[static_cast<size_t>(k)];
        }
    return t;
}

namespace {

// A position as an index; a given scale may lead anywhere, NaN included.
template <class Real>
int64_t near_index(Real at, int64_t in) {
    if (!(at > Real(-8))) return at <= Real(-8) ? -8 : 0;
    return at < static_cast<Real>(in) ? static_cast<int64_t>(std::floor(at)) : in;
}

template <class Real>
Real pixel_scale(int64_t in, int64_t out, bool align_corners, double scale) {
    if (align_corners) return out > 1 ? static_cast<Real>(in - 1) / static_cast<Real>(out - 1) : Real(0);
    return scale > 0 ? static_cast<Real>(1.0 / scale) : static_cast<Real>(in) / static_cast<Real>(out);
}

// Keys' cubic convolution kernel (R. Keys, 1981) at distance x >= 0.
template <class Real>
Real cubic_kernel(Real x, Real a) {
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return 0;
}

// Half the width of an antialiasing filter, and its value at distance x >= 0.
template <class Real>
Real filter_reach(Interpolation mode) {
    return mode == Interpolation::LinearAntialias ? Real(1) : mode == Interpolation::CubicAntialias ? Real(2) : Real(3);
}
template <class Real>
Real filter_value(Interpolation mode, Real x) {
    if (mode == Interpolation::LinearAntialias) return std::max(Real(0), 1 - x);
    if (mode == Interpolation::CubicAntialias) return cubic_kernel(x, Real(-0.5));
    if (x >= 3) return 0;
    if (x == 0) return 1;
    const Real t = Real(3.14159265358979323846) * x;  // Lanczos: sinc(x) sinc(x / 3)
    return std::sin(t) / t * (std::sin(t / 3) / (t / 3));
}

// The filter is as wide as the step between outputs when shrinking, and of its own width when growing.
template <class Real>
void antialias_taps(AxisTable& t, Interpolation mode, bool align_corners, double given_scale) {
    const Real scale = pixel_scale<Real>(t.in, t.out, align_corners, given_scale);
    const Real reach = filter_reach<Real>(mode) * (scale >= 1 ? scale : Real(1));
    const Real inverse = scale >= 1 ? 1 / scale : Real(1);
    std::vector<Real> weights;
    for (int64_t o = 0; o < t.out; o++) {
        const Real centre = scale * (static_cast<Real>(o) + Real(0.5));
        const int64_t first = std::max<int64_t>(near_index(centre - reach + Real(0.5), t.in), 0);
        const int64_t last = std::min<int64_t>(near_index(centre + reach + Real(0.5), t.in), t.in);
        weights.clear();
        Real total = 0;
        for (int64_t i = first; i < last; i++) {
            weights.push_back(filter_value(mode, std::abs((static_cast<Real>(i) - centre + Real(0.5)) * inverse)));
            total += weights.back();
        }
        for (int64_t i = first; i < last; i++)
            t.add_tap(i, total != 0 ? weights[static_cast<size_t>(i - first)] / total : Real(0));
        t.end_output();
    }
}

template <class Real>
AxisTable make_interpolation(Interpolation mode, int64_t in, int64_t out, bool align_corners, double scale) {
    AxisTable t;
    t.in = in;
    t.out = out;
    if (mode >= Interpolation::LinearAntialias) {
        antialias_taps<Real>(t, mode, align_corners, scale);
        return t;
    }
    if (mode == Interpolation::Nearest || mode == Interpolation::NearestExact) {
        const float step =
            scale > 0 ? static_cast<float>(1.0 / scale) : static_cast<float>(in) / static_cast<float>(out);
        const float shift = mode == Interpolation::NearestExact ? 0.5f : 0.0f;
        for (int64_t o = 0; o < out; o++) {
            const int64_t i = near_index((static_cast<float>(o) + shift) * step, in);
            t.add_tap(in == out && mode == Interpolation::Nearest ? o : std::clamp<int64_t>(i, 0, in - 1), 1.0);
            t.end_output();
        }
        return t;
    }
    const Real step = pixel_scale<Real>(in, out, align_corners, scale);
    const bool cubic = mode == Interpolation::Cubic;
    for (int64_t o = 0; o < out; o++) {
        Real at = align_corners ? step * static_cast<Real>(o) : step * (static_cast<Real>(o) + Real(0.5)) - Real(0.5);
        if (cubic) {
            const Real base = std::floor(at), x = at - base;
            const int64_t i = near_index(base, in);
            const Real a = Real(-0.75);
            const Real w[4] = {cubic_kernel(x + 1, a), cubic_kernel(x, a), cubic_kernel(1 - x, a),
                               cubic_kernel(2 - x, a)};
            for (int64_t k = 0; k < 4; k++) t.add_tap(std::clamp<int64_t>(i + k - 1, 0, in - 1), w[k]);
        } else if (in == out) {
            t.add_tap(o, 1.0);
        } else {
            at = at > 0 ? at : Real(0);
            const int64_t i = std::min(near_index(at, in), in - 1), j = std::min(i + 1, in - 1);
            const Real w = std::min(std::max(at - static_cast<Real>(i), Real(0)), Real(1));
            t.add_tap(i, Real(1) - w);
            t.add_tap(j, w);
        }
        t.end_output();
    }
    return t;
}

}  // namespace

AxisTable interpolation_table(Interpolation mode, int64_t in, int64_t out, bool align_corners, double scale,
                              bool in_double) {
    return in_double ? make_interpolation<double>(mode, in, out, align_corners, scale)
                     : make_interpolation<float>(mode, in, out, align_corners, scale);
}

AxisTable adaptive_average_table(int64_t in, int64_t out) {
    AxisTable t;
    t.in = in;
    t.out = out;
    for (int64_t o = 0; o < out; o++) {
        const int64_t first = o * in / out, last = ((o + 1) * in + out - 1) / out;
        for (int64_t i = first; i < last; i++) t.add_tap(i, 1.0 / static_cast<double>(last - first));
        t.end_output();
    }
    return t;
}

AxisTable average_table(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding, bool include_padding,
                        bool divide) {
    AxisTable t;
    t.in = in;
    t.out = out;
    for (int64_t o = 0; o < out; o++) {
        const int64_t begin = o * stride - padding, end = std::min(begin + kernel, in + padding);
        const int64_t first = std::max<int64_t>(begin, 0), last = std::min(end, in);
        const int64_t size = include_padding ? end - begin : last - first;
        for (int64_t i = first; i < last; i++) t.add_tap(i, divide ? 1.0 / static_cast<double>(size) : 1.0);
        t.end_output();
    }
    return t;
}

AxisTable padding_table(PadMode mode, int64_t in, int64_t before, int64_t after) {
    AxisTable t;
    t.in = in;
    t.out = in + before + after;
    for (int64_t o = 0; o < t.out; o++) {
        int64_t i = o - before;
        switch (mode) {
            case PadMode::Reflect: i = i < 0 ? -i : i >= in ? 2 * (in - 1) - i : i; break;
            case PadMode::Replicate: i = std::clamp<int64_t>(i, 0, in - 1); break;
            case PadMode::Circular: {  // what cropping leaves is what repeats
                const int64_t low = std::max<int64_t>(-before, 0), high = in - std::max<int64_t>(-after, 0);
                i = i < low ? i + (high - low) : i >= high ? i - (high - low) : i;
                break;
            }
        }
        t.add_tap(i, 1.0);
        t.end_output();
    }
    return t;
}

// ---- passes: src (a, in, b) -> dst (a, out, b) ----
namespace {

template <class T>
struct Taps {
    explicit Taps(const AxisTable& table)
        : axis(table), weight(table.weight.begin(), table.weight.end()), uniform(table.uniform_taps()) {}
    const AxisTable& axis;
    std::vector<T> weight;
    int64_t uniform;
};

template <class T>
struct AddRows2 {
    MASHAL_INLINE_LOOP void operator()(int64_t n, T* d, const T* x, const T* y, T wx, T wy) const {
        for (int64_t i = 0; i < n; i++) d[i] = wx * x[i] + wy * y[i];
    }
};
template <class T>
struct AddRow {
    MASHAL_INLINE_LOOP void operator()(int64_t n, T* d, const T* x, T w, bool fresh) const {
        if (fresh)
            for (int64_t i = 0; i < n; i++) d[i] = w * x[i];
        else
            for (int64_t i = 0; i < n; i++) d[i] += w * x[i];
    }
};
template <class T>
struct GatherRow2 {
    MASHAL_INLINE_LOOP void operator()(int64_t n, T* d, const T* s, const int64_t* index, const T* w) const {
        for (int64_t o = 0; o < n; o++) d[o] = w[2 * o] * s[index[2 * o]] + w[2 * o + 1] * s[index[2 * o + 1]];
    }
};

template <class T>
void gather_row(const Taps<T>& taps, const T* s, T* d) {
    const AxisTable& t = taps.axis;
    if (taps.uniform == 2) return run_vectorised(GatherRow2<T>{}, t.out, d, s, t.index.data(), taps.weight.data());
    const int64_t* start = t.start.data();
    for (int64_t o = 0; o < t.out; o++) {
        T sum = 0;
        for (int64_t k = start[o]; k < start[o + 1]; k++)
            sum += taps.weight[static_cast<size_t>(k)] * s[t.index[static_cast<size_t>(k)]];
        d[o] = sum;
    }
}

template <class T>
void weigh_pass(const Taps<T>& taps, int64_t a, int64_t b, const T* src, T* dst) {
    const AxisTable& t = taps.axis;
    const auto cost = static_cast<int64_t>(t.index.size()) / std::max<int64_t>(1, t.out) + 1;
    if (b == 1) {
        parallel_for(0, a, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, t.out * cost)),
                     [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; i++) gather_row(taps, src + i * t.in, dst + i * t.out);
                     });
        return;
    }
    parallel_for(0, a * t.out, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, b * cost)),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t r = begin; r < end; r++) {
                         const T* s = src + r / t.out * t.in * b;
                         const auto k0 = static_cast<size_t>(t.start[static_cast<size_t>(r % t.out)]);
                         const auto k1 = static_cast<size_t>(t.start[static_cast<size_t>(r % t.out) + 1]);
                         T* d = dst + r * b;
                         if (k1 - k0 == 2) {
                             run_vectorised(AddRows2<T>{}, b, d, s + t.index[k0] * b, s + t.index[k0 + 1] * b,
                                            taps.weight[k0], taps.weight[k0 + 1]);
                             continue;
                         }
                         if (k0 == k1) std::fill_n(d, b, T(0));
                         for (size_t k = k0; k < k1; k++)
                             run_vectorised(AddRow<T>{}, b, d, s + t.index[k] * b, taps.weight[k], k == k0);
                     }
                 });
}

template <class T>
void select_pass(const Taps<T>& taps, int64_t a, int64_t b, const T* src, T* dst) {
    const AxisTable& t = taps.axis;
    parallel_for(0, a, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, t.out * b)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const T* s = src + i * t.in * b;
            T* d = dst + i * t.out * b;
            if (b == 1) {
                for (int64_t o = 0; o < t.out; o++) d[o] = s[t.index[static_cast<size_t>(o)]];
                continue;
            }
            for (int64_t o = 0; o < t.out; o++)
                std::memcpy(d + o * b, s + t.index[static_cast<size_t>(o)] * b, static_cast<size_t>(b) * sizeof(T));
        }
    });
}

// Number of planes (each worked on by itself) and elements that lie together at every spatial position.
struct PlaneLayout {
    int64_t planes, inner;
};

bool is_channels_last(const Tensor& t, size_t spatial) {
    if (t.is_contiguous()) return false;
    return (spatial == 2 && t.dim() == 4 && is_contiguous_as(t, MemoryFormat::ChannelsLast)) ||
           (spatial == 3 && t.dim() == 5 && is_contiguous_as(t, MemoryFormat::ChannelsLast3d));
}

PlaneLayout plane_layout(const Tensor& t, size_t spatial) {
    if (is_channels_last(t, spatial)) return {t.size(0), t.size(1)};
    int64_t planes = 1;
    for (size_t d = 0; d + spatial < t.sizes().size(); d++) planes *= t.sizes()[d];
    return {planes, 1};
}

template <class T, class Pass>
void run_passes(PlaneLayout layout, const std::vector<AxisTable>& tables, const T* src, T* dst, Pass&& pass) {
    const size_t n = tables.size();
    std::vector<Taps<T>> taps;
    for (const auto& t : tables) taps.emplace_back(t);
    // The last axis is the slow one when nothing lies beside it: it goes where the data is smallest.
    std::vector<size_t> order;
    for (size_t d = 0; d < n; d++)
        if (tables[d].out < tables[d].in) order.push_back(d);
    for (size_t d = n; d-- > 0;)
        if (tables[d].out >= tables[d].in && !tables[d].is_identity()) order.push_back(d);
    if (order.empty()) order.push_back(0);
    int64_t in_size = layout.inner, out_size = layout.inner, largest = 0;
    std::vector<int64_t> sizes;
    for (const auto& t : tables) {
        in_size *= t.in;
        out_size *= t.out;
        sizes.push_back(t.in);
    }
    {
        int64_t size = in_size;
        for (size_t d : order) {
            size = size / tables[d].in * tables[d].out;
            largest = std::max(largest, size);
        }
    }
    auto run = [&](int64_t begin, int64_t end) {
        std::vector<T> even, odd;
        if (order.size() > 1) even.resize(static_cast<size_t>(largest));
        if (order.size() > 2) odd.resize(static_cast<size_t>(largest));
        for (int64_t p = begin; p < end; p++) {
            std::vector<int64_t> now = sizes;
            const T* from = src + p * in_size;
            for (size_t step = 0; step < order.size(); step++) {
                const size_t d = order[step];
                int64_t a = 1, b = layout.inner;
                for (size_t e = 0; e < d; e++) a *= now[e];
                for (size_t e = d + 1; e < n; e++) b *= now[e];
                T* to = step + 1 == order.size() ? dst + p * out_size : step % 2 == 0 ? even.data() : odd.data();
                pass(taps[d], a, b, from, to);
                now[d] = tables[d].out;
                from = to;
            }
        }
    };
    if (layout.planes >= num_threads())
        parallel_for(0, layout.planes, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, std::max(in_size, out_size))),
                     run);
    else
        run(0, layout.planes);
}

}  // namespace

IntVec following_strides(IntSpan sizes, const Tensor& like, size_t spatial) {
    return is_channels_last(like, spatial) ? channels_last_strides(sizes) : IntVec();
}

void resample(const Tensor& input, const std::vector<AxisTable>& tables, const Tensor& output) {
    if (output.numel() == 0) return;
    const size_t spatial = tables.size();
    const bool last = is_channels_last(input, spatial);
    Tensor x = last ? input : contiguous(input);
    const bool same_layout = last ? is_channels_last(output, spatial) || (output.is_contiguous() && output.size(1) == 1)
                                  : output.is_contiguous();
    const bool select = std::all_of(tables.begin(), tables.end(), [](const AxisTable& t) { return t.is_selection(); });
    const DType dtype = input.dtype();
    const DType work = select || is_complex(dtype) || dtype == DType::F64 ? dtype : DType::F32;
    if (work != dtype) x = to_dtype(x, work);
    Tensor y = output;
    if (!same_layout || work != dtype)
        y = empty_strided(output.sizes(),
                          last ? channels_last_strides(output.sizes()) : contiguous_strides(output.sizes()), work);
    PlaneLayout layout = plane_layout(x, spatial);
    const void* src = x.data();
    void* dst = y.data();
    {
        AllowThreads threads(y.numel() + x.numel() > kGrain);
        if (select) {
            visit_size(dtype, [&](auto zero) {
                using T = decltype(zero);
                run_passes(
                    layout, tables, static_cast<const T*>(src), static_cast<T*>(dst),
                    [](const auto& taps, int64_t a, int64_t b, const T* s, T* d) { select_pass(taps, a, b, s, d); });
            });
        } else {
            if (is_complex(dtype)) layout.inner *= 2;  // real weights act on both parts alike
            visit_floating("resample", real_dtype(work), [&](auto zero) {
                using T = decltype(zero);
                run_passes(
                    layout, tables, static_cast<const T*>(src), static_cast<T*>(dst),
                    [](const auto& taps, int64_t a, int64_t b, const T* s, T* d) { weigh_pass(taps, a, b, s, d); });
            });
            if (dtype == DType::U8) {
                float* p = static_cast<float*>(dst);
                for (int64_t i = 0, n = output.numel(); i < n; i++)
                    p[i] = std::nearbyint(std::clamp(p[i], 0.0f, 255.0f));
            }
        }
    }
    if (!y.is_same(output)) copy_into(output, y);
}

}  // namespace mashal
