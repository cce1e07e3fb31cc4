// Reading and writing blocks whose positions come from index tensors: index_select, embedding, x[i, :, j] and x[mask].
//
// All of them are one picture: the source is a grid of blocks (before dimensions x indexed positions), every block
// spans the dimensions after the indexed ones. Positions become element offsets first, so that the copy loop is one
// addition.
#include <cstring>

#include "core/blocking.h"
#include "cpu/index_common.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

struct Blocks {
    std::vector<int64_t> before;     // offsets of the leading, not indexed dimensions
    std::vector<int64_t> positions;  // offsets of the indexed positions, in the order of the broadcast index
    std::vector<int64_t> after;      // offsets inside a block; empty when the block is dense
    int64_t block = 1;               // elements in a block

    int64_t count() const { return static_cast<int64_t>(before.size() * positions.size()); }

    void set_after(IntSpan sizes, IntSpan strides) {
        block = product(sizes);
        int64_t step = 1;
        bool dense = true;
        for (size_t d = sizes.size(); d-- > 0;) {
            dense &= sizes[d] == 1 || strides[d] == step;
            step *= sizes[d];
        }
        if (!dense) after = element_offsets(sizes, strides);
    }
};

template <class T>
void read_blocks(const Blocks& b, const T* src, T* dst) {
    const int64_t np = static_cast<int64_t>(b.positions.size()), n = b.block;
    const int64_t* positions = b.positions.data();
    parallel_for(0, b.count(), std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
        T* out = dst + begin * n;
        for (int64_t i = begin; i < end;) {
            const T* from = src + b.before[static_cast<size_t>(i / np)];
            const int64_t p0 = i % np, p1 = std::min(np, p0 + end - i);
            i += p1 - p0;
            if (n == 1) {
                for (int64_t p = p0; p < p1; p++) *out++ = from[positions[p]];
            } else if (b.after.empty()) {
                for (int64_t p = p0; p < p1; p++, out += n)
                    std::memcpy(out, from + positions[p], static_cast<size_t>(n) * sizeof(T));
            } else {
                for (int64_t p = p0; p < p1; p++)
                    for (int64_t offset : b.after) *out++ = from[positions[p] + offset];
            }
        }
    });
}

// f(element of dst, element of src), src stepping by `step` (0: one value). Duplicate positions are met in order: the
// threads share out blocks' columns or leading dimensions, never positions.
template <class T, class F>
void write_blocks(const Blocks& b, T* dst, const T* src, int64_t step, F f) {
    const int64_t np = static_cast<int64_t>(b.positions.size()), na = static_cast<int64_t>(b.before.size()),
                  n = b.block;
    auto part = [&](int64_t a, int64_t j0, int64_t j1) {
        for (int64_t p = 0; p < np; p++) {
            T* to = dst + b.before[static_cast<size_t>(a)] + b.positions[static_cast<size_t>(p)];
            const T* from = src + (a * np + p) * n * step;
            if (!b.after.empty())
                for (int64_t j = j0; j < j1; j++) f(to[b.after[static_cast<size_t>(j)]], from[j * step]);
            else if (step == 1)
                for (int64_t j = j0; j < j1; j++) f(to[j], from[j]);
            else
                for (int64_t j = j0; j < j1; j++) f(to[j], *from);
        }
    };
    if (na >= n)
        parallel_for(0, na, std::max<int64_t>(1, kGrain / std::max<int64_t>(np * n, 1)),
                     [&](int64_t begin, int64_t end) {
                         for (int64_t a = begin; a < end; a++) part(a, 0, n);
                     });
    else
        parallel_for(0, n, std::max<int64_t>(16, kGrain / std::max<int64_t>(np * na, 1)),
                     [&](int64_t begin, int64_t end) {
                         for (int64_t a = 0; a < na; a++) part(a, begin, end);
                     });
}

void read_into(const Tensor& out, const Tensor& src, const Blocks& b) {
    if (out.numel() == 0) return;
    visit_size(out.dtype(), [&](auto tag) {
        using T = decltype(tag);
        T* dst = out.data<T>();
        const T* from = src.data<T>();
        AllowThreads threads(out.numel() > kGrain);
        read_blocks<T>(b, from, dst);
    });
}

