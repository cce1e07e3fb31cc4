// Two floating-point arguments: arithmetic, comparison, powers, remainders and the rest of the two-argument functions.
#include "cpu/isa/loop.h"
#include "scalar/exp_log.h"
#include "scalar/real.h"
#include "scalar/trig.h"

namespace mashal::MASHAL_ISA {

MASHAL_OP2(add, 1, a + p[0] * b)
MASHAL_OP2(sub, 1, a - p[0] * b)
MASHAL_OP2(rsub, 1, b - p[0] * a)
MASHAL_OP2(mul, 0, a* b)
MASHAL_OP2(div, 0, a / b)
MASHAL_OP2(div_trunc, 0, scalar::trunc(a / b))
MASHAL_OP2(maximum, 0, scalar::maximum(a, b))
MASHAL_OP2(minimum, 0, scalar::minimum(a, b))
MASHAL_OP2(fmax, 0, scalar::fmax(a, b))
MASHAL_OP2(fmin, 0, scalar::fmin(a, b))
MASHAL_OP2(eq, 0, a == b)
MASHAL_OP2(ne, 0, a != b)
MASHAL_OP2(lt, 0, a < b)
MASHAL_OP2(le, 0, a <= b)
MASHAL_OP2(gt, 0, a > b)
MASHAL_OP2(ge, 0, a >= b)
MASHAL_OP2(logical_and, 0, static_cast<bool>((a != T(0)) & (b != T(0))))
MASHAL_OP2(logical_or, 0, static_cast<bool>((a != T(0)) | (b != T(0))))
MASHAL_OP2(logical_xor, 0, (a != T(0)) != (b != T(0)))

MASHAL_OP2(pow, 0, scalar::pow(a, b))
MASHAL_OP2(atan2, 0, scalar::atan2(a, b))
MASHAL_OP2(hypot, 0, scalar::hypot(a, b))
MASHAL_OP2(copysign, 0, scalar::copysign(a, b))
MASHAL_OP2(nextafter, 0, scalar::nextafter(a, b))
MASHAL_OP2(heaviside, 0, scalar::heaviside(a, b))
MASHAL_OP2(xlogy, 0, scalar::xlogy(a, b))
MASHAL_OP2(xlog1py, 0, scalar::xlog1py(a, b))
MASHAL_OP2(logaddexp, 0, scalar::logaddexp(a, b))
MASHAL_OP2(logaddexp2, 0, scalar::logaddexp2(a, b))
MASHAL_OP2(lerp_scalar, 1, scalar::lerp(a, b, p[0]))
MASHAL_OP2(prelu, 0, a > T(0) ? a : b * a)
MASHAL_OP2(fmod, 0, scalar::fmod(a, b))
MASHAL_OP2(remainder, 0, scalar::remainder(a, b))
MASHAL_OP2(floor_divide, 0, scalar::floor_divide(a, b))

namespace op {
struct fmod_ranged {
    MASHAL_INLINE bool in_range(float a, float b) { return scalar::fmod_in_range(a, b); }
    MASHAL_INLINE float fast(float a, float b) { return scalar::fmod_fast(a, b); }
    MASHAL_INLINE float slow(float a, float b) { return scalar::fmod_slow(a, b); }
};
struct remainder_ranged {
    MASHAL_INLINE bool in_range(float a, float b) { return scalar::fmod_in_range(a, b); }
    MASHAL_INLINE float fast(float a, float b) { return scalar::remainder_from(scalar::fmod_fast(a, b), b); }
    MASHAL_INLINE float slow(float a, float b) { return scalar::remainder_from(scalar::fmod_slow(a, b), b); }
};
struct floor_divide_ranged {
    MASHAL_INLINE bool in_range(float a, float b) { return scalar::fmod_in_range(a, b); }
    MASHAL_INLINE float fast(float a, float b) { return scalar::floor_divide_from(a, b, scalar::fmod_fast(a, b)); }
    MASHAL_INLINE float slow(float a, float b) { return scalar::floor_divide_from(a, b, scalar::fmod_slow(a, b)); }
};
}  // namespace op

// a^e for one exponent: the common ones without logarithms, as PyTorch does.
MASHAL_OP1(pow_2, 0, a* a)
MASHAL_OP1(pow_3, 0, a * a * a)
MASHAL_OP1(pow_half, 0, scalar::sqrt(a))
MASHAL_OP1(pow_minus_half, 0, T(1) / scalar::sqrt(a))
MASHAL_OP1(pow_minus_1, 0, T(1) / a)
MASHAL_OP1(pow_minus_2, 0, T(1) / (a * a))
MASHAL_OP1(pow_general, 1, scalar::pow(a, p[0]))
template <class T>
void pow_scalar_loop(int64_t n, void* out, const void* const* in, const double* params) {
    double e = params[0];
    PointwiseLoop loop = e == 2.0    ? &unary_loop<op::pow_2, T>
                         : e == 3.0  ? &unary_loop<op::pow_3, T>
                         : e == 0.5  ? &unary_loop<op::pow_half, T>
                         : e == -0.5 ? &unary_loop<op::pow_minus_half, T>
                         : e == -1.0 ? &unary_loop<op::pow_minus_1, T>
                         : e == -2.0 ? &unary_loop<op::pow_minus_2, T>
                                     : &unary_loop<op::pow_general, T>;
    loop(n, out, in, params);
}

// complex(re, im) and polar(r, theta): two reals in, one complex out.
template <class T, bool is_polar>
void make_complex_loop(int64_t n, void* out, const void* const* in, const double*) {
    auto* y = static_cast<scalar::cplx<T>*>(out);
    auto* a = static_cast<const T*>(in[0]);
    auto* b = static_cast<const T*>(in[1]);
    for (int64_t i = 0; i < n; ++i) {
        y[i] = is_polar ? scalar::cplx<T>(a[i] * scalar::cos(b[i]), a[i] * scalar::sin(b[i]))
                        : scalar::cplx<T>(a[i], b[i]);
    }
}

static constexpr PointwiseEntry kBinary[] = {
    MASHAL_FLOATS2(add),
    MASHAL_FLOATS2(sub),
    MASHAL_FLOATS2(rsub),
    MASHAL_FLOATS2(mul),
    MASHAL_FLOATS2(div),
    MASHAL_FLOATS2(div_trunc),
    MASHAL_FLOATS2(maximum),
    MASHAL_FLOATS2(minimum),
    MASHAL_FLOATS2(fmax),
    MASHAL_FLOATS2(fmin),
    MASHAL_FLOATS2(eq),
    MASHAL_FLOATS2(ne),
    MASHAL_FLOATS2(lt),
    MASHAL_FLOATS2(le),
    MASHAL_FLOATS2(gt),
    MASHAL_FLOATS2(ge),
    MASHAL_FLOATS2(logical_and),
    MASHAL_FLOATS2(logical_or),
    MASHAL_FLOATS2(logical_xor),
    MASHAL_FLOATS2(pow),
    {"pow_scalar", DType::F32, DType::F32, 1, &pow_scalar_loop<float>},
    {"pow_scalar", DType::F64, DType::F64, 1, &pow_scalar_loop<double>},
    MASHAL_FLOATS2(atan2),
    MASHAL_FLOATS2(hypot),
    MASHAL_FLOATS2(copysign),
    MASHAL_FLOATS2(nextafter),
    MASHAL_FLOATS2(heaviside),
    MASHAL_FLOATS2(xlogy),
    MASHAL_FLOATS2(xlog1py),
    MASHAL_FLOATS2(logaddexp),
    MASHAL_FLOATS2(logaddexp2),
    MASHAL_FLOATS2(lerp_scalar),
    MASHAL_FLOATS2(prelu),
    {"fmod", DType::F32, DType::F32, 2, &ranged_binary_loop<op::fmod_ranged>},
    {"remainder", DType::F32, DType::F32, 2, &ranged_binary_loop<op::remainder_ranged>},
    {"floor_divide", DType::F32, DType::F32, 2, &ranged_binary_loop<op::floor_divide_ranged>},
    binary_entry<op::fmod, double>("fmod"),
    binary_entry<op::remainder, double>("remainder"),
    binary_entry<op::floor_divide, double>("floor_divide"),
    {"complex", DType::F32, DType::C64, 2, &make_complex_loop<float, false>},
    {"complex", DType::F64, DType::C128, 2, &make_complex_loop<double, false>},
    {"polar", DType::F32, DType::C64, 2, &make_complex_loop<float, true>},
    {"polar", DType::F64, DType::C128, 2, &make_complex_loop<double, true>},
};

PointwiseTable pointwise_binary() { return MASHAL_TABLE_OF(kBinary); }

}  // namespace mashal::MASHAL_ISA
