// Integer arithmetic: wraps on overflow, never undefined. Division and remainder want a non-zero divisor.
#pragma once
#include "scalar/common.h"

namespace mashal::scalar {

template <class T>
struct unsigned_of {
    using type = T;
};
template <>
struct unsigned_of<int8_t> {
    using type = uint8_t;
};
template <>
struct unsigned_of<int16_t> {
    using type = uint16_t;
};
template <>
struct unsigned_of<int32_t> {
    using type = uint32_t;
};
template <>
struct unsigned_of<int64_t> {
    using type = uint64_t;
};
// Wide enough that C's promotion to int cannot overflow: uint16 * uint16 would.
template <class T>
struct wrap_of {
    using type = uint32_t;
};
template <>
struct wrap_of<int64_t> {
    using type = uint64_t;
};
template <class T>
using wrap_t = typename wrap_of<T>::type;

template <class T>
MASHAL_FN T int_add(T a, T b) {
    return static_cast<T>(static_cast<wrap_t<T>>(a) + static_cast<wrap_t<T>>(b));
}
template <class T>
MASHAL_FN T int_sub(T a, T b) {
    return static_cast<T>(static_cast<wrap_t<T>>(a) - static_cast<wrap_t<T>>(b));
}
template <class T>
MASHAL_FN T int_mul(T a, T b) {
    return static_cast<T>(static_cast<wrap_t<T>>(a) * static_cast<wrap_t<T>>(b));
}
template <class T>
MASHAL_FN T int_neg(T a) {
    return int_sub(T(0), a);
}
template <class T>
MASHAL_FN T int_abs(T a) {
    return a < T(0) ? int_neg(a) : a;
}
// Quotient towards zero; the lowest value divided by -1 wraps to itself. Below 64 bits by way of a floating-point
// division, which vectorises and truncates to the right integer: an inexact quotient is at least 1/|a| of itself away
// from the next one, far more than its rounding error (2^-24 for 16 bits, 2^-53 for 32).
template <class T>
MASHAL_FN T int_div_trunc(T a, T b) {
    if constexpr (sizeof(T) <= 2) {
        return static_cast<T>(static_cast<int32_t>(static_cast<float>(a) / static_cast<float>(b)));
    } else if constexpr (sizeof(T) == 4) {
        double q = static_cast<double>(a) / static_cast<double>(b);
        return b == T(-1) ? int_neg(a) : static_cast<T>(q);
    } else {
        return b == T(-1) ? int_neg(a) : a / b;
    }
}
template <class T>
MASHAL_FN T int_fmod(T a, T b) {
    if constexpr (sizeof(T) <= 4) {
        return int_sub(a, int_mul(int_div_trunc(a, b), b));
    } else {
        return b == T(-1) ? T(0) : a % b;
    }
}
// Quotient towards minus infinity, and the remainder with the sign of the divisor.
template <class T>
MASHAL_FN T int_floor_divide(T a, T b) {
    T q = int_div_trunc(a, b);
    T r = int_fmod(a, b);
    return (r != T(0)) & ((r < T(0)) != (b < T(0))) ? static_cast<T>(q - T(1)) : q;
}
template <class T>
MASHAL_FN T int_remainder(T a, T b) {
    T r = int_fmod(a, b);
    return (r != T(0)) & ((r < T(0)) != (b < T(0))) ? static_cast<T>(r + b) : r;
}

// a^b by squaring. A negative power is 1 for 1, +-1 for -1, else 0.
template <class T>
MASHAL_FN T int_pow(T a, T b) {
    if (b < T(0)) {
        if (a == T(1)) return T(1);
        if (int_add(a, T(1)) == T(0)) return (b & 1) != 0 ? T(-1) : T(1);
        return T(0);
    }
    T r = T(1);
    while (b > T(0)) {
        if ((b & 1) != 0) r = int_mul(r, a);
        a = int_mul(a, a);
        b = static_cast<T>(b >> 1);
    }
    return r;
}

// Shifts. Out-of-range counts: left gives 0, right gives what an infinite shift would (0 or -1).
template <class T>
MASHAL_FN T shift_left(T a, T b) {
    constexpr T width = T(sizeof(T) * 8);
    bool out = (b < T(0)) | (b >= width);
    return out ? T(0) : static_cast<T>(static_cast<wrap_t<T>>(a) << (out ? T(0) : b));
}
template <class T>
MASHAL_FN T shift_right(T a, T b) {
    constexpr bool is_signed = T(-1) < T(0);
    constexpr T width = T(sizeof(T) * 8);
    bool out = (b < T(0)) | (b >= width);
    T r = static_cast<T>(a >> (out ? T(width - 1) : b));
    return out && !is_signed ? T(0) : r;
}

// Greatest common divisor and least common multiple of magnitudes.
template <class T>
MASHAL_FN T gcd(T a, T b) {
    a = int_abs(a);
    b = int_abs(b);
    while (a != T(0)) {
        T t = a;
        a = int_fmod(b, a);
        b = t;
    }
    return b;
}
// Narrow types form the product in 32 bits and keep its low ones.
template <class T>
MASHAL_FN T lcm(T a, T b) {
    T g = gcd(a, b);
    if (g == T(0)) return g;
    if constexpr (sizeof(T) < 4) {
        return static_cast<T>(int_abs(static_cast<int32_t>(a) / g * b));
    } else {
        return int_abs(int_mul(int_div_trunc(a, g), b));
    }
}

}  // namespace mashal::scalar
