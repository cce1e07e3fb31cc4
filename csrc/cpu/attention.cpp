// Scaled dot-product attention without the (L, S) matrix: queries and keys meet in blocks that fit the cache, the
// softmax is kept up to date block by block, and backward recomputes probabilities from the saved logsumexp (T. Dao et
// al., "FlashAttention", 2022).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/attention_loops.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "cpu/gemm.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

// A block of scores should stay in the second-level cache; backward holds two of them. Larger blocks make faster
// products.
constexpr int64_t kQueryBlock = 128;
constexpr int64_t kKeyBlock = 512;
constexpr int64_t kBackwardKeyBlock = 256;

// A (B, H, length, width) operand whose rows are dense.
template <class T>
struct Heads {
    T* data = nullptr;
    int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
    T* at(int64_t b, int64_t h, int64_t row = 0) const {
        return data + b * batch_stride + h * head_stride + row * row_stride;
    }
};

template <class T>
Heads<T> heads(const Tensor& t) {
    return {t.data<std::remove_const_t<T>>(), t.stride(0), t.stride(1),
            t.size(2) > 1 ? t.stride(2) : std::max(t.stride(2), t.size(3))};
}

// Brought to the type of computation, with dense rows that do not overlap.
Tensor prepared(const Tensor& t, DType dtype) {
    const Tensor u = to_dtype(t, dtype);
    const bool fits = (u.stride(3) == 1 || u.size(3) == 1) && (u.size(2) == 1 || u.stride(2) >= u.size(3));
    return fits ? u : contiguous(u);
}

struct Shape {
    int64_t batch, heads, kv_heads, queries, keys, width, value_width;
    Shape(const Tensor& q, const Tensor& k, const Tensor& v)
        : batch(q.size(0)),
          heads(q.size(1)),
          kv_heads(k.size(1)),
          queries(q.size(2)),
          keys(k.size(2)),
          width(q.size(3)),
          value_width(v.size(3)) {}
    int64_t kv_head(int64_t h) const { return h / (heads / kv_heads); }
};

// What is forbidden or added: nothing, a causal triangle, a bool mask or an additive one.
struct Mask {
    bool causal = false;
    const uint8_t* allowed = nullptr;
    const void* added = nullptr;
    int64_t strides[4] = {0, 0, 0, 0};

    // Number of keys any of the queries before `query_end` may see.
    int64_t visible(int64_t query_end, int64_t keys) const { return causal ? std::min(query_end, keys) : keys; }

    template <class T>
    void apply(T* scores, int64_t ld, int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0, int64_t cols) const {
        constexpr T kForbidden = -std::numeric_limits<T>::infinity();
        if (causal)
            for (int64_t r = 0; r < rows; r++)
                for (int64_t j = std::max<int64_t>(0, q0 + r + 1 - k0); j < cols; j++) scores[r * ld + j] = kForbidden;
        if (allowed == nullptr && added == nullptr) return;
        const int64_t step = strides[3];
        for (int64_t r = 0; r < rows; r++) {
            const int64_t at = b * strides[0] + h * strides[1] + (q0 + r) * strides[2] + k0 * step;
            T* row = scores + r * ld;
            if (allowed != nullptr) {
                for (int64_t j = 0; j < cols; j++) row[j] = allowed[at + j * step] != 0 ? row[j] : kForbidden;
            } else {
                const T* add = static_cast<const T*>(added) + at;
                for (int64_t j = 0; j < cols; j++) row[j] += add[j * step];
            }
        }
    }
};

// `held` keeps the mask's memory alive.
Mask make_mask(const Tensor& mask, bool causal, IntSpan full, DType dtype, Tensor& held) {
    Mask m;
    m.causal = causal;
    if (!mask) return m;
    const bool is_bool = mask.dtype() == DType::Bool;
    held = expand_to(is_bool ? mask : to_dtype(mask, dtype), full);
    for (size_t d = 0; d < 4; d++) m.strides[d] = held.strides()[d];
    if (is_bool)
        m.allowed = held.data<uint8_t>();
    else
        m.added = held.data();
    return m;
}

template <class T>
SoftmaxStepLoop<T>* step_loop() {
    if constexpr (std::is_same_v<T, float>)
        return MASHAL_SELECT(softmax_step_f32);
    else
        return MASHAL_SELECT(softmax_step_f64);
}
template <class T>
SoftmaxBackwardLoop<T>* backward_loop() {
    if constexpr (std::is_same_v<T, float>)
        return MASHAL_SELECT(softmax_backward_f32);
    else
        return MASHAL_SELECT(softmax_backward_f64);
}

