// Primitives that copy, cast, fill, and rearrange whole blocks of elements.
#include <cstring>
#include <vector>

#include "core/blocking.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "cpu/strided.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

Tensor narrowed(const Tensor& t, size_t dim, int64_t start, int64_t length) {
    IntVec sizes = t.sizes();
    sizes[dim] = length;
    return alias(t, sizes, t.strides(), t->offset + start * t.strides()[dim]);
}

MemoryFormat format_arg(const Call& c, size_t i) {
    return c.has(i) ? c.args[i].memory_format() : MemoryFormat::Preserve;
}

// copy_(Tensor input, Tensor src, bool non_blocking=False)
void copy_kernel(Call& c) { copy_into(c.tensor(0), c.tensor(1)); }

// clone(Tensor input, *, memory_format? memory_format=None)
void clone_shape(Call& c) {
    const Tensor t = c.tensor(0);
    c.specs.push_back({t.sizes(), t.dtype(), t.device(), strides_for(t, format_arg(c, 1))});
}
// _to_copy(Tensor input, *, dtype? dtype=None, memory_format? memory_format=None)
void to_copy_shape(Call& c) {
    const Tensor t = c.tensor(0);
    const DType dtype = c.has(1) ? c.args[1].dtype() : t.dtype();
    c.specs.push_back({t.sizes(), dtype, t.device(), strides_for(t, format_arg(c, 2))});
}
void dense_copy_kernel(Call& c) { copy_into(c.out[0], c.tensor(0)); }

// _fill_(Tensor input, Number value), zero_(Tensor input)
void fill_kernel(Call& c) { fill(c.tensor(0), c.args[1].scalar()); }
void zero_kernel(Call& c) { fill(c.tensor(0), Scalar::of(int64_t{0})); }

// ---- cat(Tensor[] tensors, int dim=0) ----
bool is_legacy_empty(const Tensor& t) { return t.dim() == 1 && t.numel() == 0; }

bool all_channels_last(const SmallVec<Tensor, 4>& tensors, MemoryFormat format) {
    for (const Tensor& t : tensors)
        if (t.is_contiguous() || !is_contiguous_as(t, format)) return false;
    return true;
}

void cat_shape(Call& c) {
    const SmallVec<Tensor, 4>& tensors = c.tensors(0);
    MASHAL_CHECK_AS(Value, !tensors.empty(), "cat", "expected a non-empty list of Tensors");
    Tensor first;
    SmallVec<Value, 4> held;
    SmallVec<const Value*, 8> values;
    for (size_t i = 0; i < tensors.size(); i++) {
        MASHAL_CHECK(tensors[i].dim() > 0, "cat", "zero-dimensional tensor (at position ", i,
                     ") cannot be concatenated. Use stack, or unsqueeze it first");
        if (!first && !is_legacy_empty(tensors[i])) first = tensors[i];
        held.push_back(Value(tensors[i]));
    }
    for (const Value& v : held) values.push_back(&v);
    const DType dtype = result_type(values);
    if (!first) first = tensors[0];
    const size_t dim = static_cast<size_t>(wrap_dim("cat", c.i64(1), first.dim()));
    IntVec sizes = first.sizes();
    sizes[dim] = 0;
    for (size_t i = 0; i < tensors.size(); i++) {
        const Tensor& t = tensors[i];
        if (is_legacy_empty(t)) continue;
        MASHAL_CHECK(t.dim() == first.dim(), "cat", "Tensors must have same number of dimensions: got ", first.dim(),
                     " and ", t.dim(), " (tensor number ", i, " in the list, shape ", shape_text(t.sizes()), ")");
        for (size_t d = 0; d < sizes.size(); d++)
            MASHAL_CHECK(d == dim || t.sizes()[d] == sizes[d], "cat",
                         "Sizes of tensors must match except in dimension ", dim, ". Expected size ", sizes[d],
                         " but got size ", t.sizes()[d], " for tensor number ", i, " in the list, shapes ",
                         shape_text(first.sizes()), " and ", shape_text(t.sizes()));
        sizes[dim] = checked_sum("cat", sizes[dim], t.sizes()[dim]);
    }
    IntVec strides;
    if (all_channels_last(tensors, MemoryFormat::ChannelsLast) ||
        all_channels_last(tensors, MemoryFormat::ChannelsLast3d))
        strides = channels_last_strides(sizes);
    c.specs.push_back({sizes, dtype, first.device(), strides});
}

