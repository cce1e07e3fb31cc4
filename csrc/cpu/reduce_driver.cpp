#include "cpu/reduce_driver.h"

#include <algorithm>
#include <memory>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/pointwise_loops.h"
#include "cpu/reduce_axes.h"

namespace mashal {

uint64_t reduced_mask(std::string_view op, const Value& dims, int64_t ndim) {
    const uint64_t all = ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1;
    if (dims.is_none()) return all;
    auto bit = [&](int64_t d) { return uint64_t{1} << wrap_dim(op, d, ndim); };
    if (dims.tag() == Value::Tag::Int) return bit(dims.integer()) & all;
    const IntVec& list = dims.int_list();
    if (list.empty()) return all;
    uint64_t mask = 0;
    for (int64_t d : list) {
        const uint64_t b = bit(d);
        MASHAL_CHECK(!(mask & b), op, "dimensions in dim must be distinct, got ", shape_text(list), " for a tensor of ",
                     ndim, " dimensions.");
        mask |= b;
    }
    return mask & all;
}

IntVec reduced_sizes(IntSpan sizes, uint64_t mask, bool keepdim) {
    IntVec out;
    for (size_t d = 0; d < sizes.size(); d++) {
        if (!(mask >> d & 1))
            out.push_back(sizes[d]);
        else if (keepdim)
            out.push_back(1);
    }
    return out;
}

int64_t reduced_count(IntSpan sizes, uint64_t mask) {
    int64_t n = 1;
    for (size_t d = 0; d < sizes.size(); d++)
        if (mask >> d & 1) n *= sizes[d];
    return n;
}

namespace {

// Axes longer than 1 from the widest input stride to the narrowest, neighbours merged where memory allows.
Axes coalesced(const Tensor& t, uint64_t mask) {
    Axes axes;
    int64_t out_stride = 1;
    for (size_t d = t.sizes().size(); d-- > 0;) {
        const bool reduced = mask >> d & 1;
        const int64_t size = t.sizes()[d];
        if (size != 1) axes.push_back({size, t.strides()[d], reduced ? 0 : out_stride, reduced});
        if (!reduced) out_stride *= size;
    }
    // Repeated (stride 0) axes go outermost: whatever lies inside them is read again from cache.
    auto key = [](const Axis& a) { return a.in == 0 ? INT64_MAX : std::abs(a.in); };
    std::stable_sort(axes.begin(), axes.end(), [&](const Axis& a, const Axis& b) { return key(a) < key(b); });
    Axes merged;
    for (const Axis& a : axes) {
        if (!merged.empty()) {
            Axis& inner = merged.back();
            if (a.reduced == inner.reduced && a.in == inner.in * inner.size && a.out == inner.out * inner.size) {
                inner.size *= a.size;
                continue;
            }
        }
        merged.push_back(a);
    }
    std::reverse(merged.begin(), merged.end());
    return merged;
}

constexpr int64_t kColumns = 2048;  // columns in one accumulator array
constexpr int64_t kConvert = 4096;  // elements converted at once
constexpr int kMaxAcc = 24;

struct Job {
    const ReduceLoops& loops;
    const char* data;
    DType dtype;
    int64_t item;         // size of an input element
    int64_t step;         // distance of neighbours along the innermost axis
    ConvertLoop convert;  // null when elements are already of the loops' type
    int64_t loop_item;
    double param;
    FinishRef finish;

    const char* at(int64_t offset) const { return data + offset * item; }

    bool direct() const { return convert == nullptr && step == 1; }

    // n neighbours as the loops want them: packed, then converted.
    void load(int64_t n, char* to, int64_t offset) const {
        if (step == 1) return convert(n, to, at(offset));
        if (convert == nullptr) return pack(n, to, offset);
        alignas(64) char packed[kConvert * 16];
        pack(n, packed, offset);
        convert(n, to, packed);
    }

    void pack(int64_t n, char* to, int64_t offset) const {
        visit_size(dtype, [&](auto tag) {
            using T = decltype(tag);
            const T* in = reinterpret_cast<const T*>(at(offset));
            T* out = reinterpret_cast<T*>(to);
            for (int64_t i = 0; i < n; i++) out[i] = in[i * step];
        });
    }

    void rows(int64_t m, int64_t stride, int64_t n, int64_t offset, char* acc) const {
        if (direct()) return loops.rows(m, stride, n, at(offset), acc, param);
        alignas(64) char buffer[kConvert * 16];
        for (int64_t r = 0; r < m; r++)
            for (int64_t b = 0; b < n; b += kConvert) {
                const int64_t len = std::min(kConvert, n - b);
                load(len, buffer, offset + r * stride + b * step);
                loops.rows(1, 0, len, buffer, acc + r * loops.acc_size, param);
            }
    }

