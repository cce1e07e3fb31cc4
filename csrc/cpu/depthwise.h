// Loops of the direct depthwise convolution: one channel of one image, laid out in a padded scratch plane.
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

// Loops read whole vectors: every row of the scratch plane ends with a margin of zeros this long, in floats.
constexpr int64_t kDepthwiseMargin = 16;

// y[i][j] = start + sum_t weight[t] * plane[taps[t] + i * row + j], for i < rows and j < cols; y is dense.
using DepthwiseForwardLoop = void(int64_t rows, int64_t cols, const float* plane, int64_t row, int64_t n_taps,
                                  const int64_t* taps, const float* weight, float start, float* y);
// grad[t] += sum_ij g[i][j] * plane[taps[t] + i * row + j]; g is dense.
using DepthwiseWeightLoop = void(int64_t rows, int64_t cols, const float* plane, int64_t row, int64_t n_taps,
                                 const int64_t* taps, const float* g, float* grad);

MASHAL_FOR_EACH_ISA(DepthwiseForwardLoop depthwise_forward; DepthwiseWeightLoop depthwise_weight;)

}  // namespace mashal
