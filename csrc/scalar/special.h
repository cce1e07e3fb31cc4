// Gamma family, Hurwitz zeta, inverse error function, normal quantities. The float versions round the double ones.
#pragma once
#include "scalar/common.h"
#include "scalar/erf.h"
#include "scalar/exp_log.h"

namespace mashal::scalar {

// lgamma: log|Gamma(x)|. Domain: all. Max error: float 1 ULP, double that of libm.
// Special: poles at 0, -1, -2, ... and +-inf -> inf, nan -> nan.
MASHAL_SLOW_FN double lgamma(double x) {
#if defined(__CUDACC__)
    return ::lgamma(x);
#else
    // The re-entrant form: plain lgamma writes a global sign.
    int sign;
    return __builtin_lgamma_r(x, &sign);
#endif
}
MASHAL_FN float lgamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }

// digamma: derivative of lgamma. Domain: all. Max error: float 1 ULP; double 4 ULP for x > 0 away from the root
// at 1.46. Special: digamma(+-0) = -+inf, negative integers and -inf -> nan, inf -> inf, nan -> nan.
MASHAL_SLOW_FN double digamma(double x) {
    if (x == 0.0) return copysign(inf<double>(), -x);
    double r = 0.0;
    if (x < 0.0) {
        // Reflection; the fraction first, so that tan sees an exact argument.
        double whole = MASHAL_LIBM(trunc)(x);
        if (x == whole) return nan<double>();
        r = -kPi / MASHAL_LIBM(tan)(kPi * (x - whole));
        x = 1.0 - x;
    }
    // Up by the recurrence until the asymptotic series holds to the last bit.
    while (x < 10.0) {
        r -= 1.0 / x;
        x += 1.0;
    }
    if (x == inf<double>()) return x;
    double z = 1.0 / (x * x);
    double series =
        x < 1e17 ? z * poly(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12) : 0.0;
    return r + (log(x) - 0.5 / x - series);
}
MASHAL_FN float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

// zeta: Hurwitz zeta, sum over k >= 0 of (q + k)^-s. Domain: s > 1. Max error: float 1 ULP, double 16 ULP.
// Special: s = 1 -> inf, s < 1 -> nan, q a non-positive integer -> inf, other q < 0 with non-integer s -> nan.
// Euler-Maclaurin after the first terms.
MASHAL_SLOW_FN double zeta(double s, double q) {
    if (s == 1.0) return inf<double>();
    if (!(s > 1.0)) return nan<double>();
    if (q == inf<double>()) return 0.0;
    if (q <= 0.0) {
        if (q == MASHAL_LIBM(floor)(q)) return inf<double>();
        if (s != MASHAL_LIBM(floor)(s)) return nan<double>();
    }
    double sum = 0.0, term = 0.0;
    int count = 0;
    while (count < 10 || q <= 10.0) {
        term = MASHAL_LIBM(pow)(q, -s);
        sum += term;
        q += 1.0;
        ++count;
        if (q > 1.0 && fabs(term) < 1e-17 * fabs(sum)) return sum;
    }
    double power = MASHAL_LIBM(pow)(q, -s);
    sum += power * q / (s - 1.0) + 0.5 * power;
    // B_2j / (2j)!
    const double b[12] = {1.0 / 12,
                          -1.0 / 720,
                          1.0 / 30240,
                          -1.0 / 1209600,
                          1.0 / 47900160,
                          -691.0 / 1307674368000.0,
                          1.0 / 74724249600.0,
                          -3617.0 / 10670622842880000.0,
                          43867.0 / 5109094217170944000.0,
                          -174611.0 / 802857662698291200000.0,
                          77683.0 / 14101100039391805440000.0,
                          -236364091.0 / 1693824136731743669452800000.0};
    double factor = s * power / q;
    for (int j = 0; j < 12; ++j) {
        double t = factor * b[j];
        sum += t;
        if (fabs(t) < 1e-17 * fabs(sum)) break;
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
    }
    return sum;
}
MASHAL_FN float zeta(float s, float q) {
    return static_cast<float>(zeta(static_cast<double>(s), static_cast<double>(q)));
}

// polygamma of order n: the n-th derivative of digamma. Domain: n >= 0. Max error: float 2 ULP, double 32 ULP.
// Special: poles as zeta's, with the sign (-1)^(n+1).
MASHAL_SLOW_FN double polygamma(int n, double x) {
    if (n == 0) return digamma(x);
    double factorial = MASHAL_LIBM(tgamma)(n + 1.0);
    return ((n & 1) != 0 ? factorial : -factorial) * zeta(n + 1.0, x);
}
MASHAL_FN float polygamma(int n, float x) { return static_cast<float>(polygamma(n, static_cast<double>(x))); }

