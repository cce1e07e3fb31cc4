// Trivial cases of rounding and classification for integers and bool, the gradient of clamp, and special functions that
// are computed in double.
#include "cpu/isa/loop.h"
#include "scalar/bessel_k.h"
#include "scalar/incomplete.h"

namespace mashal::MASHAL_ISA {

MASHAL_OP1(same, 0, a)
MASHAL_OP1(always, 0, (static_cast<void>(a), true))
MASHAL_OP1(never, 0, (static_cast<void>(a), false))
MASHAL_OP1(erfcx, 0, scalar::erfcx(a))
MASHAL_OP2(igamma, 0, scalar::igamma(a, b))
MASHAL_OP2(igammac, 0, scalar::igammac(a, b))
MASHAL_OP1(bessel_j0, 0, static_cast<T>(scalar::bessel_j0(static_cast<double>(a))))
MASHAL_OP1(bessel_j1, 0, static_cast<T>(scalar::bessel_j1(static_cast<double>(a))))
MASHAL_OP1(bessel_y0, 0, static_cast<T>(scalar::bessel_y0(static_cast<double>(a))))
MASHAL_OP1(bessel_y1, 0, static_cast<T>(scalar::bessel_y1(static_cast<double>(a))))
MASHAL_OP1(bessel_k0, 0, scalar::bessel_k0(a))
MASHAL_OP1(bessel_k1, 0, scalar::bessel_k1(a))
MASHAL_OP1(scaled_k0, 0, scalar::scaled_k0(a))
MASHAL_OP1(scaled_k1, 0, scalar::scaled_k1(a))
MASHAL_OP1(spherical_j0, 0, scalar::spherical_j0(a))
// The limits themselves let the gradient pass; nan does not.
MASHAL_OP2(clamp_backward, 2, (b >= p[0]) & (b <= p[1]) ? a : T(0))

#define MASHAL_INTS_AS(name, functor)                                                     \
    unary_entry<op::functor, uint8_t>(name), unary_entry<op::functor, int8_t>(name),      \
        unary_entry<op::functor, int16_t>(name), unary_entry<op::functor, int32_t>(name), \
        unary_entry<op::functor, int64_t>(name)
#define MASHAL_EXACT_AS(name, functor) MASHAL_INTS_AS(name, functor), unary_entry<op::functor, bool>(name)

static constexpr PointwiseEntry kMore[] = {
    MASHAL_INTS_AS("floor", same),
    MASHAL_INTS_AS("ceil", same),
    MASHAL_INTS_AS("trunc", same),
    MASHAL_INTS_AS("round", same),
    MASHAL_EXACT_AS("isnan", never),
    MASHAL_EXACT_AS("isinf", never),
    MASHAL_EXACT_AS("isposinf", never),
    MASHAL_EXACT_AS("isneginf", never),
    MASHAL_EXACT_AS("isfinite", always),
    unary_entry<op::never, bool>("signbit"),
    MASHAL_FLOATS1(erfcx),
    MASHAL_FLOATS2(igamma),
    MASHAL_FLOATS2(igammac),
    MASHAL_FLOATS1(bessel_j0),
    MASHAL_FLOATS1(bessel_j1),
    MASHAL_FLOATS1(bessel_y0),
    MASHAL_FLOATS1(bessel_y1),
    MASHAL_FLOATS1(bessel_k0),
    MASHAL_FLOATS1(bessel_k1),
    MASHAL_FLOATS1(scaled_k0),
    MASHAL_FLOATS1(scaled_k1),
    MASHAL_FLOATS1(spherical_j0),
    MASHAL_FLOATS2(clamp_backward),
};

PointwiseTable pointwise_more() { return MASHAL_TABLE_OF(kMore); }

}  // namespace mashal::MASHAL_ISA
