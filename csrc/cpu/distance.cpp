// Distances between rows of two matrices, forward and backward.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "cpu/gemm.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

enum class Kind { Zero, One, Two, Inf, Any };

Kind kind_of(double p) {
    return p == 0 ? Kind::Zero : p == 1 ? Kind::One : p == 2 ? Kind::Two : std::isinf(p) ? Kind::Inf : Kind::Any;
}

template <class T, Kind kKind>
T distance(int64_t m, const T* a, const T* b, double p) {
    constexpr int kLanes = 8;
    T lane[kLanes] = {};
    for (int64_t i = 0; i < m; i += kLanes) {
        const int width = static_cast<int>(std::min<int64_t>(kLanes, m - i));
        for (int k = 0; k < width; k++) {
            const T d = std::abs(a[i + k] - b[i + k]);
            if constexpr (kKind == Kind::Zero)
                lane[k] += d != T(0) ? T(1) : T(0);
            else if constexpr (kKind == Kind::One)
                lane[k] += d;
            else if constexpr (kKind == Kind::Two)
                lane[k] += d * d;
            else if constexpr (kKind == Kind::Inf)
                lane[k] = d > lane[k] || d != d ? d : lane[k];
            else
                lane[k] += std::pow(d, static_cast<T>(p));
        }
    }
    T total = 0;
    for (T v : lane) {
        if constexpr (kKind == Kind::Inf)
            total = v > total || v != v ? v : total;
        else
            total += v;
    }
    if constexpr (kKind == Kind::Two) return std::sqrt(total);
    if constexpr (kKind == Kind::Any) return std::pow(total, static_cast<T>(1 / p));
    return total;
}

template <class F>
void visit_kind(double p, F&& f) {
    switch (kind_of(p)) {
        case Kind::Zero: return f(std::integral_constant<Kind, Kind::Zero>{});
        case Kind::One: return f(std::integral_constant<Kind, Kind::One>{});
        case Kind::Two: return f(std::integral_constant<Kind, Kind::Two>{});
        case Kind::Inf: return f(std::integral_constant<Kind, Kind::Inf>{});
        case Kind::Any: return f(std::integral_constant<Kind, Kind::Any>{});
    }
}

// |a - b|^2 = |a|^2 + |b|^2 - 2 a.b for all pairs at once.
template <class T>
void distances_by_product(int64_t p, int64_t r, int64_t m, const T* a, const T* b, T* out) {
    std::vector<T> na(static_cast<size_t>(p)), nb(static_cast<size_t>(r));
    auto norms = [m](int64_t n, const T* x, std::vector<T>& to) {
        for (int64_t i = 0; i < n; i++) {
            double s = 0;
            for (int64_t k = 0; k < m; k++) s += static_cast<double>(x[i * m + k]) * static_cast<double>(x[i * m + k]);
            to[static_cast<size_t>(i)] = static_cast<T>(s);
        }
    };
    norms(p, a, na);
    norms(r, b, nb);
    gemm(dtype_of<T>::value, p, r, m, Scalar::of(-2.0), {a, m, false}, {b, m, true}, Scalar::of(0.0), out, r);
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < r; j++) {
            const T square = out[i * r + j] + na[static_cast<size_t>(i)] + nb[static_cast<size_t>(j)];
            out[i * r + j] = square < T(0) ? T(0) : std::sqrt(square);  // NaN stays
        }
}

void check_rows(const Tensor& a, const Tensor& b) {
    MASHAL_CHECK(a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0) && a.size(2) == b.size(2), "cdist",
                 "x1 (B, P, M) and x2 (B, R, M) must agree in B and M, got x1 ", text(a), " and x2 ", text(b), ".");
    check_dtype("cdist", "x2", b, a.dtype());
}

// _cdist(x1 (B, P, M), x2 (B, R, M), p, by_product) -> (B, P, R)
void cdist_shape(Call& c) {
    const Tensor a = c.tensor(0), b = c.tensor(1);
    check_rows(a, b);
    const int64_t sizes[3] = {a.size(0), a.size(1), b.size(1)};
    c.result(sizes, a.dtype(), a.device());
}

