// cumsum, cumprod, cummax, cummin, logcumsumexp.
#include <algorithm>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/copy.h"
#include "cpu/scan_loops.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

// A contiguous tensor seen as outer x n x inner, the scan running along n.
struct Layout {
    Layout(const Tensor& t, int64_t dim) {
        for (int64_t d = 0; d < t.dim(); d++) (d < dim ? outer : d == dim ? n : inner) *= t.size(d);
    }
    int64_t outer = 1, n = 1, inner = 1;
};

void scan(Call& c, Scan op, const Tensor& input, DType loop, const Tensor& out, int64_t* indices) {
    const int64_t dim = wrap_dim(c.name(), c.i64(1), input.dim());
    const Tensor source = contiguous(to_dtype(input, loop));
    const Tensor target = out.dtype() == loop ? out : empty(out.sizes(), loop);
    const Layout at(source, dim);
    const ScanLoop run = MASHAL_SELECT(scan_loop)(op, loop);
    MASHAL_CHECK_AS(NotImplemented, run != nullptr, c.name(), "not implemented for '", dtype_legacy_name(loop), "'");
    if (input.numel() > 0) {
        const char* x = source.data<char>();
        char* y = target.data<char>();
        const int64_t item = item_size(loop);
        AllowThreads unlocked(input.numel() > kGrain);
        const int64_t width = std::min<int64_t>(at.inner, 256), blocks = (at.inner + width - 1) / width;
        const int64_t grain = std::max<int64_t>(kGrain / (at.n * width), 1);
        parallel_for(0, at.outer * blocks, grain, [&](int64_t begin, int64_t end) {
            for (int64_t u = begin; u < end; u++) {
                const int64_t j = u % blocks * width, cols = std::min(width, at.inner - j);
                const int64_t offset = u / blocks * at.n * at.inner + j;
                run(at.n, at.inner, cols, x + offset * item, y + offset * item,
                    indices == nullptr ? nullptr : indices + offset);
            }
        });
    }
    if (!target.is_same(out)) copy_into(out, target);
}

// cumsum, cumprod(input, dim, *, dtype)
void sum_shape(Call& c) {
    const Tensor input = c.tensor(0);
    wrap_dim(c.name(), c.i64(1), input.dim());
    const DType t = input.dtype();
    c.result(input.sizes(), c.has(2) ? c.args[2].dtype() : is_integral(t, true) ? DType::I64 : t, input.device());
}

void sum_kernel(Call& c, Scan op) {
    const Tensor out = c.out[0];
    const DType t = out.dtype();
    Tensor input = c.tensor(0);
    // The input takes the result's type first, as with `dtype=` elsewhere; narrow integers then run in int64.
    if (is_integral(t, true) && t != DType::I64) input = to_dtype(input, t);
    scan(c, op, input, is_integral(t, true) ? DType::I64 : compute_dtype(t), out, nullptr);
}

// cummax, cummin(input, dim) -> (values, indices)
void max_shape(Call& c) {
    const Tensor input = c.tensor(0);
    wrap_dim(c.name(), c.i64(1), input.dim());
    MASHAL_CHECK_AS(NotImplemented, !is_complex(input.dtype()), c.name(), "not implemented for '",
                    dtype_legacy_name(input.dtype()), "'");
    c.result(input.sizes(), input.dtype(), input.device());
    c.result(input.sizes(), DType::I64, input.device());
}

void max_kernel(Call& c, Scan op) {
    const Tensor input = c.tensor(0);
    scan(c, op, input, compute_dtype(input.dtype()), c.out[0], c.out[1].data<int64_t>());
}

// logcumsumexp(input, dim)
void logsumexp_shape(Call& c) {
    const Tensor input = c.tensor(0);
    wrap_dim(c.name(), c.i64(1), input.dim());
    MASHAL_CHECK_AS(NotImplemented, is_floating(input.dtype()), c.name(), "not implemented for '",
                    dtype_legacy_name(input.dtype()), "'");
    c.result(input.sizes(), input.dtype(), input.device());
}

void logsumexp_kernel(Call& c) {
    const Tensor input = c.tensor(0);
    scan(c, Scan::LogSumExp, input, compute_dtype(input.dtype()), c.out[0], nullptr);
}

const OpRegistration registrations[] = {
    {"cumsum", {.shape = sum_shape, .kernel = [](Call& c) { sum_kernel(c, Scan::Sum); }}},
    {"cumprod", {.shape = sum_shape, .kernel = [](Call& c) { sum_kernel(c, Scan::Prod); }}},
    {"cummax", {.shape = max_shape, .kernel = [](Call& c) { max_kernel(c, Scan::Max); }}},
    {"cummin", {.shape = max_shape, .kernel = [](Call& c) { max_kernel(c, Scan::Min); }}},
    {"_logcumsumexp", {.shape = logsumexp_shape, .kernel = logsumexp_kernel}},
};

}  // namespace
}  // namespace mashal
