// The random primitives: which stream, which order of elements, which result; the numbers are made in cpu/random.cpp.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/blocking.h"
#include "core/parallel.h"
#include "core/vector_target.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "cpu/pointwise_loops.h"
#include "cpu/random.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

Generator& stream(const Call& c, size_t i) {
    return c.has(i) ? static_cast<Generator&>(*c.args[i].object_ptr()) : *default_generator();
}

// Samples cost tens of operations: others may run well before a copy of the same size would let them.
bool is_long(int64_t n) { return n > kGrain / 8; }

// Dimensions from the largest stride to the smallest: the order in which memory is filled.
SmallVec<size_t, 6> memory_order(const Tensor& t) {
    SmallVec<size_t, 6> order(static_cast<size_t>(t.dim()));
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return t.strides()[a] > t.strides()[b]; });
    return order;
}
Tensor permuted(const Tensor& t, const SmallVec<size_t, 6>& order) {
    IntVec sizes, strides;
    for (size_t d : order) {
        sizes.push_back(t.sizes()[d]);
        strides.push_back(t.strides()[d]);
    }
    return alias(t, sizes, strides, t->offset);
}

// Calls f(data, n), which fills n contiguous elements, and brings these to t in the order of its memory.
template <class F>
void fill_memory(const Tensor& t, F&& f) {
    const int64_t n = t.numel();
    if (is_dense(t)) {
        void* data = t.data();
        AllowThreads threads(is_long(n));
        f(data, n);
        return;
    }
    const Tensor target = permuted(t, memory_order(t));
    const Tensor buffer = empty(target.sizes(), t.dtype());
    {
        void* data = buffer.data();
        AllowThreads threads(is_long(n));
        f(data, n);
    }
    copy_into(target, buffer);
}

// ---- in place: no shape rule, the target is the first argument ----

using TwoParameters = void (*)(Generator&, DType, void*, int64_t, double, double);
template <TwoParameters fill_with>
void two_parameters_kernel(Call& c) {
    const DType dtype = c.out[0].dtype();
    Generator& g = stream(c, 3);
    const double first = c.f64(1), second = c.f64(2);
    fill_memory(c.out[0], [&](void* data, int64_t n) { fill_with(g, dtype, data, n, first, second); });
}

using OneParameter = void (*)(Generator&, DType, void*, int64_t, double);
template <OneParameter fill_with>
void one_parameter_kernel(Call& c) {
    const DType dtype = c.out[0].dtype();
    Generator& g = stream(c, 2);
    const double parameter = c.f64(1);
    fill_memory(c.out[0], [&](void* data, int64_t n) { fill_with(g, dtype, data, n, parameter); });
}

void normal_into(const Tensor& out, Generator& g, double mean, double std) {
    const DType dtype = out.dtype();
    const bool contiguous = out.is_contiguous();
    fill_memory(out, [&](void* data, int64_t n) { fill_normal(g, dtype, data, n, mean, std, contiguous); });
}
void normal_kernel(Call& c) { normal_into(c.out[0], stream(c, 3), c.f64(1), c.f64(2)); }

void random_kernel(Call& c) {
    const DType dtype = c.out[0].dtype();
    Generator& g = stream(c, 1);
    fill_memory(c.out[0], [&](void* data, int64_t n) { fill_random(g, dtype, data, n); });
}
void random_range_kernel(Call& c) {
    const DType dtype = c.out[0].dtype();
    Generator& g = stream(c, 3);
    const RandomRange range = random_range(dtype, c.i64(1), c.has(2) ? std::optional(c.i64(2)) : std::nullopt);
    fill_memory(c.out[0], [&](void* data, int64_t n) { fill_random_range(g, dtype, data, n, range); });
}

// _bernoulli_tensor_(Tensor input, Tensor p, ...): one probability per element, drawn in the order of input's memory.
void bernoulli_tensor_kernel(Call& c) {
    const Tensor out = c.out[0];
    const IntVec common = broadcast_shapes("bernoulli_", c.tensor(1).sizes(), out.sizes());
    MASHAL_CHECK(equal(common, out.sizes()), "bernoulli_", "p must broadcast to input's shape, got p ",
                 text(c.tensor(1)), " and input ", text(out), ".");
    const auto order = memory_order(out);
    const Tensor target = permuted(out, order);
    const Tensor p = contiguous(permuted(expand_to(c.tensor(1), out.sizes()), order));
    const DType dtype = out.dtype(), p_dtype = p.dtype();
    const void* p_data = p.data();
    Generator& g = stream(c, 2);
    fill_memory(target, [&](void* data, int64_t n) { fill_bernoulli(g, dtype, data, n, p_dtype, p_data); });
}

