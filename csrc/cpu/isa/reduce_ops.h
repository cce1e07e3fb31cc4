// Building blocks of the reduction loops; included by csrc/cpu/isa/reduce_*.cpp only.
//
// An op is a struct with
//   In    element type;     Part  what one block of elements accumulates in;    Acc  what blocks accumulate in
//   start(), step(Part&, In, param), join(Part&, Part), identity(), merge(Acc&, Part), combine(Acc&, Acc),
//   neutral(param): an element that leaves a Part as it is.
// Floating sums run in In over blocks of 4096 elements and in double beyond, over 64 interleaved lanes whose fold is
// fixed: the result depends neither on the instruction set nor, in practice, on the length of the tensor.
#pragma once
#include "cpu/reduce_loops.h"

#define MASHAL_LOOP [[gnu::always_inline]] static inline
// Before a short loop over lanes: GCC would unroll it completely first, and then see no loop to vectorise.
#define MASHAL_WHOLE_VECTOR _Pragma("GCC unroll 1")

namespace mashal::MASHAL_ISA {
namespace {

constexpr int64_t kBlock = 4096;

// The L elements that end at x[n] must be readable, also those before x.
template <class Op, int L>
MASHAL_LOOP typename Op::Part reduce_block(int64_t n, const typename Op::In* x, double param) {
    if constexpr (requires { Op::template block<L>(n, x); }) return Op::template block<L>(n, x);
    typename Op::Part lane[L];
    for (int k = 0; k < L; k++) lane[k] = Op::start();
    int64_t i = 0;
    for (; i + L <= n; i += L)
        for (int k = 0; k < L; k++) Op::step(lane[k], x[i + k], param);
    if (i < n) {
        // Whole lanes again: those that were counted already are replaced by something neutral.
        const int seen = static_cast<int>(i + L - n);
        const typename Op::In* last = x + n - L;
        const typename Op::In neutral = Op::neutral(param);
        typename Op::In fresh[L];
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) fresh[k] = k < seen ? neutral : last[k];
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) Op::step(lane[k], fresh[k], param);
    }
    for (int w = L / 2; w > 2; w /= 2) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < w; k++) Op::join(lane[k], lane[k + w]);
    }
    Op::join(lane[0], lane[2]);
    Op::join(lane[1], lane[3]);
    Op::join(lane[0], lane[1]);
    return lane[0];
}

template <class Op>
MASHAL_LOOP void reduce_row(int64_t n, const typename Op::In* x, typename Op::Acc& acc, double param) {
    if (n < 16) {
        typename Op::Part p = Op::start();
        for (int64_t i = 0; i < n; i++) Op::step(p, x[i], param);
        Op::merge(acc, p);
    } else if (n < 128) {
        Op::merge(acc, reduce_block<Op, 16>(n, x, param));
    } else {
        for (int64_t b = 0; b < n; b += kBlock) {
            const int64_t len = n - b < kBlock ? n - b : kBlock;
            Op::merge(acc, reduce_block<Op, 64>(len, x + b, param));
        }
    }
}

template <class Op>
void reduce_rows(int64_t m, int64_t stride, int64_t n, const void* x, void* acc, double param) {
    auto* in = static_cast<const typename Op::In*>(x);
    auto* a = static_cast<typename Op::Acc*>(acc);
    for (int64_t r = 0; r < m; r++) reduce_row<Op>(n, in + r * stride, a[r], param);
}

template <class Op>
void reduce_columns(int64_t m, int64_t stride, int64_t n, const void* x, void* acc, double param) {
    using In = typename Op::In;
    using Part = typename Op::Part;
    auto* in = static_cast<const In*>(x);
    auto* __restrict a = static_cast<typename Op::Acc*>(acc);
    int64_t r = 0;
    for (; r + 8 <= m; r += 8) {
        const In* row[8];
        for (int k = 0; k < 8; k++) row[k] = in + (r + k) * stride;
        for (int64_t j = 0; j < n; j++) {
            Part p = Op::start(), q = Op::start();
            Op::step(p, row[0][j], param);
            Op::step(q, row[1][j], param);
            Op::step(p, row[2][j], param);
            Op::step(q, row[3][j], param);
            Op::step(p, row[4][j], param);
            Op::step(q, row[5][j], param);
            Op::step(p, row[6][j], param);
            Op::step(q, row[7][j], param);
            Op::join(p, q);
            Op::merge(a[j], p);
        }
    }
    for (; r < m; r++) {
        const In* row = in + r * stride;
        for (int64_t j = 0; j < n; j++) {
            Part p = Op::start();
            Op::step(p, row[j], param);
            Op::merge(a[j], p);
        }
    }
}

template <class Op>
void init_accs(int64_t n, void* acc) {
    auto* a = static_cast<typename Op::Acc*>(acc);
    for (int64_t j = 0; j < n; j++) a[j] = Op::identity();
}

template <class Op>
void join_accs(int64_t n, void* acc, const void* other) {
    auto* a = static_cast<typename Op::Acc*>(acc);
    auto* b = static_cast<const typename Op::Acc*>(other);
    for (int64_t j = 0; j < n; j++) Op::combine(a[j], b[j]);
}

template <class Op>
ReduceLoops loops_of() {
    return {sizeof(typename Op::Acc), init_accs<Op>, reduce_rows<Op>, reduce_columns<Op>, join_accs<Op>};
}

