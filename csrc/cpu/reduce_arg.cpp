// argmax, argmin, and max, min along one dimension with positions.
#include <algorithm>
#include <memory>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/copy.h"
#include "cpu/reduce_axes.h"
#include "cpu/reduce_driver.h"

namespace mashal {
namespace {

constexpr int64_t kColumns = 512;

// Writes extrema (may be null) and their positions, both contiguous in the order of the kept dimensions.
struct ArgJob {
    ArgLoops loops;
    DType dtype;
    const char* data;
    char* values;
    int64_t* indices;
    bool largest;
    int64_t item;

    void put(const char* v, const int64_t* at, int64_t n, int64_t offset, int64_t stride) const {
        for (int64_t j = 0; j < n; j++) {
            indices[offset + j * stride] = at[j];
            if (values != nullptr) std::memcpy(values + (offset + j * stride) * item, v + j * item, item);
        }
    }
};

// One row cut between threads; the parts are compared in order, so that the first of equals wins.
void arg_one_row(const ArgJob& job, int64_t n) {
    const int threads = num_threads();
    const int64_t share = (n + threads - 1) / threads;
    SmallVec<int64_t, 64> at(static_cast<size_t>(threads), -1);
    auto values = std::make_unique<char[]>(static_cast<size_t>(threads * job.item));
    parallel_for(0, threads, 1, [&](int64_t p0, int64_t p1) {
        for (int64_t p = p0; p < p1; p++) {
            const int64_t b = std::min(p * share, n), e = std::min(b + share, n);
            if (b == e) continue;
            job.loops.rows(1, 0, e - b, job.data + b * job.item, values.get() + p * job.item,
                           &at[static_cast<size_t>(p)]);
            at[static_cast<size_t>(p)] += b;
        }
    });
    // The winners are themselves a row.
    int parts = 0;
    while (parts < threads && at[static_cast<size_t>(parts)] >= 0) parts++;
    alignas(16) char value[16];
    int64_t winner = 0;
    job.loops.rows(1, 0, parts, values.get(), value, &winner);
    job.put(value, &at[static_cast<size_t>(winner)], 1, 0, 0);
}

void arg_reduce(const Tensor& input, int64_t dim, bool largest, Tensor* values, const Tensor& indices) {
    Tensor source = to_dtype(input, compute_dtype(input.dtype()));
    Axes kept;
    Axis along;
    auto collect = [&] {
        kept.clear();
        along = {};
        int64_t out_stride = 1;
        for (int64_t d = source.dim(); d-- > 0;) {
            if (d == dim) {
                along = {source.size(d), source.stride(d), 0, true};
                continue;
            }
            if (source.size(d) != 1) kept.push_back({source.size(d), source.stride(d), out_stride, false});
            out_stride *= source.size(d);
        }
        // Widest stride first; the narrowest kept axis may then be a run of columns.
        std::stable_sort(kept.begin(), kept.end(), [](const Axis& a, const Axis& b) { return a.in > b.in; });
        for (size_t d = kept.size(); d-- > 1;) {
            Axis &outer = kept[d - 1], &inner = kept[d];
            if (outer.in != inner.in * inner.size || outer.out != inner.out * inner.size) continue;
            outer = {outer.size * inner.size, inner.in, inner.out, false};
            kept.erase(d);
        }
    };
    collect();
    const bool rows_fit = along.size == 1 || along.in == 1;
    if (!rows_fit && (kept.empty() || kept.back().in != 1)) {
        source = contiguous(source);
        collect();
    }
    if (input.numel() == 0) return;
    const bool by_rows = along.size == 1 || along.in == 1;

    const DType loop = source.dtype();
    const ArgLoops loops = find_arg_loops(largest, loop);
    // Values of a half input are looked up in the float copy and rounded back exactly.
    Tensor wide = values != nullptr && is_half(values->dtype()) ? empty(values->sizes(), loop) : Tensor();
    ArgJob job{loops,
               loop,
               source.data<char>(),
               wide.defined()      ? wide.data<char>()
               : values != nullptr ? values->data<char>()
                                   : nullptr,
               indices.data<int64_t>(),
               largest,
               item_size(loop)};
    {
        AllowThreads unlocked(input.numel() > kGrain);
        const int64_t results = count(kept), n = along.size;
        if (by_rows) {
            if (results == 1 && n > 4 * kGrain && num_threads() > 1) {
                arg_one_row(job, n);
            } else {
                parallel_for(0, results, std::max<int64_t>(kGrain / n, 1), [&](int64_t begin, int64_t end) {
                    Walk at(kept, begin);
                    for (int64_t i = begin; i < end; i++, at.next()) {
                        alignas(16) char value[16];
                        int64_t place = 0;
                        job.loops.rows(1, 0, n, job.data + at.in * job.item, value, &place);
                        job.put(value, &place, 1, at.out, 0);
                    }
                });
            }
        } else {
            const Axis inner = kept.back();
            kept.pop_back();
            int64_t width = std::min(inner.size, kColumns);
            const int threads = num_threads();
            if (count(kept) == 1 && inner.size <= kColumns && inner.size >= 64 * threads)
                width = ((inner.size + threads - 1) / threads + 15) / 16 * 16;
            const int64_t blocks = (inner.size + width - 1) / width;
            const int64_t grain = std::max<int64_t>(kGrain / (width * n), 1);
            parallel_for(0, count(kept) * blocks, grain, [&](int64_t begin, int64_t end) {
                alignas(64) char block[kColumns * 8];
                int64_t place[kColumns];
                for (int64_t u = begin; u < end; u++) {
                    Walk at(kept, u / blocks);
                    const int64_t j = u % blocks * width, cols = std::min(width, inner.size - j);
                    job.loops.columns(n, along.in, cols, job.data + (at.in + j) * job.item, block, place);
                    job.put(block, place, cols, at.out + j * inner.out, inner.out);
                }
            });
        }
    }
    if (wide.defined()) copy_into(*values, wide);
}

void check_arg(Call& c, const Tensor& input, bool whole, int64_t dim) {
    MASHAL_CHECK_AS(NotImplemented, !is_complex(input.dtype()), c.name(), "not implemented for '",
                    dtype_legacy_name(input.dtype()), "'");
    if (whole)
        MASHAL_CHECK_AS(Index, input.numel() != 0, c.name(),
                        "Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                        "the 'dim' argument, got input ",
                        text(input), ".");
    else
        MASHAL_CHECK_AS(Index, input.dim() == 0 || input.size(dim) != 0, c.name(), "Expected reduction dim ", dim,
                        " to have non-zero size, got input ", text(input), ".");
}

uint64_t one_bit(const Tensor& input, int64_t dim) { return input.dim() == 0 ? 0 : uint64_t{1} << dim; }

// argmax(input, dim, keepdim)
void argmax_shape(Call& c) {
    const Tensor input = c.tensor(0);
    MASHAL_CHECK(input.dtype() != DType::Bool, c.name(), "does not support bool input, got input ", text(input),
                 ". Convert it to uint8.");
    const bool whole = !c.has(1);
    const int64_t dim = whole ? 0 : wrap_dim(c.name(), c.i64(1), input.dim());
    check_arg(c, input, whole, dim);
    const uint64_t mask = whole ? reduced_mask(c.name(), Value(), input.dim()) : one_bit(input, dim);
    c.result(reduced_sizes(input.sizes(), mask, c.flag(2)), DType::I64, input.device());
}

void argmax_kernel(Call& c, bool largest) {
    Tensor input = c.tensor(0);
    if (c.has(1) && input.dim() > 0)
        return arg_reduce(input, wrap_dim(c.name(), c.i64(1), input.dim()), largest, nullptr, c.out[0]);
    // Positions count in row-major order, whatever the strides.
    input = contiguous(input);
    const int64_t numel[1] = {input.numel()}, one[1] = {1};
    arg_reduce(alias(input, numel, one, input->offset), 0, largest, nullptr, c.out[0]);
}

// _max_dim(input, dim, keepdim) -> (values, indices)
void max_dim_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const int64_t dim = wrap_dim(c.name(), c.i64(1), input.dim());
    check_arg(c, input, false, dim);
    const IntVec sizes = reduced_sizes(input.sizes(), one_bit(input, dim), c.flag(2));
    c.result(sizes, input.dtype(), input.device());
    c.result(sizes, DType::I64, input.device());
}

void max_dim_kernel(Call& c, bool largest) {
    const Tensor input = c.tensor(0);
    Tensor values = c.out[0];
    arg_reduce(input, wrap_dim(c.name(), c.i64(1), input.dim()), largest, &values, c.out[1]);
}

const OpRegistration registrations[] = {
    {"argmax", {.shape = argmax_shape, .kernel = [](Call& c) { argmax_kernel(c, true); }}},
    {"argmin", {.shape = argmax_shape, .kernel = [](Call& c) { argmax_kernel(c, false); }}},
    {"_max_dim", {.shape = max_dim_shape, .kernel = [](Call& c) { max_dim_kernel(c, true); }}},
    {"_min_dim", {.shape = max_dim_shape, .kernel = [](Call& c) { max_dim_kernel(c, false); }}},
};

}  // namespace
}  // namespace mashal
