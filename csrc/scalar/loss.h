// Pointwise parts of losses (x: prediction, y: target) and their derivatives in x, times the incoming g.
#pragma once
#include "scalar/activation.h"
#include "scalar/common.h"
#include "scalar/exp_log.h"
#include "scalar/real.h"

namespace mashal::scalar {

template <class T>
MASHAL_FN T mse(T x, T y) {
    T d = x - y;
    return d * d;
}
template <class T>
MASHAL_FN T mse_backward(T g, T x, T y) {
    return g * (T(2) * (x - y));
}
// Quadratic within beta of the target, linear beyond; huber is beta times that.
template <class T>
MASHAL_FN T smooth_l1(T x, T y, T beta) {
    T d = fabs(x - y);
    return d < beta ? T(0.5) * d * d / beta : d - T(0.5) * beta;
}
template <class T>
MASHAL_FN T smooth_l1_backward(T g, T x, T y, T beta) {
    T d = x - y;
    T inner = g * d / beta;
    return d <= -beta ? -g : (d >= beta ? g : inner);
}
template <class T>
MASHAL_FN T huber(T x, T y, T delta) {
    T d = fabs(x - y);
    return d <= delta ? T(0.5) * d * d : delta * (d - T(0.5) * delta);
}
template <class T>
MASHAL_FN T huber_backward(T g, T x, T y, T delta) {
    T d = x - y;
    T inner = g * d;
    return d < -delta ? -g * delta : (d > delta ? g * delta : inner);
}
// Binary cross entropy of a probability; logarithms are cut at -100, as PyTorch does.
template <class T>
MASHAL_FN T bce(T x, T y) {
    T a = log(x);
    T b = log1p(-x);
    a = a < T(-100) ? T(-100) : a;
    b = b < T(-100) ? T(-100) : b;
    return (y - T(1)) * b - y * a;
}
template <class T>
MASHAL_FN T bce_backward(T g, T x, T y) {
    T d = (T(1) - x) * x;
    return g * (x - y) / (d < T(1e-12) ? T(1e-12) : d);
}
template <class T>
MASHAL_FN T bce_with_logits(T x, T y) {
    return (T(1) - y) * x - logsigmoid(x);
}
template <class T>
MASHAL_FN T bce_with_logits_backward(T g, T x, T y) {
    return g * (sigmoid(x) - y);
}
// y (log y - x); with log_target y is log-probability itself.
template <class T>
MASHAL_FN T kl_div(T x, T y) {
    return xlogy(y, y) - y * x;
}
template <class T>
MASHAL_FN T kl_div_log(T x, T y) {
    return exp(y) * (y - x);
}

}  // namespace mashal::scalar
