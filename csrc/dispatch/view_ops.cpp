// Views: results that share their input's memory. Geometry only, so one function serves every device.
#include <algorithm>

#include "dispatch/primitive.h"

namespace mashal {

namespace {

void put(Call& c, IntSpan sizes, IntSpan strides, int64_t offset) {
    c.out.push_back(alias(c.tensor(0), sizes, strides, offset));
}

// Resolves a single -1 in a requested shape.
IntVec infer_size(Call& c, IntSpan wanted, int64_t numel) {
    IntVec sizes(wanted);
    int64_t known = 1;
    int infer = -1;
    for (size_t i = 0; i < sizes.size(); i++) {
        if (sizes[i] == -1) {
            MASHAL_CHECK(infer < 0, c.name(), "only one dimension can be inferred, got shape ", shape_text(wanted));
            infer = static_cast<int>(i);
        } else {
            MASHAL_CHECK(sizes[i] >= 0, c.name(), "invalid shape dimension ", sizes[i], " in ", shape_text(wanted));
            MASHAL_CHECK(!__builtin_mul_overflow(known, sizes[i], &known), c.name(), "shape ", shape_text(wanted),
                         " is too large");
        }
    }
    if (infer >= 0) {
        MASHAL_CHECK(known != 0, c.name(), "cannot reshape tensor of 0 elements into shape ", shape_text(wanted),
                     " because the unspecified dimension size -1 can be any value and is ambiguous");
        sizes[static_cast<size_t>(infer)] = numel / known;
        known *= numel / known;
    }
    MASHAL_CHECK(known == numel, c.name(), "shape ", shape_text(wanted), " is invalid for input of size ", numel,
                 ", got input ", text(c.tensor(0)));
    return sizes;
}

void view(Call& c) {
    Tensor t = c.tensor(0);
    IntVec sizes = infer_size(c, c.ints(1), t.numel());
    IntVec strides;
    MASHAL_CHECK(view_strides(t.sizes(), t.strides(), sizes, strides), c.name(), "view size ", shape_text(sizes),
                 " is not compatible with input tensor's size ", shape_text(t.sizes()), " and stride ",
                 shape_text(t.strides()),
                 " (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead");
    put(c, sizes, strides, t->offset);
}

// Reshape: a view where the memory allows one, else of a copy.
void reshape(Call& c) {
    Tensor t = c.tensor(0);
    IntVec sizes = infer_size(c, c.ints(1), t.numel());
    IntVec strides;
    if (view_strides(t.sizes(), t.strides(), sizes, strides))
        put(c, sizes, strides, t->offset);
    else
        c.out.push_back(alias(call_op_in_place("copy_", empty(t.sizes(), t.dtype(), t.device()), t), sizes,
                              contiguous_strides(sizes), 0));
}

void as_strided(Call& c) {
    Tensor t = c.tensor(0);
    IntSpan sizes = c.ints(1), strides = c.ints(2);
    int64_t offset = c.has(3) ? c.i64(3) : t->offset;
    MASHAL_CHECK(sizes.size() == strides.size(), c.name(), "mismatch in length of strides and shape: size ",
                 shape_text(sizes), ", stride ", shape_text(strides));
    MASHAL_CHECK(offset >= 0, c.name(), "storage_offset must not be negative, got ", offset);
    int64_t n = checked_numel(c.name(), sizes);
    int64_t last = offset;
    for (size_t i = 0; i < sizes.size(); i++) {
        MASHAL_CHECK(strides[i] >= 0, c.name(),
                     "negative strides are not supported at the moment, got strides: ", shape_text(strides));
        int64_t reach;
        bool overflow = __builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i], &reach);
        MASHAL_CHECK(!overflow && !__builtin_add_overflow(last, reach, &last), c.name(), "size ", shape_text(sizes),
                     " with strides ", shape_text(strides), " is out of bounds");
    }
    if (n > 0 && !t.device().is_meta())
        MASHAL_CHECK(last < static_cast<int64_t>(t->storage->nbytes()) / item_size(t.dtype()), c.name(),
                     "setStorage: sizes ", shape_text(sizes), ", strides ", shape_text(strides), ", storage offset ",
                     offset, " require ", static_cast<uint64_t>(last) + 1,
                     " elements, out of bounds for storage of size ",
                     t->storage->nbytes() / static_cast<size_t>(item_size(t.dtype())), " elements");
    put(c, sizes, strides, offset);
}

