// Factorisations and solvers over LAPACK, one matrix of a batch at a time. Matrices of results lie column by column, as
// LAPACK wants them (and as PyTorch returns them), so that routines work in the result's own memory.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "cpu/gemm.h"
#include "cpu/lapack.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

using lapack::is_complex_type;
using lapack::kColumnMajor;
using lapack::raw;
using lapack::Real;

// From this order on a single matrix is worth several threads.
constexpr int64_t kThreadedOrder = 192;

template <class F>
void visit_lapack(std::string_view op, DType t, F&& f) {
    switch (t) {
        case DType::F32: return f(float{});
        case DType::F64: return f(double{});
        case DType::C64: return f(c64{});
        case DType::C128: return f(c128{});
        default: raise_error(ErrorKind::NotImplemented, op, "not implemented for '", dtype_legacy_name(t), "'");
    }
}

IntVec column_major_strides(const IntVec& sizes) {
    IntVec swapped = sizes;
    std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
    IntVec strides = contiguous_strides(swapped);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
    return strides;
}

void announce_matrix(Call& c, const IntVec& sizes, DType dtype) {
    c.specs.push_back({sizes, dtype, c.tensor(0).device(), column_major_strides(sizes)});
}

IntVec batch_sizes(const Tensor& t) { return IntVec(t.sizes().begin(), t.sizes().end() - 2); }

IntVec with(IntVec batch, std::initializer_list<int64_t> tail) {
    batch.append(tail.begin(), tail.end());
    return batch;
}

struct MatrixShape {
    int64_t m, n, batch;
    explicit MatrixShape(const Tensor& t) : m(t.size(t.dim() - 2)), n(t.sizes().back()), batch(1) {
        for (size_t d = 0; d + 2 < t.sizes().size(); d++) batch *= t.sizes()[d];
    }
    int64_t k() const { return std::min(m, n); }
};

void check_matrix(const Call& c, size_t i, const char* name) {
    const Tensor t = c.tensor(i);
    MASHAL_CHECK(t.dim() >= 2, c.name(), name, " must have at least 2 dimensions, got ", name, " ", text(t), ".");
    MASHAL_CHECK(t.dtype() >= DType::F32, c.name(), "not implemented for '", dtype_legacy_name(t.dtype()),
                 "': convert ", name, " with .to(dtype).");
    for (int64_t d = 1; d <= 2; d++)
        MASHAL_CHECK(t.size(t.dim() - d) < INT32_MAX, c.name(), "matrix sizes must be below 2**31, got ", name, " ",
                     text(t), ".");
}

void check_square(const Call& c, size_t i, const char* name) {
    check_matrix(c, i, name);
    const Tensor t = c.tensor(i);
    MASHAL_CHECK(t.size(t.dim() - 2) == t.sizes().back(), c.name(), name, " must be batches of square matrices, got ",
                 name, " ", text(t), ".");
}

// B of a system A X = B: A's batch, type and number of rows.
void check_right_side(const Call& c, size_t i, const char* name, const Tensor& a) {
    check_matrix(c, i, name);
    const Tensor b = c.tensor(i);
    check_dtype(c.name(), name, b, a.dtype());
    MASHAL_CHECK(batch_sizes(a) == batch_sizes(b) && b.size(b.dim() - 2) == a.sizes().back(), c.name(), name,
                 " must have the batch and as many rows as the matrix, got matrix ", text(a), " and ", name, " ",
                 text(b), ".");
}

// LAPACK swaps rows as the pivots say.
void check_pivots(const Call& c, const Tensor& pivots, int64_t n) {
    const int32_t* p = pivots.data<int32_t>();
    for (int64_t i = 0; i < pivots.numel(); i++)
        MASHAL_CHECK(p[i] >= 1 && p[i] <= n, c.name(), "pivots must lie in [1, ", n, "], got ", p[i], ".");
}

// A column-major copy of the last two dimensions.
Tensor column_major(const Tensor& t) {
    const Tensor out = empty_strided(t.sizes(), column_major_strides(t.sizes()), t.dtype());
    copy_into(out, t);
    return out;
}