// erfinv. Domain: |x| <= 1. Max error: float 1 ULP, double 4 ULP.
// Special: +-1 -> +-inf, |x| > 1 -> nan, -0 -> -0, nan -> nan.
// A rough fit in log(1 - x^2), then Halley steps: on erf in the middle, on erfc towards the ends.
MASHAL_FN double erfinv_steps(double x, int steps) {
    double a = fabs(x);
    if (!(a < 1.0)) return a == 1.0 ? copysign(inf<double>(), x) : nan<double>();
    double w = -MASHAL_LIBM(log)((1.0 - a) * (1.0 + a));
    double s = sqrt(w);
    double y = a * (w < 5.0 ? poly(w, 0.886251519619696977, 0.231639690611181913, 0.0124683632519336295,
                                   -0.00315317178920110383, 0.000189124364120462964, -1.20944916585488922e-7)
                            : poly(s, 0.513303388826794465, 0.205731610121084794, 0.361462695047779309,
                                   -0.0807609439271225296, 0.00895290632500067672, -0.000393388581216997999));
    for (int k = 0; k < steps; ++k) {
        double miss = a < 0.5 ? MASHAL_LIBM(erf)(y) - a : (1.0 - a) - MASHAL_LIBM(erfc)(y);
        double u = miss / (k2SqrtPi * MASHAL_LIBM(exp)(-y * y));
        y -= u / (1.0 + y * u);
    }
    return copysign(y, x);
}
MASHAL_SLOW_FN double erfinv(double x) { return erfinv_steps(x, 2); }
MASHAL_SLOW_FN float erfinv(float x) { return static_cast<float>(erfinv_steps(static_cast<double>(x), 1)); }

// ndtr: normal distribution function; log_ndtr: its logarithm; ndtri: its inverse on [0, 1].
// Domain: all. Max error: float 2 ULP; double that of erfc with a rounded argument (16 ULP at x = -5).
MASHAL_FN float ndtr(float x) {
    return static_cast<float>(0.5 * MASHAL_LIBM(erfc)(static_cast<double>(x) * -kSqrt1_2));
}
MASHAL_FN double ndtr(double x) { return 0.5 * MASHAL_LIBM(erfc)(x * -kSqrt1_2); }
MASHAL_SLOW_FN double log_ndtr(double x) {
    if (x > -1.0) return MASHAL_LIBM(log1p)(-0.5 * MASHAL_LIBM(erfc)(x * kSqrt1_2));
    if (x > -20.0) return MASHAL_LIBM(log)(0.5 * MASHAL_LIBM(erfc)(x * -kSqrt1_2));
    double z = 1.0 / (x * x);
    double mills = poly(z, 1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0);
    return -0.5 * x * x - MASHAL_LIBM(log)(-x) - 0.918938533204672741780 + MASHAL_LIBM(log)(mills);
}
MASHAL_FN float log_ndtr(float x) { return static_cast<float>(log_ndtr(static_cast<double>(x))); }
MASHAL_SLOW_FN double ndtri(double p) {
    // Near 0 and 1 on the smaller tail: solve erfc(y) = 2 min(p, 1 - p) by Halley steps in y.
    if (!(p >= 0.0 && p <= 1.0)) return nan<double>();
    double q = p < 0.5 ? p : 1.0 - p;
    if (q == 0.0) return p < 0.5 ? -inf<double>() : inf<double>();
    double w = -MASHAL_LIBM(log)(4.0 * q * (1.0 - q));
    double y = q > 1e-3 ? erfinv_steps(1.0 - 2.0 * q, 0) : sqrt(w > 0.0 ? w : 0.0) * 0.9;
    for (int k = 0; k < 8; ++k) {
        // Newton on log(erfc), nearly linear in y^2, is safe from far away; quadratic at the end.
        double e = MASHAL_LIBM(erfc)(y);
        double step = (e - 2.0 * q) / (k2SqrtPi * MASHAL_LIBM(exp)(-y * y));
        if (q < 1e-3) step = e * MASHAL_LIBM(log)(e / (2.0 * q)) / (k2SqrtPi * MASHAL_LIBM(exp)(-y * y));
        y += step;
        if (fabs(step) <= 1e-16 * fabs(y)) break;
    }
    return p < 0.5 ? -kSqrt2 * y : kSqrt2 * y;
}
MASHAL_FN float ndtri(float p) { return static_cast<float>(ndtri(static_cast<double>(p))); }
// -x log(x); 0 at 0, -inf below. Max error: 2 ULP.
template <class T>
MASHAL_FN T entr(T x) {
    T r = -x * log(x);
    r = x == T(0) ? T(0) : r;
    return x < T(0) ? -inf<T>() : r;
}

}  // namespace mashal::scalar