void transpose(Call& c) {
    Tensor t = c.tensor(0);
    auto a = static_cast<size_t>(wrap_dim(c.name(), c.i64(1), t.dim()));
    auto b = static_cast<size_t>(wrap_dim(c.name(), c.i64(2), t.dim()));
    IntVec sizes = t.sizes(), strides = t.strides();
    if (!sizes.empty()) {
        std::swap(sizes[a], sizes[b]);
        std::swap(strides[a], strides[b]);
    }
    put(c, sizes, strides, t->offset);
}

void permute(Call& c) {
    Tensor t = c.tensor(0);
    IntSpan dims = c.ints(1);
    size_t n = t.sizes().size();
    MASHAL_CHECK(dims.size() == n, c.name(), "number of dimensions in dims ", shape_text(dims),
                 " does not match the input's, got input ", text(t));
    IntVec sizes(n), strides(n);
    uint64_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        auto d = static_cast<size_t>(wrap_dim(c.name(), dims[i], t.dim()));
        MASHAL_CHECK(!(seen >> d & 1), c.name(), "duplicate dims are not allowed, got dims ", shape_text(dims),
                     " and input ", text(t));
        seen |= uint64_t{1} << d;
        sizes[i] = t.sizes()[d];
        strides[i] = t.strides()[d];
    }
    put(c, sizes, strides, t->offset);
}

void expand(Call& c) {
    Tensor t = c.tensor(0);
    IntSpan wanted = c.ints(1);
    MASHAL_CHECK(wanted.size() >= t.sizes().size(), c.name(), "the number of sizes provided (", wanted.size(),
                 ") must be greater or equal to the number of dimensions in the tensor (", t.dim(), "), got size ",
                 shape_text(wanted), " and input ", text(t));
    size_t lead = wanted.size() - t.sizes().size();
    IntVec sizes(wanted), strides(wanted.size());
    for (size_t i = 0; i < wanted.size(); i++) {
        if (i < lead) {
            MASHAL_CHECK(wanted[i] >= 0, c.name(), "the expanded size of the tensor (", wanted[i],
                         ") isn't allowed in a leading, non-existing dimension ", i);
            continue;
        }
        int64_t have = t.sizes()[i - lead];
        if (wanted[i] == -1) sizes[i] = have;
        MASHAL_CHECK(sizes[i] >= 0 && (have == sizes[i] || have == 1), c.name(), "The expanded size of the tensor (",
                     wanted[i], ") must match the existing size (", have, ") at non-singleton dimension ", i,
                     ". Target sizes: ", shape_text(wanted), ". Tensor sizes: ", shape_text(t.sizes()));
        // A broadcast dimension of size 1 keeps its stride.
        strides[i] = have == 1 && sizes[i] != 1 ? 0 : t.strides()[i - lead];
    }
    put(c, sizes, strides, t->offset);
}

void select(Call& c) {
    Tensor t = c.tensor(0);
    MASHAL_CHECK_AS(Index, t.dim() > 0, c.name(), "select() cannot be applied to a 0-dim tensor.");
    auto d = static_cast<size_t>(wrap_dim(c.name(), c.i64(1), t.dim()));
    int64_t index = c.i64(2), size = t.sizes()[d];
    MASHAL_CHECK_AS(Index, index >= -size && index < size, c.name(), "index ", index,
                    " is out of bounds for dimension ", d, " with size ", size, ", got input ", text(t));
    if (index < 0) index += size;
    IntVec sizes = t.sizes(), strides = t.strides();
    int64_t offset = t->offset + index * strides[d];
    sizes.erase(d);
    strides.erase(d);
    put(c, sizes, strides, offset);
}