// All dense and of one type: the result is written once from start to end, a run of each tensor after the other.
bool cat_dense(const Tensor& out, const SmallVec<Tensor, 4>& tensors, size_t dim) {
    struct Run {
        const char* data;
        int64_t bytes;
    };
    std::vector<Run> runs;
    const int64_t rows = product(IntSpan(out.sizes()).subspan(0, dim)), item = item_size(out.dtype());
    if (!out.is_contiguous() || out.numel() == 0) return false;
    for (const Tensor& t : tensors) {
        if (t.dtype() != out.dtype() || !t.is_contiguous()) return false;
        if (t.numel() > 0) runs.push_back({t.data<char>(), t.numel() / rows * item});
    }
    const int64_t row_bytes = out.numel() / rows * item;
    char* data = out.data<char>();
    AllowThreads threads(out.numel() > kGrain);
    if (rows == 1) {  // few long runs: share out bytes
        int64_t at = 0;
        for (const Run& r : runs) {
            parallel_for(0, r.bytes, 1 << 17, [&](int64_t b, int64_t e) {
                std::memcpy(data + at + b, r.data + b, static_cast<size_t>(e - b));
            });
            at += r.bytes;
        }
        return true;
    }
    parallel_for(0, rows, std::max<int64_t>(1, (1 << 17) / row_bytes), [&](int64_t b, int64_t e) {
        char* to = data + b * row_bytes;
        for (int64_t row = b; row < e; row++)
            for (const Run& r : runs) {
                const char* from = r.data + row * r.bytes;
                switch (r.bytes) {  // short runs are copied in place
                    case 4: std::memcpy(to, from, 4); break;
                    case 8: std::memcpy(to, from, 8); break;
                    case 16: std::memcpy(to, from, 16); break;
                    default: std::memcpy(to, from, static_cast<size_t>(r.bytes));
                }
                to += r.bytes;
            }
    });
    return true;
}

void cat_kernel(Call& c) {
    const SmallVec<Tensor, 4>& tensors = c.tensors(0);
    const Tensor out = c.out[0];
    const size_t dim = static_cast<size_t>(wrap_dim("cat", c.i64(1), out.dim()));
    if (cat_dense(out, tensors, dim)) return;
    int64_t start = 0;
    for (const Tensor& t : tensors) {
        if (is_legacy_empty(t)) continue;
        copy_into(narrowed(out, dim, start, t.sizes()[dim]), t);
        start += t.sizes()[dim];
    }
}

// ---- stack(Tensor[] tensors, int dim=0) ----
void stack_shape(Call& c) {
    const SmallVec<Tensor, 4>& tensors = c.tensors(0);
    MASHAL_CHECK(!tensors.empty(), "stack", "expects a non-empty TensorList");
    SmallVec<Value, 4> held;
    SmallVec<const Value*, 8> values;
    for (size_t i = 0; i < tensors.size(); i++) {
        MASHAL_CHECK(tensors[i].sizes() == tensors[0].sizes(), "stack",
                     "expects each tensor to be equal size, but got ", shape_text(tensors[0].sizes()),
                     " at entry 0 and ", shape_text(tensors[i].sizes()), " at entry ", i);
        held.push_back(Value(tensors[i]));
    }
    for (const Value& v : held) values.push_back(&v);
    const size_t dim = static_cast<size_t>(wrap_dim("stack", c.i64(1), tensors[0].dim() + 1));
    IntVec sizes = tensors[0].sizes();
    sizes.insert(dim, static_cast<int64_t>(tensors.size()));
    c.result(sizes, result_type(values), tensors[0].device());
}

void stack_kernel(Call& c) {
    const SmallVec<Tensor, 4>& tensors = c.tensors(0);
    const Tensor out = c.out[0];
    const size_t dim = static_cast<size_t>(wrap_dim("stack", c.i64(1), out.dim()));
    IntVec strides = out.strides();
    const int64_t step = strides[dim];
    strides.erase(dim);
    for (size_t i = 0; i < tensors.size(); i++)
        copy_into(alias(out, tensors[i].sizes(), strides, out->offset + static_cast<int64_t>(i) * step), tensors[i]);
}

