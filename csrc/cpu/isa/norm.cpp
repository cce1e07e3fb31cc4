#include "cpu/norm_loops.h"

#include "cpu/isa/reduce_ops.h"

namespace mashal::MASHAL_ISA {
namespace {

template <class T>
void normalise(int64_t n, const T* __restrict x, T mean, T rstd, const T* __restrict w, const T* __restrict b,
               T* __restrict y) {
    if (w != nullptr && b != nullptr)
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * rstd * w[i] + b[i];
    else if (w != nullptr)
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * rstd * w[i];
    else if (b != nullptr)
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * rstd + b[i];
    else
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * rstd;
}

template <class T, int L, bool kWeight>
MASHAL_LOOP void sums_lanes(int64_t n, const T* g, const T* x, T mean, const T* w, double* sum_g, double* sum_gx) {
    T a[L], b[L];
    for (int k = 0; k < L; k++) a[k] = b[k] = 0;
    int64_t i = 0;
    for (; i + L <= n; i += L)
        for (int k = 0; k < L; k++) {
            const T gw = kWeight ? g[i + k] * w[i + k] : g[i + k];
            a[k] += gw;
            b[k] += gw * (x[i + k] - mean);
        }
    for (int k = 0; k < n - i; k++) {
        const T gw = kWeight ? g[i + k] * w[i + k] : g[i + k];
        a[k] += gw;
        b[k] += gw * (x[i + k] - mean);
    }
    for (int v = L / 2; v > 0; v /= 2)
        for (int k = 0; k < v; k++) {
            a[k] += a[k + v];
            b[k] += b[k + v];
        }
    *sum_g += static_cast<double>(a[0]);
    *sum_gx += static_cast<double>(b[0]);
}

template <class T>
void sums(int64_t n, const T* g, const T* x, T mean, const T* w, double* sum_g, double* sum_gx) {
    *sum_g = *sum_gx = 0;
    for (int64_t s = 0; s < n; s += kBlock) {
        const int64_t len = n - s < kBlock ? n - s : kBlock;
        if (w == nullptr)
            sums_lanes<T, 32, false>(len, g + s, x + s, mean, w, sum_g, sum_gx);
        else
            sums_lanes<T, 32, true>(len, g + s, x + s, mean, w + s, sum_g, sum_gx);
    }
}

template <class T>
void normalise_backward(int64_t n, const T* __restrict g, const T* __restrict x, T mean, T rstd, const T* __restrict w,
                        T mean_g, T mean_gx, T* __restrict dx, T* __restrict dw, T* __restrict db) {
    const T a = rstd * mean_g, c = rstd * mean_gx;
    if (dx != nullptr) {
        if (w != nullptr)
            for (int64_t i = 0; i < n; i++) dx[i] = rstd * (g[i] * w[i]) - a - (x[i] - mean) * rstd * c;
        else
            for (int64_t i = 0; i < n; i++) dx[i] = rstd * g[i] - a - (x[i] - mean) * rstd * c;
    }
    if (dw != nullptr)
        for (int64_t i = 0; i < n; i++) dw[i] += g[i] * ((x[i] - mean) * rstd);
    if (db != nullptr)
        for (int64_t i = 0; i < n; i++) db[i] += g[i];
}

template <class T>
void affine(int64_t n, const T* x, T a, T c, T* y) {
    for (int64_t i = 0; i < n; i++) y[i] = a * x[i] + c;
}

template <class T>
void combine(int64_t n, const T* __restrict g, const T* __restrict x, T a, T b, T c, T* __restrict y) {
    for (int64_t i = 0; i < n; i++) y[i] = a * g[i] + b * x[i] + c;
}

template <class T>
void affine_columns(int64_t m, int64_t n, const T* __restrict x, const T* __restrict a, const T* __restrict c,
                    T* __restrict y) {
    for (int64_t r = 0; r < m; r++)
        for (int64_t j = 0; j < n; j++) y[r * n + j] = a[j] * x[r * n + j] + c[j];
}

template <class T>
void combine_columns(int64_t m, int64_t n, const T* __restrict g, const T* __restrict x, const T* __restrict a,
                     const T* __restrict b, const T* __restrict c, T* __restrict y) {
    for (int64_t r = 0; r < m; r++)
        for (int64_t j = 0; j < n; j++) y[r * n + j] = a[j] * g[r * n + j] + b[j] * x[r * n + j] + c[j];
}

template <class T>
void sums_columns(int64_t m, int64_t n, const T* g, const T* x, const T* mean, double* sum_g, double* sum_gx) {
    constexpr int64_t kCols = 256, kRows = 64;  // rows summed in T before they go to double
    T a[kCols], b[kCols];
    for (int64_t j0 = 0; j0 < n; j0 += kCols) {
        const int64_t cols = n - j0 < kCols ? n - j0 : kCols;
        for (int64_t r0 = 0; r0 < m; r0 += kRows) {
            const int64_t rows = m - r0 < kRows ? m - r0 : kRows;
            for (int64_t j = 0; j < cols; j++) a[j] = b[j] = 0;
            for (int64_t r = r0; r < r0 + rows; r++) {
                const T *gr = g + r * n + j0, *xr = x + r * n + j0, *mr = mean + j0;
                for (int64_t j = 0; j < cols; j++) {
                    a[j] += gr[j];
                    b[j] += gr[j] * (xr[j] - mr[j]);
                }
            }
            for (int64_t j = 0; j < cols; j++) {
                sum_g[j0 + j] += static_cast<double>(a[j]);
                sum_gx[j0 + j] += static_cast<double>(b[j]);
            }
        }
    }
}

template <class T>
NormLoops<T> loops() {
    return {normalise<T>, sums<T>,           normalise_backward<T>, affine<T>,
            combine<T>,   affine_columns<T>, combine_columns<T>,    sums_columns<T>};
}

}  // namespace

NormLoops<float> norm_loops_float() { return loops<float>(); }
NormLoops<double> norm_loops_double() { return loops<double>(); }

}  // namespace mashal::MASHAL_ISA
