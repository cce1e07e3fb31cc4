// Row loops of blocked attention. A block of scores is (rows, cols) with row distance ld.
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

// One step of the online softmax: raises the running maximum of each row, turns scores into exp(score - maximum), and
// brings the running sum up to date. rescale[r] is what earlier results of the row must be multiplied by.
template <class T>
using SoftmaxStepLoop = void(int64_t rows, int64_t cols, T* scores, int64_t ld, T* maximum, T* sum, T* rescale);
// scores -> probabilities exp(score - logsumexp); grad (of the probabilities) -> scale * p * (grad - delta).
template <class T>
using SoftmaxBackwardLoop = void(int64_t rows, int64_t cols, T* scores, T* grad, int64_t ld, const T* logsumexp,
                                 const T* delta, T scale);
// Multiplies by factor where kept is set and by 0 elsewhere; kept has row distance kept_ld.
template <class T>
using ScaleKeptLoop = void(int64_t rows, int64_t cols, T* x, int64_t ld, const uint8_t* kept, int64_t kept_ld,
                           T factor);

MASHAL_FOR_EACH_ISA(SoftmaxStepLoop<float> softmax_step_f32; SoftmaxStepLoop<double> softmax_step_f64;
                    SoftmaxBackwardLoop<float> softmax_backward_f32; SoftmaxBackwardLoop<double> softmax_backward_f64;
                    ScaleKeptLoop<float> scale_kept_f32; ScaleKeptLoop<double> scale_kept_f64;)

}  // namespace mashal
