// F(4x4, 3x3) after A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks" (2016): points 0, 1, -1,
// 2, -2 and infinity.
#include "cpu/winograd_loops.h"

#include <algorithm>
#include <utility>

#include "cpu/isa/lanes.h"

namespace mashal::MASHAL_ISA {
namespace {

// As many accumulators as fit the registers beside a row of b and an element of a.
constexpr int kRows = 6, kVectors = kLanes == 16 ? 4 : 2;
constexpr int64_t kPanel = kVectors * kLanes;

#define MASHAL_FLAT [[gnu::always_inline]] inline
#define MASHAL_ALWAYS __attribute__((always_inline))

// ---- the points in one direction; the transposes serve the gradients ----
// The points 0, a, -a, b, -b and infinity. Lavin and Gray take a = 1 and b = 2; with these errors are four times
// smaller, close to those of the direct sum (found by trying pairs of short fractions on random data).
constexpr float kA = 2.0f / 3, kB = 3.0f / 2, kA2 = kA * kA, kB2 = kB * kB, kSum2 = kA2 + kB2;  // and a b = 1
constexpr float kOfA = 1 / (2 * kA2 * (kA2 - kB2)), kOfB = 1 / (2 * kB2 * (kB2 - kA2));

MASHAL_FLAT Lanes fma(float a, Lanes b, Lanes c) { return multiply_add(spread(a), b, c); }

// F(4x4, 3x3).
struct Four {
    static constexpr int kIn = 6, kOut = 4, kKernel = 3;
    MASHAL_FLAT static void input(const Lanes* d, Lanes* v) {
        const Lanes a = fma(-kB2, d[2], d[4]), b = kA * fma(-kB2, d[1], d[3]);
        const Lanes c = fma(-kA2, d[2], d[4]), e = kB * fma(-kA2, d[1], d[3]);
        v[0] = fma(-kSum2, d[2], d[0] + d[4]);
        v[1] = a + b;
        v[2] = a - b;
        v[3] = c + e;
        v[4] = c - e;
        v[5] = fma(-kSum2, d[3], d[1] + d[5]);
    }
    MASHAL_FLAT static void output(const Lanes* m, Lanes* y) {
        const Lanes a = m[1] + m[2], b = kA * (m[1] - m[2]), c = m[3] + m[4], e = kB * (m[3] - m[4]);
        y[0] = m[0] + a + c;
        y[1] = b + e;
        y[2] = fma(kA2, a, kB2 * c);
        y[3] = fma(kA2, b, fma(kB2, e, m[5]));
    }
    MASHAL_FLAT static void output_transposed(const Lanes* y, Lanes* m) {
        const Lanes a = fma(kA2, y[2], y[0]), b = kA * fma(kA2, y[3], y[1]);
        const Lanes c = fma(kB2, y[2], y[0]), e = kB * fma(kB2, y[3], y[1]);
        m[0] = y[0];
        m[1] = a + b;
        m[2] = a - b;
        m[3] = c + e;
        m[4] = c - e;
        m[5] = y[3];
    }
    MASHAL_FLAT static void kernel(const Lanes* g, Lanes* u) {
        const Lanes a = kOfA * fma(kA2, g[2], g[0]), b = (kOfA * kA) * g[1];
        const Lanes c = kOfB * fma(kB2, g[2], g[0]), e = (kOfB * kB) * g[1];
        u[0] = g[0];
        u[1] = a + b;
        u[2] = a - b;
        u[3] = c + e;
        u[4] = c - e;
        u[5] = g[2];
    }
    MASHAL_FLAT static void kernel_transposed(const Lanes* u, Lanes* g) {
        const Lanes a = kOfA * (u[1] + u[2]), b = (kOfA * kA) * (u[1] - u[2]);
        const Lanes c = kOfB * (u[3] + u[4]), e = (kOfB * kB) * (u[3] - u[4]);
        g[0] = u[0] + a + c;
        g[1] = b + e;
        g[2] = fma(kA2, a, fma(kB2, c, u[5]));
    }
};

// F(2x2, 3x3): 0, 1, -1 and infinity.
struct Two {
    static constexpr int kIn = 4, kOut = 2, kKernel = 3;
    MASHAL_FLAT static void input(const Lanes* d, Lanes* v) {
        v[0] = d[0] - d[2];
        v[1] = d[1] + d[2];
        v[2] = d[2] - d[1];
        v[3] = d[1] - d[3];
    }
    MASHAL_FLAT static void output(const Lanes* m, Lanes* y) {
        y[0] = m[0] + m[1] + m[2];
        y[1] = m[1] - m[2] - m[3];
    }
    MASHAL_FLAT static void output_transposed(const Lanes* y, Lanes* m) {
        m[0] = y[0];
        m[1] = y[0] + y[1];
        m[2] = y[0] - y[1];
        m[3] = -y[1];
    }
    MASHAL_FLAT static void kernel(const Lanes* g, Lanes* u) {
        const Lanes a = (g[0] + g[2]) * 0.5f, b = g[1] * 0.5f;
        u[0] = g[0];
        u[1] = a + b;
        u[2] = a - b;
        u[3] = g[2];
    }
    MASHAL_FLAT static void kernel_transposed(const Lanes* u, Lanes* g) {
        const Lanes a = (u[1] + u[2]) * 0.5f;
        g[0] = u[0] + a;
        g[1] = (u[1] - u[2]) * 0.5f;
        g[2] = a + u[3];
    }
};

// F(2x2, 5x5), at the points of F(4x4, 3x3).
struct TwoOfFive {
    static constexpr int kIn = 6, kOut = 2, kKernel = 5;
    MASHAL_FLAT static void input(const Lanes* d, Lanes* v) { Four::input(d, v); }
    MASHAL_FLAT static void output(const Lanes* m, Lanes* y) {
        y[0] = m[0] + m[1] + m[2] + m[3] + m[4];
        y[1] = fma(kA, m[1] - m[2], fma(kB, m[3] - m[4], m[5]));
    }
    MASHAL_FLAT static void output_transposed(const Lanes* y, Lanes* m) {
        m[0] = y[0];
        m[1] = fma(kA, y[1], y[0]);
        m[2] = fma(-kA, y[1], y[0]);
        m[3] = fma(kB, y[1], y[0]);
        m[4] = fma(-kB, y[1], y[0]);
        m[5] = y[1];
    }
    MASHAL_FLAT static void kernel(const Lanes* g, Lanes* u) {
        const Lanes a = kOfA * fma(kA2, fma(kA2, g[4], g[2]), g[0]), b = (kOfA * kA) * fma(kA2, g[3], g[1]);
        const Lanes c = kOfB * fma(kB2, fma(kB2, g[4], g[2]), g[0]), e = (kOfB * kB) * fma(kB2, g[3], g[1]);
        u[0] = g[0];
        u[1] = a + b;
        u[2] = a - b;
        u[3] = c + e;
        u[4] = c - e;
        u[5] = g[4];
    }
    MASHAL_FLAT static void kernel_transposed(const Lanes* u, Lanes* g) {
        const Lanes a = kOfA * (u[1] + u[2]), b = (kOfA * kA) * (u[1] - u[2]);
        const Lanes c = kOfB * (u[3] + u[4]), e = (kOfB * kB) * (u[3] - u[4]);
        g[0] = u[0] + a + c;
        g[1] = b + e;
        g[2] = fma(kA2, a, kB2 * c);
        g[3] = fma(kA2, b, kB2 * e);
        g[4] = fma(kA2 * kA2, a, fma(kB2 * kB2, c, u[5]));
    }
};

// Applies `points` to the columns and then to the rows of an In x In square; `get(i)` loads, `put(i, value)` stores.
template <int In, int Out, class Points, class Get, class Put>
MASHAL_FLAT void both_ways(Points&& points, Get&& get, Put&& put) {
    Lanes half[Out][In];
#pragma GCC unroll 6
    for (int j = 0; j < In; j++) {
        Lanes column[In], to[Out];
#pragma GCC unroll 6
        for (int i = 0; i < In; i++) column[i] = get(i * In + j);
        points(column, to);
#pragma GCC unroll 6
        for (int i = 0; i < Out; i++) half[i][j] = to[i];
    }
#pragma GCC unroll 6
    for (int i = 0; i < Out; i++) {
        Lanes to[Out];
        points(half[i], to);
#pragma GCC unroll 6
        for (int j = 0; j < Out; j++) put(i * Out + j, to[j]);
    }
}

template <class F>
struct Transforms {
    static constexpr int kIn = F::kIn, kOut = F::kOut, kKernel = F::kKernel, kTaps = kKernel * kKernel;

