// Products of a sparse matrix, given by coordinates, and a strided one; and what its values' gradient needs.
#include "core/blocking.h"
#include "cpu/checks.h"
#include "cpu/index_common.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

void check_coordinates(const char* op, const Tensor& index, int64_t size) {
    const int64_t* x = index.data<int64_t>();
    for (int64_t i = 0, n = index.numel(); i < n; i++)
        if (x[i] < 0 || x[i] >= size) raise_index(op, x[i], 0, size);
}

// ---- _spmm(Tensor rows, Tensor columns, Tensor values, Tensor dense, int n) ----
void spmm_shape(Call& c) {
    const Tensor rows = c.tensor(0), columns = c.tensor(1), values = c.tensor(2), dense = c.tensor(3);
    MASHAL_CHECK(dense.dim() == 2 && values.dim() == 1, "_spmm",
                 "dense must be a matrix and values a vector, got dense ", text(dense), ", values ", text(values), ".");
    check_shape("_spmm", "rows", rows, values.sizes());
    check_shape("_spmm", "columns", columns, values.sizes());
    c.result(IntVec{c.i64(4), dense.size(1)}, dense.dtype(), dense.device());
}

// Threads share out the columns of the result: sums are in order of the values, whatever the order of the rows.
template <class T>
void add_scaled_rows(T* out, const int64_t* rows, const int64_t* columns, const T* values, const T* dense, int64_t n,
                     int64_t width) {
    parallel_for(0, width, std::max<int64_t>(16, kGrain / n), [&](int64_t b, int64_t e) {
        for (int64_t i = 0; i < n; i++) {
            const T v = values[i];
            T* to = out + rows[i] * width;
            const T* from = dense + columns[i] * width;
            for (int64_t j = b; j < e; j++) to[j] += v * from[j];
        }
    });
}

void spmm_kernel(Call& c) {
    const Tensor out = c.out[0], dense = contiguous(c.tensor(3));
    const Tensor rows = contiguous(index_tensor("_spmm", c.tensor(0)));
    const Tensor columns = contiguous(index_tensor("_spmm", c.tensor(1)));
    const Tensor values = contiguous(to_dtype(c.tensor(2), dense.dtype()));
    fill(out, Scalar::of(int64_t{0}));
    const int64_t n = values.numel(), width = out.size(1);
    if (n == 0 || out.numel() == 0) return;
    check_coordinates("_spmm", rows, out.size(0));
    check_coordinates("_spmm", columns, dense.size(0));
    const Tensor sum = contiguous(out);
    visit_floating("_spmm", dense.dtype(), [&](auto tag) {
        using T = decltype(tag);
        T* o = sum.data<T>();
        const T* d = dense.data<T>();
        const T* v = values.data<T>();
        const int64_t *r = rows.data<int64_t>(), *k = columns.data<int64_t>();
        AllowThreads threads(n * width > kGrain);
        add_scaled_rows(o, r, k, v, d, n, width);
    });
    copy_into(out, sum);
}

// ---- _sampled_dots(Tensor rows, Tensor columns, Tensor a, Tensor b) ----
void dots_shape(Call& c) {
    const Tensor rows = c.tensor(0), columns = c.tensor(1), a = c.tensor(2), b = c.tensor(3);
    MASHAL_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(1), "_sampled_dots",
                 "a and b must be matrices of as many columns, got a ", text(a), ", b ", text(b), ".");
    check_shape("_sampled_dots", "columns", columns, rows.sizes());
    c.result(IntVec{rows.numel()}, a.dtype(), a.device());
}

void dots_kernel(Call& c) {
    const Tensor out = c.out[0], a = contiguous(c.tensor(2)), b = contiguous(to_dtype(c.tensor(3), a.dtype()));
    const Tensor rows = contiguous(index_tensor("_sampled_dots", c.tensor(0)));
    const Tensor columns = contiguous(index_tensor("_sampled_dots", c.tensor(1)));
    const int64_t n = rows.numel(), width = a.size(1);
    if (n == 0) return;
    check_coordinates("_sampled_dots", rows, a.size(0));
    check_coordinates("_sampled_dots", columns, b.size(0));
    const Tensor dots = contiguous(out);
    visit_floating("_sampled_dots", a.dtype(), [&](auto tag) {
        using T = decltype(tag);
        T* o = dots.data<T>();
        const T *x = a.data<T>(), *y = b.data<T>();
        const int64_t *r = rows.data<int64_t>(), *k = columns.data<int64_t>();
        AllowThreads threads(n * width > kGrain);
        parallel_for(0, n, std::max<int64_t>(1, kGrain / std::max<int64_t>(width, 1)), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++) {
                const T *p = x + r[i] * width, *q = y + k[i] * width;
                T sum = 0;
                for (int64_t j = 0; j < width; j++) sum += p[j] * q[j];
                o[i] = sum;
            }
        });
    });
    copy_into(out, dots);
}

const OpRegistration r_spmm{"_spmm", {.shape = spmm_shape, .kernel = spmm_kernel}};
const OpRegistration r_dots{"_sampled_dots", {.shape = dots_shape, .kernel = dots_kernel}};

}  // namespace

}  // namespace mashal
