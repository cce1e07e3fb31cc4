// A plain complex number: two reals side by side, as NumPy, C and CUDA lay them out.
// Multiplication is the textbook formula (no C99 repair of infinities), division scales by the larger part (Smith).
#pragma once
#include "scalar/common.h"

namespace mashal::scalar {

template <class T>
struct cplx {
    using value_type = T;
    T re, im;

    cplx() = default;
    MASHAL_MEMBER constexpr cplx(T r, T i = T(0)) : re(r), im(i) {}
    template <class U>
    MASHAL_MEMBER constexpr explicit cplx(const cplx<U>& z) : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}

    MASHAL_MEMBER cplx& operator+=(cplx b) {
        re += b.re;
        im += b.im;
        return *this;
    }
    MASHAL_MEMBER cplx& operator-=(cplx b) {
        re -= b.re;
        im -= b.im;
        return *this;
    }
    MASHAL_MEMBER cplx& operator*=(cplx b) { return *this = cplx(re * b.re - im * b.im, re * b.im + im * b.re); }
    MASHAL_MEMBER cplx& operator/=(cplx b) {
        T ac = b.re < T(0) ? -b.re : b.re;
        T ad = b.im < T(0) ? -b.im : b.im;
        bool swap = ac < ad;
        T big = swap ? b.im : b.re;
        T small = swap ? b.re : b.im;
        T ratio = small / big;
        T scale = T(1) / (big + small * ratio);
        T p = swap ? re * ratio + im : re + im * ratio;
        T q = swap ? im * ratio - re : im - re * ratio;
        return *this = cplx(p * scale, q * scale);
    }

    // Friends found by argument lookup, so that `z * 2.0f` and `2.0f * z` convert.
    MASHAL_MEMBER friend cplx operator+(cplx a, cplx b) { return cplx(a.re + b.re, a.im + b.im); }
    MASHAL_MEMBER friend cplx operator-(cplx a, cplx b) { return cplx(a.re - b.re, a.im - b.im); }
    MASHAL_MEMBER friend cplx operator*(cplx a, cplx b) { return a *= b; }
    MASHAL_MEMBER friend cplx operator/(cplx a, cplx b) { return a /= b; }
    MASHAL_MEMBER friend cplx operator-(cplx a) { return cplx(-a.re, -a.im); }
    MASHAL_MEMBER friend cplx operator+(cplx a) { return a; }
    MASHAL_MEMBER friend constexpr bool operator==(cplx a, cplx b) { return (a.re == b.re) & (a.im == b.im); }
    MASHAL_MEMBER friend constexpr bool operator!=(cplx a, cplx b) { return (a.re != b.re) | (a.im != b.im); }
};

template <class T>
MASHAL_FN cplx<T> conj(cplx<T> z) {
    return cplx<T>(z.re, -z.im);
}

}  // namespace mashal::scalar