// ---- flip(Tensor input, int[*] dims) ----
void flip_shape(Call& c) {
    const Tensor t = c.tensor(0);
    uint64_t seen = 0;
    for (int64_t d : c.ints(1)) {
        const uint64_t bit = uint64_t{1} << wrap_dim("flip", d, t.dim());
        MASHAL_CHECK((seen & bit) == 0, "flip", "dim ", d, " appears multiple times in the list of dims ",
                     shape_text(c.ints(1)));
        seen |= bit;
    }
    c.result_like(t);
}

void flip_kernel(Call& c) {
    const Tensor t = c.tensor(0), out = c.out[0];
    if (t.numel() == 0) return;
    IntVec strides = t.strides();
    int64_t offset = 0;
    for (int64_t dim : c.ints(1)) {
        if (t.dim() == 0) break;
        const size_t d = static_cast<size_t>(wrap_dim("flip", dim, t.dim()));
        offset += (t.sizes()[d] - 1) * strides[d];
        strides[d] = -strides[d];
    }
    copy_strided(t.dtype(), t.sizes(), out.data(), out.strides(), t.data<char>() + offset * item_size(t.dtype()),
                 strides);
}

// ---- _roll(Tensor input, int[] shifts, int[] dims): as many shifts as dims ----
void roll_shape(Call& c) {
    const Tensor t = c.tensor(0);
    for (int64_t d : c.ints(2)) wrap_dim("roll", d, t.dim());
    c.result(t.sizes(), t.dtype(), t.device());
}

// Each rolled dimension splits into two pieces; all combinations are copied.
void roll_pieces(const Tensor& out, const Tensor& in, IntSpan shifts, IntSpan dims, size_t k) {
    if (k == dims.size()) return copy_into(out, in);
    const size_t d = static_cast<size_t>(wrap_dim("roll", dims[k], in.dim()));
    const int64_t n = in.sizes()[d], shift = ((shifts[k] % n) + n) % n;
    roll_pieces(narrowed(out, d, shift, n - shift), narrowed(in, d, 0, n - shift), shifts, dims, k + 1);
    if (shift > 0) roll_pieces(narrowed(out, d, 0, shift), narrowed(in, d, n - shift, shift), shifts, dims, k + 1);
}

void roll_kernel(Call& c) {
    const Tensor in = c.tensor(0);
    if (in.numel() == 0) return;
    // A dimension named twice rolls by the sum.
    IntVec shifts, dims;
    for (size_t i = 0; i < c.ints(2).size(); i++) {
        const int64_t d = wrap_dim("roll", c.ints(2)[i], in.dim());
        size_t at = 0;
        while (at < dims.size() && dims[at] != d) at++;
        if (at == dims.size()) {
            dims.push_back(d);
            shifts.push_back(0);
        }
        shifts[at] += c.ints(1)[i];
    }
    if (in.dim() == 0) return copy_into(c.out[0], in);
    roll_pieces(c.out[0], in, shifts, dims, 0);
}

// ---- diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1) ----
struct DiagonalGeometry {
    size_t dim1, dim2;
    int64_t row, column;  // where the diagonal starts
};

DiagonalGeometry diagonal_geometry(const Call& c, int64_t ndim) {
    const int64_t offset = std::max(c.i64(1), -INT64_MAX);  // can be negated
    const int64_t d1 = wrap_dim("diag_embed", c.i64(2), ndim), d2 = wrap_dim("diag_embed", c.i64(3), ndim);
    MASHAL_CHECK(d1 != d2, "diag_embed", "diagonal dimensions cannot be identical ", c.i64(2), ", ", c.i64(3));
    return {static_cast<size_t>(d1), static_cast<size_t>(d2), std::max<int64_t>(-offset, 0),
            std::max<int64_t>(offset, 0)};
}

void diag_embed_shape(Call& c) {
    const Tensor t = c.tensor(0);
    MASHAL_CHECK(t.dim() > 0, "diag_embed", "input must have at least one dimension, got input ", text(t));
    const DiagonalGeometry g = diagonal_geometry(c, t.dim() + 1);
    IntVec sizes = t.sizes();
    sizes.pop_back();
    const int64_t n = checked_sum("diag_embed", t.sizes().back(), g.row + g.column);  // one of the two is 0
    sizes.insert(std::min(g.dim1, g.dim2), n);
    sizes.insert(std::max(g.dim1, g.dim2), n);
    c.result(sizes, t.dtype(), t.device());
}