// Runs f(i) for all matrices of a batch: between threads if there are several, else with BLAS's own threads.
template <class F>
void for_batch(int64_t batch, int64_t order, F&& f) {
    if (batch == 1 && order >= kThreadedOrder) {
        const ManyBlasThreads many;
        return f(0);
    }
    parallel_for(0, batch, std::max<int64_t>(1, 20000 / std::max<int64_t>(1, order * order * order)),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; i++) f(i);
                 });
}

lapack_int order_of(int64_t n) { return static_cast<lapack_int>(n); }
lapack_int leading(int64_t n) { return static_cast<lapack_int>(std::max<int64_t>(1, n)); }

// ---- LU ----
void lu_shape(Call& c) {
    check_matrix(c, 0, "A");
    const Tensor a = c.tensor(0);
    const IntVec batch = batch_sizes(a);
    announce_matrix(c, a.sizes(), a.dtype());
    c.result(with(batch, {MatrixShape(a).k()}), DType::I32, a.device());
    c.result(batch, DType::I32, a.device());
}
void lu_kernel(Call& c) {
    const Tensor lu = c.out[0];
    copy_into(lu, c.tensor(0));
    const MatrixShape s(lu);
    int32_t *pivots = c.out[1].data<int32_t>(), *info = c.out[2].data<int32_t>();
    visit_lapack("lu_factor", lu.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* a = lu.data<T>();
        AllowThreads threads(lu.numel() > 1024);
        for_batch(s.batch, s.k(), [&](int64_t i) {
            info[i] = s.k() == 0 ? 0
                                 : MASHAL_LAPACK(T, getrf, kColumnMajor, order_of(s.m), order_of(s.n),
                                                 raw(a + i * s.m * s.n), leading(s.m), pivots + i * s.k());
        });
    });
}

// ---- (LU, pivots, B, adjoint) -> X ----
void lu_solve_shape(Call& c) {
    check_square(c, 0, "LU");
    const Tensor lu = c.tensor(0), pivots = c.tensor(1);
    check_right_side(c, 2, "B", lu);
    check_dtype(c.name(), "pivots", pivots, DType::I32);
    check_shape(c.name(), "pivots", pivots, with(batch_sizes(lu), {lu.sizes().back()}));
    announce_matrix(c, c.tensor(2).sizes(), c.tensor(2).dtype());
}
void lu_solve_kernel(Call& c) {
    const Tensor lu = column_major(c.tensor(0)), pivots = contiguous(c.tensor(1)), x = c.out[0];
    copy_into(x, c.tensor(2));
    if (x.numel() == 0) return;
    const char trans = c.flag(3) ? (is_complex(x.dtype()) ? 'C' : 'T') : 'N';
    const MatrixShape s(x);
    check_pivots(c, pivots, s.m);
    const int32_t* p = pivots.data<int32_t>();
    visit_lapack("lu_solve", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* a = lu.data<T>();
        T* b = x.data<T>();
        AllowThreads threads(x.numel() > 1024);
        for_batch(s.batch, s.m, [&](int64_t i) {
            MASHAL_LAPACK(T, getrs, kColumnMajor, trans, order_of(s.m), order_of(s.n), raw(a + i * s.m * s.m),
                          leading(s.m), p + i * s.m, raw(b + i * s.m * s.n), leading(s.m));
        });
    });
}

// ---- (A, B) -> X, info ----
void solve_shape(Call& c) {
    check_square(c, 0, "A");
    const Tensor a = c.tensor(0), b = c.tensor(1);
    check_right_side(c, 1, "B", a);
    announce_matrix(c, b.sizes(), a.dtype());
    c.result(batch_sizes(a), DType::I32, a.device());
}
void solve_kernel(Call& c) {
    const Tensor a = column_major(c.tensor(0)), x = c.out[0];
    copy_into(x, c.tensor(1));
    const MatrixShape s(x);
    int32_t* info = c.out[1].data<int32_t>();
    visit_lapack("linalg.solve", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T *pa = a.data<T>(), *b = x.data<T>();
        AllowThreads threads(a.numel() > 1024);
        for_batch(s.batch, s.m, [&](int64_t i) {
            std::vector<lapack_int> pivots(static_cast<size_t>(s.m));
            info[i] = s.m == 0 || s.n == 0
                          ? 0
                          : MASHAL_LAPACK(T, gesv, kColumnMajor, order_of(s.m), order_of(s.n), raw(pa + i * s.m * s.m),
                                          leading(s.m), pivots.data(), raw(b + i * s.m * s.n), leading(s.m));
        });
    });
}

