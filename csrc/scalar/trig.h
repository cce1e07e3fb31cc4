// Trigonometric functions and their inverses. The float versions compute in double where that buys accuracy cheaply.
#pragma once
#include "scalar/common.h"
#include "scalar/exp_log.h"

namespace mashal::scalar {

// Whether the branch-free reduction modulo pi/2 below is good for x; callers take the _slow form otherwise.
MASHAL_FN bool trig_in_range(float x) { return fabs(x) < 0x1p22f; }

struct Reduced {
    double r;   // x - k pi/2, |r| <= pi/4 (a little more by rounding)
    int32_t q;  // k
};
MASHAL_FN Reduced reduce_pi2(float x) {
    double d = x;
    double k = (d * 0.636619772367581343 + 0x1.8p52) - 0x1.8p52;
    // pi/2 in two parts, the first of 29 bits: k * first is exact for |k| < 2^24.
    double r = (d - k * 0x1.921fb54p0) - k * 0x1.10b4611a62633p-30;
    return {r, static_cast<int32_t>(k)};
}
MASHAL_FN float sin_quadrant(float r, int32_t q) {
    float y = r * r;
    float s = fma(r * y, poly(y, -0.166666549f, 0.00833217626f, -0.0001951695f), r);
    float c = fma(y * y, poly(y, 0.0416666468f, -0.00138873625f, 2.44378313e-5f), fma(y, -0.5f, 1.0f));
    float v = (q & 1) != 0 ? c : s;
    return from_bits(bits_of(v) ^ (static_cast<uint32_t>(q & 2) << 30));
}

MASHAL_FN float sin_fast(float x) {
    Reduced a = reduce_pi2(x);
    float v = sin_quadrant(static_cast<float>(a.r), a.q);
    return x == 0.0f ? x : v;
}
MASHAL_FN float cos_fast(float x) {
    Reduced a = reduce_pi2(x);
    return sin_quadrant(static_cast<float>(a.r), a.q + 1);
}
MASHAL_FN float tan_fast(float x) {
    Reduced a = reduce_pi2(x);
    double y = a.r * a.r;
    double s = a.r + a.r * y *
                         poly(y, -0.166666666666317973, 0.00833333332528098233, -0.00019841263819396439,
                              2.7555355778198905e-6, -2.47614449641680835e-8);
    double c =
        1.0 - 0.5 * y +
        y * y *
            poly(y, 0.0416666666226162589, -0.00138888837323364381, 0.0000247995139207590692, -2.72097018064520112e-7);
    bool odd = (a.q & 1) != 0;
    float t = static_cast<float>((odd ? -c : s) / (odd ? s : c));
    return x == 0.0f ? x : t;
}
MASHAL_SLOW_FN float sin_slow(float x) { return static_cast<float>(MASHAL_LIBM(sin)(static_cast<double>(x))); }
MASHAL_SLOW_FN float cos_slow(float x) { return static_cast<float>(MASHAL_LIBM(cos)(static_cast<double>(x))); }
MASHAL_SLOW_FN float tan_slow(float x) { return static_cast<float>(MASHAL_LIBM(tan)(static_cast<double>(x))); }

// sin, cos, tan. Domain: all (huge arguments reduced by libm). Max error: 2 ULP.
// Special: sin(-0) = tan(-0) = -0, +-inf -> nan, nan -> nan.
MASHAL_FN float sin(float x) { return trig_in_range(x) ? sin_fast(x) : sin_slow(x); }
MASHAL_FN float cos(float x) { return trig_in_range(x) ? cos_fast(x) : cos_slow(x); }
MASHAL_FN float tan(float x) { return trig_in_range(x) ? tan_fast(x) : tan_slow(x); }
MASHAL_FN double sin(double x) { return MASHAL_LIBM(sin)(x); }
MASHAL_FN double cos(double x) { return MASHAL_LIBM(cos)(x); }
MASHAL_FN double tan(double x) { return MASHAL_LIBM(tan)(x); }

// To float accuracy: asin(s) for 0 <= s <= 0.5 given z = s^2; atan(t) for 0 <= t <= 1.
MASHAL_FN double asin_core(double s, double z) {
    return s + s * z *
                   poly(z, 0.166666671597205744, 0.074999498055766407, 0.0446598442262648472, 0.0301131544239242609,
                        0.0246050743316589458, 0.00749830544552774144, 0.0346693048949459753);
}
MASHAL_FN double atan_core(double t) {
    double z = t * t;
    return t + t * z *
                   poly(z, -0.333333322856990965, 0.199999341308402298, -0.142842786265607058, 0.110954085383492752,
                        -0.0898969520002594651, 0.0727187698754858611, -0.054749037406440137, 0.0347561412506715187,
                        -0.016508593805245401, 0.00501451943625366309, -0.000714001579530265509);
}

// asin, acos. Domain: |x| <= 1. Max error: 1 ULP.
// Special: |x| > 1 -> nan, asin(-0) = -0, acos(1) = 0, nan -> nan.
MASHAL_FN float asin(float x) {
    double a = fabs(static_cast<double>(x));
    bool big = a > 0.5;
    double z = big ? 0.5 - 0.5 * a : a * a;
    double s = big ? sqrt(z) : a;
    double p = asin_core(s, z);
    return copysign(static_cast<float>(big ? kPi2 - 2.0 * p : p), x);
}
MASHAL_FN float acos(float x) {
    double d = x;
    double a = fabs(d);
    bool big = a > 0.5;
    double z = big ? 0.5 - 0.5 * a : a * a;
    double s = big ? sqrt(z) : a;
    double p = asin_core(s, z);
    double middle = kPi2 - (d < 0.0 ? -p : p);
    double edge = d < 0.0 ? kPi - 2.0 * p : 2.0 * p;
    return static_cast<float>(big ? edge : middle);
}
MASHAL_FN double asin(double x) { return MASHAL_LIBM(asin)(x); }
MASHAL_FN double acos(double x) { return MASHAL_LIBM(acos)(x); }

// atan. Domain: all. Max error: 1 ULP.
// Special: +-inf -> +-pi/2, -0 -> -0, nan -> nan.
MASHAL_FN float atan(float x) {
    double a = fabs(static_cast<double>(x));
    bool big = a > 1.0;
    double p = atan_core((big ? 1.0 : a) / (big ? a : 1.0));
    return copysign(static_cast<float>(big ? kPi2 - p : p), x);
}
MASHAL_FN double atan(double x) { return MASHAL_LIBM(atan)(x); }

// atan2. Domain: all. Max error: 1 ULP.
// Special: C99's table of signed zeros and infinities; nan -> nan.
MASHAL_FN float atan2(float y, float x) {
    double ax = fabs(static_cast<double>(x)), ay = fabs(static_cast<double>(y));
    bool steep = ay > ax;
    double hi = steep ? ay : ax;
    double lo = steep ? ax : ay;
    double t = lo / hi;
    t = hi == 0.0 ? 0.0 : t;
    t = lo == inf<double>() ? 1.0 : t;
    double p = atan_core(t);
    p = steep ? kPi2 - p : p;
    p = (bits_of(x) & limits<float>::sign) != 0 ? kPi - p : p;
    float r = copysign(static_cast<float>(p), y);
    return (x != x) | (y != y) ? nan<float>() : r;
}
MASHAL_FN double atan2(double y, double x) { return MASHAL_LIBM(atan2)(y, x); }

// sinc: sin(pi x) / (pi x). Domain: all. Max error: float 2 ULP, double a few ULP (pi x is rounded).
// Special: sinc(0) = 1, +-inf -> nan.
MASHAL_SLOW_FN double sinc(double x) {
    double p = kPi * x;
    return x == 0.0 ? 1.0 : MASHAL_LIBM(sin)(p) / p;
}
MASHAL_FN float sinc(float x) { return static_cast<float>(sinc(static_cast<double>(x))); }

}  // namespace mashal::scalar
