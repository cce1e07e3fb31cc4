#include "cpu/copy.h"

#include <algorithm>
#include <cstring>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/pointwise_loops.h"
#include "cpu/strided.h"
#include "cpu/transpose.h"

namespace mashal {

namespace {

// Dimensions from the outermost to the innermost by destination, merged where both sides allow it; at least two.
struct Plan {
    IntVec sizes, dst, src;
    int64_t numel = 1;

    Plan(IntSpan sizes_in, IntSpan dst_in, IntSpan src_in) {
        struct Dim {
            int64_t size, dst, src;
        };
        SmallVec<Dim, 6> dims;
        for (size_t i = 0; i < sizes_in.size(); i++) {
            numel *= sizes_in[i];
            if (sizes_in[i] != 1) dims.push_back({sizes_in[i], dst_in[i], src_in[i]});
        }
        auto outer = [](const Dim& a, const Dim& b) {
            const int64_t da = std::abs(a.dst), db = std::abs(b.dst);
            return da != db ? da > db : std::abs(a.src) > std::abs(b.src);
        };
        // Insertion sort: stable, and shapes are short.
        for (size_t i = 1; i < dims.size(); i++)
            for (size_t j = i; j > 0 && outer(dims[j], dims[j - 1]); j--) std::swap(dims[j], dims[j - 1]);
        for (const Dim& d : dims) {
            if (!sizes.empty() && dst.back() == d.size * d.dst && src.back() == d.size * d.src) {
                sizes.back() *= d.size;
                dst.back() = d.dst;
                src.back() = d.src;
            } else {
                push(d.size, d.dst, d.src);
            }
        }
        if (sizes.empty()) push(1, 1, 1);
        if (sizes.size() == 1) {
            sizes.insert(0, 1);
            dst.insert(0, 0);
            src.insert(0, 0);
        }
    }