void slice(Call& c) {
    Tensor t = c.tensor(0);
    MASHAL_CHECK(t.dim() > 0, c.name(), "slice() cannot be applied to a 0-dim tensor.");
    auto d = static_cast<size_t>(wrap_dim(c.name(), c.i64(1), t.dim()));
    int64_t size = t.sizes()[d];
    int64_t step = c.i64(4);
    MASHAL_CHECK(step > 0, c.name(), "slice step must be positive, got ", step);
    int64_t start = c.has(2) ? c.i64(2) : 0, end = c.has(3) ? c.i64(3) : size;
    if (start < 0) start += size;
    if (end < 0) end += size;
    start = std::clamp<int64_t>(start, 0, size);
    end = std::clamp<int64_t>(end, start, size);
    IntVec sizes = t.sizes(), strides = t.strides();
    int64_t offset = t->offset + start * strides[d];
    sizes[d] = (end - start) / step + ((end - start) % step != 0);
    if (__builtin_mul_overflow(strides[d], step, &strides[d])) strides[d] = 1;  // one element at most: never stepped
    put(c, sizes, strides, offset);
}

void narrow(Call& c) {
    Tensor t = c.tensor(0);
    MASHAL_CHECK(t.dim() > 0, c.name(), "narrow() cannot be applied to a 0-dim tensor.");
    auto d = static_cast<size_t>(wrap_dim(c.name(), c.i64(1), t.dim()));
    int64_t start = c.i64(2), length = c.i64(3), size = t.sizes()[d];
    MASHAL_CHECK_AS(Index, start >= -size && start <= size, c.name(), "start (", start, ") must be in the range [",
                    -size, ", ", size, "]");
    if (start < 0) start += size;
    MASHAL_CHECK(length >= 0 && start <= size - length, c.name(), "start (", start, ") + length (", length,
                 ") exceeds dimension size (", size, "), got input ", text(t), " dim ", d);
    IntVec sizes = t.sizes();
    sizes[d] = length;
    put(c, sizes, t.strides(), t->offset + start * t.strides()[d]);
}

void squeeze(Call& c) {
    Tensor t = c.tensor(0);
    uint64_t chosen = ~uint64_t{0};
    if (c.has(1)) {
        chosen = 0;
        for (int64_t dim : c.ints(1)) {
            uint64_t bit = uint64_t{1} << wrap_dim(c.name(), dim, t.dim());
            MASHAL_CHECK(!(chosen & bit), c.name(), "dim ", dim, " appears multiple times in the list of dims");
            chosen |= bit;
        }
    }
    IntVec sizes, strides;
    for (size_t d = 0; d < t.sizes().size(); d++) {
        if (t.sizes()[d] == 1 && chosen >> d & 1) continue;
        sizes.push_back(t.sizes()[d]);
        strides.push_back(t.strides()[d]);
    }
    put(c, sizes, strides, t->offset);
}

void unsqueeze(Call& c) {
    Tensor t = c.tensor(0);
    auto d = static_cast<size_t>(wrap_dim(c.name(), c.i64(1), t.dim() + 1));
    IntVec sizes = t.sizes(), strides = t.strides();
    int64_t stride = 1;
    if (d < sizes.size()) (void)__builtin_mul_overflow(sizes[d], strides[d], &stride);  // wraps only without elements
    sizes.insert(d, 1);
    strides.insert(d, stride);
    put(c, sizes, strides, t->offset);
}

void diagonal(Call& c) {
    Tensor t = c.tensor(0);
    int64_t k = c.i64(1);
    auto a = static_cast<size_t>(wrap_dim(c.name(), c.i64(2), t.dim()));
    auto b = static_cast<size_t>(wrap_dim(c.name(), c.i64(3), t.dim()));
    MASHAL_CHECK(t.dim() >= 2 && a != b, c.name(), "dimensions cannot be identical, got dim1 ", a, " dim2 ", b,
                 " input ", text(t));
    int64_t length = k >= 0 ? std::max<int64_t>(std::min(t.sizes()[a], t.sizes()[b] - k), 0)
                            : std::max<int64_t>(std::min(t.sizes()[a] + k, t.sizes()[b]), 0);
    int64_t offset = t->offset;
    if (length > 0) offset += k >= 0 ? k * t.strides()[b] : -k * t.strides()[a];
    IntVec sizes, strides;
    for (size_t d = 0; d < t.sizes().size(); d++) {
        if (d == a || d == b) continue;
        sizes.push_back(t.sizes()[d]);
        strides.push_back(t.strides()[d]);
    }
    sizes.push_back(length);
    strides.push_back(t.strides()[a] + t.strides()[b]);
    put(c, sizes, strides, offset);
}