// ---- inverse ----
void square_with_info_shape(Call& c) {
    check_square(c, 0, "A");
    const Tensor a = c.tensor(0);
    announce_matrix(c, a.sizes(), a.dtype());
    c.result(batch_sizes(a), DType::I32, a.device());
}
void inverse_kernel(Call& c) {
    const Tensor inverse = c.out[0];
    copy_into(inverse, c.tensor(0));
    const MatrixShape s(inverse);
    int32_t* info = c.out[1].data<int32_t>();
    visit_lapack("linalg.inv", inverse.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* a = inverse.data<T>();
        AllowThreads threads(inverse.numel() > 1024);
        for_batch(s.batch, s.n, [&](int64_t i) {
            std::vector<lapack_int> pivots(static_cast<size_t>(s.n));
            T* p = a + i * s.n * s.n;
            info[i] = s.n == 0 ? 0
                               : MASHAL_LAPACK(T, getrf, kColumnMajor, order_of(s.n), order_of(s.n), raw(p),
                                               leading(s.n), pivots.data());
            if (s.n > 0 && info[i] == 0)
                info[i] = MASHAL_LAPACK(T, getri, kColumnMajor, order_of(s.n), raw(p), leading(s.n), pivots.data());
        });
    });
}

// ---- (A) -> sign, log |det| ----
template <class T>
Real<T> magnitude(T x) {
    if constexpr (is_complex_type<T>)
        return std::hypot(x.re, x.im);
    else
        return std::abs(x);
}

void slogdet_shape(Call& c) {
    check_square(c, 0, "A");
    const Tensor a = c.tensor(0);
    c.result(batch_sizes(a), a.dtype(), a.device());
    c.result(batch_sizes(a), real_dtype(a.dtype()), a.device());
}
void det_shape(Call& c) {
    check_square(c, 0, "A");
    c.result(batch_sizes(c.tensor(0)), c.tensor(0).dtype(), c.tensor(0).device());
}
// Calls f(i, diagonal of U as a function of the row, whether the permutation is odd).
template <class T, class F>
void for_lu(const Tensor& a, F&& f) {
    const MatrixShape s(a);
    T* p = a.data<T>();
    AllowThreads threads(a.numel() > 1024);
    for_batch(s.batch, s.n, [&](int64_t i) {
        std::vector<lapack_int> pivots(static_cast<size_t>(s.n));
        T* m = p + i * s.n * s.n;
        if (s.n > 0)
            MASHAL_LAPACK(T, getrf, kColumnMajor, order_of(s.n), order_of(s.n), raw(m), leading(s.n), pivots.data());
        bool odd = false;
        for (int64_t j = 0; j < s.n; j++) odd ^= pivots[static_cast<size_t>(j)] != j + 1;
        f(i, [m, n = s.n](int64_t j) { return m[j * n + j]; }, odd);
    });
}
void slogdet_kernel(Call& c) {
    const Tensor a = column_major(c.tensor(0));
    const int64_t n = a.sizes().back();
    visit_lapack("linalg.slogdet", a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* sign = c.out[0].data<T>();
        Real<T>* log = c.out[1].data<Real<T>>();
        for_lu<T>(a, [&](int64_t i, auto diagonal, bool odd) {
            T s = odd ? T(-1) : T(1);
            Real<T> sum = 0;
            for (int64_t j = 0; j < n; j++) {
                const T d = diagonal(j);
                const Real<T> size = magnitude(d);
                s = size == 0 ? T(0) : s * (d / T(size));
                sum += std::log(size);
            }
            sign[i] = s;
            log[i] = sum;
        });
    });
}
void det_kernel(Call& c) {
    const Tensor a = column_major(c.tensor(0));
    const int64_t n = a.sizes().back();
    visit_lapack("linalg.det", a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* det = c.out[0].data<T>();
        for_lu<T>(a, [&](int64_t i, auto diagonal, bool odd) {
            T product = odd ? T(-1) : T(1);
            for (int64_t j = 0; j < n; j++) product = product * diagonal(j);
            det[i] = product;
        });
    });
}

