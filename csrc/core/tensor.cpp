#include "core/tensor.h"

#include <algorithm>
#include <numeric>

#include "core/scalar_value.h"

namespace mashal {

namespace {
// Tensor objects come and go with every operation: a small free list per thread spares malloc.
struct ObjectPool {
#ifdef __SANITIZE_ADDRESS__
    static constexpr int kKept = 0;  // so that a use after free is seen
#else
    static constexpr int kKept = 128;
#endif
    void* items[kKept + 1];
    int count = 0;
    ~ObjectPool() {
        while (count) ::operator delete(items[--count]);
        dead = true;
    }
    static thread_local bool dead;
};
thread_local bool ObjectPool::dead = false;
thread_local ObjectPool g_pool;
}  // namespace

void* TensorObj::operator new(size_t n) {
    if (!ObjectPool::dead && g_pool.count > 0) return g_pool.items[--g_pool.count];
    return ::operator new(n);
}

void TensorObj::operator delete(void* p) noexcept {
    if (!ObjectPool::dead && g_pool.count < ObjectPool::kKept)
        g_pool.items[g_pool.count++] = p;
    else
        ::operator delete(p);
}

std::ostream& operator<<(std::ostream& out, ShapeText s) {
    out << '(';
    for (size_t i = 0; i < s.sizes.size(); i++) out << (i ? ", " : "") << s.sizes[i];
    return out << (s.sizes.size() == 1 ? ",)" : ")");
}

std::ostream& operator<<(std::ostream& out, TensorText t) {
    return out << shape_text(t.t.sizes()) << ' ' << dtype_name(t.t.dtype());
}

// Sets of dimensions are kept in the bits of a word.
static void check_rank(size_t ndim) {
    MASHAL_CHECK(ndim <= kMaxDims, "", "a tensor has at most ", kMaxDims, " dimensions, got ", ndim);
}

void TensorObj::geometry_changed() {
    check_rank(sizes.size());
    numel = 1;
    bool overflow = false, none = false;
    for (int64_t s : sizes) {
        overflow |= __builtin_mul_overflow(numel, s, &numel);
        none |= s == 0;
    }
    if (overflow) [[unlikely]] {
        // An expanded or meta tensor may name more elements than can be counted.
        MASHAL_CHECK(none, "", "size is too large for a tensor: ", shape_text(sizes));
        numel = 0;
    }
    contiguous = true;
    int64_t expected = 1;
    if (numel == 0) return;
    for (size_t i = sizes.size(); i-- > 0;) {
        if (sizes[i] != 1) {
            if (strides[i] != expected) {
                contiguous = false;
                return;
            }
            expected *= sizes[i];
        }
    }
}

int64_t checked_numel(std::string_view op, IntSpan sizes) {
    int64_t n = 1;
    bool zero = false;
    for (int64_t s : sizes) {
        MASHAL_CHECK(s >= 0, op, "trying to create a tensor with negative dimension ", s, ": ", shape_text(sizes));
        zero |= s == 0;
    }
    if (zero) return 0;
    for (int64_t s : sizes)
        MASHAL_CHECK(!__builtin_mul_overflow(n, s, &n) && n <= kMaxNumel, op,
                     "size is too large for a tensor: ", shape_text(sizes));
    return n;
}

IntVec contiguous_strides(IntSpan sizes) {
    IntVec strides(sizes.size());
    int64_t step = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
        strides[i] = step;
        // A tensor without elements may have sizes whose product wraps; its strides are never used.
        (void)__builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step);
    }
    return strides;
}

IntVec channels_last_strides(IntSpan sizes) {
    IntVec strides(sizes.size());
    int64_t step = 1;
    auto put = [&](size_t d) {
        strides[d] = step;
        (void)__builtin_mul_overflow(step, std::max<int64_t>(sizes[d], 1), &step);
    };
    put(1);
    for (size_t d = sizes.size() - 1; d >= 2; d--) put(d);
    put(0);
    return strides;
}

bool is_dense(const Tensor& t) {
    if (t.is_contiguous()) return true;
    SmallVec<size_t, 6> order(t.sizes().size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::pair(t.strides()[a], t.sizes()[a]) < std::pair(t.strides()[b], t.sizes()[b]);
    });
    int64_t expected = 1;
    for (size_t d : order) {
        if (t.sizes()[d] == 1) continue;
        if (t.strides()[d] != expected) return false;
        expected *= t.sizes()[d];
    }
    return true;
}

