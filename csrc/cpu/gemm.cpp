#include "cpu/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "core/buffer.h"
#include "core/fork.h"
#include "core/parallel.h"
#include "core/vector_target.h"
#include "cpu/copy.h"
#include "cpu/isa_select.h"
#include "cpu/pointwise_loops.h"
#include "cpu/sgemm.h"
#include "cpu/sgemv_loops.h"
#ifdef MASHAL_WITH_ONEDNN
#include "cpu/onednn/onednn.h"
#endif

namespace mashal {

namespace {

// Below this many multiply-adds a second thread costs more than it saves.
constexpr double kParallelWork = 400e3;
constexpr double kTinyWork = 1024;
// Up to this many a half product in float32 costs less than the call into oneDNN.
constexpr double kSmallHalfWork = 1 << 15;
#ifdef MASHAL_WITH_ONEDNN
// From this many on, oneDNN's float product is faster than OpenBLAS's (measured with AVX-512 and with AVX2: by 5 to 20
// %).
constexpr double kOnednnWork = 1 << 20;
#endif

std::mutex many_threads_mutex;

void keep_blas_serial() {
    static const bool done = [] {
        hold_across_fork(many_threads_mutex, ForkRank::Blas);
        scipy_openblas_set_num_threads(1);
        return true;
    }();
    (void)done;
}

int blas_int(int64_t v) {
    MASHAL_CHECK(v <= INT32_MAX, "matmul", "matrix dimensions must be below 2**31, got ", v);
    return static_cast<int>(v);
}

constexpr bool is_blas_type(DType t) { return t >= DType::F32; }

// ---- tiny products: the call into BLAS costs more than the work ----
template <class T>
struct TinyGemm {
    int64_t m, n, k;
    T alpha;
    const T* a;
    int64_t a_row, a_step;  // distance between rows of A, and along a row
    const T* b;
    int64_t b_row, b_step;
    T beta;
    T* c;
    int64_t ldc;

