// Norm pieces, moments and log-sum-exp of float and double elements.
#include "cpu/isa/reduce_ops.h"
#include "scalar/exp_log.h"

namespace mashal::MASHAL_ISA {
namespace {

template <class T>
MASHAL_LOOP T magnitude(T x) {
    return x < T(0) ? -x : x;
}

enum class Power { One, Two, Scaled, Any };

template <class T, class PartT, Power kPower>
struct PowerSumOp {
    using In = T;
    using Part = PartT;
    using Acc = double;
    MASHAL_LOOP Part start() { return Part(0); }
    MASHAL_LOOP T neutral(double param) { return kPower == Power::Any && param < 0 ? highest<T>() : T(0); }
    MASHAL_LOOP void step(Part& p, T x, double param) {
        if constexpr (kPower == Power::One) {
            p += magnitude(x);
        } else if constexpr (kPower == Power::Two) {
            p += static_cast<Part>(x) * static_cast<Part>(x);
        } else if constexpr (kPower == Power::Scaled) {
            const Part y = static_cast<Part>(x) * param;
            p += y * y;
        } else {
            p += scalar::pow(magnitude(x), static_cast<T>(param));
        }
    }
    MASHAL_LOOP void join(Part& p, Part q) { p += q; }
    MASHAL_LOOP Acc identity() { return 0; }
    MASHAL_LOOP void merge(Acc& a, Part p) { a += p; }
    MASHAL_LOOP void combine(Acc& a, Acc b) { a += b; }
};

template <class T, bool kLargest>
struct ExtremumAbsOp {
    using In = T;
    using Part = T;
    using Acc = T;
    MASHAL_LOOP T start() { return kLargest ? T(0) : highest<T>(); }
    MASHAL_LOOP T neutral(double) { return start(); }
    MASHAL_LOOP void step(T& p, T x, double) { p = extremum<T, kLargest>(p, magnitude(x)); }
    MASHAL_LOOP void join(T& p, T q) { p = extremum<T, kLargest>(p, q); }
    MASHAL_LOOP T identity() { return start(); }
    MASHAL_LOOP void merge(T& a, T p) { join(a, p); }
    MASHAL_LOOP void combine(T& a, T b) { join(a, b); }
};

// ---- moments: two passes over a block that stays in cache, blocks joined by Chan's formula --------------------------
MASHAL_LOOP void join_moments(MomentsAcc& a, double count, double mean, double m2) {
    const double total = a.count + count;
    if (total == 0) return;
    const double delta = mean - a.mean;
    a.mean += delta * (count / total);
    a.m2 += m2 + delta * delta * (a.count * (count / total));
    a.count = total;
}

template <class T, int L>
MASHAL_LOOP void moments_block(int64_t n, const T* x, MomentsAcc& acc) {
    T sum[L];
    for (int k = 0; k < L; k++) sum[k] = 0;
    int64_t i = 0;
    for (; i + L <= n; i += L)
        for (int k = 0; k < L; k++) sum[k] += x[i + k];
    const int seen = static_cast<int>(i + L - n);  // of the last L elements, those in whole lanes
    const T* last = x + n - L;
    if (i < n) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) sum[k] += k < seen ? T(0) : last[k];
    }
    for (int w = L / 2; w > 0; w /= 2) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < w; k++) sum[k] += sum[k + w];
    }
    // The centre need only be near the mean: what it misses is the sum of deviations.
    const T centre = static_cast<T>(static_cast<double>(sum[0]) / static_cast<double>(n));
    T dev[L], square[L];
    for (int k = 0; k < L; k++) dev[k] = square[k] = 0;
    for (i = 0; i + L <= n; i += L) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) {
            const T d = x[i + k] - centre;
            dev[k] += d;
            square[k] += d * d;
        }
    }
    if (i < n) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) {
            const T d = k < seen ? T(0) : last[k] - centre;
            dev[k] += d;
            square[k] += d * d;
        }
    }
    for (int w = L / 2; w > 0; w /= 2) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < w; k++) {
            dev[k] += dev[k + w];
            square[k] += square[k + w];
        }
    }
    const double shift = static_cast<double>(dev[0]) / static_cast<double>(n);
    double m2 = static_cast<double>(square[0]) - static_cast<double>(dev[0]) * shift;
    if (m2 < 0) m2 = 0;
    join_moments(acc, static_cast<double>(n), static_cast<double>(centre) + shift, m2);
}