    static void kernels(const WinogradKernels& w, float* u, int64_t step) {
        // Steps between kernels along k and along c.
        const int64_t of_k = w.turned ? kTaps : w.channels * kTaps, of_c = w.turned ? w.k * kTaps : kTaps;
        const float* first = w.weight + w.k0 * of_k + w.c0 * of_c;
        for (int64_t c = 0; c < w.c1 - w.c0; c++)
            for (int64_t k = 0; k < w.k1 - w.k0; k += kLanes, u += kLanes) {
                alignas(64) float taps[kTaps][kLanes];
                const float* from = first + k * of_k + c * of_c;
                for (int l = 0; l < kLanes; l++, from += of_k)
#pragma GCC unroll 25
                    for (int i = 0; i < kTaps; i++) taps[w.turned ? kTaps - 1 - i : i][l] = from[i];
                both_ways<kKernel, kIn>([](const Lanes* g, Lanes* v) { F::kernel(g, v); },
                                        [&](int i) { return load(taps[i]); },
                                        [&](int i, Lanes v) { store(u + i * step, v); });
            }
    }

    static void kernels_gradient(const WinogradKernels& w, const float* u, int64_t step, float* gradient) {
        for (int64_t c = w.c0; c < w.c1; c++)
            for (int64_t k = w.k0; k < w.k1; k += kLanes, u += kLanes) {
                alignas(64) float taps[kTaps][kLanes];
                both_ways<kIn, kKernel>([](const Lanes* v, Lanes* g) { F::kernel_transposed(v, g); },
                                        [&](int i) { return load(u + i * step); },
                                        [&](int i, Lanes v) { store(taps[i], v); });
                for (int l = 0; l < kLanes; l++) {
                    float* to = gradient + ((k + l) * w.channels + c) * kTaps;
#pragma GCC unroll 25
                    for (int i = 0; i < kTaps; i++) to[i] = taps[i][l];
                }
            }
    }