// Offsets of one index tensor along a dimension, checked.
std::vector<int64_t> positions_along(std::string_view op, const Tensor& index, int64_t dim, int64_t size,
                                     int64_t stride, bool negative) {
    const Tensor x = contiguous(index_tensor(op, index));
    const int64_t* data = x.data<int64_t>();
    std::vector<int64_t> out(static_cast<size_t>(x.numel()));
    for (size_t i = 0; i < out.size(); i++) {
        if (data[i] < (negative ? -size : 0) || data[i] >= size) [[unlikely]]
            raise_index(op, data[i], dim, size);
        out[i] = (data[i] < 0 ? data[i] + size : data[i]) * stride;
    }
    return out;
}

// ---- index_select(Tensor input, int dim, Tensor index) ----
void index_select_shape(Call& c) {
    const Tensor input = c.tensor(0), index = c.tensor(2);
    const size_t dim = static_cast<size_t>(wrap_dim("index_select", c.i64(1), input.dim()));
    MASHAL_CHECK_AS(Index, index.dim() <= 1, "index_select", "Index is supposed to be a vector, got index ",
                    text(index));
    MASHAL_CHECK(index.dtype() == DType::I64 || index.dtype() == DType::I32, "index_select",
                 "Expected dtype int32 or int64 for index, got index ", text(index));
    IntVec sizes = input.sizes();
    if (!sizes.empty())
        sizes[dim] = index.numel();
    else
        MASHAL_CHECK(index.numel() == 1, "index_select", "Index to scalar can have only 1 value, got ", index.numel(),
                     " value(s)");
    c.result(sizes, input.dtype(), input.device());
}

void index_select_kernel(Call& c) {
    const Tensor input = at_least_1d(c.tensor(0));
    const size_t dim = static_cast<size_t>(wrap_dim("index_select", c.i64(1), input.dim()));
    const IntSpan sizes = input->sizes, strides = input->strides;
    Blocks b;
    b.positions =
        positions_along("index_select", c.tensor(2), static_cast<int64_t>(dim), sizes[dim], strides[dim], false);
    b.before = element_offsets(sizes.subspan(0, dim), strides.subspan(0, dim));
    b.set_after(sizes.subspan(dim + 1), strides.subspan(dim + 1));
    read_into(c.out[0], input, b);
}

// ---- embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)
// ----
void embedding_shape(Call& c) {
    const Tensor weight = c.tensor(0), indices = c.tensor(1);
    MASHAL_CHECK(weight.dim() == 2, "embedding", "'weight' must be 2-D, got weight ", text(weight));
    MASHAL_CHECK(indices.dtype() == DType::I64 || indices.dtype() == DType::I32, "embedding",
                 "Expected tensor for argument 'indices' to have one of the scalar types Long, Int, got indices ",
                 text(indices));
    IntVec sizes = indices.sizes();
    sizes.push_back(weight.size(1));
    c.result(sizes, weight.dtype(), weight.device());
}

void embedding_kernel(Call& c) {
    const Tensor weight = c.tensor(0);
    Blocks b;
    b.before.push_back(0);
    b.positions = positions_along("embedding", c.tensor(1), 0, weight.size(0), weight.stride(0), false);
    b.set_after(IntVec{weight.size(1)}, IntVec{weight.stride(1)});
    read_into(c.out[0], weight, b);
}

// ---- _index(Tensor input, Tensor?[] indices), _index_put_(Tensor input, Tensor?[] indices, Tensor values, bool) ----
struct Indexed {
    SmallVec<Tensor, 4> indices;  // int64, one per dimension of input; undefined: the whole dimension
    IntVec index_shape;           // of the broadcast indices
    IntVec result_shape;
    size_t first = 0;      // where the indexed dimensions stand in the result
    bool adjacent = true;  // the indices name neighbouring dimensions
};

bool is_mask(const Tensor& t) { return t.defined() && (t.dtype() == DType::Bool || t.dtype() == DType::U8); }

