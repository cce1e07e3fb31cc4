// Inner loops of the fused optimizers, by instruction set.
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

// Constants of one Adam step for one parameter (T is float or double).
template <class T>
struct AdamStep {
    T beta1_rest, beta2, beta2_rest, eps, weight_decay, decay, step_size, correction2_sqrt;
    bool decoupled, maximize;
};
template <class T>
struct SgdStep {
    T lr, momentum, keep, weight_decay;  // keep: 1 - dampening
    bool nesterov, maximize, first;
};

template <class T>
struct OptimizerLoops {
    // vmax: null without amsgrad.
    void (*adam)(int64_t n, T* p, const T* g, T* m, T* v, T* vmax, const AdamStep<T>& s);
    // buffer: null without momentum.
    void (*sgd)(int64_t n, T* p, const T* g, T* buffer, const SgdStep<T>& s);
};

MASHAL_FOR_EACH_ISA(OptimizerLoops<float> optimizer_loops_float(); OptimizerLoops<double> optimizer_loops_double();)

}  // namespace mashal
