// sum, mean, prod, extrema, logical and counting reductions, variance, vector norms, logsumexp.
#include <cmath>

#include "core/parallel.h"
#include "cpu/copy.h"
#include "cpu/reduce_driver.h"

namespace mashal {
namespace {

// Writes values of type V (double, int64, c128, ...) as elements of a result of type t, at `stride`.
template <class V>
void store(DType t, void* out, int64_t offset, int64_t stride, int64_t n, const V* value) {
    visit_all(t, [&](auto tag) {
        using T = decltype(tag);
        T* p = static_cast<T*>(out) + offset;
        for (int64_t j = 0; j < n; j++) {
            const V v = value[j];
            if constexpr (std::is_same_v<V, c128>) {
                if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) p[j * stride] = T(v);
            } else if constexpr (std::is_same_v<T, f16>) {
                p[j * stride] = to_f16(static_cast<float>(v));
            } else if constexpr (std::is_same_v<T, bf16>) {
                p[j * stride] = to_bf16(static_cast<float>(v));
            } else if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
                p[j * stride] = T(static_cast<typename T::value_type>(v));
            } else if constexpr (std::is_same_v<T, bool>) {
                p[j * stride] = v != V(0);
            } else {
                p[j * stride] = static_cast<T>(v);
            }
        }
    });
}

// The results' memory, readable with the interpreter lock released.
struct Result {
    explicit Result(const Tensor& t) : dtype(t.dtype()), data(t.data<char>()) {}
    DType dtype;
    char* data;

    template <class V>
    void put(int64_t offset, int64_t stride, int64_t n, const V* values) const {
        store(dtype, data, offset, stride, n, values);
    }
    // put(f(acc[j])) in pieces.
    template <class V, class Acc, class F>
    void map(const void* acc, int64_t n, int64_t offset, int64_t stride, F&& f) const {
        auto* a = static_cast<const Acc*>(acc);
        V values[256];
        for (int64_t b = 0; b < n; b += 256) {
            const int64_t len = n - b < 256 ? n - b : 256;
            for (int64_t j = 0; j < len; j++) values[j] = f(a[b + j]);
            put(offset + b * stride, stride, len, values);
        }
    }
};

// Integer elements are summed as they are (into int64) unless another type was asked for.
DType sum_loop_dtype(DType input, DType out) {
    if (out == DType::I64 && is_integral(input, true)) return input;
    return compute_dtype(out);
}

void announce(Call& c, const Tensor& input, DType dtype, size_t dim = 1, size_t keepdim = 2) {
    const uint64_t mask = reduced_mask(c.name(), c.args[dim], input.dim());
    c.result(reduced_sizes(input.sizes(), mask, c.flag(keepdim)), dtype, input.device());
}

// ---- sum, nansum, prod, mean(input, dim, keepdim, *, dtype)
// -----------------------------------------------------------
void sum_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const DType t = input.dtype();
    announce(c, input, c.has(3) ? c.args[3].dtype() : is_integral(t, true) ? DType::I64 : t);
}

void sum_like(Call& c, Reduce op) {
    const Tensor input = c.tensor(0);
    const Result out(c.out[0]);
    const DType loop = sum_loop_dtype(input.dtype(), out.dtype);
    const ReduceLoops loops = find_reduce_loops(op, loop);
    MASHAL_CHECK(loops.rows != nullptr, c.name(), "not implemented for '", dtype_legacy_name(loop), "'");
    auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
        if (is_complex(loop))
            out.put(offset, stride, n, static_cast<const c128*>(acc));
        else if (is_integral(loop, true))
            out.put(offset, stride, n, static_cast<const int64_t*>(acc));
        else
            out.put(offset, stride, n, static_cast<const double*>(acc));
    };
    reduce_tensor(input, reduced_mask(c.name(), c.args[1], input.dim()), loops, loop, 0, finish);
}

