// Two integer (or bool) arguments.
#include "cpu/isa/loop.h"
#include "scalar/integer.h"
#include "scalar/real.h"

namespace mashal::MASHAL_ISA {

MASHAL_OP2(add, 1, scalar::int_add(a, scalar::int_mul(p[0], b)))
MASHAL_OP2(sub, 1, scalar::int_sub(a, scalar::int_mul(p[0], b)))
MASHAL_OP2(rsub, 1, scalar::int_sub(b, scalar::int_mul(p[0], a)))
MASHAL_OP2(mul, 0, scalar::int_mul(a, b))
MASHAL_OP2(maximum, 0, a > b ? a : b)
MASHAL_OP2(minimum, 0, a < b ? a : b)
MASHAL_OP2(eq, 0, a == b)
MASHAL_OP2(ne, 0, a != b)
MASHAL_OP2(lt, 0, a < b)
MASHAL_OP2(le, 0, a <= b)
MASHAL_OP2(gt, 0, a > b)
MASHAL_OP2(ge, 0, a >= b)
MASHAL_OP2(logical_and, 0, static_cast<bool>((a != T(0)) & (b != T(0))))
MASHAL_OP2(logical_or, 0, static_cast<bool>((a != T(0)) | (b != T(0))))
MASHAL_OP2(logical_xor, 0, (a != T(0)) != (b != T(0)))
MASHAL_OP2(bitwise_and, 0, static_cast<T>(a& b))
MASHAL_OP2(bitwise_or, 0, static_cast<T>(a | b))
MASHAL_OP2(bitwise_xor, 0, static_cast<T>(a ^ b))
MASHAL_OP2(bitwise_left_shift, 0, scalar::shift_left(a, b))
MASHAL_OP2(bitwise_right_shift, 0, scalar::shift_right(a, b))
MASHAL_OP2(pow, 0, scalar::int_pow(a, b))
MASHAL_OP2(gcd, 0, scalar::gcd(a, b))
MASHAL_OP2(lcm, 0, scalar::lcm(a, b))
MASHAL_OP2(heaviside, 0, a == T(0) ? b : static_cast<T>(a > T(0)))
MASHAL_OP1(pow_scalar, 1, scalar::int_pow(a, p[0]))
MASHAL_OP2(div_trunc, 0, scalar::int_div_trunc(a, b))
MASHAL_OP2(floor_divide, 0, scalar::int_floor_divide(a, b))
MASHAL_OP2(fmod, 0, scalar::int_fmod(a, b))
MASHAL_OP2(remainder, 0, scalar::int_remainder(a, b))

// Divisions look for zeros first, in a pass of their own that vectorises.
template <class Op, class T>
void division_loop(int64_t n, void* out, const void* const* in, const double* params) {
    auto* b = static_cast<const T*>(in[1]);
    int zeros = 0;
    for (int64_t i = 0; i < n; ++i) zeros |= b[i] == T(0) ? 1 : 0;
    if (zeros != 0) raise_zero_division();
    binary_loop<Op, T>(n, out, in, params);
}

#define MASHAL_INT_DIVISION(name)                                                \
    {#name, DType::U8, DType::U8, 2, &division_loop<op::name, uint8_t>},         \
        {#name, DType::I8, DType::I8, 2, &division_loop<op::name, int8_t>},      \
        {#name, DType::I16, DType::I16, 2, &division_loop<op::name, int16_t>},   \
        {#name, DType::I32, DType::I32, 2, &division_loop<op::name, int32_t>}, { \
        #name, DType::I64, DType::I64, 2, &division_loop<op::name, int64_t>      \
    }
#define MASHAL_BOOL_AS(name, functor) binary_entry<op::functor, bool>(name)

static constexpr PointwiseEntry kInt[] = {
    MASHAL_INTS2(add),
    MASHAL_INTS2(sub),
    MASHAL_INTS2(rsub),
    MASHAL_INTS2(mul),
    MASHAL_INTS2(maximum),
    MASHAL_INTS2(minimum),
    MASHAL_INTS2(eq),
    MASHAL_INTS2(ne),
    MASHAL_INTS2(lt),
    MASHAL_INTS2(le),
    MASHAL_INTS2(gt),
    MASHAL_INTS2(ge),
    MASHAL_INTS2(logical_and),
    MASHAL_INTS2(logical_or),
    MASHAL_INTS2(logical_xor),
    MASHAL_INTS2(bitwise_and),
    MASHAL_INTS2(bitwise_or),
    MASHAL_INTS2(bitwise_xor),
    MASHAL_INTS2(bitwise_left_shift),
    MASHAL_INTS2(bitwise_right_shift),
    MASHAL_INTS2(pow),
    MASHAL_INTS1(pow_scalar),
    MASHAL_INTS2(gcd),
    MASHAL_INTS2(lcm),
    MASHAL_INTS2(heaviside),
    MASHAL_INT_DIVISION(div_trunc),
    MASHAL_INT_DIVISION(floor_divide),
    MASHAL_INT_DIVISION(fmod),
    MASHAL_INT_DIVISION(remainder),
    // fmax and fmin differ from maximum and minimum on nan only.
    binary_entry<op::maximum, uint8_t>("fmax"),
    binary_entry<op::maximum, int8_t>("fmax"),
    binary_entry<op::maximum, int16_t>("fmax"),
    binary_entry<op::maximum, int32_t>("fmax"),
    binary_entry<op::maximum, int64_t>("fmax"),
    binary_entry<op::minimum, uint8_t>("fmin"),
    binary_entry<op::minimum, int8_t>("fmin"),
    binary_entry<op::minimum, int16_t>("fmin"),
    binary_entry<op::minimum, int32_t>("fmin"),
    binary_entry<op::minimum, int64_t>("fmin"),
    MASHAL_BOOL_AS("add", logical_or),
    MASHAL_BOOL_AS("mul", logical_and),
    MASHAL_BOOL_AS("maximum", logical_or),
    MASHAL_BOOL_AS("minimum", logical_and),
    MASHAL_BOOL_AS("fmax", logical_or),
    MASHAL_BOOL_AS("fmin", logical_and),
    MASHAL_BOOL_AS("logical_and", logical_and),
    MASHAL_BOOL_AS("logical_or", logical_or),
    MASHAL_BOOL_AS("logical_xor", logical_xor),
    MASHAL_BOOL_AS("bitwise_and", logical_and),
    MASHAL_BOOL_AS("bitwise_or", logical_or),
    MASHAL_BOOL_AS("bitwise_xor", logical_xor),
    MASHAL_BOOL_AS("eq", eq),
    MASHAL_BOOL_AS("ne", ne),
    MASHAL_BOOL_AS("lt", lt),
    MASHAL_BOOL_AS("le", le),
    MASHAL_BOOL_AS("gt", gt),
    MASHAL_BOOL_AS("ge", ge),
    MASHAL_BOOL_AS("heaviside", heaviside),
};

PointwiseTable pointwise_int() { return MASHAL_TABLE_OF(kInt); }

}  // namespace mashal::MASHAL_ISA
