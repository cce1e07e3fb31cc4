// Distinct values: _unique (sorted, over all elements), _unique_dim (slices along a dimension), _unique_consecutive.
// Each returns (values, inverse, counts).
#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/blocking.h"
#include "cpu/index_common.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

template <class T>
bool value_less(T a, T b) {
    if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>)
        return a.re != b.re ? a.re < b.re : a.im < b.im;
    else if constexpr (std::is_floating_point_v<T>)
        return a < b || (b != b && a == a);  // NaN last
    else
        return a < b;
}

// Writes values, inverse and counts of groups: `order` lists the elements group by group, `starts_group(i)` tells
// whether order[i] opens a new one.
template <class StartsGroup>
std::vector<int64_t> number_groups(const std::vector<int64_t>& order, int64_t* inverse, std::vector<int64_t>& counts,
                                   StartsGroup starts_group) {
    std::vector<int64_t> firsts;
    for (size_t i = 0; i < order.size(); i++) {
        if (i == 0 || starts_group(i)) {
            firsts.push_back(order[i]);
            counts.push_back(0);
        }
        counts.back()++;
        inverse[order[i]] = static_cast<int64_t>(firsts.size()) - 1;
    }
    return firsts;
}

Tensor from_vector(const std::vector<int64_t>& v) {
    const Tensor t = empty(IntVec{static_cast<int64_t>(v.size())}, DType::I64);
    std::copy(v.begin(), v.end(), t.data<int64_t>());
    return t;
}

void push_results(Call& c, const Tensor& values, const Tensor& inverse, const Tensor& counts) {
    c.out.push_back(values);
    c.out.push_back(inverse);
    c.out.push_back(counts);
}

Tensor no_indices() { return empty(IntVec{0}, DType::I64); }

// The half types are widened; results are narrowed again.
Tensor comparable(const Tensor& t) { return contiguous(is_half(t.dtype()) ? to_dtype(t, DType::F32) : t); }

template <class T>
Tensor take_values(const T* data, const std::vector<int64_t>& firsts) {
    const Tensor out = empty(IntVec{static_cast<int64_t>(firsts.size())}, dtype_of<T>::value);
    for (size_t i = 0; i < firsts.size(); i++) out.data<T>()[i] = data[firsts[i]];
    return out;
}

template <class F>
void visit_comparable(DType t, F&& f) {
    visit_all(t, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (!std::is_same_v<T, f16> && !std::is_same_v<T, bf16>) f(tag);
    });
}

// _unique(Tensor input, bool return_inverse, bool return_counts)
void unique_kernel(Call& c) {
    const Tensor given = c.tensor(0), input = comparable(given);
    const bool want_inverse = c.flag(1), want_counts = c.flag(2);
    const int64_t n = input.numel();
    visit_comparable(input.dtype(), [&](auto tag) {
        using T = decltype(tag);
        const T* data = input.data<T>();
        if (!want_inverse) {
            const Tensor sorted = clone(input, MemoryFormat::Contiguous);
            T* s = sorted.data<T>();
            std::vector<int64_t> firsts, counts;
            {
                AllowThreads threads(n > kGrain);
                std::sort(s, s + n, value_less<T>);
                for (int64_t i = 0; i < n; i++)
                    if (i == 0 || !(s[i] == s[i - 1])) firsts.push_back(i);
                if (want_counts)
                    for (size_t k = 0; k < firsts.size(); k++)
                        counts.push_back((k + 1 < firsts.size() ? firsts[k + 1] : n) - firsts[k]);
            }
            push_results(c, to_dtype(take_values(s, firsts), given.dtype()), no_indices(), from_vector(counts));
            return;
        }
        const Tensor inverse = empty(given.sizes(), DType::I64);
        std::vector<int64_t> order(static_cast<size_t>(n)), counts, firsts;
        {
            AllowThreads threads(n > kGrain);
            std::iota(order.begin(), order.end(), int64_t{0});
            std::stable_sort(order.begin(), order.end(),
                             [&](int64_t a, int64_t b) { return value_less(data[a], data[b]); });
            firsts = number_groups(order, inverse.data<int64_t>(), counts,
                                   [&](size_t i) { return !(data[order[i]] == data[order[i - 1]]); });
        }
        push_results(c, to_dtype(take_values(data, firsts), given.dtype()), inverse, from_vector(counts));
    });
}