// Replaces masks by the positions of their true elements, pads to the number of dimensions, finds the result shape.
Indexed resolve(const Tensor& input, const SmallVec<Tensor, 4>& given) {
    Indexed r;
    for (size_t k = 0; k < given.size(); k++) {
        const Tensor& t = given[k];
        if (!is_mask(t)) {
            if (t)
                MASHAL_CHECK_AS(Index, t.dtype() == DType::I64 || t.dtype() == DType::I32, "index",
                                "tensors used as indices must be long, int, byte or bool tensors, got ", text(t));
            r.indices.push_back(t ? to_dtype(t, DType::I64) : Tensor());
            continue;
        }
        const size_t at = r.indices.size();
        for (size_t d = 0; d < t.sizes().size(); d++)
            MASHAL_CHECK_AS(Index, at + d < input.sizes().size() && t.sizes()[d] == input.sizes()[at + d], "index",
                            "The shape of the mask ", shape_text(t.sizes()), " at index ", d,
                            " does not match the shape of the indexed tensor ", shape_text(input.sizes()), " at index ",
                            at + d);
        MASHAL_CHECK(!t.device().is_meta(), "index", "the result of a mask has no known shape on the meta device");
        const Tensor rows = nonzero_rows(t);
        for (int64_t d = 0; d < t.dim(); d++)
            r.indices.push_back(alias(rows, IntVec{rows.size(1)}, IntVec{1}, rows->offset + d * rows.size(1)));
    }
    MASHAL_CHECK_AS(Index, r.indices.size() <= input.sizes().size(), "index",
                    "too many indices for tensor of dimension ", input.dim(), " (got ", r.indices.size(), ")");
    while (r.indices.size() < input.sizes().size()) r.indices.push_back(Tensor());

    bool any = false, ended = false;
    for (size_t d = 0; d < r.indices.size(); d++) {
        if (!r.indices[d]) {
            ended = any;
            continue;
        }
        if (!any) r.first = d;
        if (any && ended) r.adjacent = false;
        const IntSpan shape = r.indices[d]->sizes;
        if (any) {
            for (size_t i = 1; i <= std::min(r.index_shape.size(), shape.size()); i++) {
                const int64_t x = r.index_shape[r.index_shape.size() - i], y = shape[shape.size() - i];
                MASHAL_CHECK_AS(Index, x == y || x == 1 || y == 1, "index",
                                "shape mismatch: indexing tensors could not be broadcast together with shapes ",
                                shape_text(r.index_shape), ", ", shape_text(shape));
            }
        }
        r.index_shape = any ? broadcast_shapes("index", r.index_shape, shape) : IntVec(shape);
        any = true;
    }
    if (!r.adjacent) r.first = 0;
    size_t d = 0;
    for (size_t kept = 0; kept < r.first; kept++) r.result_shape.push_back(input.sizes()[d++]);
    r.result_shape.append(r.index_shape.begin(), r.index_shape.end());
    for (; d < r.indices.size(); d++)
        if (!r.indices[d]) r.result_shape.push_back(input.sizes()[d]);
    return r;
}

Blocks blocks_of(const Tensor& input, const Indexed& r) {
    Blocks b;
    IntVec after_sizes, after_strides;
    b.positions.assign(static_cast<size_t>(product(r.index_shape)), 0);
    for (size_t d = 0; d < r.indices.size(); d++) {
        if (!r.indices[d]) {
            if (d < r.first) continue;
            after_sizes.push_back(input.sizes()[d]);
            after_strides.push_back(input.strides()[d]);
            continue;
        }
        if (b.positions.empty()) continue;
        const int64_t size = input.sizes()[d], stride = input.strides()[d];
        const Tensor x = expand_to(r.indices[d], r.index_shape);
        const int64_t* data = x.data<int64_t>();
        int64_t* out = b.positions.data();
        for_row_pieces<1>(x->sizes, {x->strides}, 0, x.numel(), [&](const auto& at, int64_t n) {
            const int64_t* row = data + at[0];
            const int64_t step = x.dim() > 0 ? x.strides().back() : 0;
            for (int64_t i = 0; i < n; i++)
                *out++ += wrapped_index("index", row[i * step], static_cast<int64_t>(d), size) * stride;
        });
    }
    const IntSpan sizes = input->sizes, strides = input->strides;
    b.before = element_offsets(sizes.subspan(0, r.first), strides.subspan(0, r.first));
    b.set_after(after_sizes, after_strides);
    return b;
}

// x[mask] with one mask over all dimensions, by far the most frequent use of masks, needs no positions.
Tensor whole_mask(const Tensor& input, const SmallVec<Tensor, 4>& indices) {
    if (indices.size() != 1 || !is_mask(indices[0]) || input.device().is_meta()) return {};
    return equal(indices[0].sizes(), input.sizes()) && input.dim() > 0 ? indices[0] : Tensor();
}

