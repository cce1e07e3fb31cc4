// Vectors of float as wide as the instruction set being compiled for, with a fused multiply-add. For loops in
// csrc/cpu/isa that keep accumulators in registers; plain loops are left to the compiler.
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace mashal::MASHAL_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
typedef float Lanes __attribute__((vector_size(kLanes * 4)));

[[gnu::always_inline]] inline Lanes load(const float* p) {
    Lanes v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
[[gnu::always_inline]] inline void store(float* p, Lanes v) { std::memcpy(p, &v, sizeof v); }
[[gnu::always_inline]] inline Lanes spread(float x) { return x - Lanes{}; }
[[gnu::always_inline]] inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) {
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}
[[gnu::always_inline]] inline float sum_lanes(Lanes v) {
    float total = 0;
    for (int i = 0; i < kLanes; i++) total += v[i];
    return total;
}

}  // namespace
}  // namespace mashal::MASHAL_ISA
