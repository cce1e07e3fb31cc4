// Functions of a complex number. Written for double; complex<float> goes through double, which removes cancellation
// and overflow between the steps, so its results are good to about 1 ULP per component. For double: a few ULP of the
// modulus. Branch cuts and their signed zeros follow C99; infinities are handled where a formula would give nan for a
// well-defined limit on the real axis, not in every corner of Annex G.
#pragma once
#include "scalar/common.h"
#include "scalar/complex.h"
#include "scalar/exp_log.h"
#include "scalar/real.h"
#include "scalar/trig.h"

namespace mashal::scalar {

using cdouble = cplx<double>;

MASHAL_FN double abs(cdouble z) { return hypot(z.re, z.im); }
MASHAL_FN float abs(cplx<float> z) { return hypot(z.re, z.im); }
template <class T>
MASHAL_FN cplx<T> scale(cplx<T> z, T s) {
    return cplx<T>(z.re * s, z.im * s);
}
template <class T>
MASHAL_FN bool isnan(cplx<T> z) {
    return (z.re != z.re) | (z.im != z.im);
}
template <class T>
MASHAL_FN bool isinf(cplx<T> z) {
    return isinf(z.re) | isinf(z.im);
}
template <class T>
MASHAL_FN bool isfinite(cplx<T> z) {
    return isfinite(z.re) & isfinite(z.im);
}
// z / |z|; 0 at 0.
template <class T>
MASHAL_FN cplx<T> sgn(cplx<T> z) {
    T r = abs(z);
    return r == T(0) ? cplx<T>(T(0), T(0)) : cplx<T>(z.re / r, z.im / r);
}
template <class T>
MASHAL_FN T angle(cplx<T> z) {
    return atan2(z.im, z.re);
}

// exp: real arguments stay exactly real, so that 0 * inf cannot arise.
MASHAL_SLOW_FN cdouble exp(cdouble z) {
    double r = exp(z.re);
    if (z.im == 0.0) return cdouble(r, z.im);
    // Beyond the range of exp alone the product with a small sine may still be finite.
    double extra = 1.0;
    if (z.re > 709.0 && z.re < 1400.0) {
        r = exp(z.re - 600.0);
        extra = exp(600.0);
    }
    if (r == 0.0) return cdouble(0.0, 0.0);
    return cdouble(r * MASHAL_LIBM(cos)(z.im) * extra, r * MASHAL_LIBM(sin)(z.im) * extra);
}
MASHAL_SLOW_FN cdouble exp2(cdouble z) { return exp(scale(z, kLn2)); }
// exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin^2(y/2).
MASHAL_SLOW_FN cdouble expm1(cdouble z) {
    if (z.im == 0.0) return cdouble(expm1(z.re), z.im);
    double s = MASHAL_LIBM(sin)(0.5 * z.im);
    return cdouble(expm1(z.re) * MASHAL_LIBM(cos)(z.im) - 2.0 * s * s, exp(z.re) * MASHAL_LIBM(sin)(z.im));
}

// log|z|: near the unit circle from |z|^2 - 1 = (big - 1)(big + 1) + small^2, elsewhere from the modulus.
MASHAL_SLOW_FN double log_abs(cdouble z) {
    double a = fabs(z.re), b = fabs(z.im);
    double big = a < b ? b : a, small = a < b ? a : b;
    double q = (big - 1.0) * (big + 1.0) + small * small;
    if (q > -0.5 && q < 3.0) return 0.5 * MASHAL_LIBM(log1p)(q);
    if (big > 1e300 && big < inf<double>()) return log(hypot(a * 0.25, b * 0.25)) + 2.0 * kLn2;
    return log(hypot(a, b));
}
MASHAL_SLOW_FN cdouble log(cdouble z) { return cdouble(log_abs(z), MASHAL_LIBM(atan2)(z.im, z.re)); }
MASHAL_SLOW_FN cdouble log2(cdouble z) { return scale(log(z), kLog2E); }
MASHAL_SLOW_FN cdouble log10(cdouble z) { return scale(log(z), kLog10E); }
MASHAL_SLOW_FN cdouble log1p(cdouble z) {
    double x = z.re, y = z.im;
    double theta = MASHAL_LIBM(atan2)(y, 1.0 + x);
    // |1 + z|^2 - 1 = x (2 + x) + y^2.
    double q = x * (2.0 + x) + y * y;
    if (q > -0.5 && q < 3.0) return cdouble(0.5 * MASHAL_LIBM(log1p)(q), theta);
    return cdouble(log_abs(cdouble(1.0 + x, y)), theta);
}

MASHAL_SLOW_FN cdouble sqrt(cdouble z) {
    double a = fabs(z.re), b = fabs(z.im);
    if (a == 0.0 && b == 0.0) return cdouble(0.0, z.im);
    if (b == inf<double>()) return cdouble(b, z.im);
    if (a == inf<double>()) return z.re > 0.0 ? cdouble(a, copysign(0.0, z.im)) : cdouble(0.0, copysign(a, z.im));
    // Scaled by a power of four, so that the modulus neither overflows nor loses denormals.
    double up = 1.0, down = 1.0;
    if (a > 1e300 || b > 1e300) up = 0.0625, down = 4.0;
    if (a < 1e-290 && b < 1e-290) up = 0x1p108, down = 0x1p-54;
    a *= up;
    b *= up;
    double t = sqrt(0.5 * (a + hypot(a, b)));
    double u = b / (2.0 * t) * down;
    t *= down;
    return z.re >= 0.0 ? cdouble(t, copysign(u, z.im)) : cdouble(u, copysign(t, z.im));
}
MASHAL_SLOW_FN cdouble reciprocal(cdouble z) { return cdouble(1.0, 0.0) / z; }
MASHAL_SLOW_FN cdouble rsqrt(cdouble z) { return cdouble(1.0, 0.0) / sqrt(z); }
MASHAL_SLOW_FN cdouble sigmoid(cdouble z) { return cdouble(1.0, 0.0) / (cdouble(1.0, 0.0) + exp(-z)); }

// i z and -i z.
MASHAL_FN cdouble times_i(cdouble z) { return cdouble(-z.im, z.re); }
MASHAL_FN cdouble over_i(cdouble z) { return cdouble(z.im, -z.re); }

MASHAL_SLOW_FN cdouble sinh(cdouble z) {
    if (z.im == 0.0) return cdouble(MASHAL_LIBM(sinh)(z.re), z.im);
    return cdouble(MASHAL_LIBM(sinh)(z.re) * MASHAL_LIBM(cos)(z.im), MASHAL_LIBM(cosh)(z.re) * MASHAL_LIBM(sin)(z.im));
}
MASHAL_SLOW_FN cdouble cosh(cdouble z) {
    if (z.im == 0.0) return cdouble(MASHAL_LIBM(cosh)(z.re), z.im * (z.re < 0.0 ? -1.0 : 1.0));
    return cdouble(MASHAL_LIBM(cosh)(z.re) * MASHAL_LIBM(cos)(z.im), MASHAL_LIBM(sinh)(z.re) * MASHAL_LIBM(sin)(z.im));
}
// Kahan's form: no overflow for large |re|, no cancellation near the poles.
MASHAL_SLOW_FN cdouble tanh(cdouble z) {
    if (fabs(z.re) > 22.0) {
        double e = exp(-2.0 * fabs(z.re));
        double im = 4.0 * MASHAL_LIBM(sin)(z.im) * MASHAL_LIBM(cos)(z.im) * e;
        return cdouble(copysign(1.0, z.re), isfinite(z.im) ? im : 0.0);
    }
    double t = MASHAL_LIBM(tan)(z.im);
    double beta = 1.0 + t * t;
    double s = MASHAL_LIBM(sinh)(z.re);
    double rho = sqrt(1.0 + s * s);
    if (fabs(t) > 1e150) return cdouble(rho / s, 1.0 / t);
    double d = 1.0 + beta * s * s;
    return cdouble(beta * rho * s / d, t / d);
}
MASHAL_SLOW_FN cdouble sin(cdouble z) { return over_i(sinh(times_i(z))); }
MASHAL_SLOW_FN cdouble cos(cdouble z) { return cosh(times_i(z)); }
MASHAL_SLOW_FN cdouble tan(cdouble z) { return over_i(tanh(times_i(z))); }

// Inverse functions after W. Kahan, "Branch cuts for complex elementary functions" (1987): products of square roots
// that keep the sign of zero. Beyond 1e150, where the squares would overflow, log(2 z) is the function.
constexpr double kHugeModulus = 1e150;

MASHAL_SLOW_FN cdouble asinh(cdouble z) {
    if (fabs(z.re) > kHugeModulus || fabs(z.im) > kHugeModulus) {
        double re = log_abs(z) + kLn2;
        return cdouble(copysign(re, z.re), MASHAL_LIBM(atan2)(z.im, fabs(z.re)));
    }
    // asinh(z) = asin(i z) / i with s1 = sqrt(1 + i z), s2 = sqrt(1 - i z).
    cdouble s1 = sqrt(cdouble(1.0 + z.im, -z.re)), s2 = sqrt(cdouble(1.0 - z.im, z.re));
    double re = MASHAL_LIBM(asinh)(s1.re * s2.im - s2.re * s1.im);
    double im = MASHAL_LIBM(atan2)(z.im, s1.re * s2.re - s1.im * s2.im);
    return cdouble(re, im);
}
MASHAL_SLOW_FN cdouble asin(cdouble z) { return over_i(asinh(times_i(z))); }
MASHAL_SLOW_FN cdouble acos(cdouble z) {
    if (fabs(z.re) > kHugeModulus || fabs(z.im) > kHugeModulus) {
        double im = log_abs(z) + kLn2;
        return cdouble(MASHAL_LIBM(atan2)(fabs(z.im), z.re), signbit(z.im) ? im : -im);
    }
    cdouble s1 = sqrt(cdouble(1.0 - z.re, -z.im)), s2 = sqrt(cdouble(1.0 + z.re, z.im));
    return cdouble(2.0 * MASHAL_LIBM(atan2)(s1.re, s2.re), MASHAL_LIBM(asinh)(s2.re * s1.im - s2.im * s1.re));
}
MASHAL_SLOW_FN cdouble acosh(cdouble z) {
    cdouble w = acos(z);
    // +-i acos(z), the sign that makes the real part non-negative.
    return signbit(z.im) ? cdouble(fabs(w.im), -w.re) : cdouble(fabs(w.im), w.re);
}
MASHAL_SLOW_FN cdouble atanh(cdouble z) {
    double x = fabs(z.re), y = z.im, ay = fabs(z.im);
    double re, im;
    if (x > kHugeModulus || ay > kHugeModulus) {
        // Re = x / |z|^2 without squaring; Im = +-pi/2.
        double h = hypot(x * 0.5, ay * 0.5);
        re = isinf(x) | isinf(ay) ? 0.0 : (x / h) / h * 0.25;
        im = copysign(kPi2, y);
    } else {
        double gap = (1.0 - x) * (1.0 - x) + y * y;
        re = x == 1.0 && y == 0.0 ? inf<double>() : 0.25 * MASHAL_LIBM(log1p)(4.0 * x / gap);
        if (x == 1.0 && ay < 1e-150 && y != 0.0) re = 0.5 * (kLn2 - log(ay));
        im = 0.5 * MASHAL_LIBM(atan2)(2.0 * y, (1.0 - x) * (1.0 + x) - y * y);
    }
    return cdouble(copysign(re, z.re), im);
}
MASHAL_SLOW_FN cdouble atan(cdouble z) { return over_i(atanh(times_i(z))); }

// pow: exp(w log z), with the powers that need no logarithm taken out. Special: z^0 = 1; 0^w = 0 for Re w > 0.
MASHAL_SLOW_FN cdouble pow(cdouble z, cdouble w) {
    if (w.im == 0.0) {
        if (w.re == 0.0) return cdouble(1.0, 0.0);
        if (w.re == 1.0) return z;
        if (w.re == 2.0) return z * z;
        if (w.re == -1.0) return reciprocal(z);
        if (w.re == 0.5) return sqrt(z);
    }
    if (z.re == 0.0 && z.im == 0.0) {
        if (w.re > 0.0) return cdouble(0.0, 0.0);
        return w.im == 0.0 ? cdouble(inf<double>(), nan<double>()) : cdouble(nan<double>(), nan<double>());
    }
    return exp(w * log(z));
}
MASHAL_SLOW_FN cdouble sinc(cdouble z) {
    if (z.re == 0.0 && z.im == 0.0) return cdouble(1.0, 0.0);
    cdouble p = scale(z, kPi);
    return sin(p) / p;
}
// log(e^a + e^b) from the one with the larger real part.
MASHAL_SLOW_FN cdouble logaddexp(cdouble a, cdouble b) {
    bool first = a.re >= b.re;
    cdouble big = first ? a : b, small = first ? b : a;
    if (isinf(a.re) && a.re == b.re && a.im == b.im) return a;
    return big + log1p(exp(small - big));
}
MASHAL_FN cdouble polar(double r, double theta) {
    return cdouble(r * MASHAL_LIBM(cos)(theta), r * MASHAL_LIBM(sin)(theta));
}

#define MASHAL_COMPLEX_FLOAT(f) \
    MASHAL_FN cplx<float> f(cplx<float> z) { return cplx<float>(f(cdouble(z))); }
MASHAL_COMPLEX_FLOAT(exp)
MASHAL_COMPLEX_FLOAT(exp2)
MASHAL_COMPLEX_FLOAT(expm1)
MASHAL_COMPLEX_FLOAT(log)
MASHAL_COMPLEX_FLOAT(log2)
MASHAL_COMPLEX_FLOAT(log10)
MASHAL_COMPLEX_FLOAT(log1p)
MASHAL_COMPLEX_FLOAT(sqrt)
MASHAL_COMPLEX_FLOAT(rsqrt)
MASHAL_COMPLEX_FLOAT(reciprocal)
MASHAL_COMPLEX_FLOAT(sigmoid)
MASHAL_COMPLEX_FLOAT(sin)
MASHAL_COMPLEX_FLOAT(cos)
MASHAL_COMPLEX_FLOAT(tan)
MASHAL_COMPLEX_FLOAT(sinh)
MASHAL_COMPLEX_FLOAT(cosh)
MASHAL_COMPLEX_FLOAT(tanh)
MASHAL_COMPLEX_FLOAT(asin)
MASHAL_COMPLEX_FLOAT(acos)
MASHAL_COMPLEX_FLOAT(atan)
MASHAL_COMPLEX_FLOAT(asinh)
MASHAL_COMPLEX_FLOAT(acosh)
MASHAL_COMPLEX_FLOAT(atanh)
MASHAL_COMPLEX_FLOAT(sinc)
#undef MASHAL_COMPLEX_FLOAT
MASHAL_FN cplx<float> pow(cplx<float> z, cplx<float> w) { return cplx<float>(pow(cdouble(z), cdouble(w))); }
MASHAL_FN cplx<float> logaddexp(cplx<float> a, cplx<float> b) { return cplx<float>(logaddexp(cdouble(a), cdouble(b))); }
MASHAL_FN cplx<float> polar(float r, float theta) {
    return cplx<float>(polar(static_cast<double>(r), static_cast<double>(theta)));
}

}  // namespace mashal::scalar