template <class T>
void forward_block(const Shape& s, const Mask& mask, T scale, int64_t b, int64_t h, int64_t q0, const Heads<const T>& q,
                   const Heads<const T>& k, const Heads<const T>& v, const Heads<T>& out, T* logsumexp,
                   std::vector<T>& buffer) {
    const int64_t rows = std::min(kQueryBlock, s.queries - q0), kv = s.kv_head(h);
    buffer.resize(static_cast<size_t>(kQueryBlock * (kKeyBlock + 3)));
    T *scores = buffer.data(), *maximum = scores + kQueryBlock * kKeyBlock, *sum = maximum + kQueryBlock,
      *rescale = sum + kQueryBlock;
    std::fill_n(maximum, rows, -std::numeric_limits<T>::infinity());
    std::fill_n(sum, rows, T(0));
    T* o = out.at(b, h, q0);
    const int64_t keys = mask.visible(q0 + rows, s.keys);
    const auto step = step_loop<T>();
    for (int64_t k0 = 0; k0 < keys; k0 += kKeyBlock) {
        const int64_t cols = std::min(kKeyBlock, keys - k0);
        gemm_serial(false, true, rows, cols, s.width, scale, q.at(b, h, q0), q.row_stride, k.at(b, kv, k0),
                    k.row_stride, T(0), scores, kKeyBlock);
        mask.apply(scores, kKeyBlock, b, h, q0, rows, k0, cols);
        step(rows, cols, scores, kKeyBlock, maximum, sum, rescale);
        if (k0 > 0)
            for (int64_t r = 0; r < rows; r++)
                if (rescale[r] != T(1))
                    for (int64_t j = 0; j < s.value_width; j++) o[r * out.row_stride + j] *= rescale[r];
        gemm_serial(false, false, rows, s.value_width, cols, T(1), scores, kKeyBlock, v.at(b, kv, k0), v.row_stride,
                    k0 > 0 ? T(1) : T(0), o, out.row_stride);
    }
    for (int64_t r = 0; r < rows; r++) {
        const T inverse = sum[r] == T(0) ? T(0) : T(1) / sum[r];  // nothing allowed: zeros
        for (int64_t j = 0; j < s.value_width; j++)
            o[r * out.row_stride + j] = keys == 0 ? T(0) : o[r * out.row_stride + j] * inverse;
        logsumexp[r] = sum[r] == T(0) ? -std::numeric_limits<T>::infinity() : maximum[r] + std::log(sum[r]);
    }
}

// Work grows along a causal triangle: blocks are dealt from both ends, so that equal shares of the list are equal work.
int64_t dealt(int64_t i, int64_t n) { return i % 2 == 0 ? i / 2 : n - 1 - i / 2; }

template <class T>
void run_forward(Call& c, const Tensor& qt, const Tensor& kt, const Tensor& vt, const Tensor& out_t,
                 const Tensor& lse_t) {
    const Shape s(qt, kt, vt);
    Tensor held;
    const int64_t full[4] = {s.batch, s.heads, s.queries, s.keys};
    const Mask mask = make_mask(c.tensor(3), c.flag(4), full, qt.dtype(), held);
    const auto q = heads<const T>(qt), k = heads<const T>(kt), v = heads<const T>(vt);
    const auto out = heads<T>(out_t);
    T* lse = lse_t.data<T>();
    const T scale = static_cast<T>(c.f64(5));
    const int64_t blocks = (s.queries + kQueryBlock - 1) / kQueryBlock;
    AllowThreads threads(s.batch * s.heads * s.queries * s.keys > kGrain);
    parallel_for(0, s.batch * s.heads * blocks, 1, [&](int64_t begin, int64_t end) {
        std::vector<T> buffer;
        for (int64_t i = begin; i < end; i++) {
            const int64_t head = i / blocks, q0 = dealt(i % blocks, blocks) * kQueryBlock;
            forward_block(s, mask, scale, head / s.heads, head % s.heads, q0, q, k, v, out, lse + head * s.queries + q0,
                          buffer);
        }
    });
}

