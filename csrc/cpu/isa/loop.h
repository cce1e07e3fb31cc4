// Loop templates over scalar functors, and the macros that make functors and table entries.
// Included by files that are compiled once per instruction set with MASHAL_ISA naming the namespace. Everything here
// lives in that namespace or is always inlined: no symbol may be shared between builds.
#pragma once
#include "cpu/pointwise_loops.h"
#include "scalar/common.h"
#include "scalar/complex.h"

namespace mashal::MASHAL_ISA {

#define MASHAL_INLINE [[gnu::always_inline]] static inline

constexpr int kMaxParams = 4;

template <class T>
struct stored {
    using type = T;
};
template <>
struct stored<bool> {
    using type = uint8_t;
};
template <class T>
using stored_t = typename stored<T>::type;

template <class T>
MASHAL_INLINE T load(stored_t<T> v) {
    if constexpr (dtype_of<T>::value == DType::Bool) {
        return v != 0;
    } else {
        return v;
    }
}

// Scalar attribute k as a value of the compute type; integers saturate, nan becomes 0.
template <class T>
struct Attribute {
    MASHAL_INLINE T get(const double* p, int k) {
        if constexpr (is_integral(dtype_of<T>::value, false)) {
            constexpr int bits = sizeof(T) * 8 - (T(-1) < T(0) ? 1 : 0);
            constexpr double above = 2.0 * static_cast<double>(1ull << (bits - 1));
            constexpr T high = static_cast<T>(bits == 63 ? 0x7fffffffffffffffull : (1ull << bits) - 1);
            constexpr T low = T(-1) < T(0) ? static_cast<T>(-high - 1) : T(0);
            double v = p[k];
            if (v >= above) return high;
            if (v <= static_cast<double>(low)) return low;
            return v == v ? static_cast<T>(v) : T(0);
        } else {
            return static_cast<T>(p[k]);
        }
    }
    static constexpr int width = 1;
};
template <class R>
struct Attribute<scalar::cplx<R>> {
    MASHAL_INLINE scalar::cplx<R> get(const double* p, int k) {
        return scalar::cplx<R>(static_cast<R>(p[2 * k]), static_cast<R>(p[2 * k + 1]));
    }
    static constexpr int width = 2;
};

// Attributes by value: read once before the loop, so that stores through `out` cannot be taken to change them.
template <class Op, class T>
struct Params {
    T value[Op::n_params > 0 ? Op::n_params : 1] = {};
    [[gnu::always_inline]] explicit Params(const double* p) {
        for (int k = 0; k < Op::n_params; ++k) value[k] = Attribute<T>::get(p, k);
    }
};

// "ivdep": element i of `out` depends on element i of the inputs only, also when out is one of them.
template <class Op, class T>
void unary_loop(int64_t n, void* out, const void* const* in, const double* params) {
    using R = decltype(Op::template apply<T>(T(), static_cast<const T*>(nullptr)));
    auto* y = static_cast<stored_t<R>*>(out);
    auto* a = static_cast<const stored_t<T>*>(in[0]);
    const Params<Op, T> p(params);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<stored_t<R>>(Op::template apply<T>(load<T>(a[i]), p.value));
}
template <class Op, class T>
void binary_loop(int64_t n, void* out, const void* const* in, const double* params) {
    using R = decltype(Op::template apply<T>(T(), T(), static_cast<const T*>(nullptr)));
    auto* y = static_cast<stored_t<R>*>(out);
    auto* a = static_cast<const stored_t<T>*>(in[0]);
    auto* b = static_cast<const stored_t<T>*>(in[1]);
    const Params<Op, T> p(params);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
        y[i] = static_cast<stored_t<R>>(Op::template apply<T>(load<T>(a[i]), load<T>(b[i]), p.value));
    }
}
template <class Op, class T>
void ternary_loop(int64_t n, void* out, const void* const* in, const double* params) {
    using R = decltype(Op::template apply<T>(T(), T(), T(), static_cast<const T*>(nullptr)));
    auto* y = static_cast<stored_t<R>*>(out);
    auto* a = static_cast<const stored_t<T>*>(in[0]);
    auto* b = static_cast<const stored_t<T>*>(in[1]);
    auto* c = static_cast<const stored_t<T>*>(in[2]);
    const Params<Op, T> p(params);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
        y[i] = static_cast<stored_t<R>>(Op::template apply<T>(load<T>(a[i]), load<T>(b[i]), load<T>(c[i]), p.value));
    }
}

// For functions whose fast form covers a range only: blocks that lie inside it run vectorised, others element by
// element. Which form an element takes depends on its own value alone, so results do not depend on neighbours.
constexpr int64_t kRangedBlock = 256;
template <class Op>
void ranged_unary_loop(int64_t n, void* out, const void* const* in, const double*) {
    auto* y = static_cast<float*>(out);
    auto* a = static_cast<const float*>(in[0]);
    for (int64_t start = 0; start < n; start += kRangedBlock) {
        int64_t end = start + kRangedBlock < n ? start + kRangedBlock : n;
        int outside = 0;
        for (int64_t i = start; i < end; ++i) outside |= Op::in_range(a[i]) ? 0 : 1;
        if (outside == 0) {
#pragma GCC ivdep
            for (int64_t i = start; i < end; ++i) y[i] = Op::fast(a[i]);
        } else {
            for (int64_t i = start; i < end; ++i) y[i] = Op::in_range(a[i]) ? Op::fast(a[i]) : Op::slow(a[i]);
        }
    }
}
template <class Op>
void ranged_binary_loop(int64_t n, void* out, const void* const* in, const double*) {
    auto* y = static_cast<float*>(out);
    auto* a = static_cast<const float*>(in[0]);
    auto* b = static_cast<const float*>(in[1]);
    for (int64_t start = 0; start < n; start += kRangedBlock) {
        int64_t end = start + kRangedBlock < n ? start + kRangedBlock : n;
        int outside = 0;
        for (int64_t i = start; i < end; ++i) outside |= Op::in_range(a[i], b[i]) ? 0 : 1;
        if (outside == 0) {
#pragma GCC ivdep
            for (int64_t i = start; i < end; ++i) y[i] = Op::fast(a[i], b[i]);
        } else {
            for (int64_t i = start; i < end; ++i) {
                y[i] = Op::in_range(a[i], b[i]) ? Op::fast(a[i], b[i]) : Op::slow(a[i], b[i]);
            }
        }
    }
}