// _unique_consecutive(Tensor input, int? dim); _unique_dim(Tensor input, int dim). Slices along `dim` become rows.
Tensor slices_as_rows(const Tensor& t, size_t dim) {
    IntVec sizes{t.sizes()[dim]}, strides{t.strides()[dim]};
    for (size_t d = 0; d < t.sizes().size(); d++) {
        if (d == dim) continue;
        sizes.push_back(t.sizes()[d]);
        strides.push_back(t.strides()[d]);
    }
    return contiguous(alias(t, sizes, strides, t->offset));
}

template <bool Sort>
void unique_slices(Call& c, const Tensor& given, size_t dim) {
    const char* op = Sort ? "unique" : "unique_consecutive";
    const int64_t slices = given.sizes()[dim];
    MASHAL_CHECK(given.numel() > 0 || slices == 0, op, "there are zero-sized dimensions other than dim ", dim,
                 ", so unique cannot be applied, got input ", text(given));
    const Tensor rows = slices_as_rows(comparable(given), dim);
    const int64_t width = slices > 0 ? rows.numel() / slices : 0;
    const Tensor inverse = empty(IntVec{slices}, DType::I64);
    std::vector<int64_t> order(static_cast<size_t>(slices)), counts, firsts;
    std::iota(order.begin(), order.end(), int64_t{0});
    visit_comparable(rows.dtype(), [&](auto tag) {
        using T = decltype(tag);
        const T* data = rows.data<T>();
        AllowThreads threads(rows.numel() > kGrain);
        if constexpr (Sort)
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
                const T *x = data + a * width, *y = data + b * width;
                for (int64_t j = 0; j < width; j++) {
                    if (value_less(x[j], y[j])) return true;
                    if (value_less(y[j], x[j])) return false;
                }
                return false;
            });
        firsts = number_groups(order, inverse.data<int64_t>(), counts, [&](size_t i) {
            const T *x = data + order[i] * width, *y = data + order[i - 1] * width;
            for (int64_t j = 0; j < width; j++)
                if (!(x[j] == y[j])) return true;
            return false;
        });
    });
    // Slices come first in memory; the dimension then moves back to its place, as PyTorch lays the result out.
    const Tensor source = given.dtype() == rows.dtype() ? rows : slices_as_rows(given, dim);
    IntVec sizes = source.sizes();
    sizes[0] = static_cast<int64_t>(firsts.size());
    const Tensor dense = empty(sizes, given.dtype());
    const int64_t bytes = width * item_size(given.dtype());
    for (size_t k = 0; k < firsts.size(); k++)
        std::memcpy(dense.data<char>() + static_cast<int64_t>(k) * bytes, source.data<char>() + firsts[k] * bytes,
                    static_cast<size_t>(bytes));
    IntVec strides = dense.strides();
    const int64_t first_size = sizes[0], first_stride = strides[0];
    sizes.erase(0);
    strides.erase(0);
    sizes.insert(dim, first_size);
    strides.insert(dim, first_stride);
    const Tensor values = alias(dense, sizes, strides, 0);
    push_results(c, values, inverse, from_vector(counts));
}

void unique_dim_kernel(Call& c) {
    const Tensor t = c.tensor(0);
    const size_t dim = static_cast<size_t>(wrap_dim("unique", c.i64(1), t.dim()));
    unique_slices<true>(c, at_least_1d(t), dim);
}

void unique_consecutive_kernel(Call& c) {
    const Tensor t = c.tensor(0);
    if (c.has(1)) {
        const size_t dim = static_cast<size_t>(wrap_dim("unique_consecutive", c.i64(1), t.dim()));
        return unique_slices<false>(c, at_least_1d(t), dim);
    }
    const Tensor flat = contiguous(t);
    unique_slices<false>(c, alias(flat, IntVec{flat.numel()}, IntVec{1}, flat->offset), 0);
    const Tensor inverse = c.out[1];
    c.out[1] = alias(inverse, t.sizes(), contiguous_strides(t.sizes()), 0);
}

const OpRegistration r_unique{"_unique", {.kernel = unique_kernel}};
const OpRegistration r_unique_dim{"_unique_dim", {.kernel = unique_dim_kernel}};
const OpRegistration r_unique_consecutive{"_unique_consecutive", {.kernel = unique_consecutive_kernel}};

}  // namespace

}  // namespace mashal