template <class T>
void moments_rows(int64_t m, int64_t stride, int64_t n, const void* x, void* acc, double) {
    auto* in = static_cast<const T*>(x);
    auto* a = static_cast<MomentsAcc*>(acc);
    for (int64_t r = 0; r < m; r++) {
        const T* row = in + r * stride;
        if (n < 32) {
            if (n > 0) moments_block<T, 1>(n, row, a[r]);
        } else if (n < 128) {
            moments_block<T, 16>(n, row, a[r]);
        } else {
            for (int64_t b = 0; b < n; b += kBlock) {
                const int64_t len = n - b < kBlock ? n - b : kBlock;
                moments_block<T, 64>(len, row + b, a[r]);
            }
        }
    }
}

template <class T>
void moments_columns(int64_t m, int64_t stride, int64_t n, const void* x, void* acc, double) {
    constexpr int64_t kCols = 256, kRows = 32;  // 32 KiB of floats: the second pass finds them in the first cache
    auto* a = static_cast<MomentsAcc*>(acc);
    T centre[kCols], dev[kCols], square[kCols];
    for (int64_t j0 = 0; j0 < n; j0 += kCols) {
        const int64_t cols = n - j0 < kCols ? n - j0 : kCols;
        for (int64_t r0 = 0; r0 < m; r0 += kRows) {
            const int64_t rows = m - r0 < kRows ? m - r0 : kRows;
            const T* in = static_cast<const T*>(x) + r0 * stride + j0;
            for (int64_t j = 0; j < cols; j++) centre[j] = dev[j] = square[j] = 0;
            for (int64_t r = 0; r < rows; r++)
                for (int64_t j = 0; j < cols; j++) centre[j] += in[r * stride + j];
            const T scale = T(1) / static_cast<T>(rows);
            for (int64_t j = 0; j < cols; j++) centre[j] *= scale;
            for (int64_t r = 0; r < rows; r++)
                for (int64_t j = 0; j < cols; j++) {
                    const T d = in[r * stride + j] - centre[j];
                    dev[j] += d;
                    square[j] += d * d;
                }
            const auto count = static_cast<double>(rows);
            for (int64_t j = 0; j < cols; j++) {
                const double shift = static_cast<double>(dev[j]) / count;
                const double m2 = static_cast<double>(square[j]) - static_cast<double>(dev[j]) * shift;
                join_moments(a[j0 + j], count, static_cast<double>(centre[j]) + shift, m2 < 0 ? 0 : m2);
            }
        }
    }
}

void init_moments(int64_t n, void* acc) {
    auto* a = static_cast<MomentsAcc*>(acc);
    for (int64_t j = 0; j < n; j++) a[j] = {0, 0, 0};
}
void join_moments_accs(int64_t n, void* acc, const void* other) {
    auto* a = static_cast<MomentsAcc*>(acc);
    auto* b = static_cast<const MomentsAcc*>(other);
    for (int64_t j = 0; j < n; j++) join_moments(a[j], b[j].count, b[j].mean, b[j].m2);
}

// ---- log-sum-exp --------------------------------------------------------------------------------------------------
// Sums of exp(x - max) where max may be infinite: then exp(x) itself is summed, as if max were 0.
MASHAL_LOOP double finite_or_zero(double m) { return magnitude(m) == __builtin_inf() ? 0.0 : m; }

MASHAL_LOOP void join_logsumexp(LogSumExpAcc& a, double max, double sum) {
    if (a.sum == 0 && a.max == -__builtin_inf()) {  // nothing yet
        a = {max, sum};
        return;
    }
    if (a.max == max) {
        a.sum += sum;
        return;
    }
    const double top = extremum<double, true>(a.max, max), base = finite_or_zero(top);
    const double a_base = finite_or_zero(a.max), b_base = finite_or_zero(max);
    a.sum = a.sum * scalar::exp(a_base - base) + sum * scalar::exp(b_base - base);
    a.max = top;
}

template <class T, int L>
MASHAL_LOOP T exp_sum(int64_t n, const T* x, T base) {
    T sum[L];
    for (int k = 0; k < L; k++) sum[k] = 0;
    T rest[L];
    for (int64_t i = 0; i < n; i += L) {
        const T* part = x + i;
        if (n - i < L) {  // exp(-inf) = 0
            for (int k = 0; k < L; k++) rest[k] = k < n - i ? part[k] : lowest<T>();
            part = rest;
        }
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) sum[k] += scalar::exp(part[k] - base);
    }
    for (int w = L / 2; w > 0; w /= 2) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < w; k++) sum[k] += sum[k + w];
    }
    return sum[0];
}

