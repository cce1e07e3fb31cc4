// Order-preserving unsigned keys of elements: what sorting, selection and top-k compare.
//
// Ascending keys: NaN (of any sign) is largest, -0 equals +0. Descending keys are their complements, so that a stable
// ascending sort of keys serves both directions.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "cpu/isa_select.h"

namespace mashal {

// Key32: bool, 8-, 16- and 32-bit types and halves. Key64: int64, float64. `bits`: how many low bits can be set.
template <class Key>
using MakeKeys = void (*)(int64_t n, const void* x, Key* keys);
// Position of the first element whose key is below `threshold`; n if none.
template <class Key>
using FindBelow = int64_t (*)(int64_t n, const void* x, Key threshold);

template <class Key>
struct KeyLoops {
    MakeKeys<Key> make = nullptr;
    FindBelow<Key> find_below = nullptr;
    int bits = 0;
};

// Sorts n <= 32 distinct words by counting, for each, how many are smaller.
MASHAL_FOR_EACH_ISA(void rank_sort(int n, const uint64_t* a, uint64_t* sorted);)

MASHAL_FOR_EACH_ISA(KeyLoops<uint32_t> key32_loops(DType t, bool descending);
                    KeyLoops<uint64_t> key64_loops(DType t, bool descending);)

inline bool has_wide_keys(DType t) { return t == DType::I64 || t == DType::F64; }

}  // namespace mashal
