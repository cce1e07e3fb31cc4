#include "cpu/softmax_loops.h"

#include "cpu/isa/reduce_ops.h"
#include "scalar/exp_log.h"

namespace mashal::MASHAL_ISA {
namespace {

template <class T>
MASHAL_LOOP void copy_n(int64_t n, const T* x, T* y) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i];
}

template <class T, int L>
MASHAL_LOOP T fold(T (&lane)[L]) {
    for (int w = L / 2; w > 0; w /= 2) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < w; k++) lane[k] += lane[k + w];
    }
    return lane[0];
}

// The largest element, NaN ignored: the sum of exponentials will carry it.
template <class T, int L>
MASHAL_LOOP T row_max(int64_t n, const T* x) {
    T lane[L];
    for (int k = 0; k < L; k++) lane[k] = lowest<T>();
    int64_t i = 0;
    for (; i + L <= n; i += L)
        for (int k = 0; k < L; k++) lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];
    if (i < n && n >= L) {  // some twice
        for (int k = 0; k < L; k++) lane[k] = x[n - L + k] > lane[k] ? x[n - L + k] : lane[k];
    } else {
        for (int k = 0; k < n - i; k++) lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];
    }
    for (int w = L / 2; w > 0; w /= 2) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < w; k++) lane[k] = lane[k + w] > lane[k] ? lane[k + w] : lane[k];
    }
    return lane[0];
}

// sum of exp(x - max), also stored if kStore. The last lanes are padded: exp(-inf) = 0.
template <class T, int L, bool kStore>
MASHAL_LOOP T exp_sum(int64_t n, const T* x, T max, T* y) {
    T sum[L], rest[L];
    for (int k = 0; k < L; k++) sum[k] = 0;
    int64_t i = 0;
    for (; i + L <= n; i += L) {
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) {
            const T e = scalar::exp(x[i + k] - max);
            if (kStore) y[i + k] = e;
            sum[k] += e;
        }
    }
    if (i < n) {
        for (int k = 0; k < L; k++) rest[k] = k < n - i ? x[i + k] - max : lowest<T>();
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) rest[k] = scalar::exp(rest[k]);
        MASHAL_WHOLE_VECTOR
        for (int k = 0; k < L; k++) sum[k] += rest[k];
        if (kStore) copy_n(n - i, rest, y + i);
    }
    return fold(sum);
}

template <class T, int L>
MASHAL_LOOP void softmax_row_lanes(int64_t n, const T* x, T* y, bool log) {
    const T max = row_max<T, L>(n, x);
    if (log) {
        const T norm = scalar::log(exp_sum<T, L, false>(n, x, max, y));
        for (int64_t i = 0; i < n; i++) y[i] = x[i] - max - norm;
    } else {
        const T scale = T(1) / exp_sum<T, L, true>(n, x, max, y);
        for (int64_t i = 0; i < n; i++) y[i] *= scale;
    }
}

template <class T>
void softmax_row(int64_t n, const T* x, T* y, bool log) {
    if (n < 256)
        softmax_row_lanes<T, 16>(n, x, y, log);
    else
        softmax_row_lanes<T, 64>(n, x, y, log);
}

template <class T, int L>
MASHAL_LOOP T dot(int64_t n, const T* a, const T* b) {
    T sum[L];
    for (int k = 0; k < L; k++) sum[k] = 0;
    int64_t i = 0;
    for (; i + L <= n; i += L)
        for (int k = 0; k < L; k++) sum[k] += b == nullptr ? a[i + k] : a[i + k] * b[i + k];
    for (int k = 0; k < n - i; k++) sum[k] += b == nullptr ? a[i + k] : a[i + k] * b[i + k];
    return fold(sum);
}

template <class T>
MASHAL_LOOP T dot_any(int64_t n, const T* a, const T* b) {
    if (n < 256) return dot<T, 16>(n, a, b);
    return dot<T, 64>(n, a, b);
}

template <class T>
void softmax_row_backward(int64_t n, const T* g, const T* out, T* gi, bool log) {
    if (log) {
        const T sum = dot_any<T>(n, g, nullptr);
        for (int64_t i = 0; i < n; i++) gi[i] = g[i] - scalar::exp(out[i]) * sum;
    } else {
        const T sum = dot_any<T>(n, g, out);
        for (int64_t i = 0; i < n; i++) gi[i] = out[i] * (g[i] - sum);
    }
}

constexpr int64_t kCols = 256;

