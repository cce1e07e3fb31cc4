// Runs one portable loop on the widest instruction set of this processor that is worth a second copy of the code.
//
// The loop is written once, as a type whose `operator()` is always inlined. On x86-64 it is compiled for the baseline
// and once more for AVX2 with FMA; elsewhere only the baseline exists. Results do not depend on the copy that runs: the
// build forbids contraction, so every fused operation is an explicit `std::fma`, which is exact everywhere.
#pragma once

#define MASHAL_INLINE_LOOP [[gnu::always_inline]] inline

namespace mashal {

#if defined(__x86_64__)
inline bool has_avx2_fma() {
    static const bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return supported;
}

template <class Loop, class... Args>
[[gnu::target("avx2,fma"), gnu::noinline]] void run_vectorised_avx2(const Loop& loop, Args... args) {
    loop(args...);
}
#endif

template <class Loop, class... Args>
void run_vectorised(const Loop& loop, Args... args) {
#if defined(__x86_64__)
    if (has_avx2_fma()) return run_vectorised_avx2(loop, args...);
#endif
    loop(args...);
}

}  // namespace mashal
