// Hyperbolic functions and their inverses.
#pragma once
#include "scalar/common.h"
#include "scalar/exp_log.h"

namespace mashal::scalar {

// tanh. Domain: all. Max error: float 2 ULP, double 2.5 ULP.
// Special: +-inf -> +-1, -0 -> -0, nan -> nan.
MASHAL_FN float tanh(float x) {
    float a = fabs(x);
    float y = a * a;
    float p = poly(y, -0.333332803f, 0.133313862f, -0.0537341721f, 0.0206185987f, -0.00567976833f);
    float near = fma(a * y, p, a);
    // Beyond 10 the result is 1 in float.
    float far = 1.0f - 2.0f / (exp_core(a > 10.0f ? 20.0f : 2.0f * a, 0.0f) + 1.0f);
    return copysign(a < 0.625f ? near : far, x);
}
MASHAL_FN double tanh(double x) {
    double a = 2.0 * fabs(x);
    double t = expm1(a > 60.0 ? 60.0 : a);
    return copysign(t / (t + 2.0), x);
}

// sinh, cosh. Domain: all. Max error: 1 ULP.
// Special: overflow to inf beyond 89.4 (float); sinh(-0) = -0, cosh(+-inf) = inf, nan -> nan.
MASHAL_FN float sinh(float x) {
    double a = fabs(static_cast<double>(x));
    double y = a * a;
    double e = exp(a);
    double near = a + a * y * (1.0 / 6 + y * (1.0 / 120 + y * (1.0 / 5040)));
    return copysign(static_cast<float>(a < 0.1 ? near : 0.5 * (e - 1.0 / e)), x);
}
MASHAL_FN float cosh(float x) {
    double e = exp(fabs(static_cast<double>(x)));
    return static_cast<float>(0.5 * (e + 1.0 / e));
}
MASHAL_FN double sinh(double x) { return MASHAL_LIBM(sinh)(x); }
MASHAL_FN double cosh(double x) { return MASHAL_LIBM(cosh)(x); }

// asinh. Domain: all. Max error: 1 ULP. Special: +-inf -> +-inf, -0 -> -0, nan -> nan.
// acosh. Domain: x >= 1. Max error: 1 ULP. Special: x < 1 -> nan, inf -> inf.
// atanh. Domain: |x| <= 1. Max error: 1 ULP. Special: +-1 -> +-inf, |x| > 1 -> nan, -0 -> -0.
MASHAL_FN float asinh(float x) {
    double a = fabs(static_cast<double>(x));
    double near = a - a * a * a * (1.0 / 6);
    double far = log(a + sqrt(a * a + 1.0));
    return copysign(static_cast<float>(a < 1e-4 ? near : far), x);
}
MASHAL_FN float acosh(float x) {
    double d = x;
    double r = log(d + sqrt(d * d - 1.0));
    return static_cast<float>(d < 1.0 ? nan<double>() : r);
}
MASHAL_FN float atanh(float x) {
    double a = fabs(static_cast<double>(x));
    double near = a + a * a * a * (1.0 / 3);
    double far = 0.5 * log((1.0 + a) / (1.0 - a));
    return copysign(static_cast<float>(a < 1e-4 ? near : far), x);
}
MASHAL_FN double asinh(double x) { return MASHAL_LIBM(asinh)(x); }
MASHAL_FN double acosh(double x) { return MASHAL_LIBM(acosh)(x); }
MASHAL_FN double atanh(double x) { return MASHAL_LIBM(atanh)(x); }

}  // namespace mashal::scalar