void mean_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const DType t = c.has(3) ? c.args[3].dtype() : input.dtype();
    if (!is_floating(t) && !is_complex(t)) {
        if (c.has(3))
            raise_error(ErrorKind::Runtime, "mean",
                        "could not infer output dtype. Optional dtype must be either a floating "
                        "point or complex dtype. Got: ",
                        dtype_legacy_name(t));
        raise_error(ErrorKind::Runtime, "mean",
                    "could not infer output dtype. Input dtype must be either a floating point "
                    "or complex dtype. Got: ",
                    dtype_legacy_name(t));
    }
    announce(c, input, t);
}

void mean_kernel(Call& c) {
    const Tensor input = c.tensor(0);
    const Result out(c.out[0]);
    const DType loop = compute_dtype(out.dtype);
    const uint64_t mask = reduced_mask(c.name(), c.args[1], input.dim());
    const auto count = static_cast<double>(reduced_count(input.sizes(), mask));
    auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
        if (is_complex(loop))
            out.map<c128, c128>(acc, n, offset, stride, [&](c128 a) { return c128{a.re / count, a.im / count}; });
        else
            out.map<double, double>(acc, n, offset, stride, [&](double a) { return a / count; });
    };
    reduce_tensor(input, mask, find_reduce_loops(Reduce::Sum, loop), loop, 0, finish);
}

// ---- amax, amin(input, dim, keepdim)
// ----------------------------------------------------------------------------------
void check_nonempty(Call& c, const Tensor& input, uint64_t mask) {
    if (input.numel() != 0) return;
    if (c.args[1].is_none() || (c.args[1].tag() == Value::Tag::Ints && c.args[1].int_list().empty()))
        raise_error(ErrorKind::Index, c.name(),
                    "Expected reduction dim to be specified for input.numel() == 0. Specify the "
                    "reduction dim with the 'dim' argument, got input ",
                    text(input), ".");
    for (int64_t d = 0; d < input.dim(); d++)
        MASHAL_CHECK_AS(Index, !(mask >> d & 1) || input.size(d) != 0, c.name(), "Expected reduction dim ", d,
                        " to have non-zero size, got input ", text(input), ".");
}

void extremum_shape(Call& c) {
    const Tensor input = c.tensor(0);
    MASHAL_CHECK(!is_complex(input.dtype()), c.name(), "not implemented for '", dtype_legacy_name(input.dtype()), "'");
    check_nonempty(c, input, reduced_mask(c.name(), c.args[1], input.dim()));
    announce(c, input, input.dtype());
}

void extremum_kernel(Call& c, Reduce op) {
    const Tensor input = c.tensor(0);
    const Result out(c.out[0]);
    const DType loop = compute_dtype(input.dtype());
    auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
        visit_all(loop, [&](auto tag) {
            using T = decltype(tag);
            if constexpr (std::is_same_v<T, bool>)
                out.put(offset, stride, n, static_cast<const uint8_t*>(acc));
            else if constexpr (std::is_arithmetic_v<T>)
                out.put(offset, stride, n, static_cast<const T*>(acc));
        });
    };
    reduce_tensor(input, reduced_mask(c.name(), c.args[1], input.dim()), find_reduce_loops(op, loop), loop, 0, finish);
}

// ---- any, all, count_nonzero
// ------------------------------------------------------------------------------------------
void logical_shape(Call& c) {
    const Tensor input = c.tensor(0);
    // PyTorch keeps uint8, its boolean type of old.
    announce(c, input, input.dtype() == DType::U8 ? DType::U8 : DType::Bool);
}

void logical_kernel(Call& c, Reduce op) {
    const Tensor input = c.tensor(0);
    const Result out(c.out[0]);
    const DType loop = compute_dtype(input.dtype());
    auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
        out.put(offset, stride, n, static_cast<const uint8_t*>(acc));
    };
    reduce_tensor(input, reduced_mask(c.name(), c.args[1], input.dim()), find_reduce_loops(op, loop), loop, 0, finish);
}

