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
// Quotient towards zero; the lowest value divided by -1 wraps to itself.
template <class T>
MASHAL_FN T int_div_trunc(T a, T b) {
    if constexpr (T(-1) < T(0)) {
        return b == T(-1) ? int_neg(a) : static_cast<T>(a / b);
    } else {
        return static_cast<T>(a / b);
    }
}
template <class T>
MASHAL_FN T int_fmod(T a, T b) {
    if constexpr (T(-1) < T(0)) {
        return b == T(-1) ? T(0) : static_cast<T>(a % b);
    } else {
        return static_cast<T>(a % b);
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
template <class T>
MASHAL_FN T lcm(T a, T b) {
    T g = gcd(a, b);
    return g == T(0) ? T(0) : int_abs(int_mul(int_div_trunc(a, g), b));
}

}  // namespace mashal::scalar