// ---- new tensors ----

DType dtype_or(const Call& c, size_t i, DType fallback) {
    if (c.has(i)) return c.args[i].dtype();
    return c.out_given ? c.out[0].dtype() : fallback;
}
Device device_or_default(const Call& c, size_t i) {
    if (c.has(i)) return c.args[i].device();
    return c.out_given ? c.out[0].device() : default_device();
}

// rand, randn(int[*] size, *, Generator? generator=None, dtype? dtype=None, device? device=None)
void sized_shape(Call& c) {
    checked_numel(c.name(), c.ints(0));
    c.result(c.ints(0), dtype_or(c, 2, default_dtype()), device_or_default(c, 3));
}
// rand_like, randn_like(Tensor input, *, Generator?, dtype?, device?, memory_format?)
void like_shape(Call& c) {
    const Tensor t = c.tensor(0);
    const MemoryFormat format = c.has(4) ? c.args[4].memory_format() : MemoryFormat::Preserve;
    c.specs.push_back(
        {t.sizes(), dtype_or(c, 2, t.dtype()), c.has(3) ? c.args[3].device() : t.device(), strides_for(t, format)});
}
void rand_kernel(Call& c) {
    const DType dtype = c.out[0].dtype();
    Generator& g = stream(c, 1);
    fill_memory(c.out[0], [&](void* data, int64_t n) { fill_uniform(g, dtype, data, n, 0, 1); });
}
void randn_kernel(Call& c) { normal_into(c.out[0], stream(c, 1), 0, 1); }

// randperm(int n, *, Generator? generator=None, dtype? dtype=None, device? device=None)
int64_t largest_exact(DType dtype) {
    switch (dtype) {
        case DType::U8: return 255;
        case DType::I8: return 127;
        case DType::I16: return 32767;
        case DType::I32: return 2147483647;
        case DType::F16: return int64_t{1} << 11;
        case DType::F32: return int64_t{1} << 24;
        case DType::F64: return int64_t{1} << 53;
        default: return std::numeric_limits<int64_t>::max();  // PyTorch lets bfloat16 round
    }
}
void randperm_shape(Call& c) {
    const int64_t n = c.i64(0);
    const DType dtype = dtype_or(c, 2, DType::I64);
    MASHAL_CHECK(n >= 0, "randperm", "n must be >= 0, got n=", n, ".");
    MASHAL_CHECK(n - 1 <= largest_exact(dtype), "randperm", "n - 1 must be representable in ", dtype_name(dtype),
                 ", got n=", n, ". Use a wider dtype.");
    c.result(IntVec{n}, dtype, device_or_default(c, 3));
}
void randperm_kernel(Call& c) {
    const Tensor out = c.out[0];
    const DType dtype = out.dtype();
    const int64_t n = out.numel();
    void* data = out.data();
    Generator& g = stream(c, 1);
    AllowThreads threads(is_long(n));
    fill_randperm(g, dtype, data, n);
}

// ---- samples that depend on a tensor: always contiguous, in logical order ----

void contiguous_shape(Call& c) {
    const Tensor t = c.tensor(0);
    c.result(t.sizes(), t.dtype(), t.device());
}

void bernoulli_kernel(Call& c) {
    const Tensor p = contiguous(c.tensor(0)), out = c.out[0];
    const DType dtype = out.dtype();
    const int64_t n = out.numel();
    const void* probabilities = p.data();
    void* data = out.data();
    Generator& g = stream(c, 1);
    AllowThreads threads(is_long(n));
    fill_bernoulli(g, dtype, data, n, dtype, probabilities);
}

using Sampler = void (*)(Generator&, DType, const void*, void*, int64_t);
template <Sampler sample>
void sampler_kernel(Call& c) {
    const Tensor input = contiguous(c.tensor(0)), out = c.out[0];
    const DType dtype = out.dtype();
    const int64_t n = out.numel();
    const void* parameters = input.data();
    void* data = out.data();
    Generator& g = stream(c, 1);
    AllowThreads threads(is_long(n));
    sample(g, dtype, parameters, data, n);
}