// ---- Cholesky ----
void cholesky_kernel(Call& c) {
    const Tensor factor = c.out[0];
    const bool upper = c.flag(1);
    copy_into(factor, c.tensor(0));
    const MatrixShape s(factor);
    int32_t* info = c.out[1].data<int32_t>();
    visit_lapack("linalg.cholesky", factor.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* a = factor.data<T>();
        AllowThreads threads(factor.numel() > 1024);
        for_batch(s.batch, s.n, [&](int64_t i) {
            T* p = a + i * s.n * s.n;
            info[i] = s.n == 0 ? 0
                               : MASHAL_LAPACK(T, potrf, kColumnMajor, upper ? 'U' : 'L', order_of(s.n), raw(p),
                                               leading(s.n));
            for (int64_t col = 0; col < s.n; col++)
                for (int64_t row = 0; row < s.n; row++)
                    if (upper ? row > col : row < col) p[col * s.n + row] = T(0);
        });
    });
}

// ---- (A, B, upper, unitriangular) -> X with A X = B ----
void triangular_shape(Call& c) {
    check_square(c, 0, "A");
    check_right_side(c, 1, "B", c.tensor(0));
    announce_matrix(c, c.tensor(1).sizes(), c.tensor(0).dtype());
}
void triangular_kernel(Call& c) {
    const Tensor a = column_major(c.tensor(0)), x = c.out[0];
    copy_into(x, c.tensor(1));
    if (x.numel() == 0) return;
    const char side = c.flag(2) ? 'U' : 'L', unit = c.flag(3) ? 'U' : 'N';
    const MatrixShape s(x);
    visit_lapack("linalg.solve_triangular", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* pa = a.data<T>();
        T* b = x.data<T>();
        AllowThreads threads(x.numel() > 1024);
        for_batch(s.batch, s.m, [&](int64_t i) {
            const T* m = pa + i * s.m * s.m;
            const lapack_int info = MASHAL_LAPACK(T, trtrs, kColumnMajor, side, 'N', unit, order_of(s.m), order_of(s.n),
                                                  raw(m), leading(s.m), raw(b + i * s.m * s.n), leading(s.m));
            // A zero on the diagonal: LAPACK leaves B alone; the quotient is what PyTorch returns.
            if (info > 0) std::fill_n(b + i * s.m * s.n, s.m * s.n, T(std::numeric_limits<Real<T>>::quiet_NaN()));
        });
    });
}

// ---- QR: (A, complete) -> Q, R ----
void qr_shape(Call& c) {
    check_matrix(c, 0, "A");
    const Tensor a = c.tensor(0);
    const MatrixShape s(a);
    const IntVec batch = batch_sizes(a);
    const int64_t columns = c.flag(1) ? s.m : s.k();
    announce_matrix(c, with(batch, {s.m, columns}), a.dtype());
    announce_matrix(c, with(batch, {columns, s.n}), a.dtype());
}
void qr_kernel(Call& c) {
    const Tensor a = column_major(c.tensor(0)), q = c.out[0], r = c.out[1];
    const MatrixShape s(a);
    const int64_t columns = q.sizes().back(), k = s.k();
    visit_lapack("linalg.qr", a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T *pa = a.data<T>(), *pq = q.data<T>(), *pr = r.data<T>();
        AllowThreads threads(a.numel() > 1024);
        for_batch(s.batch, k, [&](int64_t i) {
            std::vector<T> tau(static_cast<size_t>(std::max<int64_t>(1, k)));
            T *m = pa + i * s.m * s.n, *qi = pq + i * s.m * columns, *ri = pr + i * columns * s.n;
            if (k > 0)
                MASHAL_LAPACK(T, geqrf, kColumnMajor, order_of(s.m), order_of(s.n), raw(m), leading(s.m),
                              raw(tau.data()));
            for (int64_t col = 0; col < s.n; col++)
                for (int64_t row = 0; row < columns; row++)
                    ri[col * columns + row] = row <= col ? m[col * s.m + row] : T(0);
            std::fill_n(qi, s.m * columns, T(0));
            std::copy_n(m, s.m * std::min(k, columns), qi);
            if (s.m == 0 || columns == 0) return;
            if (k == 0) {  // nothing was reduced: the identity
                for (int64_t j = 0; j < columns; j++) qi[j * s.m + j] = T(1);
                return;
            }
            if constexpr (is_complex_type<T>) {
                if constexpr (std::is_same_v<T, c64>)
                    scipy_LAPACKE_cungqr(kColumnMajor, order_of(s.m), order_of(columns), order_of(k), raw(qi),
                                         leading(s.m), raw(tau.data()));
                else
                    scipy_LAPACKE_zungqr(kColumnMajor, order_of(s.m), order_of(columns), order_of(k), raw(qi),
                                         leading(s.m), raw(tau.data()));
            } else if constexpr (std::is_same_v<T, float>) {
                scipy_LAPACKE_sorgqr(kColumnMajor, order_of(s.m), order_of(columns), order_of(k), qi, leading(s.m),
                                     tau.data());
            } else {
                scipy_LAPACKE_dorgqr(kColumnMajor, order_of(s.m), order_of(columns), order_of(k), qi, leading(s.m),
                                     tau.data());
            }
        });
    });
}

