// Arithmetic, rounding and classification of one argument, for every real type.
#include "cpu/isa/loop.h"
#include "scalar/integer.h"
#include "scalar/real.h"

namespace mashal::MASHAL_ISA {

MASHAL_OP1(positive, 0, a)
MASHAL_OP1(neg, 0, -a)
MASHAL_OP1(abs, 0, scalar::fabs(a))
MASHAL_OP1(square, 0, a* a)
MASHAL_OP1(sign, 0, scalar::sign(a))
MASHAL_OP1(signbit, 0, scalar::signbit(a))
MASHAL_OP1(relu, 0, a < T(0) ? T(0) : a)
MASHAL_OP1(floor, 0, scalar::floor(a))
MASHAL_OP1(ceil, 0, scalar::ceil(a))
MASHAL_OP1(trunc, 0, scalar::trunc(a))
MASHAL_OP1(round, 0, scalar::round(a))
MASHAL_OP1(frac, 0, scalar::frac(a))
MASHAL_OP1(isnan, 0, scalar::isnan(a))
MASHAL_OP1(isinf, 0, scalar::isinf(a))
MASHAL_OP1(isfinite, 0, scalar::isfinite(a))
MASHAL_OP1(isposinf, 0, scalar::isposinf(a))
MASHAL_OP1(isneginf, 0, scalar::isneginf(a))
MASHAL_OP1(nan_to_num, 3, scalar::nan_to_num(a, p[0], p[1], p[2]))
MASHAL_OP1(angle, 0, scalar::angle(a))
MASHAL_OP1(deg2rad, 0, a* T(scalar::kPi / 180.0))
MASHAL_OP1(rad2deg, 0, a* T(180.0 / scalar::kPi))
MASHAL_OP1(logit, 0, scalar::logit(a))
// First to [eps, 1 - eps].
MASHAL_OP1(logit_eps, 1, scalar::logit(a < p[0] ? p[0] : (a > T(1) - p[0] ? T(1) - p[0] : a)))
MASHAL_OP1(clamp, 2, scalar::clamp(a, p[0], p[1]))
MASHAL_OP1(clamp_min, 1, scalar::at_least(a, p[0]))
MASHAL_OP1(clamp_max, 1, scalar::at_most(a, p[0]))
MASHAL_OP1(logical_not, 0, a == T(0))

MASHAL_OP1(int_neg, 0, scalar::int_neg(a))
MASHAL_OP1(int_abs, 0, scalar::int_abs(a))
MASHAL_OP1(int_square, 0, scalar::int_mul(a, a))
MASHAL_OP1(int_sign, 0, static_cast<T>((a > T(0)) - (a < T(0))))
MASHAL_OP1(int_signbit, 0, a < T(0))
MASHAL_OP1(bitwise_not, 0, static_cast<T>(~a))
MASHAL_OP1(bool_not, 0, !a)

// round(a, decimals): the power of ten once per call.
template <class T>
void round_decimals_loop(int64_t n, void* out, const void* const* in, const double* params) {
    auto* y = static_cast<T*>(out);
    auto* a = static_cast<const T*>(in[0]);
    bool negative = params[0] < 0.0;
    T ten = static_cast<T>(__builtin_pow(10.0, negative ? -params[0] : params[0]));
    if (negative) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) y[i] = scalar::round_decimals(a[i], ten, true);
    } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) y[i] = scalar::round_decimals(a[i], ten, false);
    }
}

#define MASHAL_INTS_AS(name, functor)                                                     \
    unary_entry<op::functor, uint8_t>(name), unary_entry<op::functor, int8_t>(name),      \
        unary_entry<op::functor, int16_t>(name), unary_entry<op::functor, int32_t>(name), \
        unary_entry<op::functor, int64_t>(name)

static constexpr PointwiseEntry kArith1[] = {
    MASHAL_FLOATS1(neg),
    MASHAL_FLOATS1(abs),
    MASHAL_FLOATS1(square),
    MASHAL_FLOATS1(sign),
    unary_entry<op::sign, float>("sgn"),
    unary_entry<op::sign, double>("sgn"),
    MASHAL_FLOATS1(signbit),
    MASHAL_FLOATS1(relu),
    MASHAL_FLOATS1(floor),
    MASHAL_FLOATS1(ceil),
    MASHAL_FLOATS1(trunc),
    MASHAL_FLOATS1(round),
    {"round_decimals", DType::F32, DType::F32, 1, &round_decimals_loop<float>},
    {"round_decimals", DType::F64, DType::F64, 1, &round_decimals_loop<double>},
    MASHAL_FLOATS1(frac),
    MASHAL_FLOATS1(isnan),
    MASHAL_FLOATS1(isinf),
    MASHAL_FLOATS1(isfinite),
    MASHAL_FLOATS1(isposinf),
    MASHAL_FLOATS1(isneginf),
    MASHAL_FLOATS1(nan_to_num),
    MASHAL_FLOATS1(angle),
    MASHAL_FLOATS1(deg2rad),
    MASHAL_FLOATS1(rad2deg),
    MASHAL_FLOATS1(logit),
    MASHAL_FLOATS1(logit_eps),
    MASHAL_FLOATS1(clamp),
    MASHAL_FLOATS1(clamp_min),
    MASHAL_FLOATS1(clamp_max),
    MASHAL_FLOATS1(logical_not),
    MASHAL_INTS_AS("neg", int_neg),
    MASHAL_INTS_AS("abs", int_abs),
    MASHAL_INTS_AS("square", int_square),
    MASHAL_INTS_AS("sign", int_sign),
    MASHAL_INTS_AS("sgn", int_sign),
    MASHAL_INTS_AS("signbit", int_signbit),
    MASHAL_INTS1(relu),
    MASHAL_INTS1(clamp),
    MASHAL_INTS1(clamp_min),
    MASHAL_INTS1(clamp_max),
    MASHAL_INTS1(logical_not),
    MASHAL_INTS1(bitwise_not),
    unary_entry<op::positive, bool>("sign"),
    unary_entry<op::positive, bool>("sgn"),
    unary_entry<op::bool_not, bool>("logical_not"),
    unary_entry<op::bool_not, bool>("bitwise_not"),
};

PointwiseTable pointwise_arith1() { return MASHAL_TABLE_OF(kArith1); }

}  // namespace mashal::MASHAL_ISA