void check(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    const char* op = "scaled_dot_product_attention";
    auto got = [&](const char* rule) {
        raise_error(ErrorKind::Runtime, op, rule, ", got query ", text(q), ", key ", text(k), " and value ", text(v),
                    ".");
    };
    if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4) got("query, key and value must be 4-D");
    if (q.dtype() != k.dtype() || q.dtype() != v.dtype()) got("query, key and value must have the same dtype");
    if (!is_floating(q.dtype())) got("query must have a floating dtype");
    if (q.size(0) != k.size(0) || q.size(0) != v.size(0)) got("batch sizes must be equal");
    if (k.size(1) != v.size(1) || k.size(1) == 0 || q.size(1) % k.size(1) != 0)
        got("heads of query must be a multiple of the heads of key and value");
    if (q.size(3) != k.size(3)) got("query and key must have the same last size");
    if (k.size(2) != v.size(2)) got("key and value must have the same sequence length");
    if (!mask) return;
    MASHAL_CHECK(mask.dtype() == DType::Bool || mask.dtype() == q.dtype(), op,
                 "attn_mask must be bool or have query's dtype, got attn_mask ", text(mask), " and query ", text(q),
                 ".");
    const IntVec full{q.size(0), q.size(1), q.size(2), k.size(2)};
    MASHAL_CHECK(equal(broadcast_shapes(op, mask.sizes(), full), full), op, "attn_mask must broadcast to ",
                 shape_text(full), ", got attn_mask ", text(mask), ".");
}

// Memory order (B, L, H, E): merging the heads afterwards needs no copy.
IntVec merged_strides(int64_t heads, int64_t length, int64_t width) {
    return {length * heads * width, width, heads * width, 1};
}

void attention_shape(Call& c) {
    const Tensor q = c.tensor(0), k = c.tensor(1), v = c.tensor(2);
    check(q, k, v, c.tensor(3));
    const IntVec sizes{q.size(0), q.size(1), q.size(2), v.size(3)};
    c.specs.push_back({sizes, q.dtype(), q.device(), merged_strides(q.size(1), q.size(2), v.size(3))});
    const IntVec rows{q.size(0), q.size(1), q.size(2)};
    c.result(rows, compute_dtype(q.dtype()), q.device());
}

void attention_kernel(Call& c) {
    const DType dtype = compute_dtype(c.tensor(0).dtype());
    const Tensor q = prepared(c.tensor(0), dtype), k = prepared(c.tensor(1), dtype), v = prepared(c.tensor(2), dtype);
    const Tensor out =
        dtype == c.out[0].dtype() ? c.out[0] : empty_strided(c.out[0].sizes(), c.out[0].strides(), dtype);
    if (c.out[0].numel() == 0 && c.out[1].numel() == 0) return;
    visit_floating("scaled_dot_product_attention", dtype,
                   [&](auto zero) { run_forward<decltype(zero)>(c, q, k, v, out, c.out[1]); });
    if (!out.is_same(c.out[0])) copy_into(c.out[0], out);
}

// ---- backward: (grad, query, key, value, attn_mask, out, logsumexp, is_causal, scale) ----
template <class T>
struct BackwardTask {
    Shape shape;
    Mask mask;
    T scale;
    Heads<const T> q, k, v, out, grad;
    const T* logsumexp;
    Heads<T> gq, gk, gv;
};

// All query heads of one (batch, key head): they add to the same key and value gradients.
template <class T>
void backward_head(const BackwardTask<T>& t, int64_t b, int64_t kv, std::vector<T>& buffer) {
    const Shape& s = t.shape;
    const int64_t group = s.heads / s.kv_heads;
    buffer.resize(static_cast<size_t>(2 * kQueryBlock * kBackwardKeyBlock + s.queries));
    T *p = buffer.data(), *dp = p + kQueryBlock * kBackwardKeyBlock, *delta = dp + kQueryBlock * kBackwardKeyBlock;
    const auto loop = backward_loop<T>();
    for (int64_t r = 0; r < s.keys; r++) {
        std::fill_n(t.gk.at(b, kv, r), s.width, T(0));
        std::fill_n(t.gv.at(b, kv, r), s.value_width, T(0));
    }
    for (int64_t h = kv * group; h < (kv + 1) * group; h++) {
        for (int64_t r = 0; r < s.queries; r++) {
            const T *g = t.grad.at(b, h, r), *o = t.out.at(b, h, r);
            T sum = 0;
            for (int64_t j = 0; j < s.value_width; j++) sum += g[j] * o[j];
            delta[r] = sum;
            std::fill_n(t.gq.at(b, h, r), s.width, T(0));
        }
        const T* lse = t.logsumexp + (b * s.heads + h) * s.queries;
        for (int64_t q0 = 0; q0 < s.queries; q0 += kQueryBlock) {
            const int64_t rows = std::min(kQueryBlock, s.queries - q0), keys = t.mask.visible(q0 + rows, s.keys);
            for (int64_t k0 = 0; k0 < keys; k0 += kBackwardKeyBlock) {
                const int64_t cols = std::min(kBackwardKeyBlock, keys - k0), ld = kBackwardKeyBlock;
                gemm_serial(false, true, rows, cols, s.width, t.scale, t.q.at(b, h, q0), t.q.row_stride,
                            t.k.at(b, kv, k0), t.k.row_stride, T(0), p, ld);
                t.mask.apply(p, ld, b, h, q0, rows, k0, cols);
                gemm_serial(false, true, rows, cols, s.value_width, T(1), t.grad.at(b, h, q0), t.grad.row_stride,
                            t.v.at(b, kv, k0), t.v.row_stride, T(0), dp, ld);
                loop(rows, cols, p, dp, ld, lse + q0, delta + q0, t.scale);
                gemm_serial(true, false, cols, s.value_width, rows, T(1), p, ld, t.grad.at(b, h, q0), t.grad.row_stride,
                            T(1), t.gv.at(b, kv, k0), t.gv.row_stride);
                gemm_serial(true, false, cols, s.width, rows, T(1), dp, ld, t.q.at(b, h, q0), t.q.row_stride, T(1),
                            t.gk.at(b, kv, k0), t.gk.row_stride);
                gemm_serial(false, false, rows, s.width, cols, T(1), dp, ld, t.k.at(b, kv, k0), t.k.row_stride, T(1),
                            t.gq.at(b, h, q0), t.gq.row_stride);
            }
        }
    }
}

