// sort, topk, kthvalue, median, nanmedian, mode.
#include <bit>
#include <cstring>

#include "core/blocking.h"
#include "cpu/copy.h"
#include "cpu/sort_rows.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

void check_sortable(Call& c, const Tensor& input) {
    MASHAL_CHECK(!is_complex(input.dtype()), c.name(), "requires elements that have an order, got input ", text(input),
                 ". Sort the absolute or real values.");
}

// t with dimension dim moved last: rows are then contiguous.
Tensor moved_last(const Tensor& t, int64_t dim) {
    if (t.dim() < 2) return t;
    IntVec sizes, strides;
    for (int64_t d = 0; d < t.dim(); d++)
        if (d != dim) {
            sizes.push_back(t.size(d));
            strides.push_back(t.stride(d));
        }
    sizes.push_back(t.size(dim));
    strides.push_back(t.stride(dim));
    return alias(t, sizes, strides, t->offset);
}

// An output seen by rows; a temporary that is copied back when its rows are not contiguous.
struct RowsOut {
    RowsOut(const Tensor& out, int64_t dim) : view(moved_last(out, dim)) {
        rows = view.is_contiguous() ? view : empty(view.sizes(), view.dtype());
    }
    void finish() {
        if (!rows.is_same(view)) copy_into(view, rows);
    }
    Tensor view, rows;
};

struct Keys {
    explicit Keys(DType t, bool descending) {
        if (has_wide_keys(t))
            wide = MASHAL_SELECT(key64_loops)(t, descending);
        else
            narrow = MASHAL_SELECT(key32_loops)(t, descending);
    }
    KeyLoops<uint32_t> narrow;
    KeyLoops<uint64_t> wide;
};

template <class Item>
const KeyLoops<typename Item::Key>& loops_of(const Keys& k) {
    if constexpr (std::is_same_v<Item, Narrow>)
        return k.narrow;
    else
        return k.wide;
}

// Positions beyond 32 bits do not fit Narrow items.
template <class F>
void visit_item(const Keys& keys, int64_t n, F&& f) {
    MASHAL_CHECK(n < int64_t{1} << 32, "sort", "at most 4294967295 elements along dim are supported, got ", n, ".");
    if (keys.wide.make != nullptr)
        f(Wide{});
    else
        f(Narrow{});
}

// Items of a row, made in blocks through a buffer of keys.
template <class Item>
void make_items(const KeyLoops<typename Item::Key>& loops, int64_t n, const char* x, int64_t item, Item* items) {
    constexpr int64_t kBlock = 2048;
    typename Item::Key keys[kBlock];
    for (int64_t b = 0; b < n; b += kBlock) {
        const int64_t len = std::min(kBlock, n - b);
        loops.make(len, x + b * item, keys);
        for (int64_t i = 0; i < len; i++) items[b + i] = Item::of(keys[i], static_cast<uint64_t>(b + i));
    }
}

void gather_row(int64_t item, int64_t n, const char* x, const int64_t* at, char* out) {
    auto run = [&](auto tag) {
        using T = decltype(tag);
        auto* in = reinterpret_cast<const T*>(x);
        auto* to = reinterpret_cast<T*>(out);
        for (int64_t i = 0; i < n; i++) to[i] = in[at[i]];
    };
    switch (item) {
        case 1: return run(uint8_t{});
        case 2: return run(uint16_t{});
        case 4: return run(uint32_t{});
        default: return run(uint64_t{});
    }
}

// ---- sort(input, dim, descending, stable) -> (values, indices)
// --------------------------------------------------------
void sort_shape(Call& c) {
    const Tensor input = c.tensor(0);
    wrap_dim("sort", c.i64(1), input.dim());
    check_sortable(c, input);
    c.result(input.sizes(), input.dtype(), input.device());
    c.result(input.sizes(), DType::I64, input.device());
}