    MASHAL_INLINE_LOOP void put(int64_t i, int64_t j, T sum) const {
        T& to = c[i * ldc + j];
        to = beta == T(0) ? alpha * sum : alpha * sum + beta * to;
    }
    MASHAL_INLINE_LOOP void single(int64_t i, int64_t j) const {
        T sum = T(0);
        for (int64_t p = 0; p < k; p++) sum += a[i * a_row + p * a_step] * b[p * b_row + j * b_step];
        put(i, j, sum);
    }
    // R rows of W neighbouring results in vectors; B's rows are dense.
    template <int R, int W>
    MASHAL_INLINE_LOOP void block(int64_t i, int64_t j) const {
        typedef T Vector __attribute__((vector_size(W * sizeof(T))));
        Vector sum[R] = {};
        for (int64_t p = 0; p < k; p++) {
            Vector y;
            std::memcpy(&y, b + p * b_row + j, sizeof y);
            for (int r = 0; r < R; r++) sum[r] += y * a[(i + r) * a_row + p * a_step];
        }
        for (int r = 0; r < R; r++)
            for (int w = 0; w < W; w++) put(i + r, j + w, sum[r][w]);
    }
    MASHAL_INLINE_LOOP void operator()() const {
        constexpr bool vectors = std::is_floating_point_v<T>;
        constexpr int W = vectors ? 32 / static_cast<int>(sizeof(T)) : 1;
        int64_t j = 0;
        if constexpr (vectors) {
            for (; b_step == 1 && j + W <= n; j += W) {
                int64_t i = 0;
                for (; i + 4 <= m; i += 4) block<4, W>(i, j);
                for (; i < m; i++) block<1, W>(i, j);
            }
        }
        for (; j < n; j++)
            for (int64_t i = 0; i < m; i++) single(i, j);
    }
};

template <class T>
void tiny_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
               int64_t ldb, T beta, T* c, int64_t ldc) {
    run_vectorised(
        TinyGemm<T>{m, n, k, alpha, a, ta ? 1 : lda, ta ? lda : 1, b, tb ? 1 : ldb, tb ? ldb : 1, beta, c, ldc});
}

// Integers: modular arithmetic, done in the unsigned type so that wrapping is defined. Blocks of rows of B stay in
// cache while all rows of A pass over them.
template <class T>
void integer_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
                  int64_t ldb, T beta, T* c, int64_t ldc) {
    using U = std::make_unsigned_t<T>;
    constexpr int64_t kBlock = 128;
    std::vector<U> packed;
    if (tb) {
        packed.resize(static_cast<size_t>(k * n));
        for (int64_t j = 0; j < n; j++)
            for (int64_t p = 0; p < k; p++) packed[static_cast<size_t>(p * n + j)] = static_cast<U>(b[j * ldb + p]);
    }
    const U* bp = tb ? packed.data() : reinterpret_cast<const U*>(b);
    const int64_t bld = tb ? n : ldb;
    parallel_for(0, m, std::max<int64_t>(1, static_cast<int64_t>(kParallelWork) / std::max<int64_t>(1, n * k)),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; i++)
                         for (int64_t j = 0; j < n; j++)
                             c[i * ldc + j] =
                                 beta == T(0) ? T(0)
                                              : static_cast<T>(static_cast<U>(beta) * static_cast<U>(c[i * ldc + j]));
                     for (int64_t p0 = 0; p0 < k; p0 += kBlock) {
                         const int64_t p1 = std::min(k, p0 + kBlock);
                         for (int64_t i = begin; i < end; i++) {
                             U* row = reinterpret_cast<U*>(c + i * ldc);
                             for (int64_t p = p0; p < p1; p++) {
                                 const U x = static_cast<U>(static_cast<U>(alpha) *
                                                            static_cast<U>(ta ? a[p * lda + i] : a[i * lda + p]));
                                 const U* source = bp + p * bld;
                                 for (int64_t j = 0; j < n; j++)
                                     row[j] = static_cast<U>(row[j] + static_cast<U>(x * source[j]));
                             }
                         }
                     }
                 });
}

CBLAS_TRANSPOSE blas_trans(bool t) { return t ? CblasTrans : CblasNoTrans; }

template <class T>
void blas_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
               int64_t ldb, T beta, T* c, int64_t ldc) {
    const int M = blas_int(m), N = blas_int(n), K = blas_int(k);
    const int la = blas_int(lda), lb = blas_int(ldb), lc = blas_int(ldc);
    const auto opa = blas_trans(ta), opb = blas_trans(tb);
    if constexpr (std::is_same_v<T, float>) {
        scipy_cblas_sgemm(CblasRowMajor, opa, opb, M, N, K, alpha, a, la, b, lb, beta, c, lc);
    } else if constexpr (std::is_same_v<T, double>) {
        scipy_cblas_dgemm(CblasRowMajor, opa, opb, M, N, K, alpha, a, la, b, lb, beta, c, lc);
    } else if constexpr (std::is_same_v<T, c64>) {
        scipy_cblas_cgemm(CblasRowMajor, opa, opb, M, N, K, &alpha, a, la, b, lb, &beta, c, lc);
    } else {
        scipy_cblas_zgemm(CblasRowMajor, opa, opb, M, N, K, &alpha, a, la, b, lb, &beta, c, lc);
    }
}

