// After K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), with the panel of A in
// the first-level cache and the block of B in the second.
#include "cpu/sgemm_loops.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/isa/lanes.h"

namespace mashal::MASHAL_ISA {
namespace {

// A tile's sums, a row of B and an element of A fill the registers: 28 + 2 + 1 of 32, or 12 + 2 + 1 of 16.
constexpr int kRows = kLanes == 16 ? 14 : 6, kVectors = 2, kColumns = kVectors * kLanes;
constexpr int64_t kLineFloats = 16;  // a cache line
constexpr int kUnroll = 4, kPieces = 4;

#define MASHAL_FLAT [[gnu::always_inline]] inline

// ---- packing ----
// Stored rows whose pages stay in reach while all panels get their part of them.
constexpr int64_t kTogether = 8;

template <size_t... I>
MASHAL_FLAT void interleave(Lanes a, Lanes b, Lanes& low, Lanes& high, std::index_sequence<I...>) {
    constexpr size_t N = kLanes;
    low = __builtin_shufflevector(a, b, (I / 2 + (I % 2) * N)...);
    high = __builtin_shufflevector(a, b, (N / 2 + I / 2 + (I % 2) * N)...);
}

// log2(kLanes) perfect shuffles of the rows exchange row and column numbers.
MASHAL_FLAT void transpose(Lanes (&rows)[kLanes]) {
    Lanes next[kLanes];
#pragma GCC unroll 4
    for (int width = 1; width < kLanes; width *= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes / 2; i++)
            interleave(rows[i], rows[i + kLanes / 2], next[2 * i], next[2 * i + 1], std::make_index_sequence<kLanes>{});
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; i++) rows[i] = next[i];
    }
}

// `count` stored rows, k long, to out[p * step + i], in whole vectors with zeros after the last.
void pack_stored_rows(const float* rows, int64_t ld, int count, int64_t k, float* out, int64_t step) {
    int64_t p = 0;
    for (; p + kLanes <= k; p += kLanes) {
        Lanes square[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; i++) square[i] = i < count ? load(rows + i * ld + p) : Lanes{};
        transpose(square);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; i++) store(out + (p + i) * step, square[i]);
    }
    for (; p < k; p++) {
        Lanes column{};
        for (int i = 0; i < count; i++) column[i] = rows[i * ld + p];
        store(out + p * step, column);
    }
}

// k stored rows of `count` elements to out[p * step + j], in whole vectors.
MASHAL_FLAT void pack_vectors(const float* rows, int64_t ld, int64_t count, int64_t k, float* out, int64_t step) {
    if (count == kColumns) {
        for (int64_t p = 0; p < k; p++)
            for (int v = 0; v < kVectors; v++) store(out + p * step + v * kLanes, load(rows + p * ld + v * kLanes));
        return;
    }
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < kColumns; j++) out[p * step + j] = j < count ? rows[p * ld + j] : 0.0f;
}

void pack(bool trans, const float* b, int64_t ldb, int64_t k, int64_t n, float* panels) {
    if (trans) {
        for (int64_t j = 0; j < n; j += kColumns)
            for (int64_t v = 0; v < kColumns; v += kLanes) {
                const int64_t count = std::clamp<int64_t>(n - j - v, 0, kLanes);
                pack_stored_rows(b + (j + v) * ldb, ldb, static_cast<int>(count), k, panels + j * k + v, kColumns);
            }
        return;
    }
    for (int64_t p = 0; p < k; p += kTogether)
        for (int64_t j = 0; j < n; j += kColumns)
            pack_vectors(b + p * ldb + j, ldb, std::min<int64_t>(kColumns, n - j), std::min(kTogether, k - p),
                         panels + j * k + p * kColumns, kColumns);
}

// Rows [i, end) of A to panels of `height` rows, k long: element (row, p) of a panel at [p * kLanes + row].
MASHAL_FLAT void pack_a(const SgemmBlock& s, int64_t i, int64_t end, int64_t height, float* out) {
    if (!s.trans_a) {
        for (; i < end; i += height, out += kLanes * s.k)
            pack_stored_rows(s.a + i * s.lda, s.lda, static_cast<int>(std::min(height, end - i)), s.k, out, kLanes);
        return;
    }
    for (int64_t p = 0; p < s.k; p += kTogether) {
        const float* from = s.a + p * s.lda;
        float* to = out + p * kLanes;
        const int64_t depth = std::min(kTogether, s.k - p);
        for (int64_t first = i; first < end; first += height, to += kLanes * s.k) {
            if (first + kLanes <= s.m) {
                for (int64_t q = 0; q < depth; q++) store(to + q * kLanes, load(from + first + q * s.lda));
                continue;
            }
            for (int64_t q = 0; q < depth; q++)
                for (int64_t row = 0; row < end - first; row++) to[q * kLanes + row] = from[first + q * s.lda + row];
        }
    }
}

