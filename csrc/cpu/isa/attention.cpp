#include <limits>

#include "cpu/attention_loops.h"
#include "scalar/exp_log.h"

namespace mashal::MASHAL_ISA {

namespace {

// Independent partial results, so that the compiler keeps them in vector registers.
constexpr int kParts = 64;

template <class T>
T row_maximum(int64_t n, const T* x) {
    T part[kParts];
    for (int k = 0; k < kParts; k++) part[k] = -std::numeric_limits<T>::infinity();
    int64_t i = 0;
    for (; i + kParts <= n; i += kParts)
        for (int k = 0; k < kParts; k++) part[k] = x[i + k] > part[k] ? x[i + k] : part[k];
    for (int k = 0; k < n - i; k++) part[k] = x[i + k] > part[k] ? x[i + k] : part[k];
    for (int w = kParts / 2; w > 0; w /= 2)
        for (int k = 0; k < w; k++) part[k] = part[k + w] > part[k] ? part[k + w] : part[k];
    return part[0];
}

template <class T>
T row_sum(int64_t n, const T* x) {
    T part[kParts] = {};
    int64_t i = 0;
    for (; i + kParts <= n; i += kParts)
        for (int k = 0; k < kParts; k++) part[k] += x[i + k];
    for (int k = 0; k < n - i; k++) part[k] += x[i + k];
    for (int w = kParts / 2; w > 0; w /= 2)
        for (int k = 0; k < w; k++) part[k] += part[k + w];
    return part[0];
}

template <class T>
void softmax_step(int64_t rows, int64_t cols, T* scores, int64_t ld, T* maximum, T* sum, T* rescale) {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    for (int64_t r = 0; r < rows; r++) {
        T* row = scores + r * ld;
        const T top = row_maximum(cols, row);
        const T now = top > maximum[r] ? top : maximum[r];
        const T shift = now == kNone ? T(0) : now;  // nothing is allowed yet: exp(-inf) is 0 as it should be
        for (int64_t j = 0; j < cols; j++) row[j] = scalar::exp(row[j] - shift);
        const T scale = maximum[r] == now ? T(1) : scalar::exp(maximum[r] - shift);
        sum[r] = sum[r] * scale + row_sum(cols, row);
        rescale[r] = scale;
        maximum[r] = now;
    }
}

template <class T>
void softmax_backward(int64_t rows, int64_t cols, T* scores, T* grad, int64_t ld, const T* logsumexp, const T* delta,
                      T scale) {
    for (int64_t r = 0; r < rows; r++) {
        T* __restrict p = scores + r * ld;
        T* __restrict g = grad + r * ld;
        // A row with nothing allowed has probabilities 0.
        const T lse =
            logsumexp[r] == -std::numeric_limits<T>::infinity() ? std::numeric_limits<T>::infinity() : logsumexp[r];
        const T d = delta[r];
        for (int64_t j = 0; j < cols; j++) {
            p[j] = scalar::exp(p[j] - lse);
            g[j] = scale * p[j] * (g[j] - d);
        }
    }
}

template <class T>
void scale_kept(int64_t rows, int64_t cols, T* x, int64_t ld, const uint8_t* kept, int64_t kept_ld, T factor) {
    for (int64_t r = 0; r < rows; r++) {
        T* __restrict row = x + r * ld;
        const uint8_t* __restrict keep = kept + r * kept_ld;
        for (int64_t j = 0; j < cols; j++) row[j] *= keep[j] != 0 ? factor : T(0);
    }
}

}  // namespace

void softmax_step_f32(int64_t rows, int64_t cols, float* scores, int64_t ld, float* maximum, float* sum,
                      float* rescale) {
    softmax_step(rows, cols, scores, ld, maximum, sum, rescale);
}
void softmax_step_f64(int64_t rows, int64_t cols, double* scores, int64_t ld, double* maximum, double* sum,
                      double* rescale) {
    softmax_step(rows, cols, scores, ld, maximum, sum, rescale);
}
void softmax_backward_f32(int64_t rows, int64_t cols, float* scores, float* grad, int64_t ld, const float* logsumexp,
                          const float* delta, float scale) {
    softmax_backward(rows, cols, scores, grad, ld, logsumexp, delta, scale);
}
void softmax_backward_f64(int64_t rows, int64_t cols, double* scores, double* grad, int64_t ld, const double* logsumexp,
                          const double* delta, double scale) {
    softmax_backward(rows, cols, scores, grad, ld, logsumexp, delta, scale);
}
void scale_kept_f32(int64_t rows, int64_t cols, float* x, int64_t ld, const uint8_t* kept, int64_t kept_ld,
                    float factor) {
    scale_kept(rows, cols, x, ld, kept, kept_ld, factor);
}
void scale_kept_f64(int64_t rows, int64_t cols, double* x, int64_t ld, const uint8_t* kept, int64_t kept_ld,
                    double factor) {
    scale_kept(rows, cols, x, ld, kept, kept_ld, factor);
}

}  // namespace mashal::MASHAL_ISA
