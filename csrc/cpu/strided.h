// Walking several operands of one shape row by row.
#pragma once
#include <algorithm>
#include <array>

#include "core/parallel.h"
#include "core/small_vec.h"

namespace mashal {

inline int64_t product(IntSpan sizes) {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
}

inline IntVec without(IntSpan v, size_t d) {
    IntVec out;
    for (size_t i = 0; i < v.size(); i++)
        if (i != d) out.push_back(v[i]);
    return out;
}

// Calls f(offsets, n) for pieces of rows (a row runs along the last dimension) that together cover elements [begin,
// end) of `sizes` in row-major order. offsets[k] is where the piece starts in operand k; inside it, operand k steps by
// its last stride.
template <size_t K, class F>
void for_row_pieces(IntSpan sizes, const std::array<IntSpan, K>& strides, int64_t begin, int64_t end, F&& f) {
    std::array<int64_t, K> offsets{};
    if (begin >= end) return;
    if (sizes.empty()) {
        f(offsets, int64_t{1});
        return;
    }
    const size_t last = sizes.size() - 1;
    IntVec at(sizes.size());
    int64_t rest = begin;
    for (size_t d = sizes.size(); d-- > 0;) {
        at[d] = rest % sizes[d];
        rest /= sizes[d];
        for (size_t k = 0; k < K; k++) offsets[k] += at[d] * strides[k][d];
    }
    for (int64_t pos = begin; pos < end;) {
        const int64_t n = std::min(sizes[last] - at[last], end - pos);
        f(static_cast<const std::array<int64_t, K>&>(offsets), n);
        pos += n;
        at[last] += n;
        for (size_t k = 0; k < K; k++) offsets[k] += n * strides[k][last];
        for (size_t d = last; at[d] == sizes[d] && d > 0; d--) {
            for (size_t k = 0; k < K; k++) offsets[k] += strides[k][d - 1] - at[d] * strides[k][d];
            at[d] = 0;
            at[d - 1]++;
        }
    }
}

// The same over all elements, in parallel. `work`: cost of an element, in simple operations.
template <size_t K, class F>
void parallel_rows(IntSpan sizes, const std::array<IntSpan, K>& strides, int64_t work, F&& f) {
    const int64_t total = product(sizes);
    parallel_for(0, total, std::max<int64_t>(kGrain / std::max<int64_t>(work, 1), 1),
                 [&](int64_t b, int64_t e) { for_row_pieces<K>(sizes, strides, b, e, f); });
}

}  // namespace mashal