// ---- SVD: (A, full_matrices) -> U, S, Vh; values only: (A) -> S ----
void svd_shape(Call& c) {
    check_matrix(c, 0, "A");
    const Tensor a = c.tensor(0);
    const MatrixShape s(a);
    const IntVec batch = batch_sizes(a);
    announce_matrix(c, with(batch, {s.m, c.flag(1) ? s.m : s.k()}), a.dtype());
    c.result(with(batch, {s.k()}), real_dtype(a.dtype()), a.device());
    announce_matrix(c, with(batch, {c.flag(1) ? s.n : s.k(), s.n}), a.dtype());
}
void singular_values_shape(Call& c) {
    check_matrix(c, 0, "A");
    c.result(with(batch_sizes(c.tensor(0)), {MatrixShape(c.tensor(0)).k()}), real_dtype(c.tensor(0).dtype()),
             c.tensor(0).device());
}
// The iterative routines may never end on infinities.
template <class T>
bool all_finite(const T* p, int64_t n) {
    if constexpr (is_complex_type<T>) {
        return std::all_of(p, p + n, [](T v) { return std::isfinite(v.re) && std::isfinite(v.im); });
    } else {
        return std::all_of(p, p + n, [](T v) { return std::isfinite(v); });
    }
}
constexpr int32_t kNotFinite = -4;

void check_convergence(const char* op, const std::vector<int32_t>& info) {
    for (size_t i = 0; i < info.size(); i++)
        MASHAL_CHECK(info[i] == 0, op,
                     "The algorithm failed to converge because the input matrix is ill-conditioned or contains "
                     "non-finite or repeated values (batch element ",
                     i, ", error code ", info[i], ").");
}
template <class T>
void fill_identity(T* p, int64_t rows, int64_t cols) {
    std::fill_n(p, rows * cols, T(0));
    for (int64_t j = 0; j < std::min(rows, cols); j++) p[j * rows + j] = T(1);
}
void run_svd(const char* op, const Tensor& input, char job, const Tensor& u, const Tensor& values, const Tensor& vh) {
    const Tensor a = column_major(input);
    const MatrixShape s(a);
    std::vector<int32_t> info(static_cast<size_t>(s.batch));
    visit_lapack(op, a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T *pa = a.data<T>(), *pu = u ? u.data<T>() : nullptr, *pv = vh ? vh.data<T>() : nullptr;
        Real<T>* ps = values.data<Real<T>>();
        const int64_t u_cols = u ? u.sizes().back() : 1, v_rows = vh ? vh.size(vh.dim() - 2) : 1;
        AllowThreads threads(a.numel() > 256);
        for_batch(s.batch, s.k(), [&](int64_t i) {
            T *ui = pu == nullptr ? nullptr : pu + i * s.m * u_cols,
              *vi = pv == nullptr ? nullptr : pv + i * v_rows * s.n;
            if (s.k() == 0) {
                if (ui != nullptr) fill_identity(ui, s.m, u_cols);
                if (vi != nullptr) fill_identity(vi, v_rows, s.n);
                return;
            }
            info[static_cast<size_t>(i)] =
                !all_finite(pa + i * s.m * s.n, s.m * s.n)
                    ? kNotFinite
                    : MASHAL_LAPACK(T, gesdd, kColumnMajor, job, order_of(s.m), order_of(s.n), raw(pa + i * s.m * s.n),
                                    leading(s.m), ps + i * s.k(), raw(ui), leading(s.m), raw(vi), leading(v_rows));
        });
    });
    check_convergence(op, info);
}
void svd_kernel(Call& c) { run_svd("linalg.svd", c.tensor(0), c.flag(1) ? 'A' : 'S', c.out[0], c.out[1], c.out[2]); }
void singular_values_kernel(Call& c) { run_svd("linalg.svdvals", c.tensor(0), 'N', {}, c.out[0], {}); }

