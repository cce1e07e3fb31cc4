// Three arguments: selection, fused multiply-adds, interpolation.
#include "cpu/isa/loop.h"
#include "scalar/integer.h"
#include "scalar/real.h"

namespace mashal::MASHAL_ISA {

MASHAL_OP3(clamp_tensor, 0, scalar::clamp(a, b, c))
MASHAL_OP3(lerp, 0, scalar::lerp(a, b, c))
MASHAL_OP3(addcmul, 1, a + p[0] * b * c)
MASHAL_OP3(addcdiv, 1, a + p[0] * b / c)
MASHAL_OP3(int_addcmul, 1, scalar::int_add(a, scalar::int_mul(scalar::int_mul(p[0], b), c)))

// where(condition, a, b): the condition is bool whatever the type of the rest; only the item's size matters.
template <class T>
void where_loop(int64_t n, void* out, const void* const* in, const double*) {
    auto* y = static_cast<T*>(out);
    auto* condition = static_cast<const uint8_t*>(in[0]);
    auto* a = static_cast<const T*>(in[1]);
    auto* b = static_cast<const T*>(in[2]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
}

static constexpr PointwiseEntry kTernary[] = {
    MASHAL_FLOATS3(clamp_tensor),
    MASHAL_INTS3(clamp_tensor),
    MASHAL_FLOATS3(lerp),
    MASHAL_FLOATS3(addcmul),
    MASHAL_FLOATS3(addcdiv),
    ternary_entry<op::int_addcmul, uint8_t>("addcmul"),
    ternary_entry<op::int_addcmul, int8_t>("addcmul"),
    ternary_entry<op::int_addcmul, int16_t>("addcmul"),
    ternary_entry<op::int_addcmul, int32_t>("addcmul"),
    ternary_entry<op::int_addcmul, int64_t>("addcmul"),
    {"where", DType::Bool, DType::Bool, 3, &where_loop<uint8_t>},
    {"where", DType::U8, DType::U8, 3, &where_loop<uint8_t>},
    {"where", DType::I8, DType::I8, 3, &where_loop<uint8_t>},
    {"where", DType::I16, DType::I16, 3, &where_loop<uint16_t>},
    {"where", DType::F16, DType::F16, 3, &where_loop<uint16_t>},
    {"where", DType::BF16, DType::BF16, 3, &where_loop<uint16_t>},
    {"where", DType::I32, DType::I32, 3, &where_loop<uint32_t>},
    {"where", DType::F32, DType::F32, 3, &where_loop<uint32_t>},
    {"where", DType::I64, DType::I64, 3, &where_loop<uint64_t>},
    {"where", DType::F64, DType::F64, 3, &where_loop<uint64_t>},
    {"where", DType::C64, DType::C64, 3, &where_loop<uint64_t>},
    {"where", DType::C128, DType::C128, 3, &where_loop<c128>},
};

PointwiseTable pointwise_ternary() { return MASHAL_TABLE_OF(kTernary); }

}  // namespace mashal::MASHAL_ISA