// y (rows) = alpha op(stored) x + beta y; `stored` is (rows, cols), or (cols, rows) if trans.
template <class T>
void blas_gemv(bool trans, int64_t rows, int64_t cols, T alpha, const T* stored, int64_t ld, const T* x, int64_t incx,
               T beta, T* y, int64_t incy) {
    const int M = blas_int(trans ? cols : rows), N = blas_int(trans ? rows : cols), L = blas_int(ld);
    const int ix = blas_int(incx), iy = blas_int(incy);
    const auto op = blas_trans(trans);
    if constexpr (std::is_same_v<T, float>) {
        scipy_cblas_sgemv(CblasRowMajor, op, M, N, alpha, stored, L, x, ix, beta, y, iy);
    } else if constexpr (std::is_same_v<T, double>) {
        scipy_cblas_dgemv(CblasRowMajor, op, M, N, alpha, stored, L, x, ix, beta, y, iy);
    } else if constexpr (std::is_same_v<T, c64>) {
        scipy_cblas_cgemv(CblasRowMajor, op, M, N, &alpha, stored, L, x, ix, &beta, y, iy);
    } else {
        scipy_cblas_zgemv(CblasRowMajor, op, M, N, &alpha, stored, L, x, ix, &beta, y, iy);
    }
}

template <class T>
void scale_rows(int64_t m, int64_t n, T beta, T* c, int64_t ldc) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) c[i * ldc + j] = beta == T(0) ? T(0) : beta * c[i * ldc + j];
}

// y = alpha op(stored) x + beta y on the calling thread, for vectors of unit stride but y of op(stored) = stored.
void sgemv(bool trans, int64_t rows, int64_t cols, float alpha, const float* stored, int64_t ld, const float* x,
           float beta, float* y, int64_t incy) {
    static const auto rows_loop = MASHAL_SELECT(sgemv_rows);
    static const auto columns_loop = MASHAL_SELECT(sgemv_columns);
    if (!trans) return rows_loop({rows, cols, stored, ld, x, alpha, beta, y, incy});
    scale_rows(rows, int64_t(1), beta, y, int64_t(1));
    const Floats scaled(cols);
    for (int64_t p = 0; p < cols; p++) scaled.data()[p] = alpha * x[p];
    columns_loop(cols, rows, stored, ld, scaled.data(), y);
}

// A matrix times one row or column is bound by memory: cut along the result, each part reads its own piece.
template <class T>
void vector_product(bool trans, int64_t rows, int64_t cols, T alpha, const T* stored, int64_t ld, const T* x,
                    int64_t incx, T beta, T* y, int64_t incy) {
    const int64_t grain = std::max<int64_t>(16, 4 * kGrain / std::max<int64_t>(1, cols));
    if constexpr (std::is_same_v<T, float>) {
        if (incx == 1 && (!trans || incy == 1)) {
            parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
                sgemv(trans, end - begin, cols, alpha, stored + (trans ? begin : begin * ld), ld, x, beta,
                      y + begin * incy, incy);
            });
            return;
        }
    }
    if (beta == T(0)) scale_rows(rows, int64_t(1), beta, y, incy);  // BLAS would keep NaN of an unset result
    parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
        const T* part = stored + (trans ? begin : begin * ld);
        blas_gemv(trans, end - begin, cols, alpha, part, ld, x, incx, beta, y + begin * incy, incy);
    });
}

template <class T>
void typed_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
                int64_t ldb, T beta, T* c, int64_t ldc) {
    if (m == 0 || n == 0) return;
    if (k == 0 || alpha == T(0)) return scale_rows(m, n, beta, c, ldc);
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    if (work <= kTinyWork) return tiny_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    keep_blas_serial();
    if (n == 1) return vector_product(ta, m, k, alpha, a, lda, b, tb ? 1 : ldb, beta, c, ldc);
    if (m == 1) return vector_product(!tb, n, k, alpha, b, ldb, a, ta ? lda : 1, beta, c, int64_t(1));
    const int threads = product_threads(m, n, k);
#ifdef MASHAL_WITH_ONEDNN
    if constexpr (std::is_same_v<T, float>)
        if ((threads > 1 || work >= kOnednnWork) && onednn::usable())
            return onednn::sgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#endif
    if (threads == 1) return blas_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    const Grid grid = cut_product(m, n, threads);
    auto cut = [](int64_t size, int parts, int64_t at) { return at >= parts ? size : size * at / parts / 8 * 8; };
    parallel_for(0, int64_t(grid.down) * grid.across, 1, [&](int64_t begin, int64_t end) {
        for (int64_t tile = begin; tile < end; tile++) {
            const int64_t i0 = cut(m, grid.down, tile / grid.across), i1 = cut(m, grid.down, tile / grid.across + 1);
            const int64_t j0 = cut(n, grid.across, tile % grid.across),
                          j1 = cut(n, grid.across, tile % grid.across + 1);
            if (i0 >= i1 || j0 >= j1) continue;
            blas_gemm(ta, tb, i1 - i0, j1 - j0, k, alpha, a + (ta ? i0 : i0 * lda), lda, b + (tb ? j0 * ldb : j0), ldb,
                      beta, c + i0 * ldc + j0, ldc);
        }
    });
}

