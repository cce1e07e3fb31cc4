// dst[b * dst_step + a] = src[a * src_step + b]: a plane whose unit strides are crossed, one cache line square at a
// time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace mashal {

// A tile is one cache line square: every line of either side is touched once, whatever the strides alias to.
template <class T>
constexpr int64_t kTile = sizeof(T) <= 8 ? 64 / static_cast<int64_t>(sizeof(T)) : 8;

template <class T>
struct SquareTranspose {
    static constexpr size_t N = 16 / sizeof(T);
    typedef T Row __attribute__((vector_size(16)));

    template <size_t... I>
    static void interleave(Row a, Row b, Row& low, Row& high, std::index_sequence<I...>) {
        low = __builtin_shufflevector(a, b, (I / 2 + (I % 2) * N)...);
        high = __builtin_shufflevector(a, b, (N / 2 + I / 2 + (I % 2) * N)...);
    }
    // log2(N) perfect shuffles of the rows exchange row and column numbers.
    static void run(const T* src, int64_t src_step, T* dst, int64_t dst_step) {
        Row rows[N], next[N];
        for (size_t i = 0; i < N; i++) std::memcpy(&rows[i], src + static_cast<int64_t>(i) * src_step, 16);
        for (size_t width = 1; width < N; width *= 2) {
            for (size_t i = 0; i < N / 2; i++)
                interleave(rows[i], rows[i + N / 2], next[2 * i], next[2 * i + 1], std::make_index_sequence<N>{});
            for (size_t i = 0; i < N; i++) rows[i] = next[i];
        }
        for (size_t i = 0; i < N; i++) std::memcpy(dst + static_cast<int64_t>(i) * dst_step, &rows[i], 16);
    }
};

template <class T>
void transpose_plane(int64_t na, int64_t nb, const T* src, int64_t src_step, T* dst, int64_t dst_step) {
    constexpr int64_t tile = kTile<T>;
    for (int64_t a0 = 0; a0 < na; a0 += tile) {
        for (int64_t b0 = 0; b0 < nb; b0 += tile) {
            const int64_t ma = std::min(tile, na - a0), mb = std::min(tile, nb - b0);
            const T* s = src + a0 * src_step + b0;
            T* d = dst + b0 * dst_step + a0;
            if constexpr (sizeof(T) <= 8) {
                if (ma == tile && mb == tile) {
                    constexpr int64_t n = SquareTranspose<T>::N;
                    alignas(64) T square[tile * tile];
                    for (int64_t a = 0; a < tile; a += n)
                        for (int64_t b = 0; b < tile; b += n)
                            SquareTranspose<T>::run(s + a * src_step + b, src_step, square + b * tile + a, tile);
                    for (int64_t b = 0; b < tile; b++)
                        std::memcpy(d + b * dst_step, square + b * tile, sizeof(T) * tile);
                    continue;
                }
            }
            for (int64_t b = 0; b < mb; b++)
                for (int64_t a = 0; a < ma; a++) d[b * dst_step + a] = s[a * src_step + b];
        }
    }
}

}  // namespace mashal