void sort_kernel(Call& c) {
    const Tensor input = c.tensor(0);
    if (input.numel() == 0) return;
    const int64_t dim = wrap_dim("sort", c.i64(1), input.dim());
    const Tensor source = contiguous(moved_last(input, dim));
    RowsOut values(c.out[0], dim), indices(c.out[1], dim);
    const int64_t n = input.dim() == 0 ? 1 : input.size(dim), rows = input.numel() / n;
    const Keys keys(input.dtype(), c.flag(2));
    const int64_t item = item_size(input.dtype());
    const char* x = source.data<char>();
    char* y = values.rows.data<char>();
    int64_t* at = indices.rows.data<int64_t>();
    visit_item(keys, n, [&](auto tag) {
        using Item = decltype(tag);
        AllowThreads unlocked(input.numel() > 4096);
        const auto& loops = loops_of<Item>(keys);
        const int threads = rows < num_threads() ? num_threads() : 1;
        auto put_row = [&](int64_t r, const auto* sorted) {
            for (int64_t i = 0; i < n; i++) at[r * n + i] = sorted[i].position();
            gather_row(item, n, x + r * n * item, at + r * n, y + r * n * item);
        };
        auto sort_rows = [&](int64_t begin, int64_t end) {
            std::vector<Item> buffer(static_cast<size_t>(2 * n));
            std::vector<Narrow> narrow;
            for (int64_t r = begin; r < end; r++) {
                make_items<Item>(loops, n, x + r * n * item, item, buffer.data());
                if constexpr (std::is_same_v<Item, Wide>) {
                    // Keys that span less than 32 bits are sorted as narrow ones, relative to the smallest.
                    const auto [least, most] =
                        std::minmax_element(buffer.begin(), buffer.begin() + n,
                                            [](const Wide& a, const Wide& b) { return a.word < b.word; });
                    const uint64_t base = least->word, span = most->word - base;
                    if (n > 1024 && span >> 32 == 0) {
                        narrow.resize(static_cast<size_t>(2 * n));
                        for (int64_t i = 0; i < n; i++) {
                            const Wide v = buffer[static_cast<size_t>(i)];
                            narrow[static_cast<size_t>(i)] = Narrow::of(static_cast<uint32_t>(v.word - base), v.place);
                        }
                        put_row(r, sort_items(narrow.data(), narrow.data() + n, n, std::bit_width(span), threads));
                        continue;
                    }
                }
                put_row(r, sort_items(buffer.data(), buffer.data() + n, n, loops.bits, threads));
            }
        };
        if (threads > 1)
            sort_rows(0, rows);
        else
            parallel_for(0, rows, std::max<int64_t>(4096 / n, 1), sort_rows);
    });
    values.finish();
    indices.finish();
}

// ---- topk(input, k, dim, largest, sorted) -> (values, indices)
// -----------------------------------------------------------
void topk_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const int64_t dim = wrap_dim("topk", c.i64(2), input.dim()), k = c.i64(1);
    check_sortable(c, input);
    const int64_t n = input.dim() == 0 ? 1 : input.size(dim);
    MASHAL_CHECK(k >= 0 && k <= n, "topk", "selected index k out of range: k must be in [0, ", n, "], got ", k,
                 " for input ", text(input), " and dim ", dim, ".");
    IntVec sizes = input.sizes();
    if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = k;
    c.result(sizes, input.dtype(), input.device());
    c.result(sizes, DType::I64, input.device());
}

// The k smallest keys of a row into `best`: elements at or above the k-th best so far are skipped by whole blocks.
template <class Item>
void select_best(const KeyLoops<typename Item::Key>& loops, int64_t n, const char* x, int64_t item, int64_t k,
                 std::vector<Item>& best) {
    best.clear();
    const int64_t room = std::max<int64_t>(2 * k, 256);
    if (room * 2 >= n) {
        best.resize(static_cast<size_t>(n));
        make_items<Item>(loops, n, x, item, best.data());
        if (k < n) std::nth_element(best.begin(), best.begin() + (k - 1), best.end());
        best.resize(static_cast<size_t>(k));
        return;
    }
    constexpr int64_t kStep = 64;
    best.resize(static_cast<size_t>(room + kStep));
    make_items<Item>(loops, room, x, item, best.data());
    int64_t size = room;
    auto shrink = [&] {
        std::nth_element(best.begin(), best.begin() + (k - 1), best.begin() + size);
        size = k;
        return best[static_cast<size_t>(k - 1)].key();
    };
    typename Item::Key threshold = shrink(), keys[kStep];
    for (int64_t i = room; i < n;) {
        i += loops.find_below(n - i, x + i * item, threshold);
        // Where one is better others may be near: a stretch is appended without branches.
        const int64_t len = std::min(kStep, n - i);
        if (len <= 0) break;
        loops.make(len, x + i * item, keys);
        for (int64_t j = 0; j < len; j++) {
            best[static_cast<size_t>(size)] = Item::of(keys[j], static_cast<uint64_t>(i + j));
            size += keys[j] < threshold;
        }
        i += len;
        if (size >= room) threshold = shrink();
    }
    shrink();
    best.resize(static_cast<size_t>(k));
}