// Each of m rows = `row`, of `bytes`; `step` is the distance between them.
void repeat_row(int64_t m, int64_t bytes, int64_t step, const void* row, void* out) {
    parallel_for(0, m, std::max<int64_t>(1, 4 * kGrain / std::max<int64_t>(1, bytes)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            std::memcpy(static_cast<char*>(out) + i * step, row, static_cast<size_t>(bytes));
    });
}

// Measured against oneDNN and OpenBLAS with operands in far memory. With AVX2 the three are equal.
bool own_is_faster(const SgemmProblem& s) {
    if (selected_isa() != Isa::Avx512) return false;
    if (s.a.trans) return std::min(s.m, s.n) >= 256 && s.k >= 512;
    if (s.b.trans) return s.m >= 16 && std::min(s.n, s.k) >= 128;
    return s.m >= 512 && std::min(s.n, s.k) >= 256;
}

void float_gemm(const SgemmProblem& s, const PackedB* packed = nullptr) {
    if (s.k > 0 && s.alpha != 0 && (packed != nullptr || own_is_faster(s))) return sgemm(s, packed);
    if (s.bias != nullptr) repeat_row(s.m, s.n * 4, s.ldc * 4, s.bias, s.c);
    typed_gemm(s.a.trans, s.b.trans, s.m, s.n, s.k, s.alpha, static_cast<const float*>(s.a.data), s.a.ld,
               static_cast<const float*>(s.b.data), s.b.ld, s.bias == nullptr ? s.beta : 1.0f, s.c, s.ldc);
}

// ---- half types ----
float half_to_float(DType t, const void* p, int64_t i) {
    return t == DType::F16 ? to_float(static_cast<const f16*>(p)[i]) : to_float(static_cast<const bf16*>(p)[i]);
}

void store_half(DType t, void* p, int64_t i, float v) {
    if (t == DType::F16)
        static_cast<f16*>(p)[i] = to_f16(v);
    else
        static_cast<bf16*>(p)[i] = to_bf16(v);
}

// Writes the stored matrix (rows, cols) as dense float32.
void widen(DType t, MatrixView v, int64_t rows, int64_t cols, float* out) {
    ConvertLoop convert = find_convert_loop(t, DType::F32);
    const char* source = static_cast<const char*>(v.data);
    parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, cols)), [&](int64_t begin, int64_t end) {
        if (v.ld == cols) return convert((end - begin) * cols, out + begin * cols, source + begin * cols * 2);
        for (int64_t i = begin; i < end; i++) convert(cols, out + i * cols, source + i * v.ld * 2);
    });
}

// c = alpha product + beta c + bias, rounded once.
void narrow_product(DType t, int64_t m, int64_t n, float alpha, float* product, float beta, const void* bias, void* c,
                    int64_t ldc) {
    const ConvertLoop convert = find_convert_loop(DType::F32, t), back = find_convert_loop(t, DType::F32);
    parallel_for(0, m, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
        const Floats added(bias != nullptr ? n : 1), old(beta != 0 ? n : 1);
        float *add = added.data(), *before = old.data();
        if (bias != nullptr) back(n, add, bias);
        for (int64_t i = begin; i < end; i++) {
            float* row = product + i * n;
            char* to = static_cast<char*>(c) + i * ldc * 2;
            if (alpha != 1)
                for (int64_t j = 0; j < n; j++) row[j] *= alpha;
            if (beta != 0) {
                back(n, before, to);
                for (int64_t j = 0; j < n; j++) row[j] += beta * before[j];
            }
            if (bias != nullptr)
                for (int64_t j = 0; j < n; j++) row[j] += add[j];
            convert(n, to, row);
        }
    });
}