// binomial(Tensor count, Tensor prob, Generator? generator=None)
void binomial_shape(Call& c) {
    const Tensor count = c.tensor(0), prob = c.tensor(1);
    MASHAL_CHECK_AS(Value, is_floating(count.dtype()), "binomial", "count must be floating-point, got count ",
                    text(count), ". Use count.float().");
    MASHAL_CHECK_AS(Value, is_floating(prob.dtype()), "binomial", "prob must be floating-point, got prob ", text(prob),
                    ". Use prob.float().");
    MASHAL_CHECK(count.dtype() == prob.dtype(), "binomial", "count and prob must have one dtype, got count ",
                 text(count), " and prob ", text(prob), ". Cast one of them.");
    c.result(broadcast_shapes("binomial", count.sizes(), prob.sizes()), count.dtype(), count.device());
}
void binomial_kernel(Call& c) {
    const Tensor out = c.out[0];
    const Tensor count = contiguous(expand_to(c.tensor(0), out.sizes()));
    const Tensor prob = contiguous(expand_to(c.tensor(1), out.sizes()));
    const DType dtype = out.dtype();
    const int64_t n = out.numel();
    const void *counts = count.data(), *probs = prob.data();
    void* data = out.data();
    Generator& g = stream(c, 2);
    AllowThreads threads(is_long(n));
    sample_binomial(g, dtype, counts, probs, data, n);
}

// _multinomial(Tensor input, int num_samples, *, Generator? generator=None): with replacement.
void multinomial_shape(Call& c) {
    const Tensor input = c.tensor(0);
    check_floating("multinomial", input);
    MASHAL_CHECK((input.dim() == 1 || input.dim() == 2) && input.sizes().back() > 0, "multinomial",
                 "input must be (categories,) or (rows, categories) and not empty, got input ", text(input), ".");
    MASHAL_CHECK(c.i64(1) >= 0, "multinomial", "num_samples must not be negative, got ", c.i64(1), ".");
    IntVec sizes = input.sizes();
    sizes.back() = c.i64(1);
    c.result(sizes, DType::I64, input.device());
}
void multinomial_kernel(Call& c) {
    const Tensor input = contiguous(c.tensor(0)), out = c.out[0];
    const DType dtype = input.dtype();
    const int64_t categories = input.sizes().back(), samples = out.sizes().back();
    const int64_t rows = input.dim() == 1 ? 1 : input.size(0);
    const void* probabilities = input.data();
    int64_t* data = out.data<int64_t>();
    Generator& g = stream(c, 2);
    AllowThreads threads(is_long(rows * (categories + samples)));
    sample_multinomial(g, dtype, probabilities, rows, categories, data, samples);
}

// _rrelu_noise(Tensor input, float lower, float upper, Generator? generator=None): the factor of every element. It is
// kept in float for bfloat16, whose product PyTorch makes with the unrounded factor.
void rrelu_noise_shape(Call& c) {
    const Tensor input = c.tensor(0);
    MASHAL_CHECK_AS(NotImplemented, is_floating(input.dtype()) && input.dtype() != DType::F16, "rrelu",
                    "not implemented for '", dtype_legacy_name(input.dtype()), "'");
    c.result(input.sizes(), compute_dtype(input.dtype()), input.device());
}
void rrelu_noise_kernel(Call& c) {
    const Tensor noise = c.out[0];
    const Tensor input = contiguous(to_dtype(c.tensor(0), noise.dtype()));
    const Tensor product = empty_like(input);
    const DType dtype = noise.dtype();
    const int64_t n = noise.numel();
    const double lower = c.f64(1), upper = c.f64(2);
    const void* in = input.data();
    void *out = product.data(), *factor = noise.data();
    Generator& g = stream(c, 3);
    AllowThreads threads(is_long(n));
    sample_rrelu(g, dtype, in, out, factor, n, lower, upper);
}

// _sampled(Tensor input, Tensor[] parameters): the same elements; only the tape sees a difference.
void sampled_kernel(Call& c) { c.out.push_back(alias(c.tensor(0))); }

// ---- _masked_scale(Tensor input, Tensor mask, float keep): input * mask * (1 / keep) ----

template <class T>
struct MaskedScale {
    T factor;
    MASHAL_INLINE_LOOP void operator()(const T* __restrict in, const uint8_t* __restrict mask, T* __restrict out,
                                       int64_t n) const {
        // A product, not a choice: what is dropped keeps its sign and its NaN, as in PyTorch.
        for (int64_t i = 0; i < n; i++) out[i] = in[i] * (static_cast<T>(static_cast<int32_t>(mask[i])) * factor);
    }
};