template <int kSize>
struct int_of_size_t;
template <>
struct int_of_size_t<4> {
    using type = int32_t;
};
template <>
struct int_of_size_t<8> {
    using type = int64_t;
};
template <int kSize>
using int_of_size = typename int_of_size_t<kSize>::type;

template <class T>
constexpr bool is_float_type = false;
template <>
constexpr bool is_float_type<float> = true;
template <>
constexpr bool is_float_type<double> = true;

template <class T>
MASHAL_LOOP bool is_nan(T x) {
    if constexpr (is_float_type<T>)
        return x != x;
    else
        return false;
}

template <class T>
MASHAL_LOOP T lowest() {
    if constexpr (is_float_type<T>)
        return -static_cast<T>(__builtin_inf());
    else
        return static_cast<T>(-1) > static_cast<T>(0) ? static_cast<T>(0) : static_cast<T>(T{1} << (sizeof(T) * 8 - 1));
}
template <class T>
MASHAL_LOOP T highest() {
    if constexpr (is_float_type<T>)
        return static_cast<T>(__builtin_inf());
    else
        return static_cast<T>(~lowest<T>());
}

// The larger (smaller) of two, NaN if either is; the first of equals.
template <class T, bool kLargest>
MASHAL_LOOP T extremum(T a, T x) {
    // Two selects rather than one on "better or NaN": the first is a single vector instruction.
    const T best = kLargest ? (x > a ? x : a) : (x < a ? x : a);
    return is_nan(x) ? x : best;
}

// The extremum of numbers and, apart, whether there was a NaN: both fold in one instruction a step.
template <class T, bool kLargest, int L>
MASHAL_LOOP T extremum_block(int64_t n, const T* x) {
    using Flag = int_of_size<sizeof(T)>;
    T lane[L];
    Flag nan[L];
    for (int k = 0; k < L; k++) {
        lane[k] = kLargest ? lowest<T>() : highest<T>();
        nan[k] = 0;
    }
    int64_t i = 0;
    for (; i + L <= n; i += L) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) {
            const T v = x[i + k];
            lane[k] = (kLargest ? v > lane[k] : v < lane[k]) ? v : lane[k];
            nan[k] |= v != v ? -1 : 0;
        }
    }
    if (i < n) {  // looking at some twice does no harm
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) {
            const T v = x[n - L + k];
            lane[k] = (kLargest ? v > lane[k] : v < lane[k]) ? v : lane[k];
            nan[k] |= v != v ? -1 : 0;
        }
    }
    for (int w = L / 2; w > 0; w /= 2) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < w; k++) {
            lane[k] = (kLargest ? lane[k + w] > lane[k] : lane[k + w] < lane[k]) ? lane[k + w] : lane[k];
            nan[k] |= nan[k + w];
        }
    }
    return nan[0] ? static_cast<T>(__builtin_nan("")) : lane[0];
}

template <class T, bool kLargest>
struct ExtremumOp {
    using In = T;
    using Part = T;
    using Acc = T;
    MASHAL_LOOP T start() { return kLargest ? lowest<T>() : highest<T>(); }
    MASHAL_LOOP T neutral(double) { return start(); }
    MASHAL_LOOP void step(T& p, T x, double) { p = extremum<T, kLargest>(p, x); }
    MASHAL_LOOP void join(T& p, T q) { p = extremum<T, kLargest>(p, q); }
    template <int L>
    MASHAL_LOOP T block(int64_t n, const T* x)
        requires is_float_type<T>
    {
        return extremum_block<T, kLargest, L>(n, x);
    }
    MASHAL_LOOP T identity() { return start(); }
    MASHAL_LOOP void merge(T& a, T p) { join(a, p); }
    MASHAL_LOOP void combine(T& a, T b) { join(a, b); }
};

// Any and All over "x != 0"; Wide is an integer of the element's size, so that lanes stay aligned with elements.
template <class T, class Wide, bool kAny>
struct LogicalOp {
    using In = T;
    using Part = Wide;
    using Acc = uint8_t;
    MASHAL_LOOP Part start() { return kAny ? 0 : 1; }
    MASHAL_LOOP T neutral(double) { return kAny ? T(0) : T(1); }
    MASHAL_LOOP void step(Part& p, T x, double) {
        const Part bit = x != T(0) ? 1 : 0;
        p = kAny ? p | bit : p & bit;
    }
    MASHAL_LOOP void join(Part& p, Part q) { p = kAny ? p | q : p & q; }
    MASHAL_LOOP Acc identity() { return kAny ? 0 : 1; }
    MASHAL_LOOP void merge(Acc& a, Part p) {
        a = static_cast<Acc>(kAny ? a | static_cast<Acc>(p) : a & static_cast<Acc>(p));
    }
    MASHAL_LOOP void combine(Acc& a, Acc b) { a = static_cast<Acc>(kAny ? a | b : a & b); }
};

template <class T, class Wide>
struct CountOp {
    using In = T;
    using Part = Wide;
    using Acc = int64_t;
    MASHAL_LOOP Part start() { return 0; }
    MASHAL_LOOP T neutral(double) { return T(0); }
    MASHAL_LOOP void step(Part& p, T x, double) { p += x != T(0) ? 1 : 0; }
    MASHAL_LOOP void join(Part& p, Part q) { p += q; }
    MASHAL_LOOP Acc identity() { return 0; }
    MASHAL_LOOP void merge(Acc& a, Part p) { a += p; }
    MASHAL_LOOP void combine(Acc& a, Acc b) { a += b; }
};

}  // namespace
}  // namespace mashal::MASHAL_ISA