void topk_kernel(Call& c) {
    const Tensor input = c.tensor(0);
    const int64_t dim = wrap_dim("topk", c.i64(2), input.dim()), k = c.i64(1);
    if (c.out[0].numel() == 0) return;
    const Tensor source = contiguous(moved_last(input, dim));
    RowsOut values(c.out[0], dim), indices(c.out[1], dim);
    const int64_t n = input.dim() == 0 ? 1 : input.size(dim), rows = input.numel() / n;
    const bool sorted = c.flag(4);
    const Keys keys(input.dtype(), c.flag(3));
    const int64_t item = item_size(input.dtype());
    const char* x = source.data<char>();
    char* y = values.rows.data<char>();
    int64_t* at = indices.rows.data<int64_t>();
    visit_item(keys, n, [&](auto tag) {
        using Item = decltype(tag);
        AllowThreads unlocked(input.numel() > 4096);
        parallel_for(0, rows, std::max<int64_t>(8192 / n, 1), [&](int64_t begin, int64_t end) {
            std::vector<Item> best, spare(sorted ? static_cast<size_t>(k) : 0);
            for (int64_t r = begin; r < end; r++) {
                select_best<Item>(loops_of<Item>(keys), n, x + r * n * item, item, k, best);
                const Item* items = best.data();
                if (sorted) items = sort_items(best.data(), spare.data(), k, loops_of<Item>(keys).bits, 1);
                for (int64_t i = 0; i < k; i++) at[r * k + i] = items[i].position();
                gather_row(item, k, x + r * n * item, at + r * k, y + r * k * item);
            }
        });
    });
    values.finish();
    indices.finish();
}

// ---- one selected element a row: kthvalue, median, nanmedian, mode
// --------------------------------------------------------
void one_of_row_shape(Call& c, size_t dim_arg, size_t keepdim_arg) {
    const Tensor input = c.tensor(0);
    const int64_t dim = wrap_dim(c.name(), c.i64(dim_arg), input.dim());
    check_sortable(c, input);
    MASHAL_CHECK_AS(Index, input.dim() == 0 || input.size(dim) != 0, c.name(), "Expected reduction dim ", dim,
                    " to have non-zero size, got input ", text(input), ".");
    IntVec sizes = input.sizes();
    if (!sizes.empty()) {
        sizes[static_cast<size_t>(dim)] = 1;
        if (!c.flag(keepdim_arg)) sizes.erase(static_cast<size_t>(dim));
    }
    c.result(sizes, input.dtype(), input.device());
    c.result(sizes, DType::I64, input.device());
}

// pick(Item{}, keys of the row, n, bits, scratch) gives the position to report.
template <class Pick>
void one_of_row(Call& c, int64_t dim, Pick&& pick) {
    const Tensor input = c.tensor(0);
    if (input.numel() == 0) return;
    const Tensor source = contiguous(moved_last(input, dim));
    const int64_t n = input.dim() == 0 ? 1 : input.size(dim), rows = input.numel() / n;
    const Keys keys(input.dtype(), false);
    const int64_t item = item_size(input.dtype());
    const char* x = source.data<char>();
    char* y = c.out[0].data<char>();
    int64_t* at = c.out[1].data<int64_t>();
    visit_item(keys, n, [&](auto tag) {
        using Item = decltype(tag);
        AllowThreads unlocked(input.numel() > 4096);
        const auto& loops = loops_of<Item>(keys);
        parallel_for(0, rows, std::max<int64_t>(8192 / n, 1), [&](int64_t begin, int64_t end) {
            std::vector<typename Item::Key> key(static_cast<size_t>(n));
            std::vector<Item> scratch;
            for (int64_t r = begin; r < end; r++) {
                loops.make(n, x + r * n * item, key.data());
                at[r] = pick(Item{}, key.data(), n, loops.bits, scratch);
                std::memcpy(y + r * item, x + (r * n + at[r]) * item, static_cast<size_t>(item));
            }
        });
    });
}

