// Matrix products over OpenBLAS and oneDNN: C = alpha op(A) op(B) + beta C, all row-major.
#pragma once
#include <vector>

#include "core/scalar_value.h"
#include "core/tensor.h"

namespace mashal {

class PackedB;

// One matrix operand: `trans` means that the stored matrix is the transpose of the one meant; `ld` is the distance
// between stored rows, in elements.
struct MatrixView {
    const void* data = nullptr;
    int64_t ld = 0;
    bool trans = false;
};

// C (m, n) = alpha A (m, k) B (k, n) + beta C. With beta 0, C is never read. Any dtype but bool; integers wrap around;
// half types are multiplied in float32 and rounded once. Uses all threads unless called inside a parallel region.
// `bias` (beta is then 0) has n elements, which are added to each row before it is rounded. `packed`, if given, was
// made from B.
void gemm(DType dtype, int64_t m, int64_t n, int64_t k, const Scalar& alpha, MatrixView a, MatrixView b,
          const Scalar& beta, void* c, int64_t ldc, const void* bias = nullptr, const PackedB* packed = nullptr);

// The same on the calling thread only, with typed pointers: T is float, double, c64 or c128.
template <class T>
void gemm_serial(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
                 const T* b, int64_t ldb, T beta, T* c, int64_t ldc);

// C[i] = alpha A[i] B[i] + beta C[i] for matrices that begin at the given element offsets.
struct BatchOffsets {
    std::vector<int64_t> a, b, c;
};
void gemm_batched(DType dtype, const BatchOffsets& offsets, int64_t m, int64_t n, int64_t k, const Scalar& alpha,
                  MatrixView a, MatrixView b, const Scalar& beta, void* c, int64_t ldc);

// sum_i x[i * incx] * y[i * incy], without conjugation. Half types accumulate in float32.
void dot(DType dtype, int64_t n, const void* x, int64_t incx, const void* y, int64_t incy, void* out);

// How many threads a product is worth; one inside a parallel region.
int product_threads(int64_t m, int64_t n, int64_t k);

// How a result (m, n) is shared out: `down` times `across` parts, one for each thread, as square as the number allows.
struct Grid {
    int down, across;
};
Grid cut_product(int64_t m, int64_t n, int threads);

// The last two dimensions of t (t.dim() >= 2) as a matrix operand. If neither of them has unit stride, t is replaced
// by a contiguous copy.
MatrixView as_matrix(Tensor& t);

// While it lives, OpenBLAS may use several threads (LAPACK); otherwise it stays on the calling one, because we split
// work over OpenMP ourselves and two pools of threads would fight over the cores.
class ManyBlasThreads {
public:
    ManyBlasThreads();
    ~ManyBlasThreads();
};

}  // namespace mashal