void half_gemm(DType t, int64_t m, int64_t n, int64_t k, double alpha, MatrixView a, MatrixView b, double beta, void* c,
               int64_t ldc, const void* bias) {
    if (m == 0 || n == 0) return;
#ifdef MASHAL_WITH_ONEDNN
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    const bool direct = work > kSmallHalfWork && onednn::usable() && onednn::fast_half(t);
    if (direct && alpha == 1 && beta == 0) return onednn::half_matmul(t, m, n, k, a, b, bias, c, ldc, t);
#else
    constexpr bool direct = false;
#endif
    const Floats product(m * n);
    if (direct) {
#ifdef MASHAL_WITH_ONEDNN
        onednn::half_matmul(t, m, n, k, a, b, nullptr, product.data(), n, DType::F32);
#endif
    } else {
        const Floats wide_a(m * k), wide_b(k * n);
        widen(t, a, a.trans ? k : m, a.trans ? m : k, wide_a.data());
        widen(t, b, b.trans ? n : k, b.trans ? k : n, wide_b.data());
        float_gemm({m,
                    n,
                    k,
                    {wide_a.data(), a.trans ? m : k, a.trans},
                    {wide_b.data(), b.trans ? k : n, b.trans},
                    product.data(),
                    n});
    }
    narrow_product(t, m, n, static_cast<float>(alpha), product.data(), static_cast<float>(beta), bias, c, ldc);
}

template <class T>
T scalar_as(const Scalar& s) {
    if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
        return T(s.to_complex());
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(s.to_int());
    } else {
        return static_cast<T>(s.to_double());
    }
}

template <class F>
void visit_gemm_type(DType t, F&& f) {
    switch (t) {
        case DType::U8: return f(uint8_t{});
        case DType::I8: return f(int8_t{});
        case DType::I16: return f(int16_t{});
        case DType::I32: return f(int32_t{});
        case DType::I64: return f(int64_t{});
        case DType::F32: return f(float{});
        case DType::F64: return f(double{});
        case DType::C64: return f(c64{});
        case DType::C128: return f(c128{});
        default: raise_error(ErrorKind::NotImplemented, "matmul", "not implemented for '", dtype_legacy_name(t), "'");
    }
}

template <class T>
T dot_part(int64_t n, const T* x, int64_t incx, const T* y, int64_t incy) {
    const int N = blas_int(n), ix = blas_int(incx), iy = blas_int(incy);
    if constexpr (std::is_same_v<T, float>) {
        return scipy_cblas_sdot(N, x, ix, y, iy);
    } else if constexpr (std::is_same_v<T, double>) {
        return scipy_cblas_ddot(N, x, ix, y, iy);
    } else {
        T out;
        if constexpr (std::is_same_v<T, c64>)
            scipy_cblas_cdotu_sub(N, x, ix, y, iy, &out);
        else
            scipy_cblas_zdotu_sub(N, x, ix, y, iy, &out);
        return out;
    }
}

}  // namespace

