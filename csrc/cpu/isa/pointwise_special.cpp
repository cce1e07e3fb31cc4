// Special functions: scalar code, one call per element.
#include "cpu/isa/loop.h"
#include "scalar/bessel.h"
#include "scalar/real.h"
#include "scalar/special.h"
#include "scalar/trig.h"

namespace mashal::MASHAL_ISA {

MASHAL_OP1(lgamma, 0, scalar::lgamma(a))
MASHAL_OP1(digamma, 0, scalar::digamma(a))
MASHAL_OP1(polygamma, 1, scalar::polygamma(static_cast<int>(p[0]), a))
MASHAL_OP1(erfinv, 0, scalar::erfinv(a))
MASHAL_OP1(i0, 0, scalar::i0(a))
MASHAL_OP1(i0e, 0, scalar::i0e(a))
MASHAL_OP1(i1, 0, scalar::i1(a))
MASHAL_OP1(i1e, 0, scalar::i1e(a))
MASHAL_OP1(sinc, 0, scalar::sinc(a))
MASHAL_OP1(ndtr, 0, scalar::ndtr(a))
MASHAL_OP1(log_ndtr, 0, scalar::log_ndtr(a))
MASHAL_OP1(ndtri, 0, scalar::ndtri(a))
MASHAL_OP1(entr, 0, scalar::entr(a))
MASHAL_OP2(zeta, 0, scalar::zeta(a, b))

static constexpr PointwiseEntry kSpecial[] = {
    MASHAL_FLOATS1(lgamma), MASHAL_FLOATS1(digamma), MASHAL_FLOATS1(polygamma), MASHAL_FLOATS1(erfinv),
    MASHAL_FLOATS1(i0),     MASHAL_FLOATS1(i0e),     MASHAL_FLOATS1(i1),        MASHAL_FLOATS1(i1e),
    MASHAL_FLOATS1(sinc),   MASHAL_FLOATS1(ndtr),    MASHAL_FLOATS1(log_ndtr),  MASHAL_FLOATS1(ndtri),
    MASHAL_FLOATS1(entr),   MASHAL_FLOATS2(zeta),
};

PointwiseTable pointwise_special() { return MASHAL_TABLE_OF(kSpecial); }

}  // namespace mashal::MASHAL_ISA