void count_shape(Call& c) {
    const Tensor input = c.tensor(0);
    c.result(reduced_sizes(input.sizes(), reduced_mask(c.name(), c.args[1], input.dim()), false), DType::I64,
             input.device());
}

void count_kernel(Call& c) {
    const Tensor input = c.tensor(0);
    const Result out(c.out[0]);
    const DType loop = compute_dtype(input.dtype());
    auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
        out.put(offset, stride, n, static_cast<const int64_t*>(acc));
    };
    reduce_tensor(input, reduced_mask(c.name(), c.args[1], input.dim()), find_reduce_loops(Reduce::CountNonzero, loop),
                  loop, 0, finish);
}

// ---- _var(input, dim, correction, keepdim, take_root) -> (var or std, mean)
// ---------------------------------------------
void var_shape(Call& c) {
    const Tensor input = c.tensor(0);
    MASHAL_CHECK(is_floating(input.dtype()), c.name(), "requires a floating point input, got input ", text(input), ".");
    announce(c, input, input.dtype(), 1, 3);
    announce(c, input, input.dtype(), 1, 3);
}

void var_kernel(Call& c) {
    const Tensor input = c.tensor(0);
    const Result out(c.out[0]), mean(c.out[1]);
    const DType loop = compute_dtype(input.dtype());
    const uint64_t mask = reduced_mask(c.name(), c.args[1], input.dim());
    const double divisor = std::max(0.0, static_cast<double>(reduced_count(input.sizes(), mask)) - c.f64(2));
    const bool root = c.flag(4);
    auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
        out.map<double, MomentsAcc>(acc, n, offset, stride, [&](const MomentsAcc& a) {
            const double v = a.m2 / divisor;
            return root ? std::sqrt(v) : v;
        });
        mean.map<double, MomentsAcc>(acc, n, offset, stride,
                                     [](const MomentsAcc& a) { return a.count > 0 ? a.mean : std::nan(""); });
    };
    reduce_tensor(input, mask, find_reduce_loops(Reduce::Moments, loop), loop, 0, finish);
}

// ---- _vector_norm(input, ord, dim, keepdim)
// ------------------------------------------------------------------------------
void norm_shape(Call& c) {
    const Tensor input = c.tensor(0);
    MASHAL_CHECK(is_floating(input.dtype()), c.name(), "Expected a floating point or complex tensor as input. Got ",
                 dtype_legacy_name(input.dtype()));
    const double p = c.f64(1);
    if (input.numel() == 0 && (p < 0 || p == INFINITY)) {
        const uint64_t mask = reduced_mask(c.name(), c.args[2], input.dim());
        MASHAL_CHECK(reduced_count(input.sizes(), mask) != 0, c.name(), "cannot compute the norm of order ", p,
                     " over no elements: it has no identity, got input ", text(input), ".");
    }
    announce(c, input, input.dtype(), 2, 3);
}

