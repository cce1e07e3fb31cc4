// The scaled complementary error function and the incomplete gamma functions. The float versions round the double ones.
#pragma once
#include "scalar/common.h"
#include "scalar/erf.h"
#include "scalar/exp_log.h"
#include "scalar/special.h"

namespace mashal::scalar {

// erfcx: exp(x^2) erfc(x). Domain: all. Max error: 4 ULP.
// Special: below -26.6 -> inf, inf -> 0, nan -> nan.
MASHAL_SLOW_FN double erfcx(double x) {
    double a = fabs(x);
    if (a >= 25.0) {
        // 1/(a sqrt(pi)) (1 - 1/(2a^2) + 1*3/(2a^2)^2 - ...), to the seventh term.
        double t = 0.5 / (a * a);
        double series = poly(t, 1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0);
        double r = a == inf<double>() ? 0.0 : 0.5 * k2SqrtPi / a * series;
        return x < 0.0 ? inf<double>() : r;
    }
    // The square in two parts: its rounding error would be blown up by exp.
    double high = x * x;
    double low = MASHAL_LIBM(fma)(x, x, -high);
    double scale = exp(high);
    return (scale + scale * low) * MASHAL_LIBM(erfc)(x);
}
MASHAL_FN float erfcx(float x) { return static_cast<float>(erfcx(static_cast<double>(x))); }

// m - log(1 + m) for |m| < 0.25.
MASHAL_SLOW_FN double log1p_excess(double m) {
    double power = m * m, sum = 0.0;
    for (int k = 2; k < 32; ++k) {
        sum += power / k;
        power *= -m;
    }
    return sum;
}

// x^a e^-x / Gamma(a + 1) for a, x > 0.
MASHAL_SLOW_FN double gamma_prefix(double a, double x) {
    if (a < 20.0) return exp(a * log(x) - x - lgamma(a + 1.0));
    // With Stirling's series for Gamma, so that large powers cancel before they are taken: e^(-a phi) / sqrt(2 pi a),
    // phi = m - log(1 + m), m = x/a - 1.
    double m = (x - a) / a;
    double phi = fabs(m) < 0.25 ? log1p_excess(m) : m - log1p(m);
    double r = 1.0 / a;
    double s = r * r;
    double correction = r * poly(s, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188);
    return exp(-a * phi - correction) * k1Sqrt2Pi * sqrt(r);
}

// P(a, x) = prefix (1 + x/(a+1) + x^2/((a+1)(a+2)) + ...): for x up to a + 1. About sqrt(a) terms.
MASHAL_SLOW_FN double lower_gamma_series(double a, double x) {
    double term = 1.0, sum = 1.0;
    for (double n = a + 1.0; term > sum * 0x1p-54; n += 1.0) {
        term *= x / n;
        sum += term;
    }
    return gamma_prefix(a, x) * sum;
}
// Q(a, x) by the continued fraction a prefix / (x + 1 - a - 1(1-a)/(x + 3 - a - ...)): for x above a + 1.
MASHAL_SLOW_FN double upper_gamma_fraction(double a, double x) {
    double prefix = gamma_prefix(a, x);
    if (prefix == 0.0) return 0.0;
    double b = x + 1.0 - a, c = inf<double>(), d = 1.0 / b, h = d;
    for (double n = 1.0; n < 1e7; n += 1.0) {
        double an = n * (a - n);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        double factor = c * d;
        h *= factor;
        if (!(fabs(factor - 1.0) >= 0x1p-53)) break;  // or NaN
    }
    return prefix * a * h;
}
// Q(a, x) for x up to 1.1 and a up to x: 1 - P would cancel.
MASHAL_SLOW_FN double upper_gamma_series(double a, double x) {
    double power = 1.0, sum = 0.0;
    for (double n = 1.0; n < 200.0; n += 1.0) {
        power *= -x / n;
        double term = power / (a + n);
        sum += term;
        if (fabs(term) < 0x1p-54 * fabs(sum)) break;
    }
    double log_x = log(x);
    return -expm1(a * log_x - lgamma(1.0 + a)) - exp(a * log_x - lgamma(a)) * sum;
}

// Q(a, x) (side 1) or P(a, x) (side -1) for a > 1e8, where the sums above take too many terms: N. Temme's uniform
// expansion (1979). Away from a the result is 0 or 1 to the last bit, so that its coefficients are needed for small eta
// only.
constexpr double kLargeShape = 1e8;
MASHAL_SLOW_FN double gamma_uniform(double side, double a, double x) {
    double m = (x - a) / a;
    if (fabs(m) > 0.01) return (x < a) == (side > 0.0) ? 1.0 : 0.0;
    double phi = log1p_excess(m);
    double eta = x < a ? -sqrt(2.0 * phi) : sqrt(2.0 * phi);
    double c0 = poly(eta, -1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864, 1.0 / 2835);
    double c1 = poly(eta, -1.0 / 540, -1.0 / 288, 1.0 / 378);
    return 0.5 * MASHAL_LIBM(erfc)(side * eta * sqrt(0.5 * a)) +
           side * exp(-a * phi) * k1Sqrt2Pi / sqrt(a) * (c0 + c1 / a);
}

// igamma, igammac: regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x).
// Domain: a, x >= 0. Max error: float 2 ULP; double 1e-13 relative.
// Special: a < 0 or x < 0 -> nan; P(0, x) = 1 and P(0, 0) = nan; P(a, 0) = 0; P(a, inf) = 1; P(inf, x) = 0; P(inf, inf)
// = nan.
MASHAL_SLOW_FN double igammac(double a, double x) {
    if (!(a >= 0.0) || !(x >= 0.0)) return nan<double>();
    if (a == 0.0) return x > 0.0 ? 0.0 : nan<double>();
    if (x == 0.0) return 1.0;
    if (a == inf<double>()) return x == inf<double>() ? nan<double>() : 1.0;
    if (x == inf<double>()) return 0.0;
    if (a > kLargeShape) return gamma_uniform(1.0, a, x);
    if (x <= 1.1 && a <= x) return upper_gamma_series(a, x);
    return x < a + 1.0 ? 1.0 - lower_gamma_series(a, x) : upper_gamma_fraction(a, x);
}
MASHAL_SLOW_FN double igamma(double a, double x) {
    if (!(a >= 0.0) || !(x >= 0.0)) return nan<double>();
    if (a == 0.0) return x > 0.0 ? 1.0 : nan<double>();
    if (x == 0.0) return 0.0;
    if (a == inf<double>()) return x == inf<double>() ? nan<double>() : 0.0;
    if (x == inf<double>()) return 1.0;
    if (a > kLargeShape) return gamma_uniform(-1.0, a, x);
    return x < a + 1.0 ? lower_gamma_series(a, x) : 1.0 - upper_gamma_fraction(a, x);
}
MASHAL_FN float igamma(float a, float x) {
    return static_cast<float>(igamma(static_cast<double>(a), static_cast<double>(x)));
}
MASHAL_FN float igammac(float a, float x) {
    return static_cast<float>(igammac(static_cast<double>(a), static_cast<double>(x)));
}

}  // namespace mashal::scalar
