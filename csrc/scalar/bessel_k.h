// Bessel functions of the first and second kind, orders 0 and 1, and modified ones of the second kind.
// The float versions round the double ones.
#pragma once
#include "scalar/bessel.h"
#include "scalar/common.h"
#include "scalar/exp_log.h"

namespace mashal::scalar {

// bessel_j0, j1, y0, y1. Domain: all (y: x > 0). Max error: float 1 ULP away from zeros, double that of libm.
// Special: y(0) = -inf, y(x < 0) = nan, j(+-inf) = y(inf) = 0, nan -> nan.
MASHAL_SLOW_FN double bessel_j0(double x) { return MASHAL_LIBM(j0)(x); }
MASHAL_SLOW_FN double bessel_j1(double x) { return MASHAL_LIBM(j1)(x); }
MASHAL_SLOW_FN double bessel_y0(double x) {
    return x > 0.0 ? MASHAL_LIBM(y0)(x) : (x == 0.0 ? -inf<double>() : nan<double>());
}
MASHAL_SLOW_FN double bessel_y1(double x) {
    return x > 0.0 ? MASHAL_LIBM(y1)(x) : (x == 0.0 ? -inf<double>() : nan<double>());
}

// e^x K(x) for x > 2 by the trapezoidal rule for the integral of exp(-x (cosh t - 1)) cosh(order t) over t > 0, which
// converges exponentially; cut where the exponent reaches -40.
MASHAL_SLOW_FN double scaled_k_integral(double x, bool order_one) {
    constexpr int steps = 24;
    double reach = 40.0 / x;
    double h = log1p(reach + sqrt(reach * (reach + 2.0))) / steps;  // acosh(1 + reach)
    double sum = 0.5;
    for (int k = 1; k <= steps; ++k) {
        double s = MASHAL_LIBM(sinh)(0.5 * h * k);
        double above = 2.0 * s * s;  // cosh(t) - 1 without cancellation
        double term = exp(-x * above);
        sum += order_one ? term * (1.0 + above) : term;
    }
    return h * sum;
}
// K(x) for 0 < x <= 2 by its power series (Abramowitz and Stegun 9.6.11 and 9.6.13).
MASHAL_SLOW_FN double k0_series(double x) {
    constexpr double euler = 0.577215664901532860607;
    double q = 0.25 * x * x, term = 1.0, harmonic = 0.0, sum = 0.0;
    for (int k = 1; k < 24; ++k) {
        term *= q / (static_cast<double>(k) * k);
        harmonic += 1.0 / k;
        sum += term * harmonic;
    }
    return sum - (log(0.5 * x) + euler) * i0(x);
}
MASHAL_SLOW_FN double k1_series(double x) {
    constexpr double euler = 0.577215664901532860607;
    double q = 0.25 * x * x, term = 1.0, digammas = 1.0 - 2.0 * euler, sum = digammas;
    for (int k = 1; k < 24; ++k) {
        term *= q / (static_cast<double>(k) * (k + 1));
        digammas += 1.0 / k + 1.0 / (k + 1);
        sum += term * digammas;
    }
    return 1.0 / x + log(0.5 * x) * i1(x) - 0.25 * x * sum;
}

// bessel_k0, k1: K(x); scaled_k0, k1: e^x K(x). Domain: x > 0. Max error: float 1 ULP, double 8 ULP.
// Special: 0 -> inf, x < 0 -> nan, inf -> 0, nan -> nan.
MASHAL_SLOW_FN double scaled_k(double x, bool order_one) {
    if (!(x >= 0.0)) return nan<double>();
    if (x == 0.0) return inf<double>();
    if (x == inf<double>()) return 0.0;
    return x <= 2.0 ? (order_one ? k1_series(x) : k0_series(x)) * exp(x) : scaled_k_integral(x, order_one);
}
MASHAL_SLOW_FN double plain_k(double x, bool order_one) {
    if (!(x > 0.0) || x == inf<double>()) return scaled_k(x, order_one);
    return x <= 2.0 ? (order_one ? k1_series(x) : k0_series(x)) : scaled_k_integral(x, order_one) * exp(-x);
}
template <class T>
MASHAL_FN T bessel_k0(T x) {
    return static_cast<T>(plain_k(static_cast<double>(x), false));
}
template <class T>
MASHAL_FN T bessel_k1(T x) {
    return static_cast<T>(plain_k(static_cast<double>(x), true));
}
template <class T>
MASHAL_FN T scaled_k0(T x) {
    return static_cast<T>(scaled_k(static_cast<double>(x), false));
}
template <class T>
MASHAL_FN T scaled_k1(T x) {
    return static_cast<T>(scaled_k(static_cast<double>(x), true));
}
// sin(x) / x, 1 at 0. Special: +-inf -> 0.
template <class T>
MASHAL_FN T spherical_j0(T x) {
    double d = static_cast<double>(x);
    double r = fabs(d) < 1e-4 ? 1.0 - d * d / 6.0 : MASHAL_LIBM(sin)(d) / d;
    return static_cast<T>(fabs(d) == inf<double>() ? 0.0 : r);
}

}  // namespace mashal::scalar
