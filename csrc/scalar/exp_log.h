// Exponentials, logarithms and powers. All float versions and the double exp, exp2, expm1, log are free of branches.
#pragma once
#include "scalar/common.h"

namespace mashal::scalar {

// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2.
MASHAL_FN float exp_tail(float r) {
    return poly(r, 0.499999934f, 0.166665195f, 0.041668401f, 0.00836885109f, 0.00138143223f);
}
MASHAL_FN double exp_tail(double r) {
    return poly(r, 0.500000000000001083, 0.166666666666664077, 0.0416666666665281013, 0.00833333333349692644,
                0.00138888889442499247, 0.000198412695027305093, 0.0000248014923874947697, 2.75575884342507044e-6,
                2.7630523754500961e-7, 2.49998532027980466e-8);
}

// p * 2^k for |k| <= 252 (float), |k| <= 2044 (double), where z = k + 1.5 * 2^(mantissa bits). Two steps, so that
// results below the normal range are rounded once and those above the range become inf.
MASHAL_FN float scale_by(float p, float z) {
    int32_t k = static_cast<int32_t>(bits_of(z) - bits_of(0x1.8p23f));
    int32_t half = k >> 1;
    float s1 = from_bits(static_cast<uint32_t>(half + 127) << 23);
    float s2 = from_bits(static_cast<uint32_t>(k - half + 127) << 23);
    return p * s1 * s2;
}
MASHAL_FN double scale_by(double p, double z) {
    constexpr double magic = 0x1.8p52;
    double k = z - magic;
    double half = k * 0.5 + magic;
    double rest = (k - (half - magic)) + magic;
    double s1 = from_bits((bits_of(half) << 52) + 0x3ff0000000000000ull);
    double s2 = from_bits((bits_of(rest) << 52) + 0x3ff0000000000000ull);
    return p * s1 * s2;
}

// exp(x - lo) for |lo| tiny beside the step from one float to the next: lets callers keep the rounding error of their
// argument. Domain: |x| <= 170, not checked. Max error: 1 ULP. Special: nan -> nan.
MASHAL_FN float exp_core(float x, float lo) {
    float z = fma(x, 1.44269504f, 0x1.8p23f);
    float k = z - 0x1.8p23f;
    float r = fma(k, -0.693359375f, x);
    r = fma(k, 2.12194440e-4f, r) - lo;
    return scale_by(fma(r * r, exp_tail(r), r) + 1.0f, z);
}
// The same for |x| <= 1400.
MASHAL_FN double exp_core(double x) {
    double z = fma(x, kLog2E, 0x1.8p52);
    double k = z - 0x1.8p52;
    double r = fma(k, -6.93147180369123816490e-01, x);
    r = fma(k, -1.90821492927058770002e-10, r);
    return scale_by(fma(r * r, exp_tail(r), r) + 1.0, z);
}

// exp. Domain: all. Max error: 1 ULP.
// Special: exp(inf) = inf, exp(-inf) = 0, nan -> nan; gradual underflow.
// The upper bound is on the argument and the lower one on the result, by mask: two bounds on the argument compile to
// twice as many instructions.
MASHAL_FN float exp(float x) {
    float y = exp_core(x > 89.0f ? 89.0f : x, 0.0f);
    return from_bits(bits_of(y) & (x < -104.0f ? 0u : 0xffffffffu));
}
MASHAL_FN double exp(double x) {
    double y = exp_core(x > 710.0 ? 710.0 : x);
    return from_bits(bits_of(y) & (x < -746.0 ? uint64_t(0) : ~uint64_t(0)));
}
// exp for x <= 0, with the one bound that needs. Otherwise as exp.
MASHAL_FN float exp_nonpositive(float x) { return exp_core(x < -104.0f ? -104.0f : x, 0.0f); }
MASHAL_FN double exp_nonpositive(double x) { return exp_core(x < -746.0 ? -746.0 : x); }

// exp2. Domain: all. Max error: float 1 ULP, double 1.1 ULP; exact for integers.
// Special: as exp.
MASHAL_FN float exp2(float x) {
    float t = x > 129.0f ? 129.0f : x;
    t = t < -151.0f ? -151.0f : t;
    float z = t + 0x1.8p23f;
    float r = (t - (z - 0x1.8p23f)) * 0.693147181f;
    return scale_by(fma(r * r, exp_tail(r), r) + 1.0f, z);
}
MASHAL_FN double exp2(double x) {
    double t = x > 1025.0 ? 1025.0 : x;
    t = t < -1076.0 ? -1076.0 : t;
    double z = t + 0x1.8p52;
    double r = (t - (z - 0x1.8p52)) * kLn2;
    return scale_by(fma(r * r, exp_tail(r), r) + 1.0, z);
}

// expm1. Domain: all. Max error: float 1 ULP, double 2 ULP.
// Special: -inf -> -1, inf -> inf, -0 -> -0, nan -> nan.
MASHAL_FN double expm1(double x) {
    double t = x > 710.0 ? 710.0 : x;
    t = t < -40.0 ? -40.0 : t;
    double z = fma(t, kLog2E, 0x1.8p52);
    double k = z - 0x1.8p52;
    double hi = fma(k, -6.93147180369123816490e-01, t);
    double lo = k * 1.90821492927058770002e-10;
    double r = hi - lo;
    double c = (hi - r) - lo;
    double p = r + (r * r * exp_tail(r) + c);
    // Half of 2^k, so that k = 1024 does not overflow before the sum is known.
    double s = from_bits((bits_of(z - 1.0) << 52) + 0x3ff0000000000000ull);
    double y = 2.0 * (s * p + (s - 0.5));
    return x == 0.0 ? x : y;
}
MASHAL_FN float expm1(float x) { return static_cast<float>(expm1(static_cast<double>(x))); }

// log. Domain: x >= 0. Max error: 1 ULP.
// Special: log(0) = -inf, log(x < 0) = nan, log(inf) = inf, nan -> nan; denormals are exact inputs.
MASHAL_FN float log(float x) {
    bool tiny = x < limits<float>::min_normal;
    float y = tiny ? x * 0x1p23f : x;
    uint32_t u = bits_of(y) - 0x3f3504f3u;
    float e = static_cast<float>(static_cast<int32_t>(u) >> 23) - (tiny ? 23.0f : 0.0f);
    float f = from_bits((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float p = poly(f, 0.333333126f, -0.250000096f, 0.200021192f, -0.166679969f, 0.142195417f, -0.124055623f,
                   0.118882189f, -0.116758508f, 0.0674675914f);
    float t = fma(f * f, fma(f, p, -0.5f), e * -2.12194440e-4f);
    float r = fma(e, 0.693359375f, f + t);
    r = x < inf<float>() ? r : x;
    return x > 0.0f ? r : (x == 0.0f ? -inf<float>() : nan<float>());
}
MASHAL_FN double log(double x) {
    bool tiny = x < limits<double>::min_normal;
    double y = tiny ? x * 0x1p54 : x;
    uint64_t u = bits_of(y) - 0x3fe6a09e667f3bcdull;
    // Exponent to double without a 64-bit integer conversion, which AVX2 lacks.
    uint64_t biased = (u + (1024ull << 52)) >> 52;
    double e = from_bits(biased | bits_of(0x1p52)) - (0x1p52 + 1024.0) - (tiny ? 54.0 : 0.0);
    double f = from_bits((u & 0xfffffffffffffull) + 0x3fe6a09e667f3bcdull) - 1.0;
    double s = f / (2.0 + f);
    double z = s * s;
    double p = z * poly(z, 0.666666666666673457, 0.39999999999413341, 0.285714287427389287, 0.222221985324056578,
                        0.181835666650573066, 0.153139855585641477, 0.147966480794909967);
    double h = 0.5 * f * f;
    double r = e * 6.93147180369123816490e-01 - ((h - (s * (h + p) + e * 1.90821492927058770002e-10)) - f);
    r = x < inf<double>() ? r : x;
    return x > 0.0 ? r : (x == 0.0 ? -inf<double>() : nan<double>());
}

// log2, log10. Domain: x >= 0. Max error: 1 ULP; exact at powers of the base.
// Special: as log.
MASHAL_FN float log2(float x) { return static_cast<float>(log(static_cast<double>(x)) * kLog2E); }
MASHAL_FN double log2(double x) { return MASHAL_LIBM(log2)(x); }
MASHAL_FN float log10(float x) { return static_cast<float>(log(static_cast<double>(x)) * kLog10E); }
MASHAL_FN double log10(double x) { return MASHAL_LIBM(log10)(x); }

// log1p. Domain: x >= -1. Max error: 1 ULP.
// Special: log1p(-1) = -inf, x < -1 -> nan, inf -> inf, -0 -> -0, nan -> nan.
MASHAL_FN float log1p(float x) {
    double d = x;
    double near = d - d * d * (0.5 - d * (1.0 / 3));
    double far = log(1.0 + d);
    return static_cast<float>(fabs(d) < 1e-4 ? near : far);
}
MASHAL_FN double log1p(double x) { return MASHAL_LIBM(log1p)(x); }

// log1p for 0 <= x <= 1, all in T's own precision: the tail of softplus, logsigmoid, logaddexp.
// Max error: 2 ULP.
template <class T>
MASHAL_FN T log1p_unit(T x) {
    T u = T(1) + x;
    return log(u) + (x - (u - T(1))) / u;
}

// pow. Domain: all. Max error: 1 ULP.
// Special: every case of C99 Annex F: pow(x, 0) = pow(1, y) = 1, pow(x < 0, non-integer) = nan, signed zeros and inf.
MASHAL_FN float pow(float x, float y) {
    double dx = x, dy = y;
    double ax = fabs(dx);
    double m = exp(dy * log(ax));
    // |x| = 1 gives 0 * log(1); with infinite y that product is nan where the power is 1.
    m = select((ax == 1.0) | (dy == 0.0), 1.0, m);
    // y is an odd integer iff it is whole and its lowest bit is set; from 2^24 on all floats are even.
    uint32_t cut = bits_of(fabs(y));
    cut = cut < 0x4b800000u ? cut : 0x4b800000u;
    int32_t iy = static_cast<int32_t>(from_bits(cut));
    bool whole = static_cast<float>(iy) == from_bits(cut);
    uint32_t odd = (static_cast<uint32_t>(iy) << 31) & (0u - static_cast<uint32_t>(whole));
    float r = from_bits(bits_of(static_cast<float>(m)) ^ (bits_of(x) & odd));
    bool undefined = (x < 0.0f) & (x > -inf<float>()) & !whole;
    bool bad_base = (x != x) & (y != 0.0f);
    bool bad_exponent = (y != y) & (x != 1.0f);
    return select(undefined | bad_base | bad_exponent, nan<float>(), r);
}
MASHAL_FN double pow(double x, double y) { return MASHAL_LIBM(pow)(x, y); }

// sqrt: correctly rounded. rsqrt, reciprocal: max error 1 ULP.
// Special: sqrt(-0) = -0, rsqrt(+-0) = +-inf, negative -> nan.
MASHAL_FN float sqrt(float x) { return MASHAL_LIBMF(sqrt)(x); }
MASHAL_FN double sqrt(double x) { return MASHAL_LIBM(sqrt)(x); }
template <class T>
MASHAL_FN T rsqrt(T x) {
    return T(1) / sqrt(x);
}
template <class T>
MASHAL_FN T reciprocal(T x) {
    return T(1) / x;
}

}  // namespace mashal::scalar
