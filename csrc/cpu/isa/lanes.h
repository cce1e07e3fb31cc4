// Vectors of float and double as wide as the instruction set being compiled for, with a fused multiply-add. For loops
// in csrc/cpu/isa that keep accumulators in registers; plain loops are left to the compiler.
#pragma once
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace mashal::MASHAL_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct Vector {
    typedef T type __attribute__((vector_size(kVectorBytes)));
    static constexpr int lanes = kVectorBytes / static_cast<int>(sizeof(T));
};
template <class T>
using V = typename Vector<T>::type;

using Lanes = V<float>;
constexpr int kLanes = Vector<float>::lanes;

template <class T>
[[gnu::always_inline]] inline V<T> load(const T* p) {
    typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
    return *reinterpret_cast<const Unaligned*>(p);
}
template <class T>
[[gnu::always_inline]] inline void store(T* p, V<T> v) {
    typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
    *reinterpret_cast<Unaligned*>(p) = v;
}
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
[[gnu::always_inline]] inline V<double> multiply_add(V<double> a, V<double> b, V<double> c) {
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(a, b, c);
#elif defined(__AVX2__)
    return _mm256_fmadd_pd(a, b, c);
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