template <class T>
void cdist(Call& c) {
    const Tensor a = contiguous(c.tensor(0)), b = contiguous(c.tensor(1));
    const int64_t batch = a.size(0), p = a.size(1), r = b.size(1), m = a.size(2);
    const double order = c.f64(2);
    const bool by_product = c.flag(3);
    const T *x = a.data<T>(), *y = b.data<T>();
    T* out = c.out[0].data<T>();
    AllowThreads unlocked(batch * p * r * m > kGrain);
    if (by_product && m > 0) {
        for (int64_t k = 0; k < batch; k++)
            distances_by_product(p, r, m, x + k * p * m, y + k * r * m, out + k * p * r);
        return;
    }
    visit_kind(order, [&](auto kind) {
        parallel_for(0, batch * p, std::max<int64_t>(kGrain / std::max<int64_t>(r * m, 1), 1),
                     [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; i++)
                             for (int64_t j = 0; j < r; j++)
                                 out[i * r + j] =
                                     distance<T, decltype(kind)::value>(m, x + i * m, y + (i / p * r + j) * m, order);
                     });
    });
}

// _cdist_backward(grad (B, P, R), x1, x2, p, distances) -> gradient of x1
void cdist_backward_shape(Call& c) {
    const Tensor grad = c.tensor(0), a = c.tensor(1), b = c.tensor(2), distances = c.tensor(4);
    check_rows(a, b);
    const int64_t sizes[3] = {a.size(0), a.size(1), b.size(1)};
    check_shape("cdist", "grad", grad, sizes);
    check_dtype("cdist", "grad", grad, a.dtype());
    check_shape("cdist", "distances", distances, sizes);
    check_dtype("cdist", "distances", distances, a.dtype());
    c.result(a.sizes(), a.dtype(), a.device());
}

template <class T, Kind kKind>
T slope(T d, T dist, T g, double p) {
    const T sign = d > T(0) ? T(1) : d < T(0) ? T(-1) : T(0), size = std::abs(d);
    if constexpr (kKind == Kind::Zero) return T(0);
    if constexpr (kKind == Kind::One) return sign * g;
    if constexpr (kKind == Kind::Inf) return size == dist ? sign * g : T(0);
    if (dist == T(0)) return T(0);
    if constexpr (kKind == Kind::Two) return d * g / dist;
    if (size == T(0)) return T(0);
    return sign * std::pow(size / dist, static_cast<T>(p - 1)) * g;
}

template <class T>
void cdist_backward(Call& c) {
    const Tensor grad = contiguous(c.tensor(0)), a = contiguous(c.tensor(1)), b = contiguous(c.tensor(2));
    const Tensor distances = contiguous(c.tensor(4));
    const int64_t batch = a.size(0), p = a.size(1), r = b.size(1), m = a.size(2);
    const double order = c.f64(3);
    const T *g = grad.data<T>(), *x = a.data<T>(), *y = b.data<T>(), *dist = distances.data<T>();
    T* out = c.out[0].data<T>();
    AllowThreads unlocked(batch * p * r * m > kGrain);
    visit_kind(order, [&](auto kind) {
        parallel_for(
            0, batch * p, std::max<int64_t>(kGrain / std::max<int64_t>(r * m, 1), 1), [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; i++) {
                    T* to = out + i * m;
                    std::fill(to, to + m, T(0));
                    for (int64_t j = 0; j < r; j++) {
                        const T *u = x + i * m, *v = y + (i / p * r + j) * m;
                        for (int64_t k = 0; k < m; k++)
                            to[k] += slope<T, decltype(kind)::value>(u[k] - v[k], dist[i * r + j], g[i * r + j], order);
                    }
                }
            });
    });
}

const OpRegistration registrations[] = {
    {"_cdist",
     {.shape = cdist_shape,
      .kernel =
          [](Call& c) { visit_floating("cdist", c.tensor(0).dtype(), [&](auto tag) { cdist<decltype(tag)>(c); }); }}},
    {"_cdist_backward",
     {.shape = cdist_backward_shape,
      .kernel =
          [](Call& c) {
              visit_floating("cdist", c.tensor(1).dtype(), [&](auto tag) { cdist_backward<decltype(tag)>(c); });
          }}},
};

}  // namespace
}  // namespace mashal
