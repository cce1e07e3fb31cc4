// Matrix products: mm, bmm, mv, dot, matmul, addmm, baddbmm and linear, all over `gemm`.
#include <algorithm>

#include "autograd/node.h"
#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/copy.h"
#include "cpu/gemm.h"
#include "cpu/sgemm.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

const Scalar kOne = Scalar::of(int64_t{1});
const Scalar kZero = Scalar::of(int64_t{0});
constexpr double kBlockingWork = 100e3;  // multiply-adds above which other Python threads may run

void check_same_dtype(std::string_view op, const char* a_name, const Tensor& a, const char* b_name, const Tensor& b) {
    MASHAL_CHECK(a.dtype() == b.dtype(), op, a_name, " and ", b_name, " must have the same dtype, got ", a_name, " ",
                 text(a), " and ", b_name, " ", text(b), ". Convert one of them with .to(dtype).");
}

void check_dim(std::string_view op, const char* name, const Tensor& t, int64_t dim) {
    MASHAL_CHECK(t.dim() == dim, op, name, " must be a ", dim, "-D tensor, got ", name, " ", text(t), ".");
}

// Moves a dimension of size 1 in at `at`.
Tensor with_unit_dim(const Tensor& t, size_t at) {
    IntVec sizes = t.sizes(), strides = t.strides();
    sizes.insert(at, 1);
    strides.insert(at, 1);
    return alias(t, sizes, strides, t->offset);
}

// Shape of input @ other, with matmul's rules for vectors and batches. Raises when they do not fit.
IntVec matmul_sizes(std::string_view op, const char* a_name, const Tensor& a, const char* b_name, const Tensor& b) {
    MASHAL_CHECK(a.dim() > 0 && b.dim() > 0, op, "both arguments must be at least 1-D, got ", a_name, " ", text(a),
                 " and ", b_name, " ", text(b), ".");
    check_same_dtype(op, a_name, a, b_name, b);
    const int64_t k = a.sizes().back();
    const int64_t rows = b.dim() == 1 ? b.size(0) : b.size(b.dim() - 2);
    MASHAL_CHECK(k == rows, op, "last size of ", a_name, " must equal ",
                 b.dim() == 1 ? "the size of " : "second-to-last size of ", b_name, " (", k, " vs ", rows, "), got ",
                 a_name, " ", text(a), " and ", b_name, " ", text(b), ".");
    IntVec batch_a, batch_b;
    if (a.dim() > 2) batch_a.append(a.sizes().begin(), a.sizes().end() - 2);
    if (b.dim() > 2) batch_b.append(b.sizes().begin(), b.sizes().end() - 2);
    IntVec out = broadcast_shapes(op, batch_a, batch_b);
    if (a.dim() > 1) out.push_back(a.size(a.dim() - 2));
    if (b.dim() > 1) out.push_back(b.sizes().back());
    return out;
}

// Element offsets of the matrices of `t` (batch..., r, c) when its batch dimensions are broadcast to `batch`.
std::vector<int64_t> batch_offsets(const Tensor& t, IntSpan batch) {
    const size_t own = t.sizes().size() - 2, lead = batch.size() - own;
    std::vector<int64_t> out{0};
    for (size_t d = 0; d < batch.size(); d++) {
        const int64_t stride = d < lead || t.sizes()[d - lead] == 1 ? 0 : t.strides()[d - lead];
        std::vector<int64_t> next;
        next.reserve(out.size() * static_cast<size_t>(batch[d]));
        for (int64_t base : out)
            for (int64_t i = 0; i < batch[d]; i++) next.push_back(base + i * stride);
        out = std::move(next);
    }
    return out;
}

// out = alpha a @ b + beta out. `out` is contiguous, with the shape of the product; a and b have one dimension or more.
// `bias`, `packed`: see gemm; b is then 2-D.
void multiply(Tensor a, Tensor b, const Tensor& out, const Scalar& alpha, const Scalar& beta,
              const void* bias = nullptr, const PackedB* packed = nullptr) {
    if (out.numel() == 0) return;
    if (a.dim() == 1) a = with_unit_dim(a, 0);
    if (b.dim() == 1) b = with_unit_dim(b, 1);
    const int64_t k = a.sizes().back(), n = b.sizes().back();
    const DType dtype = out.dtype();
    if (b.dim() == 2 && a.dim() > 2) {  // all rows of the batch are rows of one matrix
        const int64_t rows = out.numel() / n;
        IntVec strides;
        const IntVec flat{rows, k};
        if (k > 0 && !view_strides(a.sizes(), a.strides(), flat, strides)) {
            a = contiguous(a);
            strides = contiguous_strides(flat);
        } else if (k == 0) {
            strides = contiguous_strides(flat);
        }
        a = alias(a, flat, strides, a->offset);
    }
    const int64_t m = a.size(a.dim() - 2);
    const MatrixView av = as_matrix(a), bv = as_matrix(b);
    void* c = out.data();
    if (a.dim() == 2 && b.dim() == 2) {
        AllowThreads threads(static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > kBlockingWork);
        gemm(dtype, m, n, k, alpha, av, bv, beta, c, n, bias, packed);
        return;
    }
    IntVec batch_a(a.sizes().begin(), a.sizes().end() - 2), batch_b(b.sizes().begin(), b.sizes().end() - 2);
    const IntVec batch = broadcast_shapes("matmul", batch_a, batch_b);
    BatchOffsets offsets{batch_offsets(a, batch), batch_offsets(b, batch), {}};
    offsets.c.resize(offsets.a.size());
    for (size_t i = 0; i < offsets.c.size(); i++) offsets.c[i] = static_cast<int64_t>(i) * m * n;
    AllowThreads threads(static_cast<double>(out.numel()) * static_cast<double>(k) > kBlockingWork);
    gemm_batched(dtype, offsets, m, n, k, alpha, av, bv, beta, c, n);
}

