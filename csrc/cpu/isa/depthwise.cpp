#include "cpu/depthwise.h"

#include <cstring>

#include "cpu/isa/lanes.h"

namespace mashal::MASHAL_ISA {

namespace {
constexpr int kUnroll = 4;

// R rows of one vector each: independent sums hide the latency of the multiply-adds. Columns past `keep` are dropped.
template <int R>
[[gnu::always_inline]] inline void forward_block(const float* plane, int64_t row, int64_t n_taps, const int64_t* taps,
                                                 const float* weight, float start, float* y, int64_t cols,
                                                 int64_t keep) {
    Lanes acc[R];
    for (int r = 0; r < R; r++) acc[r] = spread(start);
    for (int64_t t = 0; t < n_taps; t++) {
        const Lanes w = spread(weight[t]);
        const float* p = plane + taps[t];
        for (int r = 0; r < R; r++) acc[r] = multiply_add(w, load(p + r * row), acc[r]);
    }
    for (int r = 0; r < R; r++) {
        if (keep == kLanes) {
            store(y + r * cols, acc[r]);
        } else {
            float last[kLanes];
            store(last, acc[r]);
            std::memcpy(y + r * cols, last, static_cast<size_t>(keep) * sizeof(float));
        }
    }
}

template <int R>
[[gnu::always_inline]] inline void forward_rows(int64_t cols, const float* plane, int64_t row, int64_t n_taps,
                                                const int64_t* taps, const float* weight, float start, float* y) {
    int64_t j = 0;
    for (; j + kLanes <= cols; j += kLanes)
        forward_block<R>(plane + j, row, n_taps, taps, weight, start, y + j, cols, kLanes);
    if (j < cols) forward_block<R>(plane + j, row, n_taps, taps, weight, start, y + j, cols, cols - j);
}
}  // namespace

void depthwise_forward(int64_t rows, int64_t cols, const float* plane, int64_t row, int64_t n_taps, const int64_t* taps,
                       const float* weight, float start, float* y) {
    int64_t i = 0;
    for (; i + 2 * kUnroll <= rows; i += 2 * kUnroll)
        forward_rows<2 * kUnroll>(cols, plane + i * row, row, n_taps, taps, weight, start, y + i * cols);
    for (; i < rows; i++) forward_rows<1>(cols, plane + i * row, row, n_taps, taps, weight, start, y + i * cols);
}

void depthwise_weight(int64_t rows, int64_t cols, const float* plane, int64_t row, int64_t n_taps, const int64_t* taps,
                      const float* g, float* grad) {
    const int64_t whole = cols / kLanes * kLanes, rest = cols - whole;
    for (int64_t t0 = 0; t0 < n_taps; t0 += kUnroll) {
        const int n = static_cast<int>(n_taps - t0 < kUnroll ? n_taps - t0 : kUnroll);
        const float* tap[kUnroll];
        for (int u = 0; u < kUnroll; u++) tap[u] = plane + taps[t0 + (u < n ? u : 0)];
        Lanes acc[kUnroll] = {};
        for (int64_t i = 0; i < rows; i++) {
            const float* gi = g + i * cols;
            for (int64_t j = 0; j < whole; j += kLanes) {
                const Lanes v = load(gi + j);
                for (int u = 0; u < kUnroll; u++) acc[u] = multiply_add(v, load(tap[u] + i * row + j), acc[u]);
            }
            if (rest > 0) {
                float last[kLanes] = {};
                std::memcpy(last, gi + whole, static_cast<size_t>(rest) * sizeof(float));
                const Lanes v = load(last);
                // Lanes past the end meet the cleared margin of the plane's rows.
                for (int u = 0; u < kUnroll; u++) acc[u] = multiply_add(v, load(tap[u] + i * row + whole), acc[u]);
            }
        }
        for (int u = 0; u < n; u++) grad[t0 + u] += sum_lanes(acc[u]);
    }
}

}  // namespace mashal::MASHAL_ISA
