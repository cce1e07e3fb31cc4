// Ops whose positions come from true elements of a mask.
#include <cstring>

#include "core/blocking.h"
#include "cpu/index_common.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

void check_mask(std::string_view op, const Tensor& mask) {
    MASHAL_CHECK(mask.dtype() == DType::Bool, op, "expected BoolTensor for mask, got mask ", text(mask),
                 ". Use mask.bool()");
}

// condition ? a : b without a branch: masks are often random.
template <class T>
T choose(bool condition, T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        const T all = static_cast<T>(-static_cast<T>(condition));
        return static_cast<T>((a & all) | (b & ~all));
    } else {
        return condition ? a : b;
    }
}

const uint8_t* mask_data(const Tensor& mask) { return mask.data<uint8_t>(); }

int64_t count_nonzero_bytes(const uint8_t* p, int64_t n) {
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) total += p[i] != 0;
    return total;
}

// Counts the true elements of a dense mask, then calls f(total, run_parts), where run_parts(g) calls g(begin, end, how
// many true elements stand before begin) on all parts of the mask.
template <class F>
void over_true(const uint8_t* mask, int64_t n, F&& f) {
    constexpr int64_t part = kGrain;
    const int64_t parts = (n + part - 1) / part;
    std::vector<int64_t> before(static_cast<size_t>(parts) + 1, 0);
    parallel_for(0, parts, 2, [&](int64_t b, int64_t e) {
        for (int64_t k = b; k < e; k++)
            before[static_cast<size_t>(k) + 1] = count_nonzero_bytes(mask + k * part, std::min(part, n - k * part));
    });
    for (size_t k = 1; k < before.size(); k++) before[k] += before[k - 1];
    f(before.back(), [&](auto&& run) {
        parallel_for(0, parts, 2, [&](int64_t b, int64_t e) {
            for (int64_t k = b; k < e; k++) run(k * part, std::min(n, (k + 1) * part), before[static_cast<size_t>(k)]);
        });
    });
}

// A dense mask of bytes: true where t is not zero.
Tensor nonzero_mask(const Tensor& t) {
    if (t.dtype() == DType::Bool || t.dtype() == DType::U8) return contiguous(t);
    return contiguous(to_dtype(t, DType::Bool));
}

// ---- masked_fill(Tensor input, Tensor mask, Number value) ----
void masked_fill_shape(Call& c) {
    const Tensor input = c.tensor(0), mask = c.tensor(1);
    check_mask("masked_fill", mask);
    c.result(broadcast_shapes("masked_fill", input.sizes(), mask.sizes()), input.dtype(), input.device());
}

void masked_fill_kernel(Call& c) {
    const Tensor out = c.out[0], mask = expand_to(c.tensor(1), out.sizes());
    const Tensor input = out.is_same(c.tensor(0)) ? out : expand_to(c.tensor(0), out.sizes());
    const Tensor value = empty({}, out.dtype());
    fill(value, c.args[2].scalar());
    fill_masked(out, input, mask, value);
}

// ---- masked_select(Tensor input, Tensor mask) ----
void masked_select_kernel(Call& c) {
    check_mask("masked_select", c.tensor(1));
    const IntVec sizes = broadcast_shapes("masked_select", c.tensor(0).sizes(), c.tensor(1).sizes());
    const Tensor input = contiguous(expand_to(c.tensor(0), sizes)), mask = contiguous(expand_to(c.tensor(1), sizes));
    const Tensor out = empty(IntVec{count_true(mask)}, input.dtype());
    read_masked(out, input, mask);
    c.out.push_back(out);
}

// ---- masked_scatter(Tensor input, Tensor mask, Tensor source) ----
void masked_scatter_shape(Call& c) {
    const Tensor input = c.tensor(0), mask = c.tensor(1), source = c.tensor(2);
    check_mask("masked_scatter", mask);
    MASHAL_CHECK(input.dtype() == source.dtype(), "masked_scatter",
                 "expected self and source to have same dtypes but got input ", text(input), " and source ",
                 text(source));
    c.result(broadcast_shapes("masked_scatter", input.sizes(), mask.sizes()), input.dtype(), input.device());
}

void masked_scatter_kernel(Call& c) {
    const Tensor out = c.out[0];
    if (!out.is_same(c.tensor(0))) copy_into(out, c.tensor(0));
    const Tensor mask = contiguous(expand_to(c.tensor(1), out.sizes())), source = contiguous(c.tensor(2));
    const uint8_t* m = mask_data(mask);
    const int64_t wanted = count_nonzero_bytes(m, mask.numel());
    MASHAL_CHECK(wanted <= source.numel(), "masked_scatter",
                 "expected source to have at least as many elements as mask has ", "true ones, got source ",
                 text(source), " and ", wanted, " true elements");
    visit_size(out.dtype(), [&](auto tag) {
        using T = decltype(tag);
        const T* from = source.data<T>();
        T* o = out.data<T>();
        AllowThreads threads(mask.numel() > kGrain);
        for_row_pieces<1>(out->sizes, {out->strides}, 0, out->numel, [&](const auto& at, int64_t n) {
            const int64_t step = out->strides.empty() ? 0 : out->strides.back();
            for (int64_t j = 0; j < n; j++)
                if (*m++) o[at[0] + j * step] = *from++;
        });
    });
}