// ---- products of two ----
void product_kernel(Call& c) { multiply(c.tensor(0), c.tensor(1), c.out[0], kOne, kZero); }

void matmul_shape(Call& c) {
    const Tensor a = c.tensor(0), b = c.tensor(1);
    c.result(matmul_sizes("matmul", "input", a, "other", b), a.dtype(), a.device());
}

void mm_shape(Call& c) {
    const Tensor a = c.tensor(0), b = c.tensor(1);
    check_dim("mm", "input", a, 2);
    check_dim("mm", "mat2", b, 2);
    c.result(matmul_sizes("mm", "input", a, "mat2", b), a.dtype(), a.device());
}

void check_batches(std::string_view op, const char* a_name, const Tensor& a, const char* b_name, const Tensor& b) {
    check_dim(op, a_name, a, 3);
    check_dim(op, b_name, b, 3);
    MASHAL_CHECK(a.size(0) == b.size(0), op, a_name, " and ", b_name, " must have the same batch size (", a.size(0),
                 " vs ", b.size(0), "), got ", a_name, " ", text(a), " and ", b_name, " ", text(b), ".");
}

void bmm_shape(Call& c) {
    const Tensor a = c.tensor(0), b = c.tensor(1);
    check_batches("bmm", "input", a, "mat2", b);
    c.result(matmul_sizes("bmm", "input", a, "mat2", b), a.dtype(), a.device());
}

void mv_shape(Call& c) {
    const Tensor a = c.tensor(0), b = c.tensor(1);
    check_dim("mv", "input", a, 2);
    check_dim("mv", "vec", b, 1);
    c.result(matmul_sizes("mv", "input", a, "vec", b), a.dtype(), a.device());
}

void dot_shape(Call& c) {
    const Tensor a = c.tensor(0), b = c.tensor(1);
    const std::string& op = c.name();
    check_dim(op, "input", a, 1);
    check_dim(op, "other", b, 1);
    check_same_dtype(op, "input", a, "other", b);
    MASHAL_CHECK(a.size(0) == b.size(0), op, "input and other must have the same number of elements (", a.size(0),
                 " vs ", b.size(0), "), got input ", text(a), " and other ", text(b), ".");
    c.result({}, a.dtype(), a.device());
}

void dot_kernel(Call& c) {
    const Tensor a = c.tensor(0), b = c.tensor(1);
    // BLAS walks negative and zero strides its own way.
    const Tensor x = a.stride(0) > 0 ? a : contiguous(a), y = b.stride(0) > 0 ? b : contiguous(b);
    const int64_t n = x.size(0);
    void* out = c.out[0].data();
    if (n == 0) return fill(c.out[0], kZero);
    const DType dtype = x.dtype();
    const void *px = x.data(), *py = y.data();
    const int64_t sx = x.stride(0), sy = y.stride(0);
    AllowThreads threads(n > kBlockingWork);
    dot(dtype, n, px, sx, py, sy, out);
}

// ---- beta input + alpha a b ----
void check_expands(const Call& c, const Tensor& input, IntSpan sizes) {
    const IntVec all = broadcast_shapes(c.name(), input.sizes(), sizes);
    MASHAL_CHECK(equal(all, sizes), c.name(), "input must broadcast to the product's shape ", shape_text(sizes),
                 ", got input ", text(input), ".");
}

void addmm_shape(Call& c) {
    const Tensor input = c.tensor(0), a = c.tensor(1), b = c.tensor(2);
    check_dim("addmm", "mat1", a, 2);
    check_dim("addmm", "mat2", b, 2);
    const IntVec sizes = matmul_sizes("addmm", "mat1", a, "mat2", b);
    check_same_dtype("addmm", "input", input, "mat1", a);
    check_expands(c, input, sizes);
    c.result(sizes, a.dtype(), a.device());
}

void baddbmm_shape(Call& c) {
    const Tensor input = c.tensor(0), a = c.tensor(1), b = c.tensor(2);
    check_batches("baddbmm", "batch1", a, "batch2", b);
    const IntVec sizes = matmul_sizes("baddbmm", "batch1", a, "batch2", b);
    check_same_dtype("baddbmm", "input", input, "batch1", a);
    check_expands(c, input, sizes);
    c.result(sizes, a.dtype(), a.device());
}