void index_shape(Call& c) {
    const Tensor input = c.tensor(0);
    if (const Tensor mask = whole_mask(input, c.tensors(1)))
        return c.result(IntVec{count_true(mask)}, input.dtype(), {});
    Indexed r = resolve(input, c.tensors(1));
    c.result(r.result_shape, input.dtype(), input.device());
    // The kernel need not look for the masks' true elements again.
    c.args[1] = Value::tensors(std::move(r.indices));
}

void index_kernel(Call& c) {
    const Tensor input = c.tensor(0);
    if (const Tensor mask = whole_mask(input, c.tensors(1))) return read_masked(c.out[0], input, mask);
    const Indexed r = resolve(input, c.tensors(1));
    if (c.out[0].numel() == 0 && product(r.index_shape) == 0) return;
    read_into(c.out[0], input, blocks_of(input, r));
}

template <class T>
void put_blocks(const Blocks& b, const Tensor& input, const Tensor& values, bool accumulate) {
    T* dst = input.data<T>();
    const T* src = values.data<T>();
    const bool constant = values.numel() == 1;
    AllowThreads threads(b.count() * b.block > kGrain);
    if (!accumulate) return write_blocks<T>(b, dst, src, constant ? 0 : 1, [](T& d, T s) { d = s; });
    if constexpr (std::is_same_v<T, bool>)
        write_blocks<T>(b, dst, src, constant ? 0 : 1, [](T& d, T s) { d = d | s; });
    else if constexpr (!std::is_same_v<T, f16> && !std::is_same_v<T, bf16>)
        write_blocks<T>(b, dst, src, constant ? 0 : 1, [](T& d, T s) { d = static_cast<T>(d + s); });
}

void index_put_kernel(Call& c) {
    const Tensor input = c.tensor(0);
    Tensor values = c.tensor(2);
    const bool accumulate = c.flag(3);
    MASHAL_CHECK(values.dtype() == input.dtype(), "index_put_",
                 "requires the source and destination dtypes match, got input ", text(input), " and values ",
                 text(values));
    if (input.device().is_meta()) return;
    if (values.numel() == 1 && !accumulate)
        if (const Tensor mask = whole_mask(input, c.tensors(1))) return fill_masked(input, input, mask, values);
    const Indexed r = resolve(input, c.tensors(1));
    // Leading sizes of 1 that the result lacks are harmless, as in PyTorch.
    IntVec shape = values.sizes();
    while (shape.size() > r.result_shape.size() && shape[0] == 1) shape.erase(0);
    bool fits = shape.size() <= r.result_shape.size();
    for (size_t i = 1; fits && i <= shape.size(); i++) {
        const int64_t have = shape[shape.size() - i], want = r.result_shape[r.result_shape.size() - i];
        fits = have == want || have == 1;
    }
    MASHAL_CHECK(fits, "index_put_", "shape mismatch: value tensor of shape ", shape_text(values.sizes()),
                 " cannot be broadcast to indexing result of shape ", shape_text(r.result_shape));
    if (product(r.result_shape) == 0) return;
    const Blocks b = blocks_of(input, r);
    if (memory_overlap(input, values) != Overlap::None) values = clone(values, MemoryFormat::Contiguous);
    if (values.numel() != 1) {
        values = contiguous(values);
        IntVec strides = values.strides();
        while (strides.size() > shape.size()) strides.erase(0);
        values = contiguous(expand_to(alias(values, shape, strides, values->offset), r.result_shape));
    }
    if (accumulate && is_half(input.dtype())) {
        const Tensor wide = to_dtype(input, DType::F32);
        put_blocks<float>(blocks_of(wide, r), wide, to_dtype(values, DType::F32), true);
        return copy_into(input, wide);
    }
    if (accumulate)
        visit_all(input.dtype(), [&](auto tag) { put_blocks<decltype(tag)>(b, input, values, true); });
    else
        visit_size(input.dtype(), [&](auto tag) { put_blocks<decltype(tag)>(b, input, values, false); });
}

const OpRegistration r_index_select{"index_select", {.shape = index_select_shape, .kernel = index_select_kernel}};
const OpRegistration r_embedding{"embedding", {.shape = embedding_shape, .kernel = embedding_kernel}};
const OpRegistration r_index{"_index", {.shape = index_shape, .kernel = index_kernel}};
const OpRegistration r_index_put{"_index_put_", {.kernel = index_put_kernel}};

}  // namespace

}  // namespace mashal
