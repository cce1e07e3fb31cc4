#include "cpu/channel_loops.h"

namespace mashal::MASHAL_ISA {

void finish_image(int64_t rows, int64_t channels, const float* __restrict x, const float* __restrict scale,
                  const float* __restrict shift, const float* __restrict beside, float low, float high,
                  float* __restrict y) {
    for (int64_t r = 0; r < rows; r++, x += channels, y += channels) {
        if (beside != nullptr) {
            for (int64_t c = 0; c < channels; c++) {
                float v = scale[c] * x[c] + shift[c] + beside[c];
                v = v < low ? low : v;
                y[c] = v > high ? high : v;
            }
            beside += channels;
        } else {
            for (int64_t c = 0; c < channels; c++) {
                float v = scale[c] * x[c] + shift[c];
                v = v < low ? low : v;
                y[c] = v > high ? high : v;
            }
        }
    }
}

}  // namespace mashal::MASHAL_ISA
