// Elementary functions and activations of one real argument.
#include "cpu/isa/loop.h"
#include "scalar/activation.h"
#include "scalar/erf.h"
#include "scalar/exp_log.h"
#include "scalar/hyperbolic.h"
#include "scalar/real.h"
#include "scalar/trig.h"

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
MASHAL_OP1(sin, 0, scalar::sin(a))
MASHAL_OP1(cos, 0, scalar::cos(a))
MASHAL_OP1(tan, 0, scalar::tan(a))
MASHAL_RANGED1(sin, trig_in_range, sin)
MASHAL_RANGED1(cos, trig_in_range, cos)
MASHAL_RANGED1(tan, trig_in_range, tan)
MASHAL_OP1(asin, 0, scalar::asin(a))
MASHAL_OP1(acos, 0, scalar::acos(a))
MASHAL_OP1(atan, 0, scalar::atan(a))
MASHAL_OP1(sinh, 0, scalar::sinh(a))
MASHAL_OP1(cosh, 0, scalar::cosh(a))
MASHAL_OP1(tanh, 0, scalar::tanh(a))
MASHAL_OP1(asinh, 0, scalar::asinh(a))
MASHAL_OP1(acosh, 0, scalar::acosh(a))
MASHAL_OP1(atanh, 0, scalar::atanh(a))
MASHAL_OP1(erf, 0, scalar::erf(a))
MASHAL_OP1(erfc, 0, scalar::erfc(a))

MASHAL_OP1(sigmoid, 0, scalar::sigmoid(a))
MASHAL_OP1(logsigmoid, 0, scalar::logsigmoid(a))
MASHAL_OP1(silu, 0, scalar::silu(a))
MASHAL_OP1(softplus, 2, scalar::softplus(a, p[0], p[1]))
MASHAL_OP1(mish, 0, scalar::mish(a))
MASHAL_OP1(gelu, 0, scalar::gelu(a))
MASHAL_OP1(gelu_tanh, 0, scalar::gelu_tanh(a))
MASHAL_OP1(elu, 3, scalar::elu(a, p[0], p[1], p[2]))
MASHAL_OP1(selu, 0, scalar::elu(a, T(1.6732632423543772848), T(1.0507009873554804934), T(1)))
MASHAL_OP1(threshold, 2, scalar::threshold(a, p[0], p[1]))
MASHAL_OP1(leaky_relu, 1, scalar::leaky_relu(a, p[0]))
MASHAL_OP1(hardtanh, 2, scalar::hardtanh(a, p[0], p[1]))
MASHAL_OP1(hardsigmoid, 0, scalar::hardsigmoid(a))
MASHAL_OP1(hardswish, 0, scalar::hardswish(a))
MASHAL_OP1(softshrink, 1, scalar::softshrink(a, p[0]))
MASHAL_OP1(hardshrink, 1, scalar::hardshrink(a, p[0]))

static constexpr PointwiseEntry kUnary[] = {
    MASHAL_FLOATS1(exp),
    MASHAL_FLOATS1(exp2),
    MASHAL_FLOATS1(expm1),
    MASHAL_FLOATS1(log),
    MASHAL_FLOATS1(log2),
    MASHAL_FLOATS1(log10),
    MASHAL_FLOATS1(log1p),
    MASHAL_FLOATS1(sqrt),
    MASHAL_FLOATS1(rsqrt),
    MASHAL_FLOATS1(reciprocal),
    {"sin", DType::F32, DType::F32, 1, &ranged_unary_loop<op::sin_ranged>},
    {"cos", DType::F32, DType::F32, 1, &ranged_unary_loop<op::cos_ranged>},
    {"tan", DType::F32, DType::F32, 1, &ranged_unary_loop<op::tan_ranged>},
    unary_entry<op::sin, double>("sin"),
    unary_entry<op::cos, double>("cos"),
    unary_entry<op::tan, double>("tan"),
    MASHAL_FLOATS1(asin),
    MASHAL_FLOATS1(acos),
    MASHAL_FLOATS1(atan),
    MASHAL_FLOATS1(sinh),
    MASHAL_FLOATS1(cosh),
    MASHAL_FLOATS1(tanh),
    MASHAL_FLOATS1(asinh),
    MASHAL_FLOATS1(acosh),
    MASHAL_FLOATS1(atanh),
    MASHAL_FLOATS1(erf),
    MASHAL_FLOATS1(erfc),
    MASHAL_FLOATS1(sigmoid),
    MASHAL_FLOATS1(logsigmoid),
    MASHAL_FLOATS1(silu),
    MASHAL_FLOATS1(softplus),
    MASHAL_FLOATS1(mish),
    MASHAL_FLOATS1(gelu),
    MASHAL_FLOATS1(gelu_tanh),
    MASHAL_FLOATS1(elu),
    MASHAL_FLOATS1(selu),
    MASHAL_FLOATS1(threshold),
    MASHAL_FLOATS1(leaky_relu),
    MASHAL_FLOATS1(hardtanh),
    MASHAL_FLOATS1(hardsigmoid),
    MASHAL_FLOATS1(hardswish),
    MASHAL_FLOATS1(softshrink),
    MASHAL_FLOATS1(hardshrink),
    MASHAL_INTS1(threshold),
    MASHAL_INTS1(hardtanh),
};

PointwiseTable pointwise_unary() { return MASHAL_TABLE_OF(kUnary); }

}  // namespace mashal::MASHAL_ISA