void unfold(Call& c) {
    Tensor t = c.tensor(0);
    auto d = static_cast<size_t>(wrap_dim(c.name(), c.i64(1), t.dim()));
    int64_t window = c.i64(2), step = c.i64(3);
    int64_t size = t.dim() == 0 ? 1 : t.sizes()[d];
    MASHAL_CHECK(window >= 0 && window <= size, c.name(), "maximum size for tensor at dimension ", d, " is ", size,
                 " but size is ", window);
    MASHAL_CHECK(step > 0, c.name(), "step is ", step, " but must be > 0");
    IntVec sizes = t.sizes(), strides = t.strides();
    int64_t stride = t.dim() == 0 ? 1 : strides[d];
    if (t.dim() > 0) {
        sizes[d] = (size - window) / step + 1;
        if (__builtin_mul_overflow(strides[d], step, &strides[d])) strides[d] = 1;  // one window: never stepped
    }
    sizes.push_back(window);
    strides.push_back(stride);
    put(c, sizes, strides, t->offset);
}

void unbind(Call& c) {
    Tensor t = c.tensor(0);
    MASHAL_CHECK_AS(Index, t.dim() > 0, c.name(), "Dimension specified as 0 but tensor has no dimensions");
    auto d = static_cast<size_t>(wrap_dim(c.name(), c.i64(1), t.dim()));
    IntVec sizes = t.sizes(), strides = t.strides();
    sizes.erase(d);
    strides.erase(d);
    for (int64_t i = 0; i < t.sizes()[d]; i++) put(c, sizes, strides, t->offset + i * t.strides()[d]);
}

void split_with_sizes(Call& c) {
    Tensor t = c.tensor(0);
    IntSpan parts = c.ints(1);
    MASHAL_CHECK(t.dim() > 0, c.name(), "expects at least a 1-dimensional tensor");
    auto d = static_cast<size_t>(wrap_dim(c.name(), c.i64(2), t.dim()));
    int64_t total = 0;
    bool overflow = false;
    for (int64_t p : parts) {
        MASHAL_CHECK(p >= 0, c.name(), "expects split_sizes to have only non-negative entries, got ",
                     shape_text(parts));
        overflow |= __builtin_add_overflow(total, p, &total);
    }
    MASHAL_CHECK(!overflow && total == t.sizes()[d], c.name(), "expects split_sizes to sum exactly to ", t.sizes()[d],
                 " (input tensor's size at dimension ", d, "), but got split_sizes=", shape_text(parts));
    IntVec sizes = t.sizes();
    int64_t start = 0;
    for (int64_t p : parts) {
        sizes[d] = p;
        put(c, sizes, t.strides(), t->offset + start * t.strides()[d]);
        start += p;
    }
}

void alias_op(Call& c) { c.out.push_back(alias(c.tensor(0))); }

void retype(Call& c, DType dtype, IntSpan sizes, IntSpan strides, int64_t offset) {
    put(c, sizes, strides, offset);
    c.out[0]->dtype = dtype;
}

void view_as_real(Call& c) {
    Tensor t = c.tensor(0);
    MASHAL_CHECK(is_complex(t.dtype()), c.name(), "is only supported for complex tensors, got input ", text(t));
    IntVec sizes = t.sizes(), strides = t.strides();
    for (int64_t& s : strides) s *= 2;
    sizes.push_back(2);
    strides.push_back(1);
    retype(c, real_dtype(t.dtype()), sizes, strides, t->offset * 2);
}

