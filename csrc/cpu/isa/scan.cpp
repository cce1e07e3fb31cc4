// Running sums, products, extrema and log-sum-exps.
#include "cpu/scan_loops.h"

#include "cpu/isa/reduce_ops.h"
#include "scalar/exp_log.h"

namespace mashal::MASHAL_ISA {
namespace {

constexpr int64_t kCols = 256;

typedef double v8d __attribute__((vector_size(64)));
typedef long long v8i __attribute__((vector_size(64)));

template <class Acc, bool kProduct>
MASHAL_LOOP Acc apply(Acc a, Acc b) {
    if constexpr (kProduct)
        return a * b;
    else
        return a + b;
}

// One row. Eight elements are scanned among themselves in three steps; only the carry is a chain.
template <class T, bool kProduct>
MASHAL_LOOP void scan_row_blocked(int64_t n, const T* x, T* y) {
    typedef T vT __attribute__((vector_size(8 * sizeof(T)), aligned(alignof(T)), may_alias));
    typedef T vU __attribute__((vector_size(8 * sizeof(T))));
    const double unit = kProduct ? 1 : 0;
    const v8d units = {unit, unit, unit, unit, unit, unit, unit, unit};
    v8d carry = units;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        v8d v = __builtin_convertvector(static_cast<vU>(*reinterpret_cast<const vT*>(x + i)), v8d);
        v8d up = __builtin_shuffle(units, v, v8i{0, 8, 9, 10, 11, 12, 13, 14});
        v = kProduct ? v * up : v + up;
        up = __builtin_shuffle(units, v, v8i{0, 0, 8, 9, 10, 11, 12, 13});
        v = kProduct ? v * up : v + up;
        up = __builtin_shuffle(units, v, v8i{0, 0, 0, 0, 8, 9, 10, 11});
        v = kProduct ? v * up : v + up;
        const v8d total = __builtin_shuffle(v, v8i{7, 7, 7, 7, 7, 7, 7, 7});
        const v8d out = kProduct ? v * carry : v + carry;
        carry = kProduct ? carry * total : carry + total;
        *reinterpret_cast<vT*>(y + i) = static_cast<vT>(__builtin_convertvector(out, vU));
    }
    double acc = carry[0];
    for (; i < n; i++) {
        acc = kProduct ? acc * x[i] : acc + x[i];
        y[i] = static_cast<T>(acc);
    }
}

template <class T, class Acc, bool kProduct>
void scan_arithmetic(int64_t n, int64_t stride, int64_t cols, const void* xv, void* yv, int64_t*) {
    auto* x = static_cast<const T*>(xv);
    auto* y = static_cast<T*>(yv);
    if (cols == 1) {
        // Not for products of doubles: eight factors may overflow before the carry, perhaps 0, is applied.
        if constexpr (is_float_type<T> && !(kProduct && sizeof(T) == 8)) {
            if (stride == 1) return scan_row_blocked<T, kProduct>(n, x, y);
        }
        Acc acc = kProduct ? Acc(1) : Acc(0);
        for (int64_t r = 0; r < n; r++) {
            acc = apply<Acc, kProduct>(acc, Acc(x[r * stride]));
            y[r * stride] = T(acc);
        }
        return;
    }
    Acc acc[kCols];
    for (int64_t j0 = 0; j0 < cols; j0 += kCols) {
        const int64_t m = cols - j0 < kCols ? cols - j0 : kCols;
        for (int64_t j = 0; j < m; j++) acc[j] = kProduct ? Acc(1) : Acc(0);
        for (int64_t r = 0; r < n; r++) {
            const T* __restrict in = x + r * stride + j0;
            T* __restrict out = y + r * stride + j0;
            for (int64_t j = 0; j < m; j++) {
                acc[j] = apply<Acc, kProduct>(acc[j], Acc(in[j]));
                out[j] = T(acc[j]);
            }
        }
    }
}

// The last of equals, as in PyTorch; once NaN, always NaN.
template <class T, bool kLargest>
void scan_extremum(int64_t n, int64_t stride, int64_t cols, const void* xv, void* yv, int64_t* indices) {
    auto* x = static_cast<const T*>(xv);
    auto* y = static_cast<T*>(yv);
    for (int64_t j = 0; j < cols; j++) {
        y[j] = x[j];
        indices[j] = 0;
    }
    for (int64_t r = 1; r < n; r++) {
        const T *in = x + r * stride, *before = y + (r - 1) * stride;
        const int64_t* place_before = indices + (r - 1) * stride;
        T* out = y + r * stride;
        int64_t* place = indices + r * stride;
        for (int64_t j = 0; j < cols; j++) {
            const T a = before[j], b = in[j];
            const bool take = is_nan(b) | (kLargest ? b >= a : b <= a);
            out[j] = take ? b : a;
            place[j] = take ? r : place_before[j];
        }
    }
}

// With M the running maximum: s[i] = s[i-1] exp(M[i-1] - M[i]) + exp(x[i] - M[i]), y = M + log s. Only s is a chain.
template <class T>
void scan_logsumexp(int64_t n, int64_t stride, int64_t cols, const void* xv, void* yv, int64_t*) {
    constexpr int kBatch = 128;
    const T inf = static_cast<T>(__builtin_inf());
    for (int64_t j = 0; j < cols; j++) {
        const T* x = static_cast<const T*>(xv) + j;
        T* y = static_cast<T*>(yv) + j;
        T max = -inf;
        double sum = 0;
        for (int64_t r0 = 0; r0 < n; r0 += kBatch) {
            const int len = static_cast<int>(n - r0 < kBatch ? n - r0 : kBatch);
            T top[kBatch], base[kBatch], fade[kBatch], add[kBatch];
            for (int k = 0; k < kBatch; k++) add[k] = fade[k] = top[k] = base[k] = 0;
            for (int k = 0; k < len; k++) {
                const T v = x[(r0 + k) * stride];
                const T next = extremum<T, true>(max, v);
                base[k] = next == inf || next == -inf ? T(0) : next;
                add[k] = v - base[k];
                // Nothing fades before the first finite element: the sum is still 0 (or exp(inf)).
                fade[k] = max == inf || max == -inf ? T(0) : max - base[k];
                top[k] = max = next;
            }
            for (int k = 0; k < kBatch; k++) {
                add[k] = scalar::exp(add[k]);
                fade[k] = scalar::exp(fade[k]);
            }
            for (int k = 0; k < len; k++) {
                sum = sum * static_cast<double>(fade[k]) + static_cast<double>(add[k]);
                add[k] = static_cast<T>(sum);
            }
            for (int k = 0; k < kBatch; k++) add[k] = base[k] + scalar::log(add[k]);
            for (int k = 0; k < len; k++) y[(r0 + k) * stride] = top[k] == inf ? inf : add[k];
        }
    }
}

template <class T, class Acc>
ScanLoop arithmetic(Scan op) {
    switch (op) {
        case Scan::Sum: return scan_arithmetic<T, Acc, false>;
        case Scan::Prod: return scan_arithmetic<T, Acc, true>;
        default: return nullptr;
    }
}
template <class T>
ScanLoop extrema(Scan op) {
    switch (op) {
        case Scan::Max: return scan_extremum<T, true>;
        case Scan::Min: return scan_extremum<T, false>;
        default: return nullptr;
    }
}

}  // namespace

ScanLoop scan_loop(Scan op, DType t) {
    const bool extremal = op == Scan::Max || op == Scan::Min;
    switch (t) {
        case DType::Bool:
        case DType::U8: return extrema<uint8_t>(op);
        case DType::I8: return extrema<int8_t>(op);
        case DType::I16: return extrema<int16_t>(op);
        case DType::I32: return extrema<int32_t>(op);
        case DType::I64: return extremal ? extrema<int64_t>(op) : arithmetic<int64_t, uint64_t>(op);
        case DType::F32:
            if (op == Scan::LogSumExp) return scan_logsumexp<float>;
            return extremal ? extrema<float>(op) : arithmetic<float, double>(op);
        case DType::F64:
            if (op == Scan::LogSumExp) return scan_logsumexp<double>;
            return extremal ? extrema<double>(op) : arithmetic<double, double>(op);
        case DType::C64: return arithmetic<c64, c128>(op);
        case DType::C128: return arithmetic<c128, c128>(op);
        default: return nullptr;
    }
}

}  // namespace mashal::MASHAL_ISA
