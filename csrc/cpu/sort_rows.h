// Sorting and selecting keyed elements.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "core/parallel.h"
#include "cpu/sort_keys.h"

namespace mashal {

// An element on its way: key and position. Ordered by key, then by position, which makes every sort stable.
// Narrow keys share one word with the position.
struct Narrow {
    using Key = uint32_t;
    uint64_t word;
    static Narrow of(Key key, uint64_t position) { return {static_cast<uint64_t>(key) << 32 | position}; }
    Key key() const { return static_cast<Key>(word >> 32); }
    int64_t position() const { return static_cast<int64_t>(word & 0xffffffff); }
    friend bool operator<(Narrow a, Narrow b) { return a.word < b.word; }
};
struct Wide {
    using Key = uint64_t;
    uint64_t word;
    uint64_t place;
    static Wide of(Key key, uint64_t position) { return {key, position}; }
    Key key() const { return word; }
    int64_t position() const { return static_cast<int64_t>(place); }
    friend bool operator<(const Wide& a, const Wide& b) {
        return a.word < b.word || (a.word == b.word && a.place < b.place);
    }
};

template <class Item>
void insertion_sort(Item* a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const Item v = a[i];
        int64_t j = i;
        for (; j > 0 && v < a[j - 1]; j--) a[j] = a[j - 1];
        a[j] = v;
    }
}

// Short runs first, then merges without branches: each element costs a few cycles a level.
// Returns whichever of the two arrays holds the result.
template <class Item>
Item* merge_sort(Item* a, Item* spare, int64_t n) {
    constexpr int64_t kRun = std::is_same_v<Item, Narrow> ? 32 : 16;
    if constexpr (std::is_same_v<Item, Narrow>) {
        static const auto rank = MASHAL_SELECT(rank_sort);
        for (int64_t b = 0; b < n; b += kRun) rank(static_cast<int>(std::min(kRun, n - b)), &a[b].word, &spare[b].word);
        std::swap(a, spare);
    } else {
        for (int64_t b = 0; b < n; b += kRun) insertion_sort(a + b, std::min(kRun, n - b));
    }
    for (int64_t width = kRun; width < n; width *= 2) {
        for (int64_t b = 0; b < n; b += 2 * width) {
            const Item *left = a + b, *left_end = a + std::min(b + width, n), *right = left_end,
                       *right_end = a + std::min(b + 2 * width, n);
            Item* to = spare + b;
            while (left < left_end && right < right_end) {
                const bool take_right = *right < *left;
                *to++ = take_right ? *right : *left;
                right += take_right;
                left += !take_right;
            }
            to = std::copy(left, left_end, to);
            std::copy(right, right_end, to);
        }
        std::swap(a, spare);
    }
    return a;
}

// Least significant digit first, kDigit bits a pass, `threads` workers; digits that all elements share cost no pass.
// Needs `spare` of n items; returns whichever of the two arrays holds the result.
template <int kDigit, class Item>
Item* radix_sort(Item* a, Item* spare, int64_t n, int bits, int threads) {
    constexpr int kBuckets = 1 << kDigit;
    const int64_t share = (n + threads - 1) / threads;
    std::vector<uint32_t> counts(static_cast<size_t>(threads) * kBuckets);
    for (int shift = 0; shift < bits; shift += kDigit) {
        auto digit = [shift](const Item& v) { return static_cast<size_t>(v.key() >> shift) & (kBuckets - 1); };
        auto each_part = [&](auto&& f) {
            parallel_for(0, threads, 1, [&](int64_t p0, int64_t p1) {
                for (int64_t p = p0; p < p1; p++)
                    f(counts.data() + p * kBuckets, std::min(p * share, n), std::min((p + 1) * share, n));
            });
        };
        std::fill(counts.begin(), counts.end(), 0);
        each_part([&](uint32_t* count, int64_t b, int64_t e) {
            for (int64_t i = b; i < e; i++) count[digit(a[i])]++;
        });
        uint32_t total = 0;
        bool trivial = false;
        for (size_t d = 0; d < kBuckets; d++) {
            const uint32_t before = total;
            for (int p = 0; p < threads; p++) {
                uint32_t& c = counts[static_cast<size_t>(p) * kBuckets + d];
                const uint32_t here = c;
                c = total;
                total += here;
            }
            trivial |= total - before == static_cast<uint32_t>(n);
        }
        if (trivial) continue;
        each_part([&](uint32_t* next, int64_t b, int64_t e) {
            for (int64_t i = b; i < e; i++) spare[next[digit(a[i])]++] = a[i];
        });
        std::swap(a, spare);
    }
    return a;
}

// Sorts a, n < 2^32 items with keys of `bits` bits, by key and position.
template <class Item>
Item* sort_items(Item* a, Item* spare, int64_t n, int bits, int threads) {
    if (n <= 4) {
        insertion_sort(a, n);
        return a;
    }
    if (n <= 1024) return merge_sort(a, spare, n);
    if (n < 4096 || bits <= 16) return radix_sort<8>(a, spare, n, bits, n < 4 * kGrain ? 1 : threads);
    return radix_sort<11>(a, spare, n, bits, n < 4 * kGrain ? 1 : threads);
}

// The item of rank k (0-based) among n keys, without sorting: one pass counts leading digits, one collects a bucket.
template <class Item>
Item select_item(const typename Item::Key* keys, int64_t n, int64_t k, int bits, std::vector<Item>& scratch) {
    scratch.clear();
    if (n < 4096) {
        for (int64_t i = 0; i < n; i++) scratch.push_back(Item::of(keys[i], static_cast<uint64_t>(i)));
    } else {
        const int shift = bits > 11 ? bits - 11 : 0;
        std::vector<int64_t> counts(2048);
        for (int64_t i = 0; i < n; i++) counts[static_cast<size_t>(keys[i] >> shift)]++;
        size_t bucket = 0;
        while (k >= counts[bucket]) k -= counts[bucket++];
        for (int64_t i = 0; i < n; i++)
            if (static_cast<size_t>(keys[i] >> shift) == bucket)
                scratch.push_back(Item::of(keys[i], static_cast<uint64_t>(i)));
    }
    std::nth_element(scratch.begin(), scratch.begin() + k, scratch.end());
    return scratch[static_cast<size_t>(k)];
}

}  // namespace mashal
