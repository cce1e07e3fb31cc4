#include "cpu/sort_keys.h"

namespace mashal::MASHAL_ISA {
namespace {

#define MASHAL_LOOP [[gnu::always_inline]] static inline

// Floating types by their bits: kInf is the pattern of infinity.
template <class Bits, class Signed, Bits kInf>
struct FloatKey {
    using Element = Bits;
    static constexpr int bits = sizeof(Bits) * 8;
    MASHAL_LOOP Bits of(Bits b) {
        constexpr Bits kSign = static_cast<Bits>(Bits{1} << (bits - 1));
        const Bits magnitude = static_cast<Bits>(b & ~kSign);
        // Negative: all bits flipped; positive: sign bit set.
        const Bits flip = static_cast<Bits>(static_cast<Bits>(static_cast<Signed>(b) >> (bits - 1)) | kSign);
        const Bits key = magnitude == 0 ? kSign : static_cast<Bits>(b ^ flip);
        return magnitude > kInf ? static_cast<Bits>(~Bits{0}) : key;
    }
};

template <class Bits, bool kSigned>
struct IntegerKey {
    using Element = Bits;
    static constexpr int bits = sizeof(Bits) * 8;
    MASHAL_LOOP Bits of(Bits b) { return kSigned ? static_cast<Bits>(b ^ (Bits{1} << (bits - 1))) : b; }
};

template <class K, class Key, bool kDescending>
MASHAL_LOOP Key key_of(typename K::Element b) {
    const typename K::Element key = K::of(b);
    return kDescending ? static_cast<typename K::Element>(~key) : key;
}

template <class K, class Key, bool kDescending>
void make(int64_t n, const void* x, Key* keys) {
    auto* in = static_cast<const typename K::Element*>(x);
    for (int64_t i = 0; i < n; i++) keys[i] = key_of<K, Key, kDescending>(in[i]);
}

template <class K, class Key, bool kDescending>
int64_t find_below(int64_t n, const void* x, Key threshold) {
    constexpr int kStep = 64;
    auto* in = static_cast<const typename K::Element*>(x);
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
        Key found = 0;
        for (int k = 0; k < kStep; k++) found |= key_of<K, Key, kDescending>(in[i + k]) < threshold ? 1 : 0;
        if (found) break;
    }
    while (i < n && key_of<K, Key, kDescending>(in[i]) >= threshold) i++;
    return i;
}

template <class K, class Key>
KeyLoops<Key> loops(bool descending) {
    if (descending) return {make<K, Key, true>, find_below<K, Key, true>, K::bits};
    return {make<K, Key, false>, find_below<K, Key, false>, K::bits};
}

}  // namespace

void rank_sort(int n, const uint64_t* a, uint64_t* sorted) {
    constexpr int kMost = 32;
    uint64_t value[kMost], rank[kMost];
    for (int i = 0; i < kMost; i++) {
        value[i] = i < n ? a[i] : 0;
        rank[i] = 0;
    }
    if (n <= 16) {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < 16; i++) rank[i] += a[j] < value[i] ? 1 : 0;
    } else {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < kMost; i++) rank[i] += a[j] < value[i] ? 1 : 0;
    }
    for (int i = 0; i < n; i++) sorted[rank[i]] = value[i];
}

KeyLoops<uint32_t> key32_loops(DType t, bool descending) {
    switch (t) {
        case DType::Bool:
        case DType::U8: return loops<IntegerKey<uint8_t, false>, uint32_t>(descending);
        case DType::I8: return loops<IntegerKey<uint8_t, true>, uint32_t>(descending);
        case DType::I16: return loops<IntegerKey<uint16_t, true>, uint32_t>(descending);
        case DType::I32: return loops<IntegerKey<uint32_t, true>, uint32_t>(descending);
        case DType::F16: return loops<FloatKey<uint16_t, int16_t, 0x7c00>, uint32_t>(descending);
        case DType::BF16: return loops<FloatKey<uint16_t, int16_t, 0x7f80>, uint32_t>(descending);
        case DType::F32: return loops<FloatKey<uint32_t, int32_t, 0x7f800000>, uint32_t>(descending);
        default: return {};
    }
}

KeyLoops<uint64_t> key64_loops(DType t, bool descending) {
    switch (t) {
        case DType::I64: return loops<IntegerKey<uint64_t, true>, uint64_t>(descending);
        case DType::F64: return loops<FloatKey<uint64_t, int64_t, 0x7ff0000000000000>, uint64_t>(descending);
        default: return {};
    }
}

}  // namespace mashal::MASHAL_ISA
