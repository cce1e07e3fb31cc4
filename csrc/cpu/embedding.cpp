// The gradient of embedding, and renormalising the rows it reads.
#include <cmath>
#include <unordered_set>

#include "core/blocking.h"
#include "cpu/checks.h"
#include "cpu/index_common.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

// ---- _embedding_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) ----
void embedding_backward_shape(Call& c) {
    const Tensor grad = c.tensor(0), indices = c.tensor(1);
    MASHAL_CHECK(grad.dim() >= 1, "embedding", "grad must have at least 1 dimension, got grad ", text(grad), ".");
    IntVec sizes = indices.sizes();
    sizes.push_back(grad.sizes().back());
    check_shape("embedding", "grad", grad, sizes);
    c.result(IntVec{c.i64(2), grad.sizes().back()}, grad.dtype(), grad.device());
}

// Threads share out the columns: every sum is in order of the indices, and rows named often do not unbalance the work.
template <class T>
void add_rows(T* out, const T* grad, const int64_t* index, int64_t n, int64_t width, int64_t padding,
              const int64_t* counts) {
    parallel_for(0, width, std::max<int64_t>(16, kGrain / n), [&](int64_t b, int64_t e) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t k = index[i];
            if (k == padding) continue;
            T* to = out + k * width;
            const T* from = grad + i * width;
            if (counts) {
                const T scale = static_cast<T>(counts[k]);
                for (int64_t j = b; j < e; j++) to[j] += from[j] / scale;
            } else {
                for (int64_t j = b; j < e; j++) to[j] += from[j];
            }
        }
    });
}

void embedding_backward_kernel(Call& c) {
    const Tensor given = c.tensor(0), out = c.out[0], index = contiguous(index_tensor("embedding", c.tensor(1)));
    const int64_t rows = c.i64(2), padding = c.i64(3), n = index.numel();
    fill(out, Scalar::of(int64_t{0}));
    if (n == 0 || rows == 0 || out.numel() == 0) return;
    const int64_t* x = index.data<int64_t>();
    for (int64_t i = 0; i < n; i++)
        if (x[i] < 0 || x[i] >= rows) raise_index("embedding", x[i], 0, rows);
    std::vector<int64_t> counts;
    if (c.flag(4)) {
        counts.assign(static_cast<size_t>(rows), 0);
        for (int64_t i = 0; i < n; i++) counts[static_cast<size_t>(x[i])]++;
    }
    const DType compute = compute_dtype(out.dtype());
    const Tensor grad = contiguous(to_dtype(given, compute));
    Tensor sum = out;
    if (compute != out.dtype()) {
        sum = empty(out.sizes(), compute);
        fill(sum, Scalar::of(int64_t{0}));
    }
    visit_floating("embedding", compute, [&](auto tag) {
        using T = decltype(tag);
        T* o = sum.data<T>();
        const T* g = grad.data<T>();
        const int64_t width = out.size(1);
        AllowThreads threads(n * width > kGrain);
        add_rows(o, g, x, n, width, padding, counts.empty() ? nullptr : counts.data());
    });
    copy_into(out, sum);
}

// ---- embedding_renorm_(Tensor input, Tensor indices, float max_norm, float norm_type) ----
// Rows that `indices` names shrink to max_norm if their norm is larger.
void embedding_renorm_kernel(Call& c) {
    const Tensor weight = c.tensor(0), index = contiguous(index_tensor("embedding_renorm_", c.tensor(1)));
    const double max_norm = c.f64(2), p = c.f64(3);
    MASHAL_CHECK(weight.dim() == 2, "embedding_renorm_", "expected 2D tensor, got weight ", text(weight));
    const int64_t width = weight.size(1);
    std::unordered_set<int64_t> seen;
    for (int64_t i = 0; i < index.numel(); i++) {
        const int64_t k = index.data<int64_t>()[i];
        if (k < 0 || k >= weight.size(0)) raise_index("embedding_renorm_", k, 0, weight.size(0));
        if (!seen.insert(k).second) continue;
        const Tensor row =
            alias(weight, IntVec{width}, IntVec{weight.stride(1)}, weight->offset + k * weight.stride(0));
        const Tensor wide = contiguous(to_dtype(row, DType::F64));
        double* x = wide.data<double>();
        double norm = 0;
        for (int64_t j = 0; j < width; j++) {
            const double a = std::fabs(x[j]);
            if (std::isinf(p))
                norm = std::max(norm, a);
            else
                norm += p == 2 ? a * a : std::pow(a, p);
        }
        if (!std::isinf(p)) norm = p == 2 ? std::sqrt(norm) : std::pow(norm, 1 / p);
        if (norm <= max_norm) continue;
        const double scale = max_norm / (norm + 1e-7);
        for (int64_t j = 0; j < width; j++) x[j] *= scale;
        copy_into(row, wide);
    }
}

const OpRegistration r_backward{"_embedding_backward",
                                {.shape = embedding_backward_shape, .kernel = embedding_backward_kernel}};
const OpRegistration r_renorm{"embedding_renorm_", {.kernel = embedding_renorm_kernel}};

}  // namespace

}  // namespace mashal