// ---- Hermitian eigenvalues: (A, lower) -> w, V; values only: (A, lower) -> w ----
void eigh_shape(Call& c) {
    check_square(c, 0, "A");
    const Tensor a = c.tensor(0);
    c.result(with(batch_sizes(a), {a.sizes().back()}), real_dtype(a.dtype()), a.device());
    announce_matrix(c, a.sizes(), a.dtype());
}
void eigh_values_shape(Call& c) {
    check_square(c, 0, "A");
    const Tensor a = c.tensor(0);
    c.result(with(batch_sizes(a), {a.sizes().back()}), real_dtype(a.dtype()), a.device());
}
void run_eigh(const char* op, char job, char side, const Tensor& values, const Tensor& vectors) {
    const MatrixShape s(vectors);
    std::vector<int32_t> info(static_cast<size_t>(s.batch));
    if (vectors.numel() == 0) return;
    visit_lapack(op, vectors.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* pv = vectors.data<T>();
        Real<T>* pw = values.data<Real<T>>();
        AllowThreads threads(vectors.numel() > 256);
        for_batch(s.batch, s.n, [&](int64_t i) {
            T* a = pv + i * s.n * s.n;
            Real<T>* w = pw + i * s.n;
            lapack_int code = kNotFinite;
            if (!all_finite(a, s.n * s.n)) {
                info[static_cast<size_t>(i)] = code;
                return;
            }
            if constexpr (std::is_same_v<T, c64>)
                code = scipy_LAPACKE_cheevd(kColumnMajor, job, side, order_of(s.n), raw(a), leading(s.n), w);
            else if constexpr (std::is_same_v<T, c128>)
                code = scipy_LAPACKE_zheevd(kColumnMajor, job, side, order_of(s.n), raw(a), leading(s.n), w);
            else if constexpr (std::is_same_v<T, float>)
                code = scipy_LAPACKE_ssyevd(kColumnMajor, job, side, order_of(s.n), a, leading(s.n), w);
            else
                code = scipy_LAPACKE_dsyevd(kColumnMajor, job, side, order_of(s.n), a, leading(s.n), w);
            info[static_cast<size_t>(i)] = code;
        });
    });
    check_convergence(op, info);
}
void eigh_kernel(Call& c) {
    copy_into(c.out[1], c.tensor(0));
    run_eigh("linalg.eigh", 'V', c.flag(1) ? 'L' : 'U', c.out[0], c.out[1]);
}
void eigh_values_kernel(Call& c) {
    run_eigh("linalg.eigvalsh", 'N', c.flag(1) ? 'L' : 'U', c.out[0], column_major(c.tensor(0)));
}