void add_product_kernel(Call& c) {
    const Scalar beta = c.args[3].scalar(), alpha = c.args[4].scalar();
    const bool keep = beta.to_double() != 0 || beta.im != 0;
    if (is_integral(c.out[0].dtype(), true))
        MASHAL_CHECK(beta.is_integral() && alpha.is_integral(), c.name(),
                     "beta and alpha must be integers for integer tensors, got input ", text(c.out[0]), ".");
    if (keep) copy_into(c.out[0], c.tensor(0));
    multiply(c.tensor(1), c.tensor(2), c.out[0], alpha, keep ? beta : kZero);
}

// ---- linear ----
void linear_shape(Call& c) {
    const Tensor input = c.tensor(0), weight = c.tensor(1), bias = c.tensor(2);
    MASHAL_CHECK(weight.dim() == 1 || weight.dim() == 2, "linear", "weight must be 1-D or 2-D, got weight ",
                 text(weight), ".");
    MASHAL_CHECK(input.dim() > 0, "linear", "input must be at least 1-D, got input ", text(input), ".");
    check_same_dtype("linear", "input", input, "weight", weight);
    const int64_t in = weight.sizes().back();
    MASHAL_CHECK(input.sizes().back() == in, "linear", "last size of input must equal last size of weight (",
                 input.sizes().back(), " vs ", in, "), got input ", text(input), " and weight ", text(weight), ".");
    IntVec sizes = input.sizes();
    sizes.pop_back();
    if (weight.dim() == 2) sizes.push_back(weight.size(0));
    if (bias) {
        check_same_dtype("linear", "input", input, "bias", bias);
        check_expands(c, bias, sizes);
    }
    c.result(sizes, input.dtype(), input.device());
}

// ---- linear: whether to keep its weight packed ----
// Of more rows than this the product takes so long that packing the weight does not count; of fewer than the second,
// our loops are not used.
constexpr int64_t kMostRowsToKeep = 512, kFewestRowsToKeep = 8;

// What is noted beside a weight that is not kept: it was used once, or it is used with few rows (generation of text,
// token by token) and is read as it is. To keep it then would be memory for little.
struct WeightUse final : RefCounted {
    explicit WeightUse(bool few) : few_rows(few) {}
    const bool few_rows;
};

// The packed form of a weight (k, n) for a product with `rows` rows, from its second use on.
Ref<KeptWeight> packed_for(const Tensor& weight, int64_t rows) {
    if (grad_modes().grad || rows > kMostRowsToKeep || !can_keep(weight)) return {};
    const Ref<RefCounted> found = weight->storage->prepared();
    const auto* use = dynamic_cast<WeightUse*>(found.get());
    if (use != nullptr && use->few_rows) return {};
    const bool few = rows < kFewestRowsToKeep;
    if (few || !found) {
        weight->storage->keep_prepared(make_ref<WeightUse>(few));
        return {};
    }
    return kept_weight(weight);
}

void linear_kernel(Call& c) {
    Tensor weight = c.tensor(1);
    const Tensor bias = c.tensor(2), out = c.out[0];
    if (weight.dim() == 2) {
        const IntVec sizes{weight.size(1), weight.size(0)}, strides{weight.stride(1), weight.stride(0)};
        weight = alias(weight, sizes, strides, weight->offset);
    }
    const bool is_row = bias && bias.dim() == 1 && bias.size(0) == out.sizes().back() && bias.is_contiguous();
    if (weight.dim() == 1 || (bias && !is_row)) {
        if (bias) copy_into(out, bias);
        return multiply(c.tensor(0), weight, out, kOne, bias ? kOne : kZero);
    }
    const int64_t rows = out.numel() / std::max<int64_t>(1, weight.size(1));
    const Ref<KeptWeight> kept = packed_for(weight, rows);
    multiply(c.tensor(0), weight, out, kOne, kZero, bias ? bias.data() : nullptr, kept ? &kept->packed : nullptr);
}

const OpRegistration r_matmul{"matmul", {.shape = matmul_shape, .kernel = product_kernel}};
const OpRegistration r_mm{"mm", {.shape = mm_shape, .kernel = product_kernel}};
const OpRegistration r_bmm{"bmm", {.shape = bmm_shape, .kernel = product_kernel}};
const OpRegistration r_mv{"mv", {.shape = mv_shape, .kernel = product_kernel}};
const OpRegistration r_dot{"dot", {.shape = dot_shape, .kernel = dot_kernel}};
const OpRegistration r_addmm{"addmm", {.shape = addmm_shape, .kernel = add_product_kernel}};
const OpRegistration r_baddbmm{"baddbmm", {.shape = baddbmm_shape, .kernel = add_product_kernel}};
const OpRegistration r_linear{"linear", {.shape = linear_shape, .kernel = linear_kernel}};

}  // namespace
}  // namespace mashal