// Whole rows at a time; kLog is a template argument so that each inner loop is one straight vector loop.
template <class T, bool kLog>
MASHAL_LOOP void softmax_columns_as(int64_t n, int64_t stride, int64_t cols, const T* __restrict x, T* __restrict y) {
    T max[kCols], sum[kCols];
    for (int64_t j = 0; j < cols; j++) {
        max[j] = lowest<T>();
        sum[j] = 0;
    }
    for (int64_t r = 0; r < n; r++) {
        const T* in = x + r * stride;
        for (int64_t j = 0; j < cols; j++) max[j] = in[j] > max[j] ? in[j] : max[j];
    }
    for (int64_t r = 0; r < n; r++) {
        const T* in = x + r * stride;
        T* out = y + r * stride;
        for (int64_t j = 0; j < cols; j++) {
            const T e = scalar::exp(in[j] - max[j]);
            sum[j] += e;
            if (!kLog) out[j] = e;
        }
    }
    for (int64_t j = 0; j < cols; j++) sum[j] = kLog ? scalar::log(sum[j]) : T(1) / sum[j];
    for (int64_t r = 0; r < n; r++) {
        const T* in = x + r * stride;
        T* out = y + r * stride;
        for (int64_t j = 0; j < cols; j++) out[j] = kLog ? in[j] - max[j] - sum[j] : out[j] * sum[j];
    }
}

template <class T>
void softmax_columns(int64_t n, int64_t stride, int64_t cols, const T* x, T* y, bool log) {
    if (log)
        softmax_columns_as<T, true>(n, stride, cols, x, y);
    else
        softmax_columns_as<T, false>(n, stride, cols, x, y);
}

template <class T, bool kLog>
MASHAL_LOOP void softmax_columns_backward_as(int64_t n, int64_t stride, int64_t cols, const T* __restrict g,
                                             const T* __restrict out, T* __restrict gi) {
    T sum[kCols];
    for (int64_t j = 0; j < cols; j++) sum[j] = 0;
    for (int64_t r = 0; r < n; r++) {
        const T *gr = g + r * stride, *o = out + r * stride;
        for (int64_t j = 0; j < cols; j++) sum[j] += kLog ? gr[j] : gr[j] * o[j];
    }
    for (int64_t r = 0; r < n; r++) {
        const T *gr = g + r * stride, *o = out + r * stride;
        T* to = gi + r * stride;
        for (int64_t j = 0; j < cols; j++) to[j] = kLog ? gr[j] - scalar::exp(o[j]) * sum[j] : o[j] * (gr[j] - sum[j]);
    }
}

template <class T>
void softmax_columns_backward(int64_t n, int64_t stride, int64_t cols, const T* g, const T* out, T* gi, bool log) {
    if (log)
        softmax_columns_backward_as<T, true>(n, stride, cols, g, out, gi);
    else
        softmax_columns_backward_as<T, false>(n, stride, cols, g, out, gi);
}

template <class T>
T log_sum_exp(int64_t n, const T* x) {
    const T max = n < 256 ? row_max<T, 16>(n, x) : row_max<T, 64>(n, x);
    const T base = max == lowest<T>() || max == highest<T>() ? T(0) : max;
    const T sum = n < 256 ? exp_sum<T, 16, false>(n, x, base, nullptr) : exp_sum<T, 64, false>(n, x, base, nullptr);
    return base + scalar::log(sum);
}

template <class T>
void probabilities(int64_t n, const T* x, T shift, T keep, T uniform, const T* w, T scale, T* y) {
    if (uniform == T(0)) {
        const T factor = keep * scale;
        for (int64_t i = 0; i < n; i++) y[i] = scalar::exp(x[i] - shift) * factor;
    } else {
        for (int64_t i = 0; i < n; i++)
            y[i] = (scalar::exp(x[i] - shift) * keep - uniform * (w == nullptr ? T(1) : w[i])) * scale;
    }
}

template <class T>
double weighted_sum(int64_t n, const T* x, const T* w) {
    double sum = 0;
    for (int64_t b = 0; b < n; b += kBlock) {
        const int64_t len = n - b < kBlock ? n - b : kBlock;
        sum += static_cast<double>(dot_any<T>(len, x + b, w == nullptr ? nullptr : w + b));
    }
    return sum;
}

template <class T>
SoftmaxLoops<T> loops() {
    return {softmax_row<T>, softmax_row_backward<T>, softmax_columns<T>, softmax_columns_backward<T>,
            log_sum_exp<T>, probabilities<T>,        weighted_sum<T>};
}

}  // namespace

SoftmaxLoops<float> softmax_loops_float() { return loops<float>(); }
SoftmaxLoops<double> softmax_loops_double() { return loops<double>(); }

}  // namespace mashal::MASHAL_ISA