void masked_scale_shape(Call& c) {
    const Tensor input = c.tensor(0), mask = c.tensor(1);
    MASHAL_CHECK_AS(NotImplemented, is_floating(input.dtype()), "dropout", "not implemented for '",
                    dtype_legacy_name(input.dtype()), "'");
    MASHAL_CHECK(mask.dtype() == DType::Bool && equal(mask.sizes(), input.sizes()), "_masked_scale",
                 "mask must be bool and of input's shape, got input ", text(input), " and mask ", text(mask), ".");
    // The mask's layout is that of the forward result; a gradient may come expanded.
    c.specs.push_back({input.sizes(), input.dtype(), input.device(), preserved_strides(mask)});
}

void masked_scale_kernel(Call& c) {
    const Tensor out = c.out[0];
    auto in_layout = [&](const Tensor& t) {
        if (t.strides() == out.strides() && is_dense(t)) return t;
        Tensor fresh = empty_strided(out.sizes(), out.strides(), t.dtype());
        copy_into(fresh, t);
        return fresh;
    };
    const Tensor input = in_layout(c.tensor(0)), mask = in_layout(c.tensor(1));
    const DType dtype = out.dtype();
    const int64_t n = out.numel();
    const double keep = c.f64(2);
    const uint8_t* m = mask.data<uint8_t>();
    AllowThreads threads(n > kGrain);
    if (!is_half(dtype)) {
        visit_floating("_masked_scale", dtype, [&](auto tag) {
            using T = decltype(tag);
            const MaskedScale<T> loop{T(1) / static_cast<T>(keep)};
            const T* x = input.data<T>();
            T* o = out.data<T>();
            parallel_for(0, n, kGrain, [&](int64_t b, int64_t e) { run_vectorised(loop, x + b, m + b, o + b, e - b); });
        });
        return;
    }
    // The factor is rounded to the half type before it multiplies.
    const float exact = 1.0f / static_cast<float>(keep);
    const MaskedScale<float> loop{dtype == DType::F16 ? to_float(to_f16(exact)) : to_float(to_bf16(exact))};
    const ConvertLoop widen = find_convert_loop(dtype, DType::F32), narrow = find_convert_loop(DType::F32, dtype);
    const char* x = input.data<char>();
    char* o = out.data<char>();
    parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
        constexpr int64_t kBlock = 512;
        float values[kBlock], products[kBlock];
        for (int64_t i = begin; i < end; i += kBlock) {
            const int64_t count = std::min(kBlock, end - i);
            widen(count, values, x + 2 * i);
            run_vectorised(loop, static_cast<const float*>(values), m + i, static_cast<float*>(products), count);
            narrow(count, o + 2 * i, products);
        }
    });
}

const OpRegistration registrations[] = {
    {"uniform_", {.kernel = two_parameters_kernel<fill_uniform>}},
    {"normal_", {.kernel = normal_kernel}},
    {"log_normal_", {.kernel = two_parameters_kernel<fill_log_normal>}},
    {"cauchy_", {.kernel = two_parameters_kernel<fill_cauchy>}},
    {"exponential_", {.kernel = one_parameter_kernel<fill_exponential>}},
    {"geometric_", {.kernel = one_parameter_kernel<fill_geometric>}},
    {"_bernoulli_", {.kernel = one_parameter_kernel<fill_bernoulli>}},
    {"_bernoulli_tensor_", {.kernel = bernoulli_tensor_kernel}},
    {"_random_", {.kernel = random_kernel}},
    {"_random_range_", {.kernel = random_range_kernel}},
    {"rand", {.shape = sized_shape, .kernel = rand_kernel}},
    {"randn", {.shape = sized_shape, .kernel = randn_kernel}},
    {"rand_like", {.shape = like_shape, .kernel = rand_kernel}},
    {"randn_like", {.shape = like_shape, .kernel = randn_kernel}},
    {"randperm", {.shape = randperm_shape, .kernel = randperm_kernel}},
    {"bernoulli", {.shape = contiguous_shape, .kernel = bernoulli_kernel}},
    {"poisson", {.shape = contiguous_shape, .kernel = sampler_kernel<sample_poisson>}},
    {"_standard_gamma", {.shape = contiguous_shape, .kernel = sampler_kernel<sample_standard_gamma>}},
    {"binomial", {.shape = binomial_shape, .kernel = binomial_kernel}},
    {"_multinomial", {.shape = multinomial_shape, .kernel = multinomial_kernel}},
    {"_rrelu_noise", {.shape = rrelu_noise_shape, .kernel = rrelu_noise_kernel}},
    {"_sampled", {.kernel = sampled_kernel}},
    {"_masked_scale", {.shape = masked_scale_shape, .kernel = masked_scale_kernel}},
};

}  // namespace

}  // namespace mashal