template <class T>
void logsumexp_rows(int64_t m, int64_t stride, int64_t n, const void* x, void* acc, double) {
    auto* in = static_cast<const T*>(x);
    auto* a = static_cast<LogSumExpAcc*>(acc);
    for (int64_t r = 0; r < m; r++)
        for (int64_t b = 0; b < n; b += kBlock) {
            const int64_t len = n - b < kBlock ? n - b : kBlock;
            const T* row = in + r * stride + b;
            T max = lowest<T>();
            reduce_row<ExtremumOp<T, true>>(len, row, max, 0);
            const T base = static_cast<T>(finite_or_zero(max));
            const T sum = len < 256 ? exp_sum<T, 16>(len, row, base) : exp_sum<T, 64>(len, row, base);
            join_logsumexp(a[r], max, sum);
        }
}

template <class T>
void logsumexp_columns(int64_t m, int64_t stride, int64_t n, const void* x, void* acc, double) {
    constexpr int64_t kCols = 256, kRows = 32;
    auto* a = static_cast<LogSumExpAcc*>(acc);
    T max[kCols], base[kCols], sum[kCols];
    for (int64_t j0 = 0; j0 < n; j0 += kCols) {
        const int64_t cols = n - j0 < kCols ? n - j0 : kCols;
        for (int64_t r0 = 0; r0 < m; r0 += kRows) {
            const int64_t rows = m - r0 < kRows ? m - r0 : kRows;
            const T* in = static_cast<const T*>(x) + r0 * stride + j0;
            for (int64_t j = 0; j < cols; j++) {
                max[j] = lowest<T>();
                sum[j] = 0;
            }
            for (int64_t r = 0; r < rows; r++)
                for (int64_t j = 0; j < cols; j++) max[j] = extremum<T, true>(max[j], in[r * stride + j]);
            for (int64_t j = 0; j < cols; j++) base[j] = static_cast<T>(finite_or_zero(max[j]));
            for (int64_t r = 0; r < rows; r++)
                for (int64_t j = 0; j < cols; j++) sum[j] += scalar::exp(in[r * stride + j] - base[j]);
            for (int64_t j = 0; j < cols; j++) join_logsumexp(a[j0 + j], max[j], sum[j]);
        }
    }
}

void init_logsumexp(int64_t n, void* acc) {
    auto* a = static_cast<LogSumExpAcc*>(acc);
    for (int64_t j = 0; j < n; j++) a[j] = {-__builtin_inf(), 0};
}
void join_logsumexp_accs(int64_t n, void* acc, const void* other) {
    auto* a = static_cast<LogSumExpAcc*>(acc);
    auto* b = static_cast<const LogSumExpAcc*>(other);
    for (int64_t j = 0; j < n; j++) join_logsumexp(a[j], b[j].max, b[j].sum);
}

template <class T>
ReduceLoops special(Reduce op) {
    switch (op) {
        case Reduce::SumAbs: return loops_of<PowerSumOp<T, T, Power::One>>();
        case Reduce::SumSquares: return loops_of<PowerSumOp<T, double, Power::Two>>();
        case Reduce::SumScaled: return loops_of<PowerSumOp<T, double, Power::Scaled>>();
        case Reduce::SumPower: return loops_of<PowerSumOp<T, double, Power::Any>>();
        case Reduce::MaxAbs: return loops_of<ExtremumAbsOp<T, true>>();
        case Reduce::MinAbs: return loops_of<ExtremumAbsOp<T, false>>();
        case Reduce::Moments:
            return {sizeof(MomentsAcc), init_moments, moments_rows<T>, moments_columns<T>, join_moments_accs};
        case Reduce::LogSumExp:
            return {sizeof(LogSumExpAcc), init_logsumexp, logsumexp_rows<T>, logsumexp_columns<T>, join_logsumexp_accs};
        default: return {};
    }
}

}  // namespace

ReduceLoops special_reduce_loops(Reduce op, DType t) {
    switch (t) {
        case DType::F32: return special<float>(op);
        case DType::F64: return special<double>(op);
        default: return {};
    }
}

}  // namespace mashal::MASHAL_ISA
