// softmax, log_softmax and their backward primitives.
#include "cpu/softmax_loops.h"

#include <algorithm>
#include <memory>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "cpu/pointwise_loops.h"
#include "dispatch/primitive.h"

namespace mashal {

template <>
const SoftmaxLoops<float>& softmax_loops<float>() {
    static const SoftmaxLoops<float> loops = MASHAL_SELECT(softmax_loops_float)();
    return loops;
}
template <>
const SoftmaxLoops<double>& softmax_loops<double>() {
    static const SoftmaxLoops<double> loops = MASHAL_SELECT(softmax_loops_double)();
    return loops;
}

namespace {

// A contiguous tensor seen as outer x n x inner.
struct Layout {
    Layout(IntSpan sizes, int64_t dim) {
        for (size_t d = 0; d < sizes.size(); d++)
            (static_cast<int64_t>(d) < dim ? outer : static_cast<int64_t>(d) == dim ? n : inner) *= sizes[d];
    }
    int64_t outer = 1, n = 1, inner = 1;
};

// Runs row(begin, end) over rows or columns(offset, cols) over blocks of columns, in parallel.
template <class Row, class Columns>
void for_softmax(const Layout& at, Row&& row, Columns&& columns) {
    constexpr int64_t kCost = 8;
    const int64_t total = at.outer * at.n * at.inner;
    AllowThreads unlocked(total * kCost > kGrain);
    if (at.inner == 1) {
        parallel_for(0, at.outer, std::max<int64_t>(kGrain / (at.n * kCost), 1), row);
        return;
    }
    // Blocks of columns whose rows together stay in the second cache.
    const int64_t width = std::clamp<int64_t>(65536 / at.n / 16 * 16, 16, 256);
    const int64_t blocks = (at.inner + width - 1) / width;
    parallel_for(0, at.outer * blocks, std::max<int64_t>(kGrain / (at.n * width * kCost), 1),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t u = begin; u < end; u++) {
                         const int64_t j = u % blocks * width;
                         columns(u / blocks * at.n * at.inner + j, std::min(width, at.inner - j));
                     }
                 });
}

void softmax_shape(Call& c) {
    const Tensor input = c.tensor(0);
    wrap_dim(c.name(), c.i64(1), input.dim());
    const DType t = c.has(2) ? c.args[2].dtype() : input.dtype();
    MASHAL_CHECK_AS(NotImplemented, is_floating(t), c.name(), "not implemented for '", dtype_legacy_name(t), "'");
    c.result(input.sizes(), t, input.device());
}

void softmax_kernel(Call& c, bool log) {
    const Tensor input = c.tensor(0), out = c.out[0];
    if (input.numel() == 0) return;
    const int64_t dim = wrap_dim(c.name(), c.i64(1), input.dim());
    const Layout at(input.sizes(), dim);
    const DType t = out.dtype();
    if (is_half(t) && at.inner == 1 && input.dtype() == t) {
        // Row by row through float buffers: no pass over memory is added.
        const Tensor source = contiguous(input);
        const ConvertLoop widen = find_convert_loop(t, DType::F32), narrow = find_convert_loop(DType::F32, t);
        const char* x = source.data<char>();
        char* y = out.data<char>();
        auto rows = [&](int64_t begin, int64_t end) {
            auto buffer = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(at.n));
            for (int64_t r = begin; r < end; r++) {
                widen(at.n, buffer.get(), x + r * at.n * 2);
                softmax_loops<float>().row(at.n, buffer.get(), buffer.get(), log);
                narrow(at.n, y + r * at.n * 2, buffer.get());
            }
        };
        return for_softmax(at, rows, [](int64_t, int64_t) {});
    }
    const DType loop = compute_dtype(t);
    const Tensor source = contiguous(to_dtype(input, loop));
    const Tensor target = t == loop ? out : empty(out.sizes(), loop);
    visit_floating(c.name(), loop, [&](auto tag) {
        using T = decltype(tag);
        const T* x = source.data<T>();
        T* y = target.data<T>();
        const SoftmaxLoops<T>& loops = softmax_loops<T>();
        for_softmax(
            at,
            [&](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; r++) loops.row(at.n, x + r * at.n, y + r * at.n, log);
            },
            [&](int64_t offset, int64_t cols) { loops.columns(at.n, at.inner, cols, x + offset, y + offset, log); });
    });
    if (!target.is_same(out)) copy_into(out, target);
}

// _softmax_backward(grad, out, dim)
void backward_shape(Call& c) {
    const Tensor out = c.tensor(1);
    check_floating(c.name(), out);
    check_shape(c.name(), "grad", c.tensor(0), out.sizes());
    wrap_dim(c.name(), c.i64(2), out.dim());
    c.result(out.sizes(), out.dtype(), out.device());
}

void backward_kernel(Call& c, bool log) {
    const Tensor out = c.out[0];
    if (out.numel() == 0) return;
    const int64_t dim = wrap_dim(c.name(), c.i64(2), out.dim());
    const Layout at(out.sizes(), dim);
    const DType t = out.dtype(), loop = compute_dtype(t);
    if (is_half(t) && at.inner == 1 && c.tensor(0).dtype() == t && out.is_contiguous()) {
        const Tensor grad = contiguous(c.tensor(0)), result = contiguous(c.tensor(1));
        const ConvertLoop widen = find_convert_loop(t, DType::F32), narrow = find_convert_loop(DType::F32, t);
        const char *g = grad.data<char>(), *o = result.data<char>();
        char* gi = out.data<char>();
        auto rows = [&](int64_t begin, int64_t end) {
            auto buffer = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(2 * at.n));
            float *wide_g = buffer.get(), *wide_o = wide_g + at.n;
            for (int64_t r = begin; r < end; r++) {
                widen(at.n, wide_g, g + r * at.n * 2);
                widen(at.n, wide_o, o + r * at.n * 2);
                softmax_loops<float>().row_backward(at.n, wide_g, wide_o, wide_g, log);
                narrow(at.n, gi + r * at.n * 2, wide_g);
            }
        };
        return for_softmax(at, rows, [](int64_t, int64_t) {});
    }
    const Tensor grad = contiguous(to_dtype(c.tensor(0), loop)), result = contiguous(to_dtype(c.tensor(1), loop));
    const Tensor target = out.dtype() == loop ? out : empty(out.sizes(), loop);
    visit_floating(c.name(), loop, [&](auto tag) {
        using T = decltype(tag);
        const T *g = grad.data<T>(), *o = result.data<T>();
        T* gi = target.data<T>();
        const SoftmaxLoops<T>& loops = softmax_loops<T>();
        for_softmax(
            at,
            [&](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; r++)
                    loops.row_backward(at.n, g + r * at.n, o + r * at.n, gi + r * at.n, log);
            },
            [&](int64_t offset, int64_t cols) {
                loops.columns_backward(at.n, at.inner, cols, g + offset, o + offset, gi + offset, log);
            });
    });
    if (!target.is_same(out)) copy_into(out, target);
}

const OpRegistration registrations[] = {
    {"softmax", {.shape = softmax_shape, .kernel = [](Call& c) { softmax_kernel(c, false); }}},
    {"log_softmax", {.shape = softmax_shape, .kernel = [](Call& c) { softmax_kernel(c, true); }}},
    {"_softmax_backward", {.shape = backward_shape, .kernel = [](Call& c) { backward_kernel(c, false); }}},
    {"_log_softmax_backward", {.shape = backward_shape, .kernel = [](Call& c) { backward_kernel(c, true); }}},
};

}  // namespace
}  // namespace mashal
