// Loops over channels-last images, by instruction set.
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

// y = min(max(x * scale[c] + shift[c] + beside, low), high) over rows of channels; `beside` may be null. NaN stays.
MASHAL_FOR_EACH_ISA(void finish_image(int64_t rows, int64_t channels, const float* x, const float* scale,
                                      const float* shift, const float* beside, float low, float high, float* y);)

}  // namespace mashal
