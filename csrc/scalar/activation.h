// Activations of neural networks and their derivatives, fused so that backward is one pass.
// `*_backward(g, ...)` is g times the derivative. Kinks take PyTorch's side (noted where it matters).
#pragma once
#include "scalar/common.h"
#include "scalar/erf.h"
#include "scalar/exp_log.h"
#include "scalar/hyperbolic.h"
#include "scalar/real.h"

namespace mashal::scalar {

// exp(-|x|), the numerator of sigmoid on the side of x, and 1 + exp(-|x|): nothing here overflows or cancels.
template <class T>
struct Logistic {
    T num, den;
};
template <class T>
MASHAL_FN Logistic<T> logistic(T x) {
    T e = exp_nonpositive(-fabs(x));
    return {x >= T(0) ? T(1) : e, T(1) + e};
}

// sigmoid. Domain: all. Max error: 2.2 ULP, relative in both tails.
// Special: -inf -> 0, inf -> 1, nan -> nan.
template <class T>
MASHAL_FN T sigmoid(T x) {
    Logistic<T> l = logistic(x);
    return l.num / l.den;
}
template <class T>
MASHAL_FN T sigmoid_backward(T g, T out) {
    return g * ((T(1) - out) * out);
}
template <class T>
MASHAL_FN T tanh_backward(T g, T out) {
    return g * (T(1) - out * out);
}

// log(sigmoid(x)) = min(x, 0) - log1p(exp(-|x|)). Domain: all. Max error: 2 ULP.
// Special: -inf -> -inf, inf -> 0, nan -> nan.
template <class T>
MASHAL_FN T logsigmoid(T x) {
    return (x < T(0) ? x : T(0)) - log1p_unit(exp_nonpositive(-fabs(x)));
}
template <class T>
MASHAL_FN T logsigmoid_backward(T g, T x) {
    T e = exp_nonpositive(-fabs(x));
    return g * ((x < T(0) ? T(1) : e) / (T(1) + e));
}

// silu: x sigmoid(x). Domain: all. Max error: 3 ULP down to x = -87 (float) or -708 (double), where exp leaves the
// normal range; below, |x| / 2 units of the smallest denormal.
// Special: -inf -> nan (as PyTorch), inf -> inf, nan -> nan.
template <class T>
MASHAL_FN T silu(T x) {
    Logistic<T> l = logistic(x);
    return x * l.num / l.den;
}
template <class T>
MASHAL_FN T silu_backward(T g, T x) {
    T s = sigmoid(x);
    return g * (s * (T(1) + x * (T(1) - s)));
}

// softplus: log(1 + exp(beta x)) / beta, the identity beyond the threshold. Domain: all. Max error: 2 ULP.
// Special: -inf -> 0, inf -> inf, nan -> nan.
template <class T>
MASHAL_FN T softplus(T x, T beta, T threshold) {
    T z = x * beta;
    T r = ((z > T(0) ? z : T(0)) + log1p_unit(exp_nonpositive(-fabs(z)))) / beta;
    return z > threshold ? x : r;
}
template <class T>
MASHAL_FN T softplus_backward(T g, T x, T beta, T threshold) {
    T z = x * beta;
    return z > threshold ? g : g * sigmoid(z);
}

// mish: x tanh(softplus(x)). Domain: all. Max error: 3.5 ULP, far below zero as silu.
// Special: -inf -> nan (as PyTorch), inf -> inf, nan -> nan.
// tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2); beyond 20 that factor is 1 in both precisions' float, 1 - 2e-17.
template <class T>
MASHAL_FN T mish(T x) {
    T e = exp(x > T(20) ? T(20) : x);
    T n = e * (e + T(2));
    return x * (n / (n + T(2)));
}
template <class T>
MASHAL_FN T mish_backward(T g, T x) {
    T e = exp(x > T(20) ? T(20) : x);
    T n = e * (e + T(2));
    T d = n + T(2);
    T e1 = e + T(1);
    // (1 - tanh^2) sigmoid = 4 (n + 1) / d^2 * e / (1 + e) = 4 e (1 + e) / d^2.
    return g * (n / d + x * (T(4) * e * e1 / d) / d);
}

// gelu: x Phi(x). Domain: all. Max error: float 4.5 ULP, relative also for large negative x; double that of erfc with a
// rounded argument. Special: -inf -> nan (as PyTorch), inf -> inf, nan -> nan.
MASHAL_FN float gelu(float x) {
    NormalTail t = normal_tail(x);
    float part = x * t.factor * t.density;
    return x <= 0.0f ? part : x - (x < 14.6f ? part : 0.0f);
}
MASHAL_FN double gelu(double x) { return 0.5 * x * erfc(-x * kSqrt1_2); }
MASHAL_FN float gelu_backward(float g, float x) {
    NormalTail t = normal_tail(x);
    float tail = t.factor * t.density;
    float cdf = x < 0.0f ? tail : 1.0f - tail;
    return g * (cdf + x * (t.density * static_cast<float>(k1Sqrt2Pi)));
}
MASHAL_FN double gelu_backward(double g, double x) {
    return g * (0.5 * erfc(-x * kSqrt1_2) + x * (exp(-0.5 * x * x) * k1Sqrt2Pi));
}

// gelu_tanh: x/2 (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
// Domain: all. Max error: 3 ULP for x > 0; below, the rounding of u adds up to 4|u| ULP.
// Special: -inf -> nan (as PyTorch), inf -> inf, nan -> nan.
template <class T>
MASHAL_FN T gelu_tanh(T x) {
    constexpr double c = 1.5957691216057307117;  // 2 sqrt(2/pi)
    T u = x * fma(x * x, T(c * 0.044715), T(c));
    Logistic<T> l = logistic(u);
    return x * l.num / l.den;
}
template <class T>
MASHAL_FN T gelu_tanh_backward(T g, T x) {
    constexpr double c = 1.5957691216057307117;
    T y = x * x;
    T u = x * fma(y, T(c * 0.044715), T(c));
    T du = fma(y, T(c * 3 * 0.044715), T(c));
    Logistic<T> l = logistic(u);
    T s = l.num / l.den;
    // x du overflows only where s (1 - s) is 0 already: bound it, so that the product is 0 and not nan.
    T slope = x * du;
    slope = slope > T(1e30) ? T(1e30) : slope;
    slope = slope < T(-1e30) ? T(-1e30) : slope;
    return g * (s + slope * (s * (T(1) - s)));
}

// Piecewise linear functions. nan stays nan, and so does the sign of zero; the derivative at nan is what PyTorch gives.
template <class T>
MASHAL_FN T relu(T x) {
    return x < T(0) ? T(0) : x;
}
template <class T>
MASHAL_FN T threshold(T x, T t, T value) {
    return x <= t ? value : x;
}
template <class T>
MASHAL_FN T threshold_backward(T g, T x, T t) {
    return x <= t ? T(0) : g;
}
template <class T>
MASHAL_FN T leaky_relu(T x, T slope) {
    return x > T(0) ? x : x * slope;
}
template <class T>
MASHAL_FN T leaky_relu_backward(T g, T x, T slope) {
    return x > T(0) ? g : g * slope;
}
template <class T>
MASHAL_FN T hardtanh(T x, T lo, T hi) {
    T r = x < lo ? lo : x;
    return r > hi ? hi : r;
}
template <class T>
MASHAL_FN T hardtanh_backward(T g, T x, T lo, T hi) {
    return (x > lo) & (x < hi) ? g : T(0);
}
template <class T>
MASHAL_FN T hardsigmoid(T x) {
    return clamp(x + T(3), T(0), T(6)) / T(6);
}
template <class T>
MASHAL_FN T hardsigmoid_backward(T g, T x) {
    return (x > T(-3)) & (x < T(3)) ? g * T(1.0 / 6) : T(0);
}
template <class T>
MASHAL_FN T hardswish(T x) {
    return x * clamp(x + T(3), T(0), T(6)) / T(6);
}
template <class T>
MASHAL_FN T hardswish_backward(T g, T x) {
    T inner = g * (x / T(3) + T(0.5));
    T r = x >= T(3) ? g : inner;
    return x <= T(-3) ? T(0) : r;
}
template <class T>
MASHAL_FN T softshrink(T x, T lambda) {
    T r = x > lambda ? x - lambda : (x < -lambda ? x + lambda : T(0));
    return x != x ? x : r;
}
template <class T>
MASHAL_FN T hardshrink(T x, T lambda) {
    return (x >= -lambda) & (x <= lambda) ? T(0) : x;
}
// Of softshrink and hardshrink alike.
template <class T>
MASHAL_FN T shrink_backward(T g, T x, T lambda) {
    return (x < -lambda) | (x > lambda) ? g : T(0);
}

// elu: scale x for x > 0, else scale alpha (exp(input_scale x) - 1). Serves selu (scale) and celu (input_scale).
// Domain: all. Max error: 2 ULP. Special: -inf -> -scale alpha, inf -> inf, nan -> nan.
template <class T>
MASHAL_FN T elu(T x, T alpha, T scale, T input_scale) {
    return x > T(0) ? x * scale : expm1(x * input_scale) * (alpha * scale);
}
template <class T>
MASHAL_FN T elu_backward(T g, T x, T alpha, T scale, T input_scale) {
    return x > T(0) ? g * scale : g * (input_scale * alpha * scale) * exp(x * input_scale);
}
// The same from the output, which in-place elu keeps instead of x.
template <class T>
MASHAL_FN T elu_backward_from_result(T g, T out, T alpha, T scale, T input_scale) {
    return out > T(0) ? g * scale : g * input_scale * (out + alpha * scale);
}

}  // namespace mashal::scalar
