// Samplers that draw a varying number of words per element, permutations and multinomial draws.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "cpu/random.h"
#include "cpu/random_detail.h"

namespace mashal {
namespace {

using namespace random_detail;

// Knuth's product below 10; above, transformed rejection (Hoermann, 1993, algorithm PTRS).
int64_t poisson(Generator& generator, double rate) {
    MASHAL_CHECK(rate >= 0, "poisson", "every rate must be >= 0, got ", rate, ".");
    if (rate == 0) return 0;
    if (rate < 10) {
        const double limit = std::exp(-rate);
        int64_t events = 0;
        for (double product = uniform53(generator); product > limit; product *= uniform53(generator)) ++events;
        return events;
    }
    const double log_rate = std::log(rate);
    const double b = 0.931 + 2.53 * std::sqrt(rate);
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double v_r = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = uniform53(generator) - 0.5;
        const double v = uniform53(generator);
        const double us = 0.5 - std::fabs(u);
        const auto k = static_cast<int64_t>(std::floor((2 * a / us + b) * u + rate + 0.43));
        if (us >= 0.07 && v <= v_r) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        const double left = std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b);
        const double right = -rate + static_cast<double>(k) * log_rate - std::lgamma(static_cast<double>(k) + 1);
        if (left <= right) return k;
    }
}

// Marsaglia and Tsang (2000); shapes below 1 are raised by one and the sample scaled down. Constants are float and
// `alpha` stays in T where PyTorch has them so: the acceptance tests decide how many numbers are drawn.
template <class T>
T standard_gamma(Generator& generator, T alpha) {
    double scale = 1.0;
    if (alpha < 1.0f) {
        if (alpha == 0.0f) return 0;
        scale *= std::pow(1 - uniform53(generator), static_cast<double>(1.0f / alpha));
        alpha += 1.0f;
    }
    const double d = alpha - 1.0f / 3.0f;
    const double c = 1.0f / std::sqrt(9.0f * d);
    for (;;) {
        double x, y;
        do {
            x = standard_normal(generator);
            y = 1.0f + c * x;
        } while (y <= 0);
        const double v = y * y * y;
        const double u = 1 - uniform53(generator);
        const double xx = x * x;
        if (u < 1.0f - 0.0331f * xx * xx || std::log(u) < 0.5f * xx + d * (1.0f - v + std::log(v))) {
            return static_cast<T>(scale * d * v);
        }
    }
}

