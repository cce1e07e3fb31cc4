// Distinct values: _unique (sorted, over all elements), _unique_dim (slices along a dimension), _unique_consecutive.
// Each returns (values, inverse, counts).
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

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

template <class F>
void visit_comparable(DType t, F&& f) {
    visit_all(t, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (!std::is_same_v<T, f16> && !std::is_same_v<T, bf16>) f(tag);
    });
}

// An unsigned number in the order of the values: NaN last, the two zeros equal.
template <class T>
uint64_t sort_key(T v) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
        constexpr Bits sign = Bits{1} << (sizeof(T) * 8 - 1);
        if (v != v) return static_cast<Bits>(~Bits{0});
        const T plus = v + T(0);  // -0 becomes 0
        Bits bits;
        std::memcpy(&bits, &plus, sizeof(T));
        return static_cast<Bits>(bits & sign ? ~bits : bits | sign);
    } else if constexpr (std::is_signed_v<T>) {
        return static_cast<uint64_t>(static_cast<int64_t>(v)) ^ (uint64_t{1} << 63);
    } else {
        return static_cast<uint64_t>(v);
    }
}

// Stable order of the values, by a radix sort over the bits in which keys differ.
template <class T>
std::vector<int64_t> sorted_order(const T* data, int64_t n) {
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
        std::stable_sort(order.begin(), order.end(),
                         [&](int64_t a, int64_t b) { return value_less(data[a], data[b]); });
    } else {
        struct Item {
            uint64_t key;
            int64_t number;
        };
        std::vector<Item> items(static_cast<size_t>(n)), next(static_cast<size_t>(n));
        uint64_t differing = 0;
        for (int64_t i = 0; i < n; i++) {
            items[static_cast<size_t>(i)] = {sort_key(data[i]), i};
            differing |= items[static_cast<size_t>(i)].key ^ items[0].key;
        }
        constexpr int digit = 11;
        std::vector<int64_t> starts(1 << digit);
        for (int shift = 0; shift < 64; shift += digit) {
            if ((differing >> shift & ((1 << digit) - 1)) == 0) continue;
            auto bucket = [&](const Item& item) { return static_cast<size_t>(item.key >> shift & ((1 << digit) - 1)); };
            std::fill(starts.begin(), starts.end(), 0);
            for (const Item& item : items) starts[bucket(item)]++;
            int64_t sum = 0;
            for (int64_t& s : starts) sum += std::exchange(s, sum);
            for (const Item& item : items) next[static_cast<size_t>(starts[bucket(item)]++)] = item;
            items.swap(next);
        }
        for (size_t i = 0; i < items.size(); i++) order[i] = items[i].number;
    }
    return order;
}

// Whole numbers from a short range are counted instead of sorted; false: the range is too long.
template <class T>
bool unique_by_counting(const T* data, int64_t n, std::vector<T>& values, int64_t* inverse,
                        std::vector<int64_t>& counts) {
    if constexpr (std::is_integral_v<T>) {
        if (n == 0) return false;
        const auto [low, high] = std::minmax_element(data, data + n);
        const uint64_t range =
            static_cast<uint64_t>(static_cast<int64_t>(*high)) - static_cast<uint64_t>(static_cast<int64_t>(*low));
        if (range > static_cast<uint64_t>(2 * n) + 256) return false;
        const T base = *low;
        auto place = [&](T v) { return static_cast<size_t>(static_cast<int64_t>(v) - static_cast<int64_t>(base)); };
        std::vector<int64_t> number(static_cast<size_t>(range) + 1, 0);
        for (int64_t i = 0; i < n; i++) number[place(data[i])]++;
        for (size_t k = 0; k < number.size(); k++) {
            if (number[k] == 0) continue;
            counts.push_back(number[k]);
            number[k] = static_cast<int64_t>(values.size());
            values.push_back(static_cast<T>(static_cast<int64_t>(base) + static_cast<int64_t>(k)));
        }
        if (inverse)
            for (int64_t i = 0; i < n; i++) inverse[i] = number[place(data[i])];
        return true;
    } else {
        return false;
    }
}

// _unique(Tensor input, bool return_inverse, bool return_counts)
void unique_kernel(Call& c) {
    const Tensor given = c.tensor(0), input = comparable(given);
    const int64_t n = input.numel();
    const Tensor inverse = c.flag(1) ? empty(given.sizes(), DType::I64) : no_indices();
    int64_t* inverse_data = c.flag(1) ? inverse.data<int64_t>() : nullptr;
    visit_comparable(input.dtype(), [&](auto tag) {
        using T = decltype(tag);
        const T* data = input.data<T>();
        std::vector<int64_t> counts;
        SmallVec<T, 4> values;
        {
            AllowThreads threads(n > kGrain);
            std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> counted;
            using Item = typename decltype(counted)::value_type;
            if (unique_by_counting(reinterpret_cast<const Item*>(data), n, counted, inverse_data, counts)) {
                for (Item v : counted) values.push_back(static_cast<T>(v));
            } else {
                const std::vector<int64_t> order = sorted_order(data, n);
                for (int64_t i = 0; i < n; i++) {
                    const int64_t at = order[static_cast<size_t>(i)];
                    if (i == 0 || !(data[at] == data[order[static_cast<size_t>(i) - 1]])) {
                        values.push_back(data[at]);
                        counts.push_back(0);
                    }
                    counts.back()++;
                    if (inverse_data) inverse_data[at] = static_cast<int64_t>(values.size()) - 1;
                }
            }
        }
        const Tensor result = empty(IntVec{static_cast<int64_t>(values.size())}, dtype_of<T>::value);
        std::copy(values.begin(), values.end(), result.data<T>());
        push_results(c, to_dtype(result, given.dtype()), inverse, c.flag(2) ? from_vector(counts) : no_indices());
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