// kthvalue(input, k, dim, keepdim)
void kthvalue_shape(Call& c) {
    one_of_row_shape(c, 2, 3);
    const Tensor input = c.tensor(0);
    const int64_t dim = wrap_dim(c.name(), c.i64(2), input.dim()), n = input.dim() == 0 ? 1 : input.size(dim);
    MASHAL_CHECK(c.i64(1) >= 1 && c.i64(1) <= n, c.name(), "selected number k out of range for dimension ", dim,
                 ": k must be in [1, ", n, "], got ", c.i64(1), " for input ", text(input), ".");
}

void kthvalue_kernel(Call& c) {
    const int64_t k = c.i64(1) - 1;
    one_of_row(c, wrap_dim(c.name(), c.i64(2), c.tensor(0).dim()),
               [k](auto tag, auto* keys, int64_t n, int bits, auto& scratch) {
                   return select_item<decltype(tag)>(keys, n, k, bits, scratch).position();
               });
}

// _median(input, dim, keepdim, ignore_nan): the lower of the two middle elements; NaN if there is one, unless ignored.
void median_kernel(Call& c) {
    const bool ignore_nan = c.flag(3);
    const bool floating = is_floating(c.tensor(0).dtype());
    one_of_row(c, wrap_dim(c.name(), c.i64(1), c.tensor(0).dim()),
               [=](auto tag, auto* keys, int64_t n, int bits, auto& scratch) -> int64_t {
                   using Key = std::remove_reference_t<decltype(*keys)>;
                   int64_t valid = n;
                   if (floating) {
                       const Key nan = static_cast<Key>(~Key{0}) >> (sizeof(Key) * 8 - static_cast<size_t>(bits));
                       valid = n - std::count(keys, keys + n, nan);
                       if (valid < n && (!ignore_nan || valid == 0)) return std::find(keys, keys + n, nan) - keys;
                   }
                   return select_item<decltype(tag)>(keys, n, (valid - 1) / 2, bits, scratch).position();
               });
}

// mode(input, dim, keepdim): the smallest of the most frequent values, and the place of its last occurrence.
void mode_kernel(Call& c) {
    one_of_row(c, wrap_dim(c.name(), c.i64(1), c.tensor(0).dim()),
               [](auto tag, auto* keys, int64_t n, int bits, auto& scratch) {
                   using Item = decltype(tag);
                   scratch.resize(static_cast<size_t>(2 * n));
                   for (int64_t i = 0; i < n; i++)
                       scratch[static_cast<size_t>(i)] = Item::of(keys[i], static_cast<uint64_t>(i));
                   const Item* sorted = sort_items(scratch.data(), scratch.data() + n, n, bits, 1);
                   int64_t best = 0, position = 0;
                   for (int64_t i = 0; i < n;) {
                       int64_t j = i;
                       while (j < n && sorted[j].key() == sorted[i].key()) j++;
                       if (j - i > best) {
                           best = j - i;
                           position = sorted[j - 1].position();
                       }
                       i = j;
                   }
                   return position;
               });
}

const OpRegistration registrations[] = {
    {"_sort", {.shape = sort_shape, .kernel = sort_kernel}},
    {"topk", {.shape = topk_shape, .kernel = topk_kernel}},
    {"kthvalue", {.shape = kthvalue_shape, .kernel = kthvalue_kernel}},
    {"_median", {.shape = [](Call& c) { one_of_row_shape(c, 1, 2); }, .kernel = median_kernel}},
    {"mode", {.shape = [](Call& c) { one_of_row_shape(c, 1, 2); }, .kernel = mode_kernel}},
};

}  // namespace
}  // namespace mashal