IntVec preserved_strides(const Tensor& like) {
    if (like.is_contiguous()) return contiguous_strides(like.sizes());
    if (is_dense(like)) return like.strides();
    // Keep the order of dimensions by stride, then close the holes (PyTorch's rule for non-dense inputs). An insertion
    // sort in which ambiguous pairs (stride 0, ties) stay in logical order.
    size_t n = like.sizes().size();
    SmallVec<size_t, 6> order(n);
    for (size_t i = 0; i < n; i++) order[i] = n - 1 - i;
    auto should_swap = [&](size_t a, size_t b) -> int {
        int64_t sa = like.strides()[a], sb = like.strides()[b];
        if (sa == 0 || sb == 0) return 0;
        if (sa < sb) return -1;
        if (sa > sb) return 1;
        return like.sizes()[a] > like.sizes()[b] ? 1 : 0;
    };
    for (size_t i = 1; i < n; i++) {
        size_t d1 = i;
        for (size_t d0 = i; d0-- > 0;) {
            int c = should_swap(order[d0], order[d1]);
            if (c > 0) {
                std::swap(order[d0], order[d1]);
                d1 = d0;
            } else if (c < 0) {
                break;
            }
        }
    }
    IntVec strides(n);
    int64_t step = 1;
    for (size_t d : order) {
        strides[d] = step;
        (void)__builtin_mul_overflow(step, std::max<int64_t>(like.sizes()[d], 1), &step);
    }
    return strides;
}

IntVec strides_for(const Tensor& like, MemoryFormat format) {
    size_t n = like.sizes().size();
    switch (format) {
        case MemoryFormat::Contiguous: return contiguous_strides(like.sizes());
        case MemoryFormat::Preserve: return preserved_strides(like);
        case MemoryFormat::ChannelsLast:
            MASHAL_CHECK(n == 4, "", "required rank 4 tensor to use channels_last format, got ", text(like));
            break;
        case MemoryFormat::ChannelsLast3d:
            MASHAL_CHECK(n == 5, "", "required rank 5 tensor to use channels_last_3d format, got ", text(like));
            break;
    }
    return channels_last_strides(like.sizes());
}

Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device) {
    int64_t n = checked_numel("empty", sizes);
    int64_t span = n == 0 ? 0 : 1, reach = 0;
    if (n != 0)
        for (size_t i = 0; i < sizes.size(); i++)
            MASHAL_CHECK(!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) &&
                             !__builtin_add_overflow(span, reach, &span) && span <= kMaxNumel,
                         "empty", "size ", shape_text(sizes), " with strides ", shape_text(strides),
                         " is too large for a tensor");
    Tensor t(new TensorObj);
    t->storage = make_ref<Storage>(static_cast<size_t>(span) * static_cast<size_t>(item_size(dtype)), device);
    t->sizes = IntVec(sizes);
    t->strides = IntVec(strides);
    t->dtype = dtype;
    t->geometry_changed();
    return t;
}

Tensor empty(IntSpan sizes, DType dtype, Device device) {
    int64_t n = checked_numel("empty", sizes);
    check_rank(sizes.size());
    Tensor t(new TensorObj);
    t->storage = make_ref<Storage>(static_cast<size_t>(n) * static_cast<size_t>(item_size(dtype)), device);
    t->sizes = IntVec(sizes);
    t->strides = contiguous_strides(sizes);
    t->dtype = dtype;
    t->numel = n;
    return t;
}

Tensor empty_like(const Tensor& like) {
    return empty_strided(like.sizes(), preserved_strides(like), like.dtype(), like.device());
}

Tensor make_tensor(const TensorSpec& spec) {
    if (spec.strides.empty()) return empty(spec.sizes, spec.dtype, spec.device);
    return empty_strided(spec.sizes, spec.strides, spec.dtype, spec.device);
}

Tensor scalar_tensor(double value, DType dtype) {
    Tensor t = empty({}, dtype);
    store_scalar(t.data(), dtype, Scalar::of(value));
    return t;
}

Tensor alias(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset) {
    Tensor v(new TensorObj);
    v->storage = t->storage;
    v->own_version = t->own_version;
    v->dtype = t->dtype;
    v->sizes = IntVec(sizes);
    v->strides = IntVec(strides);
    v->offset = offset;
    v->geometry_changed();
    return v;
}

Tensor alias(const Tensor& t) { return alias(t, t.sizes(), t.strides(), t->offset); }

bool is_contiguous_as(const Tensor& t, MemoryFormat format) {
    if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return t.is_contiguous();
    size_t n = format == MemoryFormat::ChannelsLast ? 4 : 5;
    if (t.sizes().size() != n) return false;
    IntVec wanted = channels_last_strides(t.sizes());
    for (size_t i = 0; i < n; i++)
        if (t.sizes()[i] != 1 && t.strides()[i] != wanted[i]) return false;
    return true;
}