// ---- one tile of C ----
struct Tile {
    const float *a, *b;
    float* c;
    int64_t ldc;
    const float* bias;
    float beta;
    std::array<const float*, kPieces> ahead;  // a line of each is fetched every kPieces rows of B
    int64_t ahead_step;
};

// sum += x row. With AVX-512 a product can read and spread x itself: fewer instructions, but a load for each vector
// rather than one for all. Two rows of three take that way, which leaves neither the decoders (when another thread
// shares the core's) nor the load ports behind the multipliers.
template <int V>
MASHAL_FLAT void add_row(const float& x, const Lanes (&row)[V], Lanes (&sum)[V], [[maybe_unused]] bool by_product) {
#if defined(__AVX512F__)
    if (by_product) {
#pragma GCC unroll 2
        for (int v = 0; v < V; v++) asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum[v]) : "v"(row[v]), "m"(x));
        return;
    }
#endif
    const Lanes spread_x = spread(x);
#pragma GCC unroll 2
    for (int v = 0; v < V; v++) sum[v] = multiply_add(spread_x, row[v], sum[v]);
}

// sum += a b for one column of A and one row of B.
template <int R, int V>
MASHAL_FLAT void add_product(const float* a, const float* b, Lanes (&sum)[R][V]) {
    Lanes row[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; v++) row[v] = load(b + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < R; i++) add_row(a[i], row, sum[i], i % 3 != 0);
}

template <int R, int V>
void multiply_tile(int64_t k, float alpha, const Tile& t) {
    Lanes sum[R][V];
    const float *a = t.a, *b = t.b;
#pragma GCC unroll 16
    for (int i = 0; i < R; i++)
#pragma GCC unroll 2
        for (int v = 0; v < V; v++) {
            sum[i][v] = Lanes{};
            __builtin_prefetch(t.c + i * t.ldc + v * kLanes, 1);
        }
    const int64_t lines = k / (kPieces * kUnroll);
    for (const float* ahead : t.ahead) {
        for (int64_t line = 0; line < lines; line++) {
            __builtin_prefetch(ahead, 0, 2);
            ahead += t.ahead_step;
#pragma GCC unroll 4
            for (int step = 0; step < kUnroll; step++) add_product<R, V>(a + step * kLanes, b + step * kColumns, sum);
            a += kUnroll * kLanes;
            b += kUnroll * kColumns;
        }
    }
    for (int64_t p = lines * kPieces * kUnroll; p < k; p++, a += kLanes, b += kColumns) add_product<R, V>(a, b, sum);
    const Lanes scale = spread(alpha), old = spread(t.beta);
#pragma GCC unroll 2
    for (int v = 0; v < V; v++) {
        const Lanes add = t.bias == nullptr ? Lanes{} : load(t.bias + v * kLanes);
#pragma GCC unroll 16
        for (int i = 0; i < R; i++) {
            float* to = t.c + i * t.ldc + v * kLanes;
            Lanes y = multiply_add(scale, sum[i][v], add);
            if (t.beta != 0) y = multiply_add(old, load(to), y);
            store(to, y);
        }
    }
}

using TileFunction = void(int64_t, float, const Tile&);
template <int... I>
constexpr std::array<TileFunction*, sizeof...(I)> tile_functions(std::integer_sequence<int, I...>) {
    return {multiply_tile<I / kVectors + 1, I % kVectors + 1>...};
}
constexpr auto kTileFunctions = tile_functions(std::make_integer_sequence<int, kRows * kVectors>{});

MASHAL_FLAT void multiply_vectors(int rows, int64_t vectors, int64_t k, float alpha, const Tile& t) {
    kTileFunctions[static_cast<size_t>((rows - 1) * kVectors + vectors - 1)](k, alpha, t);
}

