// Arithmetic, comparison, rounding and classification of real numbers, with PyTorch's rules for nan and signs.
// Max error: 0.5 ULP (exactly rounded) unless a function says otherwise.
#pragma once
#include "scalar/common.h"
#include "scalar/exp_log.h"

namespace mashal::scalar {

// Larger/smaller of two; nan if either is nan. On integers: plain max/min.
template <class T>
MASHAL_FN T maximum(T a, T b) {
    return (a != a) | (a > b) ? a : b;
}
template <class T>
MASHAL_FN T minimum(T a, T b) {
    return (a != a) | (a < b) ? a : b;
}
// Larger/smaller of two; a nan loses against a number.
template <class T>
MASHAL_FN T fmax(T a, T b) {
    return (b != b) | (a > b) ? a : b;
}
template <class T>
MASHAL_FN T fmin(T a, T b) {
    return (b != b) | (a < b) ? a : b;
}
// min(max(x, lo), hi): hi wins when lo > hi; any nan gives nan; x itself (a zero's sign) where it equals a bound.
template <class T>
MASHAL_FN T at_least(T x, T lo) {
    return (lo > x) | (lo != lo) ? lo : x;
}
template <class T>
MASHAL_FN T at_most(T x, T hi) {
    return (hi < x) | (hi != hi) ? hi : x;
}
template <class T>
MASHAL_FN T clamp(T x, T lo, T hi) {
    return at_most(at_least(x, lo), hi);
}

// Round to an integral value. round: halves go to even.
// Special: +-0, +-inf, nan unchanged.
MASHAL_FN float floor(float x) { return MASHAL_LIBMF(floor)(x); }
MASHAL_FN double floor(double x) { return MASHAL_LIBM(floor)(x); }
MASHAL_FN float ceil(float x) { return MASHAL_LIBMF(ceil)(x); }
MASHAL_FN double ceil(double x) { return MASHAL_LIBM(ceil)(x); }
MASHAL_FN float trunc(float x) { return MASHAL_LIBMF(trunc)(x); }
MASHAL_FN double trunc(double x) { return MASHAL_LIBM(trunc)(x); }
MASHAL_FN float round(float x) { return MASHAL_LIBMF(rint)(x); }
MASHAL_FN double round(double x) { return MASHAL_LIBM(rint)(x); }
template <class T>
MASHAL_FN T frac(T x) {
    return x - trunc(x);
}
// round(x * 10^decimals) / 10^decimals, with the power on the other side for negative `decimals`.
template <class T>
MASHAL_FN T round_decimals(T x, T ten_to_abs_decimals, bool negative) {
    return negative ? round(x / ten_to_abs_decimals) * ten_to_abs_decimals
                    : round(x * ten_to_abs_decimals) / ten_to_abs_decimals;
}

template <class T>
MASHAL_FN bool isnan(T x) {
    return x != x;
}
template <class T>
MASHAL_FN bool isinf(T x) {
    return fabs(x) == inf<T>();
}
template <class T>
MASHAL_FN bool isfinite(T x) {
    return fabs(x) < inf<T>();
}
template <class T>
MASHAL_FN bool isposinf(T x) {
    return x == inf<T>();
}
template <class T>
MASHAL_FN bool isneginf(T x) {
    return x == -inf<T>();
}
MASHAL_FN bool signbit(float x) { return (bits_of(x) & limits<float>::sign) != 0; }
MASHAL_FN bool signbit(double x) { return (bits_of(x) & limits<double>::sign) != 0; }
template <class T>
MASHAL_FN T nan_to_num(T x, T nan_value, T posinf, T neginf) {
    T r = x != x ? nan_value : x;
    r = x == inf<T>() ? posinf : r;
    return x == -inf<T>() ? neginf : r;
}
// -1, 0 or 1; 0 for nan.
template <class T>
MASHAL_FN T sign(T x) {
    return static_cast<T>((x > T(0) ? T(1) : T(0)) - (x < T(0) ? T(1) : T(0)));
}
// 0 below zero, 1 above (and for nan 0), `at_zero` at zero.
template <class T>
MASHAL_FN T heaviside(T x, T at_zero) {
    return x == T(0) ? at_zero : (x > T(0) ? T(1) : T(0));
}
// Phase of a real number: 0, or pi below zero; nan stays nan.
template <class T>
MASHAL_FN T angle(T x) {
    return x < T(0) ? T(kPi) : (x != x ? x : T(0));
}

// C's fmod: sign of the dividend, exact.
// Special: b = 0 or a = +-inf -> nan, b = +-inf -> a, nan -> nan.
// float: a quotient below 2^28 comes out exactly in double; beyond that, and for special values, libm.
MASHAL_FN bool fmod_in_range(float a, float b) {
    return (fabs(static_cast<double>(a) / static_cast<double>(b)) < 0x1p28) & (fabs(b) < inf<float>());
}
MASHAL_FN float fmod_fast(float a, float b) {
    double da = a, db = b;
    double q = static_cast<double>(static_cast<int32_t>(da / db));
    return copysign(static_cast<float>(da - q * db), a);
}
MASHAL_SLOW_FN float fmod_slow(float a, float b) { return MASHAL_LIBMF(fmod)(a, b); }
MASHAL_FN float fmod(float a, float b) { return fmod_in_range(a, b) ? fmod_fast(a, b) : fmod_slow(a, b); }
MASHAL_FN double fmod(double a, double b) { return MASHAL_LIBM(fmod)(a, b); }

// Python's %: the sign of the divisor. `mod` is fmod(a, b).
template <class T>
MASHAL_FN T remainder_from(T mod, T b) {
    return (mod != T(0)) & ((b < T(0)) != (mod < T(0))) ? mod + b : mod;
}
template <class T>
MASHAL_FN T remainder(T a, T b) {
    return remainder_from(fmod(a, b), b);
}
// Python's //, through the remainder so that it agrees with %. `mod` is fmod(a, b).
// Special: b = 0 -> a / b.
template <class T>
MASHAL_FN T floor_divide_from(T a, T b, T mod) {
    T q = (a - mod) / b;
    q = (mod != T(0)) & ((b < T(0)) != (mod < T(0))) ? q - T(1) : q;
    T f = floor(q);
    f = q - f > T(0.5) ? f + T(1) : f;
    f = q == T(0) ? copysign(T(0), a / b) : f;
    return b == T(0) ? a / b : f;
}
template <class T>
MASHAL_FN T floor_divide(T a, T b) {
    return floor_divide_from(a, b, fmod(a, b));
}

// sqrt(a^2 + b^2) without overflow. Max error: 1 ULP.
// Special: inf if either is inf (even beside nan), else nan if either is nan.
MASHAL_FN float hypot(float a, float b) {
    double da = a, db = b;
    float r = static_cast<float>(sqrt(da * da + db * db));
    return isinf(a) | isinf(b) ? inf<float>() : r;
}
MASHAL_FN double hypot(double a, double b) { return MASHAL_LIBM(hypot)(a, b); }

// The next representable number after a in the direction of b; b if they are equal, nan if either is nan.
template <class T>
MASHAL_FN T nextafter(T a, T b) {
    using U = typename limits<T>::bits;
    U u = bits_of(a);
    bool away = (b > a) == (a > T(0));
    U step = away ? u + 1 : u - 1;
    U from_zero = (bits_of(b) & limits<T>::sign) | U(1);
    T r = from_bits(a == T(0) ? from_zero : step);
    r = a == b ? b : r;
    return (a != a) | (b != b) ? nan<T>() : r;
}

// a * 2^b, the power taken first as PyTorch does. Max error: 2 ULP.
template <class T>
MASHAL_FN T ldexp(T a, T b) {
    return a * exp2(b);
}
// x log(y), 0 where x = 0 and y is not nan. Max error: 2 ULP. xlog1py likewise with log1p.
template <class T>
MASHAL_FN T xlogy(T x, T y) {
    T r = x * log(y);
    r = x == T(0) ? T(0) : r;
    return y != y ? y : r;
}
template <class T>
MASHAL_FN T xlog1py(T x, T y) {
    T r = x * log1p(y);
    r = x == T(0) ? T(0) : r;
    return y != y ? y : r;
}
// log(e^a + e^b), log2(2^a + 2^b). Max error: 2 ULP of the larger of |result|, max(a, b).
// Special: equal infinities give themselves.
template <class T>
MASHAL_FN T logaddexp(T a, T b) {
    T m = maximum(a, b);
    T r = m + log1p_unit(exp_nonpositive(-fabs(a - b)));
    return isinf(a) & (a == b) ? a : r;
}
template <class T>
MASHAL_FN T logaddexp2(T a, T b) {
    T m = maximum(a, b);
    T r = m + log1p_unit(exp2(-fabs(a - b))) * T(kLog2E);
    return isinf(a) & (a == b) ? a : r;
}
// log(x / (1 - x)) for x in [0, 1], else nan.
template <class T>
MASHAL_FN T logit(T x) {
    return log(x / (T(1) - x));
}

// a + w (b - a), from the nearer end so that w = 1 gives b exactly. Max error: 2 ULP of the larger end.
template <class T>
MASHAL_FN T lerp(T a, T b, T w) {
    return fabs(w) < T(0.5) ? a + w * (b - a) : b - (b - a) * (T(1) - w);
}

}  // namespace mashal::scalar