// ---- general eigenvalues: (A) -> w, V, both complex ----
void eig_shape(Call& c) {
    check_square(c, 0, "A");
    const Tensor a = c.tensor(0);
    const DType dtype = complex_dtype(a.dtype());
    c.result(with(batch_sizes(a), {a.sizes().back()}), dtype, a.device());
    announce_matrix(c, a.sizes(), dtype);
}
// LAPACK stores a conjugate pair of real eigenvectors as (real part, imaginary part) in two columns.
template <class T, class C>
void unpack_pairs(int64_t n, const T* imaginary, const T* packed, C* vectors) {
    for (int64_t j = 0; j < n; j++) {
        const bool pair = imaginary[j] != 0;
        for (int64_t r = 0; r < n; r++) {
            const T re = packed[j * n + r], im = pair ? packed[(j + 1) * n + r] : T(0);
            vectors[j * n + r] = C(re, im);
            if (pair) vectors[(j + 1) * n + r] = C(re, -im);
        }
        if (pair) j++;
    }
}
void eig_kernel(Call& c) {
    const Tensor a = column_major(c.tensor(0));
    const MatrixShape s(a);
    std::vector<int32_t> info(static_cast<size_t>(s.batch));
    if (a.numel() == 0) return;
    visit_lapack("linalg.eig", a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        using C = std::conditional_t<std::is_same_v<Real<T>, float>, c64, c128>;
        T* pa = a.data<T>();
        C *values = c.out[0].data<C>(), *vectors = c.out[1].data<C>();
        AllowThreads threads(a.numel() > 256);
        for_batch(s.batch, s.n, [&](int64_t i) {
            const int64_t n = s.n;
            T* m = pa + i * n * n;
            C *w = values + i * n, *v = vectors + i * n * n;
            lapack_int code = kNotFinite;
            if (!all_finite(m, n * n)) {
                info[static_cast<size_t>(i)] = code;
                return;
            }
            if constexpr (std::is_same_v<T, c64>) {
                code = scipy_LAPACKE_cgeev(kColumnMajor, 'N', 'V', order_of(n), raw(m), leading(n), raw(w), nullptr, 1,
                                           raw(v), leading(n));
            } else if constexpr (std::is_same_v<T, c128>) {
                code = scipy_LAPACKE_zgeev(kColumnMajor, 'N', 'V', order_of(n), raw(m), leading(n), raw(w), nullptr, 1,
                                           raw(v), leading(n));
            } else {
                std::vector<T> re(static_cast<size_t>(n)), im(static_cast<size_t>(n)),
                    packed(static_cast<size_t>(n * n));
                if constexpr (std::is_same_v<T, float>)
                    code = scipy_LAPACKE_sgeev(kColumnMajor, 'N', 'V', order_of(n), m, leading(n), re.data(), im.data(),
                                               nullptr, 1, packed.data(), leading(n));
                else
                    code = scipy_LAPACKE_dgeev(kColumnMajor, 'N', 'V', order_of(n), m, leading(n), re.data(), im.data(),
                                               nullptr, 1, packed.data(), leading(n));
                for (int64_t j = 0; j < n; j++) w[j] = C(re[static_cast<size_t>(j)], im[static_cast<size_t>(j)]);
                unpack_pairs(n, im.data(), packed.data(), v);
            }
            info[static_cast<size_t>(i)] = code;
        });
    });
    check_convergence("linalg.eig", info);
}

const OpRegistration r_lu{"_lu_factor", {.shape = lu_shape, .kernel = lu_kernel}};
const OpRegistration r_lu_solve{"_lu_solve", {.shape = lu_solve_shape, .kernel = lu_solve_kernel}};
const OpRegistration r_solve{"_solve", {.shape = solve_shape, .kernel = solve_kernel}};
const OpRegistration r_inverse{"_inverse", {.shape = square_with_info_shape, .kernel = inverse_kernel}};
const OpRegistration r_slogdet{"_slogdet", {.shape = slogdet_shape, .kernel = slogdet_kernel}};
const OpRegistration r_det{"_det", {.shape = det_shape, .kernel = det_kernel}};
const OpRegistration r_cholesky{"_cholesky", {.shape = square_with_info_shape, .kernel = cholesky_kernel}};
const OpRegistration r_triangular{"_solve_triangular", {.shape = triangular_shape, .kernel = triangular_kernel}};
const OpRegistration r_qr{"_qr", {.shape = qr_shape, .kernel = qr_kernel}};
const OpRegistration r_svd{"_svd", {.shape = svd_shape, .kernel = svd_kernel}};
const OpRegistration r_singular_values{"_singular_values",
                                       {.shape = singular_values_shape, .kernel = singular_values_kernel}};
const OpRegistration r_eigh{"_eigh", {.shape = eigh_shape, .kernel = eigh_kernel}};
const OpRegistration r_eigh_values{"_eigh_values", {.shape = eigh_values_shape, .kernel = eigh_values_kernel}};
const OpRegistration r_eig{"_eig", {.shape = eig_shape, .kernel = eig_kernel}};

}  // namespace
}  // namespace mashal