    static void input(int64_t channels, const float* const* at, float* v, int64_t step) {
        for (int64_t c = 0; c < channels; c += kLanes)
            both_ways<kIn, kIn>([](const Lanes* d, Lanes* p) { F::input(d, p); },
                                [&](int i) { return load(at[i] + c); },
                                [&](int i, Lanes x) { store(v + i * step + c, x); });
    }

    static void output(int64_t channels, const float* m, int64_t step, const float* bias, float* const* at) {
        for (int64_t c = 0; c < channels; c += kLanes) {
            const Lanes b = bias != nullptr ? load(bias + c) : Lanes{};
            both_ways<kIn, kOut>([](const Lanes* p, Lanes* y) { F::output(p, y); },
                                 [&](int i) { return load(m + i * step + c); },
                                 [&](int i, Lanes y) { store(at[i] + c, y + b); });
        }
    }

    static void output_gradient(int64_t channels, const float* const* at, float* m, int64_t step) {
        for (int64_t c = 0; c < channels; c += kLanes)
            both_ways<kOut, kIn>([](const Lanes* y, Lanes* p) { F::output_transposed(y, p); },
                                 [&](int i) { return load(at[i] + c); },
                                 [&](int i, Lanes x) { store(m + i * step + c, x); });
    }
};

// ---- product ----
// f(0) ... f(N - 1) with constant arguments, so that small arrays become registers.
template <int N, class F>
MASHAL_FLAT void each(F&& f) {
    [&]<int... I>(std::integer_sequence<int, I...>)
        MASHAL_ALWAYS { (f(std::integral_constant<int, I>{}), ...); }(std::make_integer_sequence<int, N>{});
}

template <int R, int V>
void block(int64_t k, const float* a, int64_t a_row, int64_t a_step, const float* b, int64_t b_row, float* c,
           int64_t c_row, bool accumulate) {
    Lanes sum[R][V];
    if (accumulate)
        each<R>([&](auto r) MASHAL_ALWAYS {
            each<V>([&](auto v) MASHAL_ALWAYS { sum[r][v] = load(c + r * c_row + v * kLanes); });
        });
    else
        each<R>([&](auto r) MASHAL_ALWAYS { each<V>([&](auto v) MASHAL_ALWAYS { sum[r][v] = Lanes{}; }); });
    for (int64_t i = 0; i < k; i++, a += a_step, b += b_row) {
        Lanes row[V];
        each<V>([&](auto v) MASHAL_ALWAYS { row[v] = load(b + v * kLanes); });
        each<R>([&](auto r) MASHAL_ALWAYS {
            const Lanes x = spread(a[r * a_row]);
            each<V>([&](auto v) MASHAL_ALWAYS { sum[r][v] = multiply_add(x, row[v], sum[r][v]); });
        });
    }
    each<R>([&](auto r) MASHAL_ALWAYS {
        each<V>([&](auto v) MASHAL_ALWAYS { store(c + r * c_row + v * kLanes, sum[r][v]); });
    });
}

using Block = void (*)(int64_t, const float*, int64_t, int64_t, const float*, int64_t, float*, int64_t, bool);
template <int V>
Block block_of(int64_t rows) {
    static constexpr Block table[] = {block<1, V>, block<2, V>, block<3, V>, block<4, V>, block<5, V>, block<6, V>};
    return table[rows - 1];
}
Block block_of(int64_t rows, int64_t vectors) {
    switch (vectors) {
        case 1: return block_of<1>(rows);
        case 2: return block_of<2>(rows);
        default: break;
    }
    if constexpr (kVectors == 4) return vectors == 3 ? block_of<3>(rows) : block_of<4>(rows);
    return block_of<2>(rows);
}

void product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_step, const float* b,
             int64_t b_row, float* c, int64_t c_row, bool accumulate) {
    for (int64_t j = 0; j < n; j += kPanel)
        for (int64_t i = 0; i < m; i += kRows)
            block_of(std::min<int64_t>(kRows, m - i), std::min(kPanel, n - j) / kLanes)(
                k, a + i * a_row, a_row, a_step, b + j, b_row, c + i * c_row + j, c_row, accumulate);
}

template <class F>
WinogradLoops table() {
    using T = Transforms<F>;
    return {kLanes,    static_cast<int>(kPanel), T::kernels,          T::input,
            T::output, T::output_gradient,       T::kernels_gradient, product};
}

}  // namespace

WinogradLoops winograd_loops(int kernel, int out) {
    return kernel == 5 ? table<TwoOfFive>() : out == 4 ? table<Four>() : table<Two>();
}

}  // namespace mashal::MASHAL_ISA
