// Fourier transforms of several lines at once: element j of all lines stands together, as (n, lanes).
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

// Forward transforms of length n, whose factors (at most 13 each) are given. twiddle_*[k] = exp(-2 pi i k / n).
// Works between two pairs of buffers of n * lanes elements; the result is in b if true is returned, else in a.
template <class T>
using FftLoop = bool(int64_t n, const int* factors, int count, const T* twiddle_re, const T* twiddle_im, int64_t lanes,
                     T* a_re, T* a_im, T* b_re, T* b_im);

// How many lines are transformed together: a vector register's width.
template <class T>
constexpr int kFftLanes = 64 / static_cast<int>(sizeof(T));

// n elements of each lane, `step` apart from one element to the next: lane l begins at from[l]. im may be null (real
// numbers); imaginary parts are multiplied by sign.
template <class T>
using FftLoad = void(int64_t n, int64_t step, const int32_t* from, const T* x, T* re, T* im, T sign);
template <class T>
using FftStore = void(int64_t n, int64_t step, const int32_t* to, int used, const T* re, const T* im, T scale, T* y);

MASHAL_FOR_EACH_ISA(FftLoop<float> fft_lines_f32; FftLoop<double> fft_lines_f64; FftLoad<float> fft_load_f32;
                    FftLoad<double> fft_load_f64; FftStore<float> fft_store_f32; FftStore<double> fft_store_f64;)

}  // namespace mashal