void norm_kernel(Call& c) {
    const Tensor input = c.tensor(0);
    const Result out(c.out[0]);
    const DType loop = compute_dtype(input.dtype());
    const double p = c.f64(1);
    const uint64_t mask = reduced_mask(c.name(), c.args[2], input.dim());
    auto run = [&](Reduce op, double param, auto&& f) {
        auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
            out.map<double, double>(acc, n, offset, stride, f);
        };
        reduce_tensor(input, mask, find_reduce_loops(op, loop), loop, param, finish);
    };
    if (p == 0) {
        auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
            out.map<double, int64_t>(acc, n, offset, stride, [](int64_t a) { return static_cast<double>(a); });
        };
        reduce_tensor(input, mask, find_reduce_loops(Reduce::CountNonzero, loop), loop, 0, finish);
    } else if (p == INFINITY || p == -INFINITY) {
        auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
            visit_floating(c.name(), loop,
                           [&](auto tag) { out.put(offset, stride, n, static_cast<const decltype(tag)*>(acc)); });
        };
        reduce_tensor(input, mask, find_reduce_loops(p > 0 ? Reduce::MaxAbs : Reduce::MinAbs, loop), loop, 0, finish);
    } else if (p == 1) {
        run(Reduce::SumAbs, 0, [](double a) { return a; });
    } else if (p == 2) {
        bool out_of_range = false;  // set to true by any thread, never to false
        run(Reduce::SumSquares, 0, [&](double a) {
            if (!(a > 1e-280 && a < 1e300)) __atomic_store_n(&out_of_range, true, __ATOMIC_RELAXED);
            return std::sqrt(a);
        });
        if (out_of_range && loop == DType::F64) {
            // Squares of doubles overflow or vanish: once more, scaled by the largest magnitude.
            double top = 0;
            auto finish = [&](const void* acc, int64_t, int64_t, int64_t) { top = *static_cast<const double*>(acc); };
            reduce_tensor(input, ~uint64_t{0}, find_reduce_loops(Reduce::MaxAbs, loop), loop, 0, finish);
            int exponent = 0;
            if (std::isfinite(top) && top > 0) {
                std::frexp(top, &exponent);
                exponent = std::min(std::max(exponent, -1020), 1020);
                const double up = std::ldexp(1.0, exponent);
                run(Reduce::SumScaled, std::ldexp(1.0, -exponent), [&](double a) { return std::sqrt(a) * up; });
            }
        }
    } else {
        run(Reduce::SumPower, p, [&](double a) { return std::pow(a, 1 / p); });
    }
}

// ---- logsumexp(input, dim, keepdim)
// --------------------------------------------------------------------------------------
void logsumexp_shape(Call& c) {
    const Tensor input = c.tensor(0);
    MASHAL_CHECK(is_floating(input.dtype()), c.name(), "requires a floating point input, got input ", text(input), ".");
    announce(c, input, input.dtype());
}

void logsumexp_kernel(Call& c) {
    const Tensor input = c.tensor(0);
    const Result out(c.out[0]);
    const DType loop = compute_dtype(input.dtype());
    auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
        out.map<double, LogSumExpAcc>(acc, n, offset, stride, [](const LogSumExpAcc& a) {
            return std::log(a.sum) + (std::isinf(a.max) ? 0.0 : a.max);
        });
    };
    reduce_tensor(input, reduced_mask(c.name(), c.args[1], input.dim()), find_reduce_loops(Reduce::LogSumExp, loop),
                  loop, 0, finish);
}

const OpRegistration registrations[] = {
    {"sum", {.shape = sum_shape, .kernel = [](Call& c) { sum_like(c, Reduce::Sum); }, .layout = Layout::Follow}},
    {"nansum", {.shape = sum_shape, .kernel = [](Call& c) { sum_like(c, Reduce::NanSum); }}},
    {"prod", {.shape = sum_shape, .kernel = [](Call& c) { sum_like(c, Reduce::Prod); }}},
    {"mean", {.shape = mean_shape, .kernel = mean_kernel, .layout = Layout::Follow}},
    {"amax", {.shape = extremum_shape, .kernel = [](Call& c) { extremum_kernel(c, Reduce::Max); }}},
    {"amin", {.shape = extremum_shape, .kernel = [](Call& c) { extremum_kernel(c, Reduce::Min); }}},
    {"any", {.shape = logical_shape, .kernel = [](Call& c) { logical_kernel(c, Reduce::Any); }}},
    {"all", {.shape = logical_shape, .kernel = [](Call& c) { logical_kernel(c, Reduce::All); }}},
    {"count_nonzero", {.shape = count_shape, .kernel = count_kernel}},
    {"_var", {.shape = var_shape, .kernel = var_kernel}},
    {"_vector_norm", {.shape = norm_shape, .kernel = norm_kernel}},
    {"_logsumexp", {.shape = logsumexp_shape, .kernel = logsumexp_kernel}},
};

}  // namespace
}  // namespace mashal
