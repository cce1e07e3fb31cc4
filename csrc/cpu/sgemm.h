// Our own float32 matrix product (row-major): C = alpha op(A) op(B) + beta C + bias.
#pragma once
#include "core/buffer.h"
#include "cpu/gemm.h"

namespace mashal {

struct SgemmProblem {
    int64_t m, n, k;
    MatrixView a, b;
    float* c;
    int64_t ldc;
    float alpha = 1, beta = 0;    // with beta 0, C is never read
    const float* bias = nullptr;  // n elements added to each row
};

// B in the layout the loops read, to be made once and used for many products. It depends on B alone.
class PackedB {
public:
    PackedB(int64_t k, int64_t n, MatrixView b);
    const float* block(int64_t p) const;  // the panels of rows from p on

private:
    Floats panels_;
    int64_t columns_;  // n, rounded up to whole panels
};

// A weight in that form, kept with the storage it was made from.
struct KeptWeight final : RefCounted {
    KeptWeight(const Tensor& weight, MatrixView view);
    bool is_of(const Tensor& weight) const;
    const IntVec sizes, strides;
    const int64_t offset;
    const PackedB packed;
};
// Not where writes to it may go unnoticed, nor where it is so small that packing it each time costs nothing.
bool can_keep(const Tensor& weight);
// The kept form of a float32 weight (k, n), made if need be; none where it can't be kept.
Ref<KeptWeight> kept_weight(const Tensor& weight);

// Uses all threads unless called inside a parallel region. `packed`, if given, was made from this B.
void sgemm(const SgemmProblem& problem, const PackedB* packed = nullptr);

}  // namespace mashal
