// Inner loops of the Winograd convolution, by instruction set: F(4x4, 3x3), vectors along channels.
//
// Matrices over the 36 points of a tile lie one after the other, `step` elements apart; in each, an element of tile t
// and channel c is at [t * channels + c].
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

// A block of kernels: (k, channels, kernel, kernel), of which [k0, k1) and [c0, c1). `turned`: the weight is
// (channels, k, kernel, kernel) and each kernel is read backwards, as the gradient of the input wants.
struct WinogradKernels {
    const float* weight;
    int64_t channels, k;
    bool turned;
    int64_t c0, c1, k0, k1;
};

struct WinogradLoops {
    int lanes;  // channels must be multiples
    int panel;  // columns that a product takes at once
    // A block of kernels to u[point][c - c0][k - k0].
    void (*kernels)(const WinogradKernels& w, float* u, int64_t step);
    // The positions of a tile, given by their addresses, to v[point][c].
    void (*input)(int64_t channels, const float* const* at, float* v, int64_t step);
    // m[point][c] to the results, given by their addresses; `bias` may be null.
    void (*output)(int64_t channels, const float* m, int64_t step, const float* bias, float* const* at);
    // Transpose of `output`: gradients to the points.
    void (*output_gradient)(int64_t channels, const float* const* at, float* m, int64_t step);
    // Transpose of `kernels`, into a whole weight; `w.weight` is not read.
    void (*kernels_gradient)(const WinogradKernels& w, const float* u, int64_t step, float* gradient);
    // c (m, n) = or += a b, with a[row][i] at a[row * a_row + i * a_step]; n is a multiple of `lanes`.
    void (*product)(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_step, const float* b,
                    int64_t b_row, float* c, int64_t c_row, bool accumulate);
};

MASHAL_FOR_EACH_ISA(WinogradLoops winograd_loops(int kernel, int out);)

}  // namespace mashal