// A tile whose last vector is not full goes through `whole`.
void multiply_ragged(int rows, int64_t width, int64_t k, float alpha, const Tile& t, float* whole) {
    multiply_vectors(rows, (width + kLanes - 1) / kLanes, k, alpha,
                     {t.a, t.b, whole, kColumns, nullptr, 0, t.ahead, t.ahead_step});
    for (int i = 0; i < rows; i++)
        for (int64_t j = 0; j < width; j++) {
            float& to = t.c[i * t.ldc + j];
            const float y = whole[i * kColumns + j] + (t.bias == nullptr ? 0.0f : t.bias[j]);
            to = t.beta == 0 ? y : y + t.beta * to;
        }
}

// Hands out what is still to be brought near, in pieces of as many lines as a tile has places for.
class Fetcher {
public:
    MASHAL_FLAT Fetcher(const SgemmAhead& what, int64_t k) : what_(what), lines_(k / kLineFloats) {
        const int64_t across =
            (what.count + kLineFloats - 1) / kLineFloats;  // lines in a stored row that k runs across
        if (what.along) {
            pieces_ = what.count;
        } else if (across >= kWide) {
            row_pieces_ = (across + lines_ - 1) / std::max<int64_t>(1, lines_);
            pieces_ = k * row_pieces_;
        } else {
            step_ = what.ld;
            pieces_ = across * kLineFloats;
        }
    }
    MASHAL_FLAT bool done() const { return next_ >= pieces_; }
    MASHAL_FLAT void take(Tile& t) {
        t.ahead_step = step_;
        for (const float*& piece : t.ahead) {
            piece = at(std::min(next_, pieces_ - 1));
            next_++;
        }
    }

private:
    static constexpr int64_t kWide = 16;
    // A run of a stored row; or, where rows are short, one column of lines in a sixteenth of them.
    MASHAL_FLAT const float* at(int64_t piece) const {
        if (step_ == kLineFloats)
            return what_.data + piece / row_pieces_ * what_.ld + piece % row_pieces_ * lines_ * kLineFloats;
        return what_.data + piece / kLineFloats * kLineFloats + piece % kLineFloats * lines_ * what_.ld;
    }
    SgemmAhead what_;
    int64_t lines_, pieces_, row_pieces_ = 1, step_ = kLineFloats, next_ = 0;
};

void multiply_panel(const SgemmBlock& s, int rows, const float* a, float* c, Fetcher& next_a, Fetcher& next_b,
                    float* whole) {
    for (int64_t j = 0; j < s.n; j += kColumns) {
        const int64_t width = std::min<int64_t>(kColumns, s.n - j);
        Tile tile{a, s.panels + j * s.k, c + j, s.ldc, s.bias == nullptr ? nullptr : s.bias + j, s.beta, {}, 0};
        tile.ahead.fill(a);
        if (!next_a.done())
            next_a.take(tile);
        else if (!next_b.done())
            next_b.take(tile);
        if (width % kLanes == 0)
            multiply_vectors(rows, width / kLanes, s.k, s.alpha, tile);
        else
            multiply_ragged(rows, width, s.k, s.alpha, tile, whole);
    }
}

// Panels of equal height: 128 rows are nine of 13 and one of 11, not nine of 14 and one of 2.
int64_t panel_height(int64_t m) {
    const int64_t panels = (m + kRows - 1) / kRows;
    return (m + panels - 1) / panels;
}

void pack_rows(const SgemmBlock& s, float* panels) { pack_a(s, 0, s.m, panel_height(s.m), panels); }

void multiply(const SgemmBlock& s, float* scratch) {
    float *whole = scratch, *packed = scratch + kRows * kColumns;
    const int64_t height = panel_height(s.m);
    const int64_t group = s.rows != nullptr ? s.m : height * (s.trans_a ? kSgemmPanels : 1);
    Fetcher next_b(s.ahead, s.k);
    for (int64_t i = 0; i < s.m; i += group) {
        const int64_t end = std::min(s.m, i + group), next = std::min(s.m, end + group);
        if (s.rows == nullptr) pack_a(s, i, end, height, packed);
        Fetcher next_a({s.a + end * (s.trans_a ? 1 : s.lda), s.lda, !s.trans_a, next - end}, s.k);
        const float* a = s.rows != nullptr ? s.rows : packed;
        for (int64_t row = i; row < end; row += height, a += kLanes * s.k)
            multiply_panel(s, static_cast<int>(std::min(height, end - row)), a, s.c + row * s.ldc, next_a, next_b,
                           whole);
    }
}

constexpr SgemmLoops kLoops{kRows, kColumns, kLanes, pack, pack_rows, multiply};

}  // namespace

const SgemmLoops& sgemm_loops() { return kLoops; }

}  // namespace mashal::MASHAL_ISA