// Table entries. The result dtype follows from the functor.
template <class Op, class T>
constexpr PointwiseEntry unary_entry(const char* name) {
    using R = decltype(Op::template apply<T>(T(), static_cast<const T*>(nullptr)));
    return {name, dtype_of<T>::value, dtype_of<R>::value, 1, &unary_loop<Op, T>};
}
template <class Op, class T>
constexpr PointwiseEntry binary_entry(const char* name) {
    using R = decltype(Op::template apply<T>(T(), T(), static_cast<const T*>(nullptr)));
    return {name, dtype_of<T>::value, dtype_of<R>::value, 2, &binary_loop<Op, T>};
}
template <class Op, class T>
constexpr PointwiseEntry ternary_entry(const char* name) {
    using R = decltype(Op::template apply<T>(T(), T(), T(), static_cast<const T*>(nullptr)));
    return {name, dtype_of<T>::value, dtype_of<R>::value, 3, &ternary_loop<Op, T>};
}

// Functors `op::name`. In the expression: T, operands a, b, c, attributes p[k] (already of type T).
#define MASHAL_OP1(name, params, ...)                                \
    namespace op {                                                   \
    struct name {                                                    \
        static constexpr int n_params = params;                      \
        template <class T>                                           \
        MASHAL_INLINE auto apply(T a, [[maybe_unused]] const T* p) { \
            return __VA_ARGS__;                                      \
        }                                                            \
    };                                                               \
    }
#define MASHAL_OP2(name, params, ...)                                     \
    namespace op {                                                        \
    struct name {                                                         \
        static constexpr int n_params = params;                           \
        template <class T>                                                \
        MASHAL_INLINE auto apply(T a, T b, [[maybe_unused]] const T* p) { \
            return __VA_ARGS__;                                           \
        }                                                                 \
    };                                                                    \
    }
#define MASHAL_OP3(name, params, ...)                                          \
    namespace op {                                                             \
    struct name {                                                              \
        static constexpr int n_params = params;                                \
        template <class T>                                                     \
        MASHAL_INLINE auto apply(T a, T b, T c, [[maybe_unused]] const T* p) { \
            return __VA_ARGS__;                                                \
        }                                                                      \
    };                                                                         \
    }
// Functor `op::name` with a fast form `fn_fast` where `fn_in_range`, else `fn_slow` (float only).
#define MASHAL_RANGED1(name, range, fn)                                    \
    namespace op {                                                         \
    struct name##_ranged {                                                 \
        MASHAL_INLINE bool in_range(float a) { return scalar::range(a); }  \
        MASHAL_INLINE float fast(float a) { return scalar::fn##_fast(a); } \
        MASHAL_INLINE float slow(float a) { return scalar::fn##_slow(a); } \
    };                                                                     \
    }

#define MASHAL_FLOATS1(name) unary_entry<op::name, float>(#name), unary_entry<op::name, double>(#name)
#define MASHAL_FLOATS2(name) binary_entry<op::name, float>(#name), binary_entry<op::name, double>(#name)
#define MASHAL_FLOATS3(name) ternary_entry<op::name, float>(#name), ternary_entry<op::name, double>(#name)
#define MASHAL_COMPLEX1(name) unary_entry<op::name, c64>(#name), unary_entry<op::name, c128>(#name)
#define MASHAL_COMPLEX2(name) binary_entry<op::name, c64>(#name), binary_entry<op::name, c128>(#name)
#define MASHAL_COMPLEX3(name) ternary_entry<op::name, c64>(#name), ternary_entry<op::name, c128>(#name)
#define MASHAL_INTS1(name)                                                            \
    unary_entry<op::name, uint8_t>(#name), unary_entry<op::name, int8_t>(#name),      \
        unary_entry<op::name, int16_t>(#name), unary_entry<op::name, int32_t>(#name), \
        unary_entry<op::name, int64_t>(#name)
#define MASHAL_INTS2(name)                                                              \
    binary_entry<op::name, uint8_t>(#name), binary_entry<op::name, int8_t>(#name),      \
        binary_entry<op::name, int16_t>(#name), binary_entry<op::name, int32_t>(#name), \
        binary_entry<op::name, int64_t>(#name)
#define MASHAL_INTS3(name)                                                                \
    ternary_entry<op::name, uint8_t>(#name), ternary_entry<op::name, int8_t>(#name),      \
        ternary_entry<op::name, int16_t>(#name), ternary_entry<op::name, int32_t>(#name), \
        ternary_entry<op::name, int64_t>(#name)

#define MASHAL_TABLE_OF(entries) \
    PointwiseTable { entries, static_cast<int>(sizeof(entries) / sizeof(entries[0])) }

}  // namespace mashal::MASHAL_ISA
