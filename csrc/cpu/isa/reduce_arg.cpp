// Positions of extrema: the first of equals, the first NaN if there is one.
#include "cpu/isa/reduce_ops.h"

namespace mashal::MASHAL_ISA {
namespace {

// Whether x replaces the best so far: strictly better, or the first NaN.
template <class T, bool kLargest>
MASHAL_LOOP bool replaces(T best, T x) {
    const bool better = kLargest ? x > best : x < best;
    return better | (is_nan(x) & !is_nan(best));
}

template <class T>
MASHAL_LOOP int64_t first_match(int64_t n, const T* x, T value) {
    constexpr int kStep = 64;
    const bool nan = is_nan(value);
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
        int found = 0;
        for (int k = 0; k < kStep; k++) found |= (x[i + k] == value) | (nan & is_nan(x[i + k]));
        if (found) break;
    }
    while (i < n && !(x[i] == value || (nan && is_nan(x[i])))) i++;
    return i;
}

template <class T, bool kLargest>
void arg_rows(int64_t m, int64_t stride, int64_t n, const void* x, void* values, int64_t* indices) {
    auto* out = static_cast<T*>(values);
    for (int64_t r = 0; r < m; r++) {
        const T* row = static_cast<const T*>(x) + r * stride;
        T best = row[0];
        int64_t at = 0;
        if (n < 64) {
            for (int64_t i = 1; i < n; i++)
                if (replaces<T, kLargest>(best, row[i])) {
                    best = row[i];
                    at = i;
                }
        } else {
            // The extremum of a block first; its place only where the block improves on what came before.
            for (int64_t b = 0; b < n; b += kBlock) {
                const int64_t len = n - b < kBlock ? n - b : kBlock;
                const T top = reduce_block<ExtremumOp<T, kLargest>, 64>(len, row + b, 0);
                if (b > 0 && !replaces<T, kLargest>(best, top)) continue;
                best = top;
                at = b + first_match(len, row + b, top);
            }
        }
        out[r] = best;
        indices[r] = at;
    }
}

template <class T, class Index, bool kLargest>
void arg_columns(int64_t m, int64_t stride, int64_t n, const void* x, void* values, int64_t* indices) {
    constexpr int64_t kCols = 512;
    T best[kCols];
    Index at[kCols];
    for (int64_t j0 = 0; j0 < n; j0 += kCols) {
        const int64_t cols = n - j0 < kCols ? n - j0 : kCols;
        const T* in = static_cast<const T*>(x) + j0;
        for (int64_t j = 0; j < cols; j++) {
            best[j] = in[j];
            at[j] = 0;
        }
        for (int64_t r = 1; r < m; r++) {
            const T* row = in + r * stride;
            const Index place = static_cast<Index>(r);
            for (int64_t j = 0; j < cols; j++) {
                const bool take = replaces<T, kLargest>(best[j], row[j]);
                best[j] = take ? row[j] : best[j];
                at[j] = take ? place : at[j];
            }
        }
        auto* out = static_cast<T*>(values) + j0;
        for (int64_t j = 0; j < cols; j++) {
            out[j] = best[j];
            indices[j0 + j] = at[j];
        }
    }
}

// 32-bit positions while they fit: lanes as wide as floats.
template <class T, bool kLargest>
void arg_columns_any(int64_t m, int64_t stride, int64_t n, const void* x, void* values, int64_t* indices) {
    if (sizeof(T) < 8 && m < (int64_t{1} << 31))
        arg_columns<T, int32_t, kLargest>(m, stride, n, x, values, indices);
    else
        arg_columns<T, int64_t, kLargest>(m, stride, n, x, values, indices);
}

template <class T>
ArgLoops loops_for(bool largest) {
    if (largest) return {arg_rows<T, true>, arg_columns_any<T, true>};
    return {arg_rows<T, false>, arg_columns_any<T, false>};
}

}  // namespace

ArgLoops arg_loops(bool largest, DType t) {
    switch (t) {
        case DType::Bool:
        case DType::U8: return loops_for<uint8_t>(largest);
        case DType::I8: return loops_for<int8_t>(largest);
        case DType::I16: return loops_for<int16_t>(largest);
        case DType::I32: return loops_for<int32_t>(largest);
        case DType::I64: return loops_for<int64_t>(largest);
        case DType::F32: return loops_for<float>(largest);
        case DType::F64: return loops_for<double>(largest);
        default: return {};
    }
}

}  // namespace mashal::MASHAL_ISA
