// Chooses among the builds of the pointwise loops and finds loops by op and dtype.
#include "cpu/pointwise_loops.h"

#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace mashal {

#define MASHAL_DECLARE_ISA(isa)                         \
    namespace isa {                                     \
    PointwiseTable pointwise_unary();                   \
    PointwiseTable pointwise_special();                 \
    PointwiseTable pointwise_arith1();                  \
    PointwiseTable pointwise_binary();                  \
    PointwiseTable pointwise_int();                     \
    PointwiseTable pointwise_ternary();                 \
    PointwiseTable pointwise_backward();                \
    PointwiseTable pointwise_complex();                 \
    PointwiseTable pointwise_more();                    \
    ConvertLoop convert_loop_for(DType from, DType to); \
    }
MASHAL_DECLARE_ISA(baseline)
#if defined(__x86_64__)
MASHAL_DECLARE_ISA(avx2)
MASHAL_DECLARE_ISA(avx512)
#endif

namespace {

constexpr int kFamilies = 9;
struct Isa {
    const char* name;
    PointwiseTable (*families[kFamilies])();
    ConvertLoop (*convert)(DType from, DType to);
};
#define MASHAL_ISA_ROW(isa)                                                                               \
    {                                                                                                     \
        #isa,                                                                                             \
        {&isa::pointwise_unary, &isa::pointwise_special, &isa::pointwise_arith1, &isa::pointwise_binary,  \
         &isa::pointwise_int, &isa::pointwise_ternary, &isa::pointwise_backward, &isa::pointwise_complex, \
         &isa::pointwise_more},                                                                           \
        &isa::convert_loop_for,                                                                           \
    }
// From the least to the most capable.
constexpr Isa kIsas[] = {
    MASHAL_ISA_ROW(baseline),
#if defined(__x86_64__)
    MASHAL_ISA_ROW(avx2),
    MASHAL_ISA_ROW(avx512),
#endif
};
constexpr int kNumIsas = sizeof(kIsas) / sizeof(kIsas[0]);

int best_supported() {
#if defined(__x86_64__)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
                __builtin_cpu_supports("f16c");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512cd");
    return avx512 ? 2 : avx2 ? 1 : 0;
#else
    return 0;
#endif
}

const Isa& chosen_isa() {
    static const Isa& isa = []() -> const Isa& {
        int best = best_supported();
        if (const char* wish = std::getenv("MASHAL_ISA")) {
            for (int k = 0; k < kNumIsas; ++k) {
                if (std::strcmp(wish, kIsas[k].name) == 0 && k < best) best = k;
            }
        }
        return kIsas[best];
    }();
    return isa;
}

struct Key {
    std::string_view op;
    DType compute;
    bool operator==(const Key& other) const { return compute == other.compute && op == other.op; }
};
struct KeyHash {
    size_t operator()(const Key& key) const {
        return std::hash<std::string_view>()(key.op) * 31 + static_cast<size_t>(key.compute);
    }
};
using Index = std::unordered_map<Key, const PointwiseEntry*, KeyHash>;

const Index& entry_index() {
    static const Index index = [] {
        Index result;
        result.reserve(1024);
        for (auto family : chosen_isa().families) {
            PointwiseTable table = family();
            for (int k = 0; k < table.count; ++k) {
                const PointwiseEntry& entry = table.entries[k];
                result.emplace(Key{entry.op, entry.compute}, &entry);
            }
        }
        return result;
    }();
    return index;
}

}  // namespace

const PointwiseEntry* find_pointwise_entry(std::string_view op, DType compute) {
    const Index& index = entry_index();
    auto found = index.find(Key{op, compute});
    return found == index.end() ? nullptr : found->second;
}

PointwiseLoop find_pointwise_loop(std::string_view op, DType compute, DType* out) {
    const PointwiseEntry* entry = find_pointwise_entry(op, compute);
    if (entry == nullptr) return nullptr;
    if (out != nullptr) *out = entry->out;
    return entry->loop;
}

ConvertLoop find_convert_loop(DType from, DType to) { return chosen_isa().convert(from, to); }

const char* active_isa() { return chosen_isa().name; }

void raise_zero_division() { throw Error(ErrorKind::ZeroDivision, "ZeroDivisionError"); }

}  // namespace mashal
