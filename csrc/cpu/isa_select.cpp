#include "cpu/isa_select.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace mashal {

namespace {
Isa detect() {
    Isa widest = Isa::Baseline;
#if defined(MASHAL_X86_64)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        widest = Isa::Avx2;
    if (widest == Isa::Avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        widest = Isa::Avx512;
#endif
    const char* wanted = std::getenv("MASHAL_ISA");
    if (wanted == nullptr) return widest;
    std::string_view name = wanted;
    if (name == "baseline") return Isa::Baseline;
    if (name == "avx2") return std::min(widest, Isa::Avx2);
    return widest;
}
}  // namespace

Isa selected_isa() {
    static const Isa isa = detect();
    return isa;
}

}  // namespace mashal
