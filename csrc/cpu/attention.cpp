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
// products; where the mask is causal, smaller ones leave more of the triangle out.
constexpr int64_t kQueryBlock = 128, kCausalQueryBlock = 64;
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

    int64_t query_block() const { return causal ? kCausalQueryBlock : kQueryBlock; }
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

// Dropout of probabilities: which ones are kept (batch, heads, queries, keys), and what those are multiplied by.
template <class T>
struct Kept {
    const uint8_t* data = nullptr;
    T factor = 1;

    void apply(const Shape& s, T* x, int64_t ld, int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0,
               int64_t cols) const {
        if (data == nullptr) return;
        const uint8_t* at = data + ((b * s.heads + h) * s.queries + q0) * s.keys + k0;
        if constexpr (std::is_same_v<T, float>)
            MASHAL_SELECT(scale_kept_f32)(rows, cols, x, ld, at, s.keys, factor);
        else
            MASHAL_SELECT(scale_kept_f64)(rows, cols, x, ld, at, s.keys, factor);
    }
};

// What modifies the scores and the probabilities, as the primitives' arguments give it.
struct Options {
    Tensor mask, kept;
    bool causal = false;
    double scale = 1, keep = 1;

    // From five arguments in a row, the first of which is number `at`: attn_mask, kept, ..., is_causal, scale, keep.
    Options(const Call& c, size_t at, size_t causal_at)
        : mask(c.tensor(at)),
          kept(c.tensor(at + 1)),
          causal(c.flag(causal_at)),
          scale(c.f64(causal_at + 1)),
          keep(c.f64(causal_at + 2)) {
        if (kept) kept = contiguous(kept);
    }
    template <class T>
    Kept<T> kept_as() const {
        return {kept ? kept.data<uint8_t>() : nullptr, T(1) / static_cast<T>(keep)};
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
                   const Heads<const T>& k, const Heads<const T>& v, const Kept<T>& kept, const Heads<T>& out,
                   T* logsumexp, std::vector<T>& buffer) {
    const int64_t rows = std::min(mask.query_block(), s.queries - q0), kv = s.kv_head(h);
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
        kept.apply(s, scores, kKeyBlock, b, h, q0, rows, k0, cols);
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
void run_forward(const Options& o, const Tensor& qt, const Tensor& kt, const Tensor& vt, const Tensor& out_t,
                 const Tensor& lse_t) {
    const Shape s(qt, kt, vt);
    Tensor held;
    const int64_t full[4] = {s.batch, s.heads, s.queries, s.keys};
    const Mask mask = make_mask(o.mask, o.causal, full, qt.dtype(), held);
    const Kept<T> kept = o.kept_as<T>();
    const auto q = heads<const T>(qt), k = heads<const T>(kt), v = heads<const T>(vt);
    const auto out = heads<T>(out_t);
    T* lse = lse_t.data<T>();
    const T scale = static_cast<T>(o.scale);
    const int64_t query_block = mask.query_block(), blocks = (s.queries + query_block - 1) / query_block;
    AllowThreads threads(s.batch * s.heads * s.queries * s.keys > kGrain);
    parallel_for(0, s.batch * s.heads * blocks, 1, [&](int64_t begin, int64_t end) {
        std::vector<T> buffer;
        for (int64_t i = begin; i < end; i++) {
            const int64_t head = i / blocks, q0 = dealt(i % blocks, blocks) * query_block;
            forward_block(s, mask, scale, head / s.heads, head % s.heads, q0, q, k, v, kept, out,
                          lse + head * s.queries + q0, buffer);
        }
    });
}

void check(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const Tensor& kept) {
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
    const IntVec full{q.size(0), q.size(1), q.size(2), k.size(2)};
    if (kept) {
        check_shape(op, "kept", kept, full);
        check_dtype(op, "kept", kept, DType::Bool);
    }
    if (!mask) return;
    MASHAL_CHECK(mask.dtype() == DType::Bool || mask.dtype() == q.dtype(), op,
                 "attn_mask must be bool or have query's dtype, got attn_mask ", text(mask), " and query ", text(q),
                 ".");
    MASHAL_CHECK(equal(broadcast_shapes(op, mask.sizes(), full), full), op, "attn_mask must broadcast to ",
                 shape_text(full), ", got attn_mask ", text(mask), ".");
}

// Memory order (B, L, H, E): merging the heads afterwards needs no copy.
IntVec merged_strides(int64_t heads, int64_t length, int64_t width) {
    return {length * heads * width, width, heads * width, 1};
}

void attention_shape(Call& c) {
    const Tensor q = c.tensor(0), k = c.tensor(1), v = c.tensor(2);
    check(q, k, v, c.tensor(3), c.tensor(4));
    const IntVec sizes{q.size(0), q.size(1), q.size(2), v.size(3)};
    c.specs.push_back({sizes, q.dtype(), q.device(), merged_strides(q.size(1), q.size(2), v.size(3))});
    const IntVec rows{q.size(0), q.size(1), q.size(2)};
    c.result(rows, compute_dtype(q.dtype()), q.device());
}

void forward_into(const Options& options, const Tensor& query, const Tensor& key, const Tensor& value,
                  const Tensor& result, const Tensor& logsumexp) {
    if (result.numel() == 0 && logsumexp.numel() == 0) return;
    const DType dtype = compute_dtype(query.dtype());
    const Tensor q = prepared(query, dtype), k = prepared(key, dtype), v = prepared(value, dtype);
    const Tensor out = dtype == result.dtype() ? result : empty_strided(result.sizes(), result.strides(), dtype);
    visit_floating("scaled_dot_product_attention", dtype,
                   [&](auto zero) { run_forward<decltype(zero)>(options, q, k, v, out, logsumexp); });
    if (!out.is_same(result)) copy_into(result, out);
}

void attention_kernel(Call& c) {
    forward_into(Options(c, 3, 5), c.tensor(0), c.tensor(1), c.tensor(2), c.out[0], c.out[1]);
}

// ---- backward ----
template <class T>
struct BackwardTask {
    Shape shape;
    Mask mask;
    Kept<T> kept;
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
        for (int64_t q0 = 0; q0 < s.queries; q0 += t.mask.query_block()) {
            const int64_t rows = std::min(t.mask.query_block(), s.queries - q0),
                          keys = t.mask.visible(q0 + rows, s.keys);
            for (int64_t k0 = 0; k0 < keys; k0 += kBackwardKeyBlock) {
                const int64_t cols = std::min(kBackwardKeyBlock, keys - k0), ld = kBackwardKeyBlock;
                gemm_serial(false, true, rows, cols, s.width, t.scale, t.q.at(b, h, q0), t.q.row_stride,
                            t.k.at(b, kv, k0), t.k.row_stride, T(0), p, ld);
                t.mask.apply(p, ld, b, h, q0, rows, k0, cols);
                gemm_serial(false, true, rows, cols, s.value_width, T(1), t.grad.at(b, h, q0), t.grad.row_stride,
                            t.v.at(b, kv, k0), t.v.row_stride, T(0), dp, ld);
                t.kept.apply(s, dp, ld, b, h, q0, rows, k0, cols);
                loop(rows, cols, p, dp, ld, lse + q0, delta + q0, t.scale);
                t.kept.apply(s, p, ld, b, h, q0, rows, k0, cols);
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

void check_results(std::string_view op, const Tensor& q, const Tensor& v, const Tensor& grad, const Tensor& out,
                   const Tensor& logsumexp) {
    const IntVec sizes{q.size(0), q.size(1), q.size(2), v.size(3)}, rows{q.size(0), q.size(1), q.size(2)};
    check_shape(op, "grad", grad, sizes);
    check_shape(op, "out", out, sizes);
    check_shape(op, "logsumexp", logsumexp, rows);
    check_dtype(op, "logsumexp", logsumexp, compute_dtype(q.dtype()));
}

void backward_shape(Call& c) {
    const Tensor q = c.tensor(1), k = c.tensor(2), v = c.tensor(3);
    check(q, k, v, c.tensor(4), c.tensor(5));
    check_results(c.name(), q, v, c.tensor(0), c.tensor(6), c.tensor(7));
    for (size_t i = 1; i <= 3; i++) c.result_like(c.tensor(i));
}

// The tensor itself, or a stand-in of the type and layout the loops can write.
Tensor writable(const Tensor& t, DType dtype) {
    const bool fits = t.dtype() == dtype && t.stride(3) == 1 && (t.size(2) == 1 || t.stride(2) >= t.size(3));
    return fits ? t : empty(t.sizes(), dtype);
}

// `saved` is grad, query, key, value, out, logsumexp.
void backward_into(const Options& options, const Tensor (&saved)[6], const Tensor& grad_query, const Tensor& grad_key,
                   const Tensor& grad_value) {
    const DType dtype = compute_dtype(saved[1].dtype());
    const Tensor grad = prepared(saved[0], dtype), q = prepared(saved[1], dtype), k = prepared(saved[2], dtype);
    const Tensor v = prepared(saved[3], dtype), out = prepared(saved[4], dtype), lse = contiguous(saved[5]);
    const Tensor gq = writable(grad_query, dtype), gk = writable(grad_key, dtype), gv = writable(grad_value, dtype);
    const Shape s(q, k, v);
    const int64_t full[4] = {s.batch, s.heads, s.queries, s.keys};
    Tensor held;
    const Mask mask = make_mask(options.mask, options.causal, full, dtype, held);
    visit_floating("scaled_dot_product_attention", dtype, [&](auto zero) {
        using T = decltype(zero);
        const BackwardTask<T> task{s,
                                   mask,
                                   options.kept_as<T>(),
                                   static_cast<T>(options.scale),
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
    if (!gq.is_same(grad_query)) copy_into(grad_query, gq);
    if (!gk.is_same(grad_key)) copy_into(grad_key, gk);
    if (!gv.is_same(grad_value)) copy_into(grad_value, gv);
}

// (grad, query, key, value, attn_mask, kept, out, logsumexp, is_causal, scale, keep)
void backward_kernel(Call& c) {
    const Tensor saved[6] = {c.tensor(0), c.tensor(1), c.tensor(2), c.tensor(3), c.tensor(6), c.tensor(7)};
    backward_into(Options(c, 4, 8), saved, c.out[0], c.out[1], c.out[2]);
}

// ---- query, key and value as one tensor (3, B, H, L, E), the result of one projection ----
Tensor part(const Tensor& packed, int64_t i) {
    const IntVec &sizes = packed.sizes(), &strides = packed.strides();
    return alias(packed, {sizes.begin() + 1, sizes.end()}, {strides.begin() + 1, strides.end()},
                 packed->offset + i * strides[0]);
}

void check_packed(const Tensor& packed, const Tensor& mask, const Tensor& kept) {
    MASHAL_CHECK(packed.dim() == 5 && packed.size(0) == 3, "_packed_attention", "packed must be (3, B, H, L, E), got ",
                 text(packed), ".");
    check(part(packed, 0), part(packed, 1), part(packed, 2), mask, kept);
}

void packed_shape(Call& c) {
    const Tensor packed = c.tensor(0);
    check_packed(packed, c.tensor(1), c.tensor(2));
    const int64_t batch = packed.size(1), heads = packed.size(2), length = packed.size(3), width = packed.size(4);
    IntVec strides = merged_strides(heads, length, width);
    if (c.flag(6)) {  // memory order (L, B, H, E)
        strides[0] = heads * width;
        strides[2] = batch * heads * width;
    }
    c.specs.push_back({{batch, heads, length, width}, packed.dtype(), packed.device(), strides});
    c.result(IntVec{batch, heads, length}, compute_dtype(packed.dtype()), packed.device());
}

void packed_kernel(Call& c) {
    const Tensor packed = c.tensor(0);
    forward_into(Options(c, 1, 3), part(packed, 0), part(packed, 1), part(packed, 2), c.out[0], c.out[1]);
}

// (grad, packed, attn_mask, kept, out, logsumexp, is_causal, scale, keep)
void packed_backward_shape(Call& c) {
    const Tensor packed = c.tensor(1);
    check_packed(packed, c.tensor(2), c.tensor(3));
    check_results(c.name(), part(packed, 0), part(packed, 2), c.tensor(0), c.tensor(4), c.tensor(5));
    c.result_like(packed);
}

void packed_backward_kernel(Call& c) {
    const Tensor packed = c.tensor(1), &out = c.out[0];
    if (out.numel() == 0) return;
    const Tensor saved[6] = {c.tensor(0), part(packed, 0), part(packed, 1), part(packed, 2), c.tensor(4), c.tensor(5)};
    backward_into(Options(c, 2, 6), saved, part(out, 0), part(out, 1), part(out, 2));
}

const OpRegistration r_attention{"_attention", {.shape = attention_shape, .kernel = attention_kernel}};
const OpRegistration r_backward{"_attention_backward", {.shape = backward_shape, .kernel = backward_kernel}};
const OpRegistration r_packed{"_packed_attention", {.shape = packed_shape, .kernel = packed_kernel}};
const OpRegistration r_packed_backward{"_packed_attention_backward",
                                       {.shape = packed_backward_shape, .kernel = packed_backward_kernel}};

}  // namespace
}  // namespace mashal