void backward_shape(Call& c) {
    const Tensor q = c.tensor(1), k = c.tensor(2), v = c.tensor(3);
    check(q, k, v, c.tensor(4));
    const IntVec sizes{q.size(0), q.size(1), q.size(2), v.size(3)}, rows{q.size(0), q.size(1), q.size(2)};
    check_shape(c.name(), "grad", c.tensor(0), sizes);
    check_shape(c.name(), "out", c.tensor(5), sizes);
    check_shape(c.name(), "logsumexp", c.tensor(6), rows);
    check_dtype(c.name(), "logsumexp", c.tensor(6), compute_dtype(q.dtype()));
    for (size_t i = 1; i <= 3; i++) c.result_like(c.tensor(i));
}

// The tensor itself, or a stand-in of the type and layout the loops can write.
Tensor writable(const Tensor& t, DType dtype) {
    const bool fits = t.dtype() == dtype && t.stride(3) == 1 && (t.size(2) == 1 || t.stride(2) >= t.size(3));
    return fits ? t : empty(t.sizes(), dtype);
}

void backward_kernel(Call& c) {
    const DType dtype = compute_dtype(c.tensor(1).dtype());
    const Tensor grad = prepared(c.tensor(0), dtype), q = prepared(c.tensor(1), dtype),
                 k = prepared(c.tensor(2), dtype);
    const Tensor v = prepared(c.tensor(3), dtype), out = prepared(c.tensor(5), dtype), lse = contiguous(c.tensor(6));
    const Tensor gq = writable(c.out[0], dtype), gk = writable(c.out[1], dtype), gv = writable(c.out[2], dtype);
    const Shape s(q, k, v);
    const int64_t full[4] = {s.batch, s.heads, s.queries, s.keys};
    Tensor held;
    const Mask mask = make_mask(c.tensor(4), c.flag(7), full, dtype, held);
    visit_floating("scaled_dot_product_attention", dtype, [&](auto zero) {
        using T = decltype(zero);
        const BackwardTask<T> task{s,
                                   mask,
                                   static_cast<T>(c.f64(8)),
                                   heads<const T>(q),
                                   heads<const T>(k),
                                   heads<const T>(v),
                                   heads<const T>(out),
                                   heads<const T>(grad),
                                   lse.data<T>(),
                                   heads<T>(gq),
                                   heads<T>(gk),
                                   heads<T>(gv)};
        AllowThreads threads(s.batch * s.heads * s.queries * s.keys > kGrain);
        parallel_for(0, s.batch * s.kv_heads, 1, [&](int64_t begin, int64_t end) {
            std::vector<T> buffer;
            for (int64_t i = begin; i < end; i++) backward_head(task, i / s.kv_heads, i % s.kv_heads, buffer);
        });
    });
    if (!gq.is_same(c.out[0])) copy_into(c.out[0], gq);
    if (!gk.is_same(c.out[1])) copy_into(c.out[1], gk);
    if (!gv.is_same(c.out[2])) copy_into(c.out[2], gv);
}

const OpRegistration r_attention{"_attention", {.shape = attention_shape, .kernel = attention_kernel}};
const OpRegistration r_backward{"_attention_backward", {.shape = backward_shape, .kernel = backward_kernel}};

}  // namespace
}  // namespace mashal
