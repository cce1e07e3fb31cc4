// One pass over a parameter and its state. Operations follow the order of the unfused updates, so that results agree to
// the last bits.
#include <cmath>

#include "cpu/optimizer_loops.h"

namespace mashal::MASHAL_ISA {
namespace {

template <class T, bool amsgrad>
void adam_loop(int64_t n, T* p, const T* g, T* m, T* v, T* vmax, const AdamStep<T>& s) {
    const T sign = s.maximize ? T(-1) : T(1);
    const T l2 = s.decoupled ? T(0) : s.weight_decay;
    const T decay = s.decoupled ? s.decay : T(1);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
        T w = p[i] * decay;
        T grad = sign * g[i] + l2 * w;
        T mean = m[i] + s.beta1_rest * (grad - m[i]);
        T square = v[i] * s.beta2 + (s.beta2_rest * grad) * grad;
        m[i] = mean;
        v[i] = square;
        if constexpr (amsgrad) {
            // NaN must win, as in torch.maximum.
            square = vmax[i] > square || vmax[i] != vmax[i] ? vmax[i] : square;
            vmax[i] = square;
        }
        T denominator = std::sqrt(square) / s.correction2_sqrt + s.eps;
        p[i] = w - (s.step_size * mean) / denominator;
    }
}

template <class T>
void adam(int64_t n, T* p, const T* g, T* m, T* v, T* vmax, const AdamStep<T>& s) {
    if (vmax != nullptr)
        adam_loop<T, true>(n, p, g, m, v, vmax, s);
    else
        adam_loop<T, false>(n, p, g, m, v, vmax, s);
}

template <class T>
void sgd(int64_t n, T* p, const T* g, T* buffer, const SgdStep<T>& s) {
    const T sign = s.maximize ? T(-1) : T(1);
    if (buffer == nullptr) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) p[i] -= s.lr * (sign * g[i] + s.weight_decay * p[i]);
        return;
    }
    const T old = s.first ? T(0) : s.momentum;
    const T keep = s.first ? T(1) : s.keep;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
        T grad = sign * g[i] + s.weight_decay * p[i];
        // A first step's buffer is uninitialised memory: it must not enter even times zero.
        T b = s.first ? grad : old * buffer[i] + keep * grad;
        buffer[i] = b;
        p[i] -= s.lr * (s.nesterov ? grad + s.momentum * b : b);
    }
}

}  // namespace

OptimizerLoops<float> optimizer_loops_float() { return {adam<float>, sgd<float>}; }
OptimizerLoops<double> optimizer_loops_double() { return {adam<double>, sgd<double>}; }

}  // namespace mashal::MASHAL_ISA