// log k! minus Stirling's approximation: tabulated, then the first terms of the series.
double stirling_tail(double k) {
    static constexpr double kTail[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                       0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                       0.00925546218271273, 0.00833056343336287};
    if (k < static_cast<double>(std::size(kTail))) return kTail[static_cast<size_t>(k)];
    const double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Number of geometric waiting times that fit into `count` trials.
template <class T>
T binomial_by_waiting(Generator& generator, T count, T prob) {
    const double log_miss = std::log1p(-prob);
    double trials = 0;
    T hits = 0;
    for (;;) {
        trials += std::ceil(std::log(uniform53(generator)) / log_miss);
        if (trials > count) return hits;
        hits = hits + 1;
    }
}

// Transformed rejection with squeeze (Hoermann, 1993, algorithm BTRS). Mixed precision as in PyTorch: expressions of
// count and prob alone are evaluated in T.
template <class T>
T binomial_by_rejection(Generator& generator, T count, T prob) {
    const double deviation = std::sqrt(count * prob * (1 - prob));
    const double b = 1.15 + 2.53 * deviation;
    const double a = -0.0873 + 0.0248 * b + 0.01 * prob;
    const double c = count * prob + 0.5;
    const double v_r = 0.92 - 4.2 / b;
    const double odds = prob / (1 - prob);
    const double alpha = (2.83 + 5.1 / b) * deviation;
    const double mode = std::floor((count + 1) * prob);
    for (;;) {
        const double u = uniform53(generator) - 0.5;
        double v = uniform53(generator);
        const double us = 0.5 - std::fabs(u);
        const T k = static_cast<T>(std::floor((2 * a / us + b) * u + c));
        if (k < 0 || k > count) continue;
        if (us >= 0.07 && v <= v_r) return k;
        v = std::log(v * alpha / (a / (us * us) + b));
        const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                             (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                             (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + stirling_tail(mode) +
                             stirling_tail(count - mode) - stirling_tail(k) - stirling_tail(count - k);
        if (v <= bound) return k;
    }
}

template <class T>
T binomial(Generator& generator, T count, T prob) {
    const auto draw = [&](T p) {
        return count * p >= 10.0 ? binomial_by_rejection(generator, count, p)
                                 : binomial_by_waiting(generator, count, p);
    };
    if (!std::isfinite(count)) return std::numeric_limits<T>::quiet_NaN();  // no end to the trials
    if (count <= 0.0 || prob <= 0.0) return 0;
    if (prob >= 1.0) return count;
    if (prob <= 0.5) return draw(prob);
    if (prob > 0.5) return count - draw(static_cast<T>(1.0 - prob));
    return std::numeric_limits<T>::quiet_NaN();
}

// For the samplers that exist for float and double only.
template <class F>
void visit_float_double(const char* op, DType dtype, F&& f) {
    visit_all(dtype, [&](auto tag) {
        if constexpr (std::is_floating_point_v<decltype(tag)>) {
            f(tag);
        } else {
            raise_unsupported(op, dtype);
        }
    });
}

template <class T>
auto widen(T value) {
    if constexpr (is_half_type<T>) {
        return to_float(value);
    } else {
        return value;
    }
}

// C: the type of the running sums.
template <class C, class T>
void multinomial_row(Generator& generator, const T* probs, int64_t categories, C* cumulative, int64_t* out,
                     int64_t samples) {
    C sum = 0;
    for (int64_t j = 0; j < categories; ++j) {
        const C p = widen(probs[j]);
        MASHAL_CHECK(p >= 0 && std::isfinite(p), "multinomial", "every entry of input must be finite and >= 0, got ", p,
                     ".");
        sum += p;
        cumulative[j] = sum;
    }
    MASHAL_CHECK(sum > 0, "multinomial", "every row of input must have a positive sum, got ", sum, ".");
    for (int64_t j = 0; j < categories; ++j) cumulative[j] /= sum;
    cumulative[categories - 1] = 1;  // whatever the rounding, every uniform finds a category
    for (int64_t j = 0; j < samples; ++j) {
        const double u = uniform53(generator);
        out[j] = std::partition_point(cumulative, cumulative + categories, [u](C c) { return c < u; }) - cumulative;
    }
}

}  // namespace

void fill_randperm(Generator& generator, DType dtype, void* out, int64_t n) {
    // Above this size PyTorch draws 64 bits per element: 32 bits modulo n would be visibly skewed.
    constexpr int64_t kWideSize = std::numeric_limits<uint32_t>::max() / 20;
    visit_all(dtype, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (is_complex_type<T> || std::is_same_v<T, bool>) {
            raise_unsupported("randperm", dtype);
        } else {
            T* data = static_cast<T*>(out);
            const std::lock_guard lock(generator.mutex);
            if (n < kWideSize) {
                for (int64_t i = 0; i < n; ++i) data[i] = to_element<T>(i);
                for (int64_t i = 0; i < n - 1; ++i) {
                    std::swap(data[i], data[i + generator.random() % static_cast<uint32_t>(n - i)]);
                }
            } else {
                for (int64_t i = 0; i < n; ++i) {
                    const uint64_t z = generator.random64() % static_cast<uint64_t>(i + 1);
                    data[i] = to_element<T>(i);
                    data[i] = data[z];
                    data[z] = to_element<T>(i);
                }
            }
        }
    });
}

void sample_multinomial(Generator& generator, DType dtype, const void* probs, int64_t rows, int64_t categories,
                        int64_t* out, int64_t samples) {
    visit_random_floating("multinomial", dtype, [&](auto tag) {
        using T = decltype(tag);
        using C = std::conditional_t<is_half_type<T>, float, T>;
        const auto cumulative = std::make_unique<C[]>(static_cast<size_t>(categories));
        const T* row = static_cast<const T*>(probs);
        const std::lock_guard lock(generator.mutex);
        for (int64_t i = 0; i < rows; ++i, row += categories, out += samples) {
            multinomial_row<C>(generator, row, categories, cumulative.get(), out, samples);
        }
    });
}

void sample_poisson(Generator& generator, DType dtype, const void* rate, void* out, int64_t n) {
    visit_random_floating("poisson", dtype, [&](auto tag) {
        using T = decltype(tag);
        const T* in = static_cast<const T*>(rate);
        T* data = static_cast<T*>(out);
        const std::lock_guard lock(generator.mutex);
        for (int64_t i = 0; i < n; ++i) data[i] = to_element<T>(poisson(generator, widen(in[i])));
    });
}

void sample_standard_gamma(Generator& generator, DType dtype, const void* alpha, void* out, int64_t n) {
    visit_float_double("_standard_gamma", dtype, [&](auto tag) {
        using T = decltype(tag);
        const T* in = static_cast<const T*>(alpha);
        T* data = static_cast<T*>(out);
        const std::lock_guard lock(generator.mutex);
        // Never 0: the density is taken at the sample later.
        for (int64_t i = 0; i < n; ++i) {
            data[i] = std::max(std::numeric_limits<T>::min(), standard_gamma(generator, in[i]));
        }
    });
}

void sample_binomial(Generator& generator, DType dtype, const void* count, const void* prob, void* out, int64_t n) {
    visit_float_double("binomial", dtype, [&](auto tag) {
        using T = decltype(tag);
        const T* counts = static_cast<const T*>(count);
        const T* probs = static_cast<const T*>(prob);
        T* data = static_cast<T*>(out);
        const std::lock_guard lock(generator.mutex);
        for (int64_t i = 0; i < n; ++i) data[i] = binomial(generator, counts[i], probs[i]);
    });
}

void sample_rrelu(Generator& generator, DType dtype, const void* input, void* out, void* noise, int64_t n, double lower,
                  double upper) {
    MASHAL_CHECK(lower <= upper, "rrelu", "lower must not exceed upper, got lower=", lower, ", upper=", upper, ".");
    visit_random_floating("rrelu", dtype, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (std::is_same_v<T, f16>) {
            raise_unsupported("rrelu", dtype);
        } else {
            using C = decltype(widen(T{}));
            const T* in = static_cast<const T*>(input);
            T* data = static_cast<T*>(out);
            T* slopes = static_cast<T*>(noise);
            const double from = static_cast<C>(lower), to = static_cast<C>(upper);
            const std::lock_guard lock(generator.mutex);
            for (int64_t i = 0; i < n; ++i) {
                const C x = widen(in[i]);
                const C slope = x <= 0 ? static_cast<C>(uniform53(generator) * (to - from) + from) : C{1};
                slopes[i] = to_element<T>(slope);
                data[i] = x <= 0 ? to_element<T>(x * slope) : in[i];
            }
        }
    });
}

}  // namespace mashal
