// The error function family and the normal distribution function behind gelu.
#pragma once
#include "scalar/common.h"
#include "scalar/exp_log.h"

namespace mashal::scalar {

// erf. Domain: all. Max error: 1.2 ULP.
// Special: +-inf -> +-1, -0 -> -0, nan -> nan.
// Below the split an odd polynomial; above it 1 - exp(q(|x|)) with q fitted to log(erfc).
MASHAL_FN float erf(float x) {
    float a = fabs(x);
    a = a > 4.0f ? 4.0f : a;
    float y = a * a;
    float near = fma(a,
                     poly(y, 0.128379167f, -0.376126337f, 0.112836935f, -0.0268592454f, 0.00520057116f,
                          -0.000813672222f, 8.34221227e-5f),
                     a);
    float q = poly(a, -0.000203412392f, -1.1276437f, -0.637235949f, -0.103884515f, 0.0222042464f, -0.00303753408f,
                   0.000195358279f);
    return copysign(select(a < 0.9275f, near, 1.0f - exp_core(q, 0.0f)), x);
}
MASHAL_FN double erf(double x) {
    double a = fabs(x);
    a = a > 6.0 ? 6.0 : a;
    double y = a * a;
    double near = fma(a,
                      poly(y, 0.128379167095512574, -0.376126389031837481, 0.112837916709548819, -0.0268661706450773575,
                           0.00522397762482311177, -0.000854832698110431197, 0.000120553311206984823,
                           -0.000014925595465227827, 1.64610033639939783e-6, -1.63503400902743654e-7,
                           1.46599388629271771e-8, -1.13734034511898688e-9, 5.95798635528371854e-11),
                      a);
    double q = poly(a, -1.79624774574105958e-7, -1.12837732921583417, -0.636628489156828212, -0.102747251383769994,
                    0.019078153343988017, 0.000280492451462652858, -0.00176900528264991534, 0.000641176975573055402,
                    -0.000044825572931678908, -0.0000703648194854749382, 0.000045036524567641112,
                    -0.0000165136249545737749, 4.32695351296078284e-6, -8.5055557190184167e-7, 1.2570206511420329e-7,
                    -1.36263842962710171e-8, 1.02567675274305169e-9, -4.79592578184972595e-11, 1.04959708692295459e-12);
    return copysign(select(a < 1.0, near, 1.0 - exp_core(q)), x);
}

// exp(a^2/2) * P(X < -a) for a standard normal X and 0 <= a <= 14.6 (Mills' ratio over sqrt(2 pi)), to float accuracy.
MASHAL_FN float normal_tail_factor(float a) {
    // In u = 1 - t, so that the constant 0.5 carries the sum where most arguments lie.
    float h = 0.4f * a;
    float t = 1.0f / (1.0f + h);
    return t * poly(h * t, 0.5f, -0.497356124f, 0.0678087784f, 0.117277092f, 0.0183378008f, -0.0420689754f,
                    0.00789826784f, -0.0477791051f, 0.0350481348f, 0.010240072f, -0.0098357111f);
}
MASHAL_FN double normal_tail_factor(double a) {
    double t = 1.0 / (a * 0.25 + 1.0);
    return t * poly(t, 0.0997334003674409674, 0.0997891454206192299, 0.0929237718966259777, 0.0846120440002878169,
                    0.0496004913276410335, 0.0779641929158190966, -0.0297463114916108884, 0.0456312373697744845,
                    0.0135527806952553995, -0.067528469667709159, 0.0416783628234143402, -0.00821064576334357161);
}

// erfc. Domain: all. Max error: 1 ULP (relative, also far out in the tail).
// Special: erfc(-inf) = 2, erfc(inf) = 0, nan -> nan.
MASHAL_FN float erfc(float x) {
    double a = fabs(static_cast<double>(x));
    a = a > 10.3 ? 10.3 : a;
    double q = 2.0 * exp_core(-a * a) * normal_tail_factor(a * kSqrt2);
    return static_cast<float>(x < 0.0f ? 2.0 - q : q);
}
MASHAL_FN double erfc(double x) { return MASHAL_LIBM(erfc)(x); }

// a^2 as a rounded product plus what the rounding lost.
struct SquareParts {
    float hi, lo;
};
MASHAL_FN SquareParts exact_square(float a) {
    float hi = a * a;
#if MASHAL_HAS_FMA
    return {hi, fma(a, a, -hi)};
#else
    // Veltkamp's split into two halves whose products are exact.
    float big = 4097.0f * a;
    float h = big - (big - a);
    float l = a - h;
    return {hi, ((h * h - hi) + 2.0f * h * l) + l * l};
#endif
}

struct NormalTail {
    float density;  // exp(-x^2/2)
    float factor;   // P(X < -|x|) / density
};
// The lower tail of the standard normal in two factors, so that callers choose where the product underflows.
// Domain: all (|x| > 14.6 counts as 14.6). Max error: 1 ULP each.
MASHAL_FN NormalTail normal_tail(float x) {
    float a = fabs(x);
    a = a > 14.6f ? 14.6f : a;
    SquareParts s = exact_square(a);
    return {exp_core(-0.5f * s.hi, 0.5f * s.lo), normal_tail_factor(a)};
}

}  // namespace mashal::scalar
