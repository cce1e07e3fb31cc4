// Complex arguments.
#include "cpu/isa/loop.h"
#include "scalar/complex_math.h"

namespace mashal::MASHAL_ISA {

MASHAL_OP1(exp, 0, scalar::exp(a))
MASHAL_OP1(exp2, 0, scalar::exp2(a))
MASHAL_OP1(expm1, 0, scalar::expm1(a))
MASHAL_OP1(log, 0, scalar::log(a))
MASHAL_OP1(log2, 0, scalar::log2(a))
MASHAL_OP1(log10, 0, scalar::log10(a))
MASHAL_OP1(log1p, 0, scalar::log1p(a))
MASHAL_OP1(sqrt, 0, scalar::sqrt(a))
MASHAL_OP1(rsqrt, 0, scalar::rsqrt(a))
MASHAL_OP1(reciprocal, 0, scalar::reciprocal(a))
MASHAL_OP1(sigmoid, 0, scalar::sigmoid(a))
MASHAL_OP1(sin, 0, scalar::sin(a))
MASHAL_OP1(cos, 0, scalar::cos(a))
MASHAL_OP1(tan, 0, scalar::tan(a))
MASHAL_OP1(sinh, 0, scalar::sinh(a))
MASHAL_OP1(cosh, 0, scalar::cosh(a))
MASHAL_OP1(tanh, 0, scalar::tanh(a))
MASHAL_OP1(asin, 0, scalar::asin(a))
MASHAL_OP1(acos, 0, scalar::acos(a))
MASHAL_OP1(atan, 0, scalar::atan(a))
MASHAL_OP1(asinh, 0, scalar::asinh(a))
MASHAL_OP1(acosh, 0, scalar::acosh(a))
MASHAL_OP1(atanh, 0, scalar::atanh(a))
MASHAL_OP1(sinc, 0, scalar::sinc(a))
MASHAL_OP1(neg, 0, -a)
MASHAL_OP1(conj_physical, 0, scalar::conj(a))
MASHAL_OP1(square, 0, a* a)
MASHAL_OP1(sgn, 0, scalar::sgn(a))
MASHAL_OP1(abs, 0, scalar::abs(a))
MASHAL_OP1(angle, 0, scalar::angle(a))
MASHAL_OP1(isnan, 0, scalar::isnan(a))
MASHAL_OP1(isinf, 0, scalar::isinf(a))
MASHAL_OP1(isfinite, 0, scalar::isfinite(a))
MASHAL_OP1(logical_not, 0, a == T(0))
MASHAL_OP1(nan_to_num, 3,
           T(scalar::nan_to_num(a.re, p[0].re, p[1].re, p[2].re), scalar::nan_to_num(a.im, p[0].re, p[1].re, p[2].re)))
MASHAL_OP1(pow_scalar, 1, scalar::pow(a, p[0]))

MASHAL_OP2(plain_add, 0, a + b)
MASHAL_OP2(plain_sub, 0, a - b)
MASHAL_OP2(plain_rsub, 0, b - a)
MASHAL_OP2(scaled_add, 1, a + p[0] * b)
MASHAL_OP2(scaled_sub, 1, a - p[0] * b)
MASHAL_OP2(scaled_rsub, 1, b - p[0] * a)
MASHAL_OP2(mul, 0, a* b)
MASHAL_OP2(div, 0, a / b)
MASHAL_OP2(pow, 0, scalar::pow(a, b))
MASHAL_OP2(logaddexp, 0, scalar::logaddexp(a, b))
MASHAL_OP2(eq, 0, a == b)
MASHAL_OP2(ne, 0, a != b)
MASHAL_OP2(logical_and, 0, static_cast<bool>((a != T(0)) & (b != T(0))))
MASHAL_OP2(logical_or, 0, static_cast<bool>((a != T(0)) | (b != T(0))))
MASHAL_OP2(logical_xor, 0, (a != T(0)) != (b != T(0)))
MASHAL_OP2(sigmoid_backward, 0, a* scalar::conj((T(1) - b) * b))
MASHAL_OP2(tanh_backward, 0, a* scalar::conj(T(1) - b * b))
MASHAL_OP3(addcmul, 1, a + p[0] * b * c)
MASHAL_OP3(addcdiv, 1, a + p[0] * b / c)

// Interpolates from the end that the weight is nearer to, so that weight 1 gives b exactly.
template <class T>
MASHAL_INLINE T lerp_complex(T a, T b, T w) {
    return scalar::abs(w) < decltype(w.re)(0.5) ? a + w * (b - a) : b - (b - a) * (T(1) - w);
}
MASHAL_OP2(lerp_scalar, 1, lerp_complex(a, b, p[0]))
MASHAL_OP3(lerp, 0, lerp_complex(a, b, c))

// alpha = 1 must not be multiplied: (1 + 0i) * (inf + yi) has a nan in it.
template <class Plain, class Scaled, class T>
void alpha_loop(int64_t n, void* out, const void* const* in, const double* params) {
    bool one = params[0] == 1.0 && params[1] == 0.0;
    (one ? &binary_loop<Plain, T> : &binary_loop<Scaled, T>)(n, out, in, params);
}
#define MASHAL_WITH_ALPHA(name)                                                                    \
    {#name, DType::C64, DType::C64, 2, &alpha_loop<op::plain_##name, op::scaled_##name, c64>}, {   \
        #name, DType::C128, DType::C128, 2, &alpha_loop<op::plain_##name, op::scaled_##name, c128> \
    }

static constexpr PointwiseEntry kComplex[] = {
    MASHAL_COMPLEX1(exp),
    MASHAL_COMPLEX1(exp2),
    MASHAL_COMPLEX1(expm1),
    MASHAL_COMPLEX1(log),
    MASHAL_COMPLEX1(log2),
    MASHAL_COMPLEX1(log10),
    MASHAL_COMPLEX1(log1p),
    MASHAL_COMPLEX1(sqrt),
    MASHAL_COMPLEX1(rsqrt),
    MASHAL_COMPLEX1(reciprocal),
    MASHAL_COMPLEX1(sigmoid),
    MASHAL_COMPLEX1(sin),
    MASHAL_COMPLEX1(cos),
    MASHAL_COMPLEX1(tan),
    MASHAL_COMPLEX1(sinh),
    MASHAL_COMPLEX1(cosh),
    MASHAL_COMPLEX1(tanh),
    MASHAL_COMPLEX1(asin),
    MASHAL_COMPLEX1(acos),
    MASHAL_COMPLEX1(atan),
    MASHAL_COMPLEX1(asinh),
    MASHAL_COMPLEX1(acosh),
    MASHAL_COMPLEX1(atanh),
    MASHAL_COMPLEX1(sinc),
    MASHAL_COMPLEX1(neg),
    MASHAL_COMPLEX1(conj_physical),
    MASHAL_COMPLEX1(square),
    MASHAL_COMPLEX1(sgn),
    MASHAL_COMPLEX1(abs),
    MASHAL_COMPLEX1(angle),
    MASHAL_COMPLEX1(isnan),
    MASHAL_COMPLEX1(isinf),
    MASHAL_COMPLEX1(isfinite),
    MASHAL_COMPLEX1(logical_not),
    MASHAL_COMPLEX1(nan_to_num),
    MASHAL_COMPLEX1(pow_scalar),
    MASHAL_WITH_ALPHA(add),
    MASHAL_WITH_ALPHA(sub),
    MASHAL_WITH_ALPHA(rsub),
    MASHAL_COMPLEX2(mul),
    MASHAL_COMPLEX2(div),
    MASHAL_COMPLEX2(pow),
    MASHAL_COMPLEX2(logaddexp),
    MASHAL_COMPLEX2(eq),
    MASHAL_COMPLEX2(ne),
    MASHAL_COMPLEX2(logical_and),
    MASHAL_COMPLEX2(logical_or),
    MASHAL_COMPLEX2(logical_xor),
    MASHAL_COMPLEX2(sigmoid_backward),
    MASHAL_COMPLEX2(tanh_backward),
    MASHAL_COMPLEX2(lerp_scalar),
    MASHAL_COMPLEX3(lerp),
    MASHAL_COMPLEX3(addcmul),
    MASHAL_COMPLEX3(addcdiv),
};

PointwiseTable pointwise_complex() { return MASHAL_TABLE_OF(kComplex); }

}  // namespace mashal::MASHAL_ISA