template <class T>
void gemm_serial(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
                 int64_t ldb, T beta, T* c, int64_t ldc) {
    if (m == 0 || n == 0) return;
    if (k == 0) return scale_rows(m, n, beta, c, ldc);
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    if (work <= kTinyWork) return tiny_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#ifdef MASHAL_WITH_ONEDNN
    if constexpr (std::is_same_v<T, float>)
        if (work >= kOnednnWork && (in_parallel() || num_threads() == 1) && onednn::usable())
            return onednn::sgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#endif
    keep_blas_serial();
    blas_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
template void gemm_serial(bool, bool, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t,
                          float, float*, int64_t);
template void gemm_serial(bool, bool, int64_t, int64_t, int64_t, double, const double*, int64_t, const double*, int64_t,
                          double, double*, int64_t);
template void gemm_serial(bool, bool, int64_t, int64_t, int64_t, c64, const c64*, int64_t, const c64*, int64_t, c64,
                          c64*, int64_t);
template void gemm_serial(bool, bool, int64_t, int64_t, int64_t, c128, const c128*, int64_t, const c128*, int64_t, c128,
                          c128*, int64_t);

void gemm(DType dtype, int64_t m, int64_t n, int64_t k, const Scalar& alpha, MatrixView a, MatrixView b,
          const Scalar& beta, void* c, int64_t ldc, const void* bias, const PackedB* packed) {
    // BLAS wants leading dimensions of at least one row even where a row is never stepped over.
    a.ld = std::max<int64_t>({a.ld, a.trans ? m : k, 1});
    b.ld = std::max<int64_t>({b.ld, b.trans ? k : n, 1});
    ldc = std::max<int64_t>({ldc, n, 1});
    if (is_half(dtype)) return half_gemm(dtype, m, n, k, alpha.to_double(), a, b, beta.to_double(), c, ldc, bias);
    if (dtype == DType::F32)
        return float_gemm({m, n, k, a, b, static_cast<float*>(c), ldc, scalar_as<float>(alpha), scalar_as<float>(beta),
                           static_cast<const float*>(bias)},
                          packed);
    const Scalar keep = bias == nullptr ? beta : Scalar::of(int64_t{1});
    if (bias != nullptr) repeat_row(m, n * item_size(dtype), ldc * item_size(dtype), bias, c);
    visit_gemm_type(dtype, [&](auto zero) {
        using T = decltype(zero);
        const T* pa = static_cast<const T*>(a.data);
        const T* pb = static_cast<const T*>(b.data);
        T* pc = static_cast<T*>(c);
        if constexpr (std::is_integral_v<T>)
            integer_gemm(a.trans, b.trans, m, n, k, scalar_as<T>(alpha), pa, a.ld, pb, b.ld, scalar_as<T>(keep), pc,
                         ldc);
        else
            typed_gemm(a.trans, b.trans, m, n, k, scalar_as<T>(alpha), pa, a.ld, pb, b.ld, scalar_as<T>(keep), pc, ldc);
    });
}

void gemm_batched(DType dtype, const BatchOffsets& offsets, int64_t m, int64_t n, int64_t k, const Scalar& alpha,
                  MatrixView a, MatrixView b, const Scalar& beta, void* c, int64_t ldc) {
    const int64_t count = static_cast<int64_t>(offsets.c.size());
    const int64_t item = item_size(dtype);
    auto run = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            MatrixView ai = a, bi = b;
            ai.data = static_cast<const char*>(a.data) + offsets.a[static_cast<size_t>(i)] * item;
            bi.data = static_cast<const char*>(b.data) + offsets.b[static_cast<size_t>(i)] * item;
            gemm(dtype, m, n, k, alpha, ai, bi, beta, static_cast<char*>(c) + offsets.c[static_cast<size_t>(i)] * item,
                 ldc);
        }
    };
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    if (work <= kTinyWork && is_blas_type(dtype)) {  // the type is looked at once, not for every matrix
        visit_gemm_type(dtype, [&](auto zero) {
            using T = decltype(zero);
            if constexpr (!std::is_integral_v<T>) {
                const T x = scalar_as<T>(alpha), keep = scalar_as<T>(beta);
                const T *pa = static_cast<const T*>(a.data), *pb = static_cast<const T*>(b.data);
                T* pc = static_cast<T*>(c);
                const auto grain = static_cast<int64_t>(kParallelWork / std::max(work, 1.0));
                parallel_for(0, count, std::max<int64_t>(1, grain), [&](int64_t begin, int64_t end) {
                    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); i++)
                        tiny_gemm(a.trans, b.trans, m, n, k, x, pa + offsets.a[i], a.ld, pb + offsets.b[i], b.ld, keep,
                                  pc + offsets.c[i], ldc);
                });
            }
        });
        return;
    }
    // Few, large products are better cut inside; many small ones between threads.
    if (count < num_threads() || (work > 64 * kParallelWork && count < 4 * num_threads())) return run(0, count);
    parallel_for(0, count, std::max<int64_t>(1, static_cast<int64_t>(kParallelWork / std::max(work, 1.0))), run);
}