bool has_self_overlap(const Tensor& t) {
    if (t.is_contiguous() || t.numel() <= 1) return false;
    for (size_t i = 0; i < t.sizes().size(); i++)
        if (t.sizes()[i] > 1 && t.strides()[i] == 0) return true;
    if (is_dense(t)) return false;
    // Sorted by stride, each dimension must step past everything the smaller ones reach.
    SmallVec<std::pair<int64_t, int64_t>, 6> dims;
    for (size_t i = 0; i < t.sizes().size(); i++)
        if (t.sizes()[i] > 1) dims.push_back({std::abs(t.strides()[i]), t.sizes()[i]});
    std::sort(dims.begin(), dims.end());
    int64_t reach = 0;
    for (auto [stride, size] : dims) {
        if (stride <= reach) return true;
        reach += stride * (size - 1);
    }
    return false;
}

Overlap memory_overlap(const Tensor& a, const Tensor& b) {
    if (!(a->storage == b->storage) || a.numel() == 0 || b.numel() == 0) return Overlap::None;
    if (a->offset == b->offset && a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides())
        return Overlap::Full;
    auto reach = [](const Tensor& t) {
        int64_t low = t->offset, high = t->offset;
        for (size_t i = 0; i < t.sizes().size(); i++)
            (t.strides()[i] < 0 ? low : high) += (t.sizes()[i] - 1) * t.strides()[i];
        int64_t size = item_size(t.dtype());
        return std::pair(low * size, (high + 1) * size);
    };
    auto [alow, ahigh] = reach(a);
    auto [blow, bhigh] = reach(b);
    return ahigh <= blow || bhigh <= alow ? Overlap::None : Overlap::Partial;
}

int64_t wrap_dim(std::string_view op, int64_t dim, int64_t ndim) {
    int64_t n = std::max<int64_t>(ndim, 1);
    if (dim < -n || dim >= n) [[unlikely]]
        raise_error(ErrorKind::Index, op, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
                    "], but got ", dim, ")");
    return dim < 0 ? dim + n : dim;
}

IntVec broadcast_shapes(std::string_view op, IntSpan a, IntSpan b) {
    size_t n = std::max(a.size(), b.size());
    IntVec out(n);
    for (size_t i = 0; i < n; i++) {
        int64_t sa = i < n - a.size() ? 1 : a[i - (n - a.size())];
        int64_t sb = i < n - b.size() ? 1 : b[i - (n - b.size())];
        MASHAL_CHECK(sa == sb || sa == 1 || sb == 1, op, "The size of tensor a (", sa,
                     ") must match the size of tensor b (", sb, ") at non-singleton dimension ", i, ": shapes ",
                     shape_text(a), " and ", shape_text(b), " do not broadcast");
        out[i] = sa == 1 ? sb : sa;
    }
    return out;
}

Tensor expand_to(const Tensor& t, IntSpan sizes) {
    if (equal(t.sizes(), sizes)) return t;
    IntVec strides(sizes.size());
    size_t lead = sizes.size() - t.sizes().size();
    for (size_t i = 0; i < t.sizes().size(); i++)
        strides[lead + i] = t.sizes()[i] == sizes[lead + i] ? t.strides()[i] : 0;
    return alias(t, sizes, strides, t->offset);
}

bool view_strides(IntSpan old_sizes, IntSpan old_strides, IntSpan sizes, IntVec& strides) {
    strides = contiguous_strides(sizes);
    int64_t n = 1;
    for (int64_t s : old_sizes) n *= s;
    if (n == 0) {
        if (equal(old_sizes, sizes)) strides = IntVec(old_strides);
        return true;
    }
    if (old_sizes.empty()) return true;  // one element: any shape of ones
    // Walk both shapes from the back; each run of old dimensions that is contiguous in memory must be filled exactly by
    // a run of new ones.
    int64_t view_d = static_cast<int64_t>(sizes.size()) - 1;
    int64_t base = old_strides[old_strides.size() - 1];
    int64_t tensor_numel = 1, view_numel = 1;
    for (int64_t d = static_cast<int64_t>(old_sizes.size()) - 1; d >= 0; d--) {
        size_t u = static_cast<size_t>(d);
        tensor_numel *= old_sizes[u];
        bool run_ends = d == 0 || (old_sizes[u - 1] != 1 && old_strides[u - 1] != tensor_numel * base);
        if (!run_ends) continue;
        while (view_d >= 0 && (view_numel < tensor_numel || sizes[static_cast<size_t>(view_d)] == 1)) {
            strides[static_cast<size_t>(view_d)] = view_numel * base;
            view_numel *= sizes[static_cast<size_t>(view_d)];
            view_d--;
        }
        if (view_numel != tensor_numel) return false;
        if (d > 0) {
            base = old_strides[u - 1];
            tensor_numel = view_numel = 1;
        }
    }
    return view_d == -1;
}

}  // namespace mashal
