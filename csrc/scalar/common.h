// Ground floor of the scalar library: function qualifiers, bit casts, fused multiply-add, libm access, constants.
// Everything here compiles as host C++ (also when generated), with nvcc and with NVRTC.
#pragma once

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <cstdint>
#include <cstring>
#endif

// `static` keeps every copy private to its translation unit: files built for different instruction sets must never
// share one, or the linker may hand AVX-512 code to a machine without it.
#if defined(__CUDACC__)
#define MASHAL_FN static inline __host__ __device__
#define MASHAL_MEMBER __host__ __device__
#define MASHAL_SLOW_FN static __host__ __device__
#define MASHAL_TABLE static __device__ const
#else
#define MASHAL_FN [[gnu::always_inline]] static inline
#define MASHAL_MEMBER __attribute__((always_inline))
#define MASHAL_SLOW_FN [[gnu::noinline, maybe_unused]] static
#define MASHAL_TABLE static const
#endif

// libm by name: builtins on the host (no <cmath>, whose inline templates would be shared between instruction sets).
#if defined(__CUDACC__)
#define MASHAL_LIBM(name) ::name
#define MASHAL_LIBMF(name) ::name##f
#else
#define MASHAL_LIBM(name) __builtin_##name
#define MASHAL_LIBMF(name) __builtin_##name##f
#endif

namespace mashal::scalar {

template <class T>
struct limits;
template <>
struct limits<float> {
    using bits = uint32_t;
    using sbits = int32_t;
    static constexpr uint32_t sign = 0x80000000u, inf_bits = 0x7f800000u, nan_bits = 0x7fc00000u;
    static constexpr float eps = 0x1p-23f, min_normal = 0x1p-126f, max = 0x1.fffffep127f;
};
template <>
struct limits<double> {
    using bits = uint64_t;
    using sbits = int64_t;
    static constexpr uint64_t sign = 0x8000000000000000ull, inf_bits = 0x7ff0000000000000ull,
                              nan_bits = 0x7ff8000000000000ull;
    static constexpr double eps = 0x1p-52, min_normal = 0x1p-1022, max = 0x1.fffffffffffffp1023;
};

MASHAL_FN uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
MASHAL_FN uint64_t bits_of(double x) {
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
// By size, not by type: 64-bit literals may be unsigned long or unsigned long long.
template <int size>
struct float_of_size {
    using type = float;
};
template <>
struct float_of_size<8> {
    using type = double;
};
template <class U>
MASHAL_FN typename float_of_size<sizeof(U)>::type from_bits(U u) {
    static_assert(sizeof(U) >= 4 && U(-1) > U(0), "bit patterns are 32- or 64-bit unsigned integers");
    typename float_of_size<sizeof(U)>::type x;
    memcpy(&x, &u, sizeof(U));
    return x;
}

template <class T>
MASHAL_FN T inf() {
    return from_bits(limits<T>::inf_bits);
}
template <class T>
MASHAL_FN T nan() {
    return from_bits(limits<T>::nan_bits);
}

// a*b + c, fused where the hardware does it in one instruction, else rounded twice. Callers must tolerate both.
#if defined(__FMA__) || defined(__CUDACC__) || defined(__ARM_FEATURE_FMA)
#define MASHAL_HAS_FMA 1
MASHAL_FN float fma(float a, float b, float c) { return MASHAL_LIBMF(fma)(a, b, c); }
MASHAL_FN double fma(double a, double b, double c) { return MASHAL_LIBM(fma)(a, b, c); }
#else
#define MASHAL_HAS_FMA 0
MASHAL_FN float fma(float a, float b, float c) { return a * b + c; }
MASHAL_FN double fma(double a, double b, double c) { return a * b + c; }
#endif

// Horner: poly(x, c0, c1, ..., cn) = c0 + x*(c1 + x*(... + x*cn)).
template <class T>
MASHAL_FN T poly(T, T c0) {
    return c0;
}
template <class T, class... C>
MASHAL_FN T poly(T x, T c0, C... rest) {
    return fma(poly(x, static_cast<T>(rest)...), x, c0);
}

MASHAL_FN float fabs(float x) { return MASHAL_LIBMF(fabs)(x); }
MASHAL_FN double fabs(double x) { return MASHAL_LIBM(fabs)(x); }
// c ? a : b with both sides always computed. The compiler moves work that only one arm of ?: needs into a branch, and
// when that work branches itself, the loop round it is no longer vectorised.
MASHAL_FN float select(bool c, float a, float b) {
    uint32_t mask = c ? 0xffffffffu : 0u;
    return from_bits((bits_of(a) & mask) | (bits_of(b) & ~mask));
}
MASHAL_FN double select(bool c, double a, double b) {
    uint64_t mask = c ? ~uint64_t(0) : uint64_t(0);
    return from_bits((bits_of(a) & mask) | (bits_of(b) & ~mask));
}
MASHAL_FN float copysign(float x, float y) {
    return from_bits((bits_of(x) & ~limits<float>::sign) | (bits_of(y) & limits<float>::sign));
}
MASHAL_FN double copysign(double x, double y) {
    return from_bits((bits_of(x) & ~limits<double>::sign) | (bits_of(y) & limits<double>::sign));
}

constexpr double kPi = 3.14159265358979323846;
constexpr double kPi2 = 1.57079632679489661923;
constexpr double kLn2 = 0.693147180559945309417;
constexpr double kLog2E = 1.44269504088896340736;
constexpr double kLog10E = 0.434294481903251827651;
constexpr double kSqrt1_2 = 0.707106781186547524401;
constexpr double kSqrt2 = 1.41421356237309504880;
constexpr double k2SqrtPi = 1.12837916709551257390;    // 2/sqrt(pi)
constexpr double k1Sqrt2Pi = 0.398942280401432677940;  // 1/sqrt(2 pi)

}  // namespace mashal::scalar