void dot(DType dtype, int64_t n, const void* x, int64_t incx, const void* y, int64_t incy, void* out) {
    if (is_half(dtype)) {
        float sum = 0;
        for (int64_t i = 0; i < n; i++) sum += half_to_float(dtype, x, i * incx) * half_to_float(dtype, y, i * incy);
        return store_half(dtype, out, 0, sum);
    }
    visit_gemm_type(dtype, [&](auto zero) {
        using T = decltype(zero);
        const T* px = static_cast<const T*>(x);
        const T* py = static_cast<const T*>(y);
        if constexpr (std::is_integral_v<T>) {
            using U = std::make_unsigned_t<T>;
            U sum = 0;
            for (int64_t i = 0; i < n; i++)
                sum = static_cast<U>(sum + static_cast<U>(px[i * incx]) * static_cast<U>(py[i * incy]));
            *static_cast<T*>(out) = static_cast<T>(sum);
        } else {
            keep_blas_serial();
            const int64_t parts = std::max<int64_t>(1, std::min<int64_t>(num_threads(), n / (4 * kGrain)));
            std::vector<T> sums(static_cast<size_t>(parts));
            parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
                for (int64_t p = begin; p < end; p++) {
                    const int64_t i0 = n * p / parts, i1 = n * (p + 1) / parts;
                    sums[static_cast<size_t>(p)] = dot_part(i1 - i0, px + i0 * incx, incx, py + i0 * incy, incy);
                }
            });
            T total = sums[0];
            for (size_t p = 1; p < sums.size(); p++) total += sums[p];
            *static_cast<T*>(out) = total;
        }
    });
}

int product_threads(int64_t m, int64_t n, int64_t k) {
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    return in_parallel() ? 1 : static_cast<int>(std::min<double>(num_threads(), 1 + work / kParallelWork));
}

Grid cut_product(int64_t m, int64_t n, int threads) {
    Grid best{1, threads};
    auto perimeter = [&](Grid g) { return static_cast<double>(m) / g.down + static_cast<double>(n) / g.across; };
    for (int down = 2; down <= threads; down++)
        if (const Grid grid{down, threads / down}; threads % down == 0 && perimeter(grid) < perimeter(best))
            best = grid;
    return best;
}

MatrixView as_matrix(Tensor& t) {
    const int64_t d = t.dim();
    auto unit = [&](int64_t dim) { return t.stride(dim) == 1 || t.size(dim) <= 1; };
    // A leading dimension below the row length means that rows overlap (expanded or as_strided); BLAS refuses it.
    auto fits = [&](int64_t outer, int64_t inner) {
        return t.size(outer) <= 1 || t.stride(outer) >= std::max<int64_t>(1, t.size(inner));
    };
    if (unit(d - 1) && fits(d - 2, d - 1)) return {t.data(), t.stride(d - 2), false};
    if (unit(d - 2) && fits(d - 1, d - 2)) return {t.data(), t.stride(d - 1), true};
    t = contiguous(t);
    return {t.data(), t.size(d - 1), false};
}

ManyBlasThreads::ManyBlasThreads() {
    many_threads_mutex.lock();
    keep_blas_serial();
    scipy_openblas_set_num_threads(num_threads());
}

ManyBlasThreads::~ManyBlasThreads() {
    scipy_openblas_set_num_threads(1);
    many_threads_mutex.unlock();
}

}  // namespace mashal