void view_as_complex(Call& c) {
    Tensor t = c.tensor(0);
    MASHAL_CHECK(t.dtype() == DType::F32 || t.dtype() == DType::F64, c.name(),
                 "is only supported for floating point tensors, but got a tensor of scalar type: ",
                 dtype_legacy_name(t.dtype()));
    MASHAL_CHECK(t.dim() > 0 && t.sizes().back() == 2, c.name(),
                 "Tensor must have a last dimension of size 2, got input ", text(t));
    MASHAL_CHECK(t.strides().back() == 1, c.name(), "Tensor must have a last dimension with stride 1");
    IntVec sizes = t.sizes(), strides = t.strides();
    sizes.pop_back();
    strides.pop_back();
    for (int64_t& s : strides) {
        MASHAL_CHECK(s % 2 == 0, c.name(), "Tensor must have a stride divisible by 2 for all but last dimension");
        s /= 2;
    }
    MASHAL_CHECK(t->offset % 2 == 0, c.name(), "Tensor must have a storage_offset divisible by 2");
    retype(c, complex_dtype(t.dtype()), sizes, strides, t->offset / 2);
}

template <int part>
void complex_part(Call& c) {
    Tensor t = c.tensor(0);
    if (part == 0 && !is_complex(t.dtype())) {
        c.out.push_back(alias(t));  // real already
        return;
    }
    MASHAL_CHECK(is_complex(t.dtype()), c.name(), "is only implemented for tensors with complex dtypes, got input ",
                 text(t));
    IntVec strides = t.strides();
    for (int64_t& s : strides) s *= 2;
    retype(c, real_dtype(t.dtype()), t.sizes(), strides, t->offset * 2 + part);
}

void view_dtype(Call& c) {
    Tensor t = c.tensor(0);
    DType to = c.args[1].dtype();
    int64_t have = item_size(t.dtype()), want = item_size(to);
    IntVec sizes = t.sizes(), strides = t.strides();
    int64_t offset = t->offset;
    if (have != want) {
        MASHAL_CHECK(t.dim() > 0, c.name(), "self.dim() cannot be 0 to view ", dtype_name(t.dtype()), " as ",
                     dtype_name(to), " (different element sizes)");
        MASHAL_CHECK(strides.back() == 1 || sizes.back() == 1, c.name(), "self.stride(-1) must be 1 to view ",
                     dtype_name(t.dtype()), " as ", dtype_name(to), " (different element sizes), but got ",
                     strides.back());
        if (have > want) {
            for (int64_t& s : strides) s *= have / want;
            strides.back() = 1;
            sizes.back() *= have / want;
            offset *= have / want;
        } else {
            int64_t ratio = want / have;
            MASHAL_CHECK(sizes.back() % ratio == 0, c.name(), "self.size(-1) must be divisible by ", ratio, " to view ",
                         dtype_name(t.dtype()), " as ", dtype_name(to), " (different element sizes), but got ",
                         sizes.back());
            MASHAL_CHECK(offset % ratio == 0, c.name(), "self.storage_offset() must be divisible by ", ratio);
            for (size_t d = 0; d + 1 < strides.size(); d++) {
                MASHAL_CHECK(strides[d] % ratio == 0, c.name(), "self.stride(", d, ") must be divisible by ", ratio);
                strides[d] /= ratio;
            }
            strides.back() = 1;
            sizes.back() /= ratio;
            offset /= ratio;
        }
    }
    retype(c, to, sizes, strides, offset);
}

const OpRegistration registrations[] = {
    {"view", {.kernel = view}},
    {"reshape", {.kernel = reshape}},
    {"as_strided", {.kernel = as_strided}},
    {"transpose", {.kernel = transpose}},
    {"permute", {.kernel = permute}},
    {"expand", {.kernel = expand}},
    {"select", {.kernel = select}},
    {"_slice", {.kernel = slice}},
    {"narrow", {.kernel = narrow}},
    {"squeeze", {.kernel = squeeze}},
    {"unsqueeze", {.kernel = unsqueeze}},
    {"diagonal", {.kernel = diagonal}},
    {"unfold", {.kernel = unfold}},
    {"unbind", {.kernel = unbind}},
    {"split_with_sizes", {.kernel = split_with_sizes}},
    {"_alias", {.kernel = alias_op}},
    {"view_as_real", {.kernel = view_as_real}},
    {"view_as_complex", {.kernel = view_as_complex}},
    {"real", {.kernel = complex_part<0>}},
    {"imag", {.kernel = complex_part<1>}},
    {"_view_dtype", {.kernel = view_dtype}},
};

}  // namespace

}  // namespace mashal