void diag_embed_kernel(Call& c) {
    const Tensor t = c.tensor(0), out = c.out[0];
    const DiagonalGeometry g = diagonal_geometry(c, out.dim());
    fill(out, Scalar::of(int64_t{0}));
    IntVec strides;
    for (size_t i = 0; i < out.sizes().size(); i++)
        if (i != g.dim1 && i != g.dim2) strides.push_back(out.strides()[i]);
    strides.push_back(out.strides()[g.dim1] + out.strides()[g.dim2]);
    const int64_t start = g.row * out.strides()[g.dim1] + g.column * out.strides()[g.dim2];
    copy_into(alias(out, t.sizes(), strides, out->offset + start), t);
}

// ---- tril, triu(Tensor input, int diagonal=0) ----
void triangle_shape(Call& c) {
    const Tensor t = c.tensor(0);
    MASHAL_CHECK(t.dim() >= 2, c.name(), "input tensor must have at least 2 dimensions, got input ", text(t));
    c.result(t.sizes(), t.dtype(), t.device());
}

template <bool Lower>
void triangle_kernel(Call& c) {
    const Tensor in = c.tensor(0), out = c.out[0];
    if (in.numel() == 0) return;
    const int64_t columns = in.sizes().back(), rows = in.sizes()[in.sizes().size() - 2];
    const int64_t diagonal = std::clamp(c.i64(1), -rows, columns);  // beyond that nothing changes
    const bool same = out.is_same(in);
    visit_size(in.dtype(), [&](auto tag) {
        using T = decltype(tag);
        const T* src = in.data<T>();
        T* dst = out.data<T>();
        IntVec sizes = in.sizes(), d_strides = out.strides(), s_strides = in.strides();
        const int64_t ds = d_strides.back(), ss = s_strides.back();
        // One position per row.
        for (IntVec* v : {&sizes, &d_strides, &s_strides}) v->pop_back();
        int64_t total = product(sizes);
        parallel_for(0, total, std::max<int64_t>(1, kGrain / std::max<int64_t>(columns, 1)), [&](int64_t b, int64_t e) {
            int64_t number = b;
            for_row_pieces<2>(sizes, {d_strides, s_strides}, b, e, [&](const auto& at, int64_t n) {
                for (int64_t i = 0; i < n; i++, number++) {
                    T* d = dst + at[0] + i * d_strides.back();
                    const T* s = src + at[1] + i * s_strides.back();
                    const int64_t edge = number % rows + diagonal + (Lower ? 1 : 0);
                    const int64_t split = std::clamp<int64_t>(edge, 0, columns);
                    const int64_t keep_from = Lower ? 0 : split, keep_to = Lower ? split : columns;
                    if (!same)
                        for (int64_t j = keep_from; j < keep_to; j++) d[j * ds] = s[j * ss];
                    const int64_t zero_from = Lower ? split : 0, zero_to = Lower ? columns : split;
                    for (int64_t j = zero_from; j < zero_to; j++) d[j * ds] = T{};
                }
            });
        });
    });
}

const OpRegistration r_copy{"copy_", {.kernel = copy_kernel}};
const OpRegistration r_clone{"clone", {.shape = clone_shape, .kernel = dense_copy_kernel, .layout = Layout::Follow}};
const OpRegistration r_to_copy{"_to_copy",
                               {.shape = to_copy_shape, .kernel = dense_copy_kernel, .layout = Layout::Follow}};
const OpRegistration r_fill{"_fill_", {.kernel = fill_kernel, .overlap_ok = true}};
const OpRegistration r_zero{"zero_", {.kernel = zero_kernel, .overlap_ok = true}};
const OpRegistration r_cat{"cat", {.shape = cat_shape, .kernel = cat_kernel, .layout = Layout::Follow}};
const OpRegistration r_stack{"stack", {.shape = stack_shape, .kernel = stack_kernel}};
const OpRegistration r_flip{"flip", {.shape = flip_shape, .kernel = flip_kernel}};
const OpRegistration r_roll{"_roll", {.shape = roll_shape, .kernel = roll_kernel}};
const OpRegistration r_diag_embed{"diag_embed", {.shape = diag_embed_shape, .kernel = diag_embed_kernel}};
const OpRegistration r_tril{"tril", {.shape = triangle_shape, .kernel = triangle_kernel<true>, .in_place_ok = true}};
const OpRegistration r_triu{"triu", {.shape = triangle_shape, .kernel = triangle_kernel<false>, .in_place_ok = true}};

}  // namespace

}  // namespace mashal