// ---- nonzero(Tensor input): (n, dim) int64 ----
// by_dimension: transposed.
Tensor true_positions(const Tensor& t, bool by_dimension) {
    const Tensor mask = nonzero_mask(t);
    const uint8_t* m = mask_data(mask);
    const int64_t nd = mask.dim();
    const IntVec sizes = mask.sizes();
    Tensor result;
    over_true(m, mask.numel(), [&](int64_t total, auto&& run_parts) {
        result = empty(by_dimension ? IntVec{nd, total} : IntVec{total, nd}, DType::I64);
        const int64_t row_step = by_dimension ? 1 : nd, dim_step = by_dimension ? total : 1;
        int64_t* o = result.data<int64_t>();
        if (nd == 0) return;
        AllowThreads threads(mask.numel() > kGrain);
        const size_t last = static_cast<size_t>(nd) - 1;
        run_parts([&](int64_t b, int64_t e, int64_t at) {
            IntVec position(static_cast<size_t>(nd));
            int64_t rest = b;
            for (size_t d = last + 1; d-- > 0;) {
                position[d] = rest % sizes[d];
                rest /= sizes[d];
            }
            for (int64_t i = b; i < e;) {
                const int64_t row_end = std::min(e, i + sizes[last] - position[last]);
                const int64_t column = position[last] - i;
                for (; i < row_end; i++) {
                    if (i + 8 <= row_end) {  // eight zero bytes at once
                        uint64_t eight;
                        std::memcpy(&eight, m + i, 8);
                        if (eight == 0) {
                            i += 7;
                            continue;
                        }
                    }
                    if (!m[i]) continue;
                    int64_t* to = o + at++ * row_step;
                    for (size_t d = 0; d < last; d++) to[static_cast<int64_t>(d) * dim_step] = position[d];
                    to[static_cast<int64_t>(last) * dim_step] = column + i;
                }
                position[last] = 0;
                for (size_t d = last; d-- > 0;) {
                    if (++position[d] < sizes[d]) break;
                    position[d] = 0;
                }
            }
        });
    });
    return result;
}

void nonzero_kernel(Call& c) { c.out.push_back(true_positions(c.tensor(0), false)); }

const OpRegistration r_masked_fill{"_masked_fill", {masked_fill_shape, masked_fill_kernel, true}};
const OpRegistration r_masked_fill_{"_masked_fill_", {masked_fill_shape, masked_fill_kernel, true}};
const OpRegistration r_masked_select{"masked_select", {.kernel = masked_select_kernel}};
const OpRegistration r_masked_scatter{"masked_scatter", {masked_scatter_shape, masked_scatter_kernel, true}};
const OpRegistration r_nonzero{"_nonzero", {.kernel = nonzero_kernel}};

}  // namespace

Tensor nonzero_rows(const Tensor& t) { return true_positions(t, true); }

int64_t count_true(const Tensor& mask) {
    const Tensor m = contiguous(mask);
    return count_nonzero_bytes(mask_data(m), m.numel());
}

void read_masked(const Tensor& out, const Tensor& given, const Tensor& given_mask) {
    const Tensor input = contiguous(given), mask = contiguous(given_mask);
    const uint8_t* m = mask_data(mask);
    visit_size(input.dtype(), [&](auto tag) {
        using T = decltype(tag);
        const T* in = input.data<T>();
        T* o = out.data<T>();
        AllowThreads threads(mask.numel() > kGrain);
        over_true(m, input->numel, [&](int64_t, auto&& run_parts) {
            run_parts([&](int64_t b, int64_t e, int64_t at) {
                const int64_t stop = at + count_nonzero_bytes(m + b, e - b);
                // Writes always, advances when true: no branch to mispredict.
                for (int64_t i = b; at < stop; i++) {
                    o[at] = in[i];
                    at += m[i] != 0;
                }
            });
        });
    });
}

void fill_masked(const Tensor& out, const Tensor& input, const Tensor& mask, const Tensor& value) {
    if (out.numel() == 0) return;
    IntVec sizes = out.sizes(), so = out.strides(), si = input.strides(), sm = mask.strides();
    if (sizes.empty() || (out.is_contiguous() && input.is_contiguous() && mask.is_contiguous())) {
        sizes = {out.numel()};
        so = si = sm = {1};
    }
    const int64_t lo = so.back(), li = si.back(), lm = sm.back();
    visit_size(out.dtype(), [&](auto tag) {
        using T = decltype(tag);
        T* o0 = out.data<T>();
        const T* i0 = input.data<T>();
        const uint8_t* m0 = mask_data(mask);
        const T v = *value.data<T>();
        AllowThreads threads(out.numel() > kGrain);
        parallel_rows<3>(sizes, {so, si, sm}, 1, [&](const auto& at, int64_t n) {
            T* o = o0 + at[0];
            const T* in = i0 + at[1];
            const uint8_t* m = m0 + at[2];
            if (lo == 1 && li == 1 && lm == 1) {
                for (int64_t j = 0; j < n; j++) o[j] = choose(m[j] != 0, v, in[j]);
            } else {
                for (int64_t j = 0; j < n; j++) o[j * lo] = choose(m[j * lm] != 0, v, in[j * li]);
            }
        });
    });
}

}  // namespace mashal
