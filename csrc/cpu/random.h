// Random fills, equal bit for bit to PyTorch's CPU kernels for the same generator state.
//
// Contract of every function here:
// - `out` is contiguous; element i receives the i-th sample. PyTorch fills a tensor that is not contiguous in *memory*
//   order (its iterator sorts the dimensions by stride), not in logical order. A caller with such a tensor permutes the
//   dimensions to descending strides, fills a contiguous buffer of that shape and copies it back.
// - the generator's mutex is taken for the whole call. Nothing is drawn when n == 0, and arguments are checked first.
// - samples are drawn one after the other from one stream: there is no threading, as the stream is the contract.
// - dtypes not listed raise, as they do in PyTorch. Complex tensors are filled as twice as many reals.
// - "U32" is one word and "U64" two (the first in the upper half); "u24" = (U32 mod 2^24) / 2^24 as float and
//   "u53" = (U64 mod 2^53) / 2^53 as double.
// - PyTorch's kernels are compiled with fused multiply-add wherever a product feeds a sum (FMA processors); where that
//   changes a last bit, the fused form is written out here.
#pragma once
#include <cstdint>
#include <optional>

#include "core/dtype.h"
#include "core/generator.h"

namespace mashal {

// x * (to - from) + from, fused. F16, BF16, F32, C64: x = u24; F64, C128: x = u53. A value that rounds to `to` becomes
// `from`.
void fill_uniform(Generator& generator, DType dtype, void* out, int64_t n, double from, double to);

// Normal samples by Box and Muller (1958), in two regimes. F16, BF16, F32, F64; complex dtypes are filled as 2n reals
// with std / sqrt(2).
// - n >= 16 (2n for complex) and `contiguous`: blocks of 8 + 8 uniforms; float (and both half types) with the Cephes
//   polynomials of log and sincos, double with libm. The last block is drawn afresh when n is no multiple of 16 and
//   overlaps its predecessor. The half types do not draw the incomplete block first; float and double do.
// - otherwise: one sample at a time in double (r = sqrt(-2 log1p(-u53)), theta = 2 pi u53, cosine first); the sine half
//   is kept in the generator for the next such sample.
// `contiguous` is PyTorch's `is_contiguous()` of the tensor to be filled: a channels-last tensor takes the second path.
void fill_normal(Generator& generator, DType dtype, void* out, int64_t n, double mean, double std, bool contiguous);

// exp of a normal sample of the second regime. F16, BF16, F32, F64.
void fill_log_normal(Generator& generator, DType dtype, void* out, int64_t n, double mean, double std);
// median + sigma * tan(pi * (u53 - 0.5)). F16, BF16, F32, F64.
void fill_cauchy(Generator& generator, DType dtype, void* out, int64_t n, double median, double sigma);
// -1 / lambd * log1p(-u53). F16, BF16, F32, F64.
void fill_exponential(Generator& generator, DType dtype, void* out, int64_t n, double lambd);
// ceil(log(u53) / log1p(-p)). All real dtypes but bool.
void fill_geometric(Generator& generator, DType dtype, void* out, int64_t n, double p);

// u53 < p. All dtypes but complex. Dropout masks are this with p = 1 - dropout probability.
void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t n, double p);
// Element-wise probabilities, contiguous in the order of `out`: F64: u53 < p; F16, BF16, F32: u24 < p.
void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t n, DType p_dtype, const void* p);

// The integers that `random_(from, to)` draws from, after PyTorch's adjustment of the bounds for floating dtypes.
struct RandomRange {
    int64_t base = 0;
    uint64_t range = 0;  // 0: all 2^64 values
    // PyTorch warns when a bound lies where the floating dtype cannot hold every integer.
    bool from_imprecise = false;
    bool to_imprecise = false;
};
// Checks and adjusts bounds; `to` absent: up to the largest value of the dtype (2^digits for floating dtypes), and with
// from = INT64_MIN the whole 64 bits (I64, BF16, F32, F64 only).
RandomRange random_range(DType dtype, int64_t from, std::optional<int64_t> to);
// base + U mod range with U = U32 below 2^28 and U64 from there on; range 0: U64 as int64. All dtypes but complex.
void fill_random_range(Generator& generator, DType dtype, void* out, int64_t n, const RandomRange& range);
// `random_()`: bool U32 mod 2; integers U mod (max + 1); floating U mod (2^digits + 1); U = U64 for I64 and F64.
void fill_random(Generator& generator, DType dtype, void* out, int64_t n);

// A permutation of 0 .. n-1. Below 2^32 / 20: Fisher-Yates from the front with U32 mod (n - i); from there on the
// inside-out form with U64 mod (i + 1). All real dtypes but bool.
void fill_randperm(Generator& generator, DType dtype, void* out, int64_t n);

// `multinomial` with replacement and more than one sample: per row, a running sum of probs in its dtype (float for the
// half types), divided by the total; each sample searches it with a u53. F16, BF16, F32, F64; probs (rows, categories),
// out (rows, samples). The other cases (one sample, or none put back) are composed: argmax or topk of
// probs / exponential_(1), the exponentials having the dtype of probs.
void sample_multinomial(Generator& generator, DType dtype, const void* probs, int64_t rows, int64_t categories,
                        int64_t* out, int64_t samples);

// Element-wise samplers; input and output have the same dtype and n elements.
// Poisson: rates below 10 multiply u53 until exp(-rate); else PTRS (Hoermann, 1993). F16, BF16, F32, F64.
void sample_poisson(Generator& generator, DType dtype, const void* rate, void* out, int64_t n);
// Gamma(alpha, 1) by Marsaglia and Tsang (2000), normals from the generator's cached pairs. F32, F64. A Dirichlet
// sample is that of alpha in double, divided by its sum, clamped to [min, 1 - ulp] of the dtype.
void sample_standard_gamma(Generator& generator, DType dtype, const void* alpha, void* out, int64_t n);
// Binomial by geometric sums, or BTRS (Hoermann, 1993) when count * min(prob, 1 - prob) >= 10. F32, F64.
void sample_binomial(Generator& generator, DType dtype, const void* count, const void* prob, void* out, int64_t n);
// `rrelu` in training: input <= 0 is multiplied by lower + u53 * (upper - lower), which is kept in `noise`; elsewhere
// noise is 1. For BF16 and F32 the bounds and the slope are rounded to float first; for BF16 only the stored noise, not
// the factor, is rounded further. BF16, F32, F64.
void sample_rrelu(Generator& generator, DType dtype, const void* input, void* out, void* noise, int64_t n, double lower,
                  double upper);

}  // namespace mashal