    void columns(int64_t m, int64_t stride, int64_t n, int64_t offset, char* acc) const {
        if (direct()) return loops.columns(m, stride, n, at(offset), acc, param);
        alignas(64) char buffer[kConvert * 16];
        const int64_t width = std::min<int64_t>(n, kConvert / 8);
        const int64_t height = kConvert / width / 8 * 8;
        for (int64_t j = 0; j < n; j += width)
            for (int64_t r = 0; r < m; r += height) {
                const int64_t cols = std::min(width, n - j), rows = std::min(height, m - r);
                for (int64_t k = 0; k < rows; k++)
                    load(cols, buffer + k * cols * loop_item, offset + (r + k) * stride + j * step);
                loops.columns(rows, cols, cols, buffer, acc + j * loops.acc_size, param);
            }
    }
};

// The innermost axis is reduced: results are made of contiguous rows.
void reduce_by_rows(const Job& job, const Axes& axes, bool parallel) {
    const int64_t n = axes.back().size;
    const int acc_size = job.loops.acc_size;
    Axes kept, outer;  // outer: reduced axes other than the innermost
    for (size_t d = 0; d + 1 < axes.size(); d++) (axes[d].reduced ? outer : kept).push_back(axes[d]);
    const int64_t results = count(kept), segments = count(outer);

    auto one_result = [&](const Walk& at, int64_t s0, int64_t s1, int64_t n0, int64_t n1, char* acc) {
        Walk segment(outer, s0);
        for (int64_t s = s0; s < s1; s++, segment.next())
            job.rows(1, 0, n1 - n0, at.in + segment.in + n0 * job.step, acc);
    };
    // Rows of the last kept axis go to the loops in one call when each result is one row.
    const int64_t batch_axis = kept.empty() || segments > 1 ? 1 : kept.back().size;
    auto some_results = [&](int64_t begin, int64_t end) {
        alignas(64) char acc[256 * kMaxAcc];
        const int64_t in_stride = kept.empty() ? 0 : kept.back().in, out_stride = kept.empty() ? 0 : kept.back().out;
        for (int64_t i = begin; i < end;) {
            Walk at(kept, i);
            const int64_t m = batch_axis == 1 ? 1 : std::min({end - i, batch_axis - i % batch_axis, int64_t{256}});
            job.loops.init(m, acc);
            if (segments == 1)
                job.rows(m, in_stride, n, at.in, acc);
            else
                one_result(at, 0, segments, 0, n, acc);
            job.finish(acc, m, at.out, out_stride);
            i += m;
        }
    };
    const int threads = num_threads();
    if (!parallel || threads == 1 || in_parallel()) return some_results(0, results);
    if (results >= threads) {
        const int64_t work = std::max<int64_t>(n * segments, 1);
        return parallel_for(0, results, std::max<int64_t>(kGrain / work, 1), some_results);
    }
    // Few results of many elements: each thread takes a share of every result.
    auto partial = std::make_unique<char[]>(static_cast<size_t>(threads) * results * acc_size);
    job.loops.init(threads * results, partial.get());
    const bool by_segment = segments >= 4 * threads;
    const int64_t total = by_segment ? segments : n;
    const int64_t share =
        by_segment ? (total + threads - 1) / threads : ((total + threads - 1) / threads + 63) / 64 * 64;
    parallel_for(0, threads, 1, [&](int64_t p0, int64_t p1) {
        for (int64_t p = p0; p < p1; p++) {
            const int64_t b = std::min(p * share, total), e = std::min(b + share, total);
            if (b == e) continue;
            Walk at(kept, 0);
            for (int64_t i = 0; i < results; i++, at.next()) {
                char* acc = partial.get() + (p * results + i) * acc_size;
                if (by_segment)
                    one_result(at, b, e, 0, n, acc);
                else
                    one_result(at, 0, segments, b, e, acc);
            }
        }
    });
    for (int p = 1; p < threads; p++) job.loops.join(results, partial.get(), partial.get() + p * results * acc_size);
    Walk at(kept, 0);
    for (int64_t i = 0; i < results; i++, at.next()) job.finish(partial.get() + i * acc_size, 1, at.out, 0);
}

// The innermost axis is kept: whole rows are added to an array of accumulators.
void reduce_by_columns(const Job& job, const Axes& axes, bool parallel) {
    const Axis inner = axes.back();
    const int acc_size = job.loops.acc_size;
    Axes kept, outer;
    Axis down;  // the innermost reduced axis
    for (size_t d = axes.size() - 1; d-- > 0;) {
        if (axes[d].reduced && down.size == 1)
            down = axes[d];
        else
            (axes[d].reduced ? outer : kept).insert(0, axes[d]);
    }
    const int64_t segments = count(outer);
    const int threads = parallel && !in_parallel() ? num_threads() : 1;
    int64_t width = std::min(inner.size, kColumns);
    if (threads > 1 && count(kept) * ((inner.size + width - 1) / width) < threads && inner.size >= 128 * threads)
        width = ((inner.size + threads - 1) / threads + 15) / 16 * 16;
    const int64_t blocks = (inner.size + width - 1) / width, units = count(kept) * blocks;

    auto add = [&](int64_t in, int64_t j, int64_t cols, int64_t r0, int64_t r1, int64_t s0, int64_t s1, char* acc) {
        Walk segment(outer, s0);
        for (int64_t s = s0; s < s1; s++, segment.next())
            job.columns(r1 - r0, down.in, cols, in + segment.in + r0 * down.in + j * job.step, acc);
    };
    auto some_units = [&](int64_t begin, int64_t end) {
        alignas(64) char acc[kColumns * kMaxAcc];
        for (int64_t u = begin; u < end; u++) {
            Walk at(kept, u / blocks);
            const int64_t j = u % blocks * width, cols = std::min(width, inner.size - j);
            job.loops.init(cols, acc);
            add(at.in, j, cols, 0, down.size, 0, segments, acc);
            job.finish(acc, cols, at.out + j * inner.out, inner.out);
        }
    };
    if (threads == 1) return some_units(0, units);
    if (units >= threads) {
        const int64_t work = std::max<int64_t>(width * down.size * segments, 1);
        return parallel_for(0, units, std::max<int64_t>(kGrain / work, 1), some_units);
    }
    // A narrow result: each thread takes a share of the rows.
    auto partial = std::make_unique<char[]>(static_cast<size_t>(threads) * units * width * acc_size);
    job.loops.init(threads * units * width, partial.get());
    const bool by_segment = segments >= down.size;
    const int64_t total = by_segment ? segments : down.size;
    const int64_t share = by_segment ? (total + threads - 1) / threads : ((total + threads - 1) / threads + 7) / 8 * 8;
    parallel_for(0, threads, 1, [&](int64_t p0, int64_t p1) {
        for (int64_t p = p0; p < p1; p++) {
            const int64_t b = std::min(p * share, total), e = std::min(b + share, total);
            if (b == e) continue;
            for (int64_t u = 0; u < units; u++) {
                Walk at(kept, u / blocks);
                const int64_t j = u % blocks * width, cols = std::min(width, inner.size - j);
                char* acc = partial.get() + (p * units + u) * width * acc_size;
                if (by_segment)
                    add(at.in, j, cols, 0, down.size, b, e, acc);
                else
                    add(at.in, j, cols, b, e, 0, segments, acc);
            }
        }
    });
    for (int p = 1; p < threads; p++)
        job.loops.join(units * width, partial.get(), partial.get() + p * units * width * acc_size);
    for (int64_t u = 0; u < units; u++) {
        Walk at(kept, u / blocks);
        const int64_t j = u % blocks * width, cols = std::min(width, inner.size - j);
        job.finish(partial.get() + u * width * acc_size, cols, at.out + j * inner.out, inner.out);
    }
}

}  // namespace

void reduce_tensor(const Tensor& input, uint64_t mask, const ReduceLoops& loops, DType loop_dtype, double param,
                   FinishRef finish) {
    const DType dtype = input.dtype();
    const bool same = dtype == loop_dtype || (dtype == DType::Bool && loop_dtype == DType::U8);
    const int64_t numel = input.numel();
    Axes axes;
    if (input.is_contiguous() && reduced_sizes(input.sizes(), mask, false).empty()) {
        axes.push_back({numel, 1, 0, true});
    } else {
        axes = coalesced(input, mask);
        if (axes.empty()) axes.push_back({1, 1, 0, true});
    }
    const Job job{loops,
                  input.data<char>(),
                  dtype,
                  item_size(dtype),
                  axes.back().in,
                  same ? nullptr : find_convert_loop(dtype, loop_dtype),
                  item_size(loop_dtype),
                  param,
                  finish};
    if (numel == 0) {  // identities, if there are results at all
        Axes kept;
        for (const Axis& a : axes)
            if (!a.reduced) kept.push_back(a);
        if (count(kept) == 0) return;
        alignas(64) char acc[kMaxAcc];
        loops.init(1, acc);
        Walk at(kept, 0);
        for (int64_t i = 0, n = count(kept); i < n; i++, at.next()) finish(acc, 1, at.out, 0);
        return;
    }
    const bool parallel = numel > kGrain;
    AllowThreads threads(parallel);
    if (axes.back().reduced)
        reduce_by_rows(job, axes, parallel);
    else
        reduce_by_columns(job, axes, parallel);
}

}  // namespace mashal