    size_t inner() const { return sizes.size() - 1; }

private:
    void push(int64_t n, int64_t d, int64_t s) {
        sizes.push_back(n);
        dst.push_back(d);
        src.push_back(s);
    }
};

// A rectangle of rows: strides of rows and of the elements in a row, in elements.
struct Rectangle {
    int64_t rows, n;
    int64_t dst_row, dst, src_row, src;
};

template <class T>
void move_rectangle(const Rectangle& r, void* dst, const void* src) {
    T* d = static_cast<T*>(dst);
    const T* s = static_cast<const T*>(src);
    for (int64_t row = 0; row < r.rows; row++, d += r.dst_row, s += r.src_row) {
        if (r.dst == 1 && r.src == 1) {
            std::memcpy(d, s, static_cast<size_t>(r.n) * sizeof(T));
        } else if (r.dst == 1 && r.src == 0) {
            std::fill_n(d, r.n, *s);
        } else if (r.dst == 1 && r.src == -1) {
            for (int64_t i = 0; i < r.n; i++) d[i] = s[-i];
        } else if (r.dst == 1) {
            for (int64_t i = 0; i < r.n; i++) d[i] = s[i * r.src];
        } else if (r.src == 1) {
            for (int64_t i = 0; i < r.n; i++) d[i * r.dst] = s[i];
        } else {
            for (int64_t i = 0; i < r.n; i++) d[i * r.dst] = s[i * r.src];
        }
    }
}

using MoveRectangle = void (*)(const Rectangle&, void*, const void*);

MoveRectangle mover(int size) {
    switch (size) {
        case 1: return move_rectangle<uint8_t>;
        case 2: return move_rectangle<uint16_t>;
        case 4: return move_rectangle<uint32_t>;
        case 8: return move_rectangle<uint64_t>;
        default: return move_rectangle<c128>;
    }
}

// Calls f(rectangle, dst offset, src offset) for rectangles that cover elements [begin, end) of the plan.
template <class F>
void for_rectangles(const Plan& p, int64_t begin, int64_t end, F&& f) {
    const size_t last = p.inner();
    const int64_t n = p.sizes[last], rows = p.sizes[last - 1];
    for (int64_t pos = begin; pos < end;) {
        const int64_t column = pos % n;
        int64_t rest = pos / n;
        const int64_t row = rest % rows;
        int64_t d = column * p.dst[last], s = column * p.src[last];
        for (size_t i = last; i-- > 0;) {
            const int64_t at = rest % p.sizes[i];
            rest /= p.sizes[i];
            d += at * p.dst[i];
            s += at * p.src[i];
        }
        Rectangle r{1, n, p.dst[last - 1], p.dst[last], p.src[last - 1], p.src[last]};
        if (column != 0 || end - pos < n)
            r.n = std::min(n - column, end - pos);
        else
            r.rows = std::min((end - pos) / n, rows - row);
        f(r, d, s);
        pos += r.rows * r.n;
    }
}

// Which dimension holds the source's unit stride while another one holds the destination's; -1: not a transposition
// worth tiling.
int64_t crossed_dim(const Plan& p) {
    const size_t last = p.inner();
    if (p.dst[last] != 1 || p.src[last] == 1 || p.src[last] == 0 || p.numel < 256) return -1;
    for (size_t i = 0; i < last; i++)
        if (p.src[i] == 1 && p.sizes[i] >= 4) return static_cast<int64_t>(i);
    return -1;
}

template <class T>
void move_crossed(const Plan& p, size_t crossed, T* dst, const T* src) {
    const size_t last = p.inner();
    IntVec outer_sizes, outer_dst, outer_src;
    for (size_t i = 0; i < last; i++) {
        if (i == crossed) continue;
        outer_sizes.push_back(p.sizes[i]);
        outer_dst.push_back(p.dst[i]);
        outer_src.push_back(p.src[i]);
    }
    const int64_t na = p.sizes[last], nb = p.sizes[crossed], outer = p.numel / (na * nb);
    // Units of work: bands of a plane along its longer side.
    const bool along_b = nb >= na;
    const int64_t band = 4 * kTile<T>, length = along_b ? nb : na;
    const int64_t bands = (length + band - 1) / band;
    const int64_t grain = std::max<int64_t>(1, kGrain / (band * (along_b ? na : nb)));
    parallel_for(0, outer * bands, grain, [&](int64_t begin, int64_t end) {
        for (int64_t u = begin; u < end; u++) {
            int64_t rest = u / bands;
            const int64_t from = u % bands * band, m = std::min(band, length - from);
            int64_t d = 0, s = 0;
            for (size_t i = outer_sizes.size(); i-- > 0;) {
                const int64_t at = rest % outer_sizes[i];
                rest /= outer_sizes[i];
                d += at * outer_dst[i];
                s += at * outer_src[i];
            }
            if (along_b)
                transpose_plane(na, m, src + s + from, p.src[last], dst + d + from * p.dst[crossed], p.dst[crossed]);
            else
                transpose_plane(m, nb, src + s + from * p.src[last], p.src[last], dst + d + from, p.dst[crossed]);
        }
    });
}

void move_plan(int size, const Plan& p, void* dst, const void* src) {
    if (p.numel == 0) return;
    const int64_t crossed = crossed_dim(p);
    if (crossed >= 0) {
        const size_t c = static_cast<size_t>(crossed);
        switch (size) {
            case 1: return move_crossed(p, c, static_cast<uint8_t*>(dst), static_cast<const uint8_t*>(src));
            case 2: return move_crossed(p, c, static_cast<uint16_t*>(dst), static_cast<const uint16_t*>(src));
            case 4: return move_crossed(p, c, static_cast<uint32_t*>(dst), static_cast<const uint32_t*>(src));
            case 8: return move_crossed(p, c, static_cast<uint64_t*>(dst), static_cast<const uint64_t*>(src));
            default: return move_crossed(p, c, static_cast<c128*>(dst), static_cast<const c128*>(src));
        }
    }
    const MoveRectangle move = mover(size);
    parallel_for(0, p.numel, std::max<int64_t>(kGrain, (1 << 17) / size), [&](int64_t b, int64_t e) {
        for_rectangles(p, b, e, [&](const Rectangle& r, int64_t d, int64_t s) {
            move(r, static_cast<char*>(dst) + d * size, static_cast<const char*>(src) + s * size);
        });
    });
}

// Casts in blocks that stay in the first-level cache: pack the source, convert, unpack into the destination.
void convert_rectangle(ConvertLoop convert, int dst_size, int src_size, const Rectangle& r, char* dst,
                       const char* src) {
    constexpr int64_t block = 512;
    const bool src_dense = r.src == 1 && (r.rows == 1 || r.src_row == r.n);
    const bool dst_dense = r.dst == 1 && (r.rows == 1 || r.dst_row == r.n);
    if (src_dense && dst_dense) return convert(r.rows * r.n, dst, src);
    alignas(64) char packed[block * 16], converted[block * 16];
    const MoveRectangle pack = mover(src_size), unpack = mover(dst_size);
    const int64_t columns = std::min(r.n, block), lines = std::max<int64_t>(1, block / r.n);
    for (int64_t row = 0; row < r.rows; row += lines) {
        const int64_t m = std::min(lines, r.rows - row);
        for (int64_t at = 0; at < r.n; at += columns) {
            const int64_t n = std::min(columns, r.n - at);
            const char* s = src + (row * r.src_row + at * r.src) * src_size;
            char* d = dst + (row * r.dst_row + at * r.dst) * dst_size;
            const bool s_ok = r.src == 1 && (m == 1 || r.src_row == n), d_ok = r.dst == 1 && (m == 1 || r.dst_row == n);
            if (!s_ok) pack({m, n, n, 1, r.src_row, r.src}, packed, s);
            convert(m * n, d_ok ? d : converted, s_ok ? s : packed);
            if (!d_ok) unpack({m, n, r.dst_row, r.dst, n, 1}, d, converted);
        }
    }
}

Tensor dense_copy(const Tensor& t, IntSpan strides) {
    Tensor out = empty_strided(t.sizes(), strides, t.dtype(), t.device());
    if (out.numel() == 0 || !t.device().is_cpu()) return out;
    AllowThreads threads(out.numel() > kGrain);
    copy_strided(t->dtype, t->sizes, out.data(), out->strides, t.data(), t->strides);
    return out;
}

}  // namespace

void copy_strided(DType dtype, IntSpan sizes, void* dst, IntSpan dst_strides, const void* src, IntSpan src_strides) {
    move_plan(item_size(dtype), Plan(sizes, dst_strides, src_strides), dst, src);
}

void copy_into(const Tensor& dst, const Tensor& src) {
    if (dst.is_same(src)) return;
    if (!equal(dst.sizes(), src.sizes())) {
        const IntVec sizes = broadcast_shapes("copy_", dst.sizes(), src.sizes());
        MASHAL_CHECK(sizes == dst.sizes(), "copy_",
                     "source must broadcast to the shape of the destination, got source ", text(src),
                     " and destination ", text(dst));
    }
    if (dst.numel() == 0 || !dst.device().is_cpu()) return;
    MASHAL_CHECK_AS(NotImplemented, src.device().is_cpu(), "copy_", "Cannot copy out of meta tensor; no data!");
    const Overlap overlap = memory_overlap(dst, src);
    if (overlap == Overlap::Full) return;
    if (overlap == Overlap::Partial) return copy_into(dst, dense_copy(src, preserved_strides(src)));

    const Tensor from = expand_to(src, dst.sizes());
    const Plan plan(dst.sizes(), dst.strides(), from.strides());
    const DType dst_type = dst.dtype(), src_type = src.dtype();
    if (dst_type == src_type) {
        AllowThreads threads(plan.numel > kGrain);
        return move_plan(item_size(dst_type), plan, dst.data(), from.data());
    }
    if (crossed_dim(plan) >= 0 && src.numel() == dst.numel()) {
        // Transposing and casting at once would lose the tiles: transpose first.
        return copy_into(dst, dense_copy(from, is_dense(dst) ? dst.strides() : preserved_strides(dst)));
    }
    const ConvertLoop convert = find_convert_loop(src_type, dst_type);
    const int dst_size = item_size(dst_type), src_size = item_size(src_type);
    char* d0 = dst.data<char>();
    const char* s0 = from.data<char>();
    AllowThreads threads(plan.numel > kGrain);
    parallel_for(0, plan.numel, kGrain, [&](int64_t b, int64_t e) {
        for_rectangles(plan, b, e, [&](const Rectangle& r, int64_t d, int64_t s) {
            convert_rectangle(convert, dst_size, src_size, r, d0 + d * dst_size, s0 + s * src_size);
        });
    });
}

Tensor contiguous(const Tensor& t) { return t.is_contiguous() ? t : dense_copy(t, contiguous_strides(t.sizes())); }

Tensor clone(const Tensor& t, MemoryFormat format) { return dense_copy(t, strides_for(t, format)); }

Tensor to_dtype(const Tensor& t, DType dtype) {
    if (t.dtype() == dtype) return t;
    Tensor out = empty_strided(t.sizes(), preserved_strides(t), dtype, t.device());
    copy_into(out, t);
    return out;
}

void fill(const Tensor& t, const Scalar& value) {
    alignas(16) char item[16] = {};
    store_scalar(item, t.dtype(), value);
    if (t.numel() == 0 || !t.device().is_cpu()) return;
    const int size = item_size(t.dtype());
    char* data = t.data<char>();
    const bool uniform = std::all_of(item + 1, item + size, [&](char c) { return c == item[0]; });
    const int64_t n = t.numel();
    if (uniform && t.is_contiguous()) {
        if (n <= kGrain) {
            std::memset(data, item[0], static_cast<size_t>(n * size));
            return;
        }
        AllowThreads threads(true);
        parallel_for(0, n, (1 << 18) / size, [&](int64_t b, int64_t e) {
            std::memset(data + b * size, item[0], static_cast<size_t>((e - b) * size));
        });
        return;
    }
    const IntVec zeros(t.sizes().size());
    const Plan plan(t.sizes(), t.strides(), zeros);
    AllowThreads threads(n > kGrain);
    move_plan(size, plan, data, item);
}

}  // namespace mashal
