#include "cpu/random.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>

#include "core/vector_target.h"
#include "cpu/random_detail.h"

namespace mashal {
namespace {

using namespace random_detail;

constexpr int64_t kChunkWords = 1024;

// Calls f(words, begin, count) until `n` elements of `words_each` words are done.
template <class F>
void for_each_chunk(Generator& generator, int64_t n, int64_t words_each, F&& f) {
    alignas(64) uint32_t words[kChunkWords];
    const int64_t per_chunk = kChunkWords / words_each;
    for (int64_t begin = 0; begin < n; begin += per_chunk) {
        const int64_t count = std::min(per_chunk, n - begin);
        generator.random_words(words, count * words_each);
        f(static_cast<const uint32_t*>(words), begin, count);
    }
}

MASHAL_INLINE_LOOP uint64_t join64(const uint32_t* words, int64_t i) {
    return static_cast<uint64_t>(words[2 * i]) << 32 | words[2 * i + 1];
}

struct UniformFloat {
    float from, scale, to;
    MASHAL_INLINE_LOOP void operator()(const uint32_t* __restrict words, float* __restrict out, int64_t n) const {
        for (int64_t i = 0; i < n; ++i) {
            const float x = static_cast<float>(static_cast<int32_t>(words[i] & 0xffffffu)) * 0x1p-24f;
            const float value = std::fma(x, scale, from);
            out[i] = value == to ? from : value;
        }
    }
};

struct UniformDouble {
    double from, scale, to;
    MASHAL_INLINE_LOOP void operator()(const uint32_t* __restrict words, double* __restrict out, int64_t n) const {
        for (int64_t i = 0; i < n; ++i) {
            const auto bits = static_cast<int64_t>(join64(words, i) & ((uint64_t{1} << 53) - 1));
            const double value = std::fma(static_cast<double>(bits) * 0x1p-53, scale, from);
            out[i] = value == to ? from : value;
        }
    }
};

template <class T>
void uniform_reals(Generator& generator, T* out, int64_t n, double from, double to) {
    if constexpr (std::is_same_v<T, double>) {
        const UniformDouble loop{from, to - from, to};
        for_each_chunk(generator, n, 2, [&](const uint32_t* words, int64_t begin, int64_t count) {
            run_vectorised(loop, words, out + begin, count);
        });
    } else {
        const float from_f = static_cast<float>(from), to_f = static_cast<float>(to);
        if constexpr (std::is_same_v<T, float>) {
            const UniformFloat loop{from_f, to_f - from_f, to_f};
            for_each_chunk(generator, n, 1, [&](const uint32_t* words, int64_t begin, int64_t count) {
                run_vectorised(loop, words, out + begin, count);
            });
        } else {
            // The upper bound is compared after rounding to the half type; NaN as `to` switches the first test off.
            const UniformFloat loop{from_f, to_f - from_f, std::numeric_limits<float>::quiet_NaN()};
            const T from_t = to_element<T>(from), to_t = to_element<T>(to);
            const float to_rounded = to_float(to_t);
            for_each_chunk(generator, n, 1, [&](const uint32_t* words, int64_t begin, int64_t count) {
                float values[kChunkWords];
                run_vectorised(loop, words, static_cast<float*>(values), count);
                for (int64_t i = 0; i < count; ++i) {
                    const T value = to_element<T>(values[i]);
                    out[begin + i] = to_float(value) == to_rounded ? from_t : value;
                }
            });
        }
    }
}

// Box and Muller on 8 pairs (data[j], data[j + 8]) per block. The logarithm and the sine and cosine are the single
// precision polynomials of Cephes (Moshier, 1992): PyTorch's vector kernel uses them, and initial weights must agree
// with it to the last bit, so neither libm nor better coefficients will do. Arguments lie in (0, 1] and [0, 2 pi).
struct BoxMullerFloat {
    float mean, std;

    MASHAL_INLINE_LOOP static float log_unit(float x) {
        const auto bits = std::bit_cast<uint32_t>(x);
        float e = static_cast<float>(static_cast<int32_t>(bits >> 23) - 127) + 1.0f;
        float m = std::bit_cast<float>((bits & ~0x7f800000u) | 0x3f000000u);  // in [0.5, 1)
        const bool low = m < 0.707106781186547524f;
        const float extra = low ? m : 0.0f;
        e -= low ? 1.0f : 0.0f;
        m = (m - 1.0f) + extra;
        const float z = m * m;
        float y = 7.0376836292e-2f;
        y = std::fma(y, m, -1.1514610310e-1f);
        y = std::fma(y, m, 1.1676998740e-1f);
        y = std::fma(y, m, -1.2420140846e-1f);
        y = std::fma(y, m, 1.4249322787e-1f);
        y = std::fma(y, m, -1.6668057665e-1f);
        y = std::fma(y, m, 2.0000714765e-1f);
        y = std::fma(y, m, -2.4999993993e-1f);
        y = std::fma(y, m, 3.3333331174e-1f);
        y = std::fma(y * m, z, e * -2.12194440e-4f);  // log(2) in two parts: this one is the small one
        y = std::fma(-z, 0.5f, y);
        return std::fma(e, 0.693359375f, m + y);
    }

    MASHAL_INLINE_LOOP static void sin_cos(float x, float& sine, float& cosine) {
        // Octant, rounded up to even; then x minus its multiple of pi/4 in three parts.
        const int32_t octant = (static_cast<int32_t>(x * 1.27323954473516f) + 1) & ~1;
        const auto k = static_cast<float>(octant);
        x = std::fma(k, -0.78515625f, x);
        x = std::fma(k, -2.4187564849853515625e-4f, x);
        x = std::fma(k, -3.77489497744594108e-8f, x);
        const float z = x * x;
        float c = 2.443315711809948e-5f;
        c = std::fma(c, z, -1.388731625493765e-3f);
        c = std::fma(c, z, 4.166664568298827e-2f);
        c = std::fma(c * z, z, -(z * 0.5f)) + 1.0f;
        float s = -1.9515295891e-4f;
        s = std::fma(s, z, 8.3321608736e-3f);
        s = std::fma(s, z, -1.6666654611e-1f);
        s = std::fma(s * z, x, x);
        const bool swapped = (octant & 2) != 0;
        const uint32_t sine_sign = static_cast<uint32_t>(octant & 4) << 29;
        const uint32_t cosine_sign = static_cast<uint32_t>(~(octant - 2) & 4) << 29;
        sine = std::bit_cast<float>(std::bit_cast<uint32_t>(swapped ? c : s) ^ sine_sign);
        cosine = std::bit_cast<float>(std::bit_cast<uint32_t>(swapped ? s : c) ^ cosine_sign);
    }

    MASHAL_INLINE_LOOP void operator()(float* data, int64_t blocks) const {
        for (int64_t b = 0; b < blocks; ++b, data += 16) {
            for (int j = 0; j < 8; ++j) {
                const float radius = std::sqrt(-2.0f * log_unit(1.0f - data[j]));
                float sine, cosine;
                sin_cos(6.283185307179586f * data[j + 8], sine, cosine);
                data[j] = std::fma(radius * cosine, std, mean);
                data[j + 8] = std::fma(radius * sine, std, mean);
            }
        }
    }
};

void box_muller(float* data, int64_t blocks, double mean, double std) {
    run_vectorised(BoxMullerFloat{static_cast<float>(mean), static_cast<float>(std)}, data, blocks);
}

void box_muller(double* data, int64_t blocks, double mean, double std) {
    for (int64_t b = 0; b < blocks; ++b, data += 16) {
        for (int j = 0; j < 8; ++j) {
            const double radius = std::sqrt(-2.0 * std::log(1.0 - data[j]));
            const double theta = 6.283185307179586 * data[j + 8];
            data[j] = std::fma(radius * std::cos(theta), std, mean);
            data[j + 8] = std::fma(radius * std::sin(theta), std, mean);
        }
    }
}

template <class T>
void normal_blocks(Generator& generator, T* out, int64_t n, double mean, double std) {
    constexpr int64_t kStep = 512;  // keeps uniforms in the cache until they are transformed
    if constexpr (is_half_type<T>) {
        float values[kStep];
        const auto emit = [&](int64_t begin, int64_t count) {
            uniform_reals(generator, values, count, 0.0, 1.0);
            box_muller(values, count / 16, mean, std);
            for (int64_t i = 0; i < count; ++i) out[begin + i] = to_element<T>(values[i]);
        };
        const int64_t whole = n / 16 * 16;
        for (int64_t begin = 0; begin < whole; begin += kStep) emit(begin, std::min(kStep, whole - begin));
        if (whole != n) emit(n - 16, 16);
    } else {
        for (int64_t begin = 0; begin < n; begin += kStep) {
            const int64_t count = std::min(kStep, n - begin);
            uniform_reals(generator, out + begin, count, 0.0, 1.0);
            box_muller(out + begin, count / 16, mean, std);
        }
        if (n % 16 != 0) {
            uniform_reals(generator, out + n - 16, 16, 0.0, 1.0);
            box_muller(out + n - 16, 1, mean, std);
        }
    }
}

struct BernoulliWords64 {
    uint64_t threshold;
    MASHAL_INLINE_LOOP void operator()(const uint32_t* __restrict words, uint8_t* __restrict out, int64_t n) const {
        for (int64_t i = 0; i < n; ++i) {
            const auto bits = static_cast<int64_t>(join64(words, i) & ((uint64_t{1} << 53) - 1));
            out[i] = bits < static_cast<int64_t>(threshold);
        }
    }
};

// v mod d for any 32-bit v by two multiplications (Lemire, Kaser and Kurz, 2019).
struct FastModulo {
    uint32_t divisor;
    uint64_t reciprocal;
    explicit FastModulo(uint32_t d) : divisor(d), reciprocal(~uint64_t{0} / d + 1) {}
    uint32_t operator()(uint32_t v) const {
        return static_cast<uint32_t>((static_cast<unsigned __int128>(reciprocal * v) * divisor) >> 64);
    }
};

template <class T>
constexpr int mantissa_digits() {
    if constexpr (std::is_same_v<T, f16>)
        return 11;
    else if constexpr (std::is_same_v<T, bf16>)
        return 8;
    else
        return std::numeric_limits<T>::digits;
}

template <class T>
constexpr double largest_value() {
    if constexpr (std::is_same_v<T, f16>)
        return 65504.0;
    else if constexpr (std::is_same_v<T, bf16>)
        return 0x1.fep127;
    else
        return static_cast<double>(std::numeric_limits<T>::max());
}

// What `value` becomes as a T, as an integer again.
template <class T>
int64_t round_trip(int64_t value) {
    const T element = to_element<T>(value);
    if constexpr (is_half_type<T>)
        return static_cast<int64_t>(to_float(element));
    else
        return static_cast<int64_t>(element);
}

// The distance between neighbours of a T near `value`.
template <class T>
int64_t spacing(int64_t value) {
    const auto magnitude = static_cast<uint64_t>(value < 0 ? -value : value);
    return int64_t{1} << (std::bit_width(magnitude) - mantissa_digits<T>());
}

// The bound moved inwards where rounding the neighbouring integer to T would leave [from, to).
template <class T>
int64_t representable_from(int64_t from) {
    const int64_t rounded = round_trip<T>(from + 1);
    return rounded < from ? rounded + spacing<T>(from + 1) : from;
}

template <class T>
int64_t representable_to(int64_t to) {
    const int64_t rounded = round_trip<T>(to - 1);
    return rounded >= to ? rounded - spacing<T>(to - 1) : to;
}

void check_bound(const char* name, double value, double low, double high, DType dtype) {
    MASHAL_CHECK(value >= low && value <= high, "random_", name, " must be representable in ", dtype_name(dtype),
                 ", got ", value, ".");
}

}  // namespace

void fill_uniform(Generator& generator, DType dtype, void* out, int64_t n, double from, double to) {
    if (is_complex(dtype)) return fill_uniform(generator, real_dtype(dtype), out, 2 * n, from, to);
    visit_random_floating("uniform_", dtype, [&](auto tag) {
        using T = decltype(tag);
        constexpr double kMax = largest_value<T>();
        MASHAL_CHECK(from >= -kMax && from <= kMax, "uniform_", "from must be representable in ", dtype_name(dtype),
                     ", got from=", from, ".");
        MASHAL_CHECK(to >= -kMax && to <= kMax, "uniform_", "to must be representable in ", dtype_name(dtype),
                     ", got to=", to, ".");
        MASHAL_CHECK(from <= to, "uniform_", "from must not exceed to, got from=", from, ", to=", to, ".");
        MASHAL_CHECK(to - from <= kMax, "uniform_", "to - from must be representable in ", dtype_name(dtype),
                     ", got from=", from, ", to=", to, ".");
        const std::lock_guard lock(generator.mutex);
        uniform_reals(generator, static_cast<T*>(out), n, from, to);
    });
}

void fill_normal(Generator& generator, DType dtype, void* out, int64_t n, double mean, double std, bool contiguous) {
    MASHAL_CHECK(std >= 0, "normal_", "std must be >= 0, got std=", std, ".");
    if (is_complex(dtype)) {
        return fill_normal(generator, real_dtype(dtype), out, 2 * n, mean, std / std::sqrt(2.0), contiguous);
    }
    visit_random_floating("normal_", dtype, [&](auto tag) {
        using T = decltype(tag);
        T* data = static_cast<T*>(out);
        const std::lock_guard lock(generator.mutex);
        if (n >= 16 && contiguous) return normal_blocks(generator, data, n, mean, std);
        for (int64_t i = 0; i < n; ++i) data[i] = to_element<T>(std::fma(standard_normal(generator), std, mean));
    });
}

void fill_log_normal(Generator& generator, DType dtype, void* out, int64_t n, double mean, double std) {
    MASHAL_CHECK(std > 0, "log_normal_", "std must be > 0, got std=", std, ".");
    visit_random_floating("log_normal_", dtype, [&](auto tag) {
        using T = decltype(tag);
        T* data = static_cast<T*>(out);
        const std::lock_guard lock(generator.mutex);
        for (int64_t i = 0; i < n; ++i) {
            data[i] = to_element<T>(std::exp(std::fma(standard_normal(generator), std, mean)));
        }
    });
}

void fill_cauchy(Generator& generator, DType dtype, void* out, int64_t n, double median, double sigma) {
    MASHAL_CHECK(sigma > 0, "cauchy_", "sigma must be > 0, got sigma=", sigma, ".");
    visit_random_floating("cauchy_", dtype, [&](auto tag) {
        using T = decltype(tag);
        T* data = static_cast<T*>(out);
        const std::lock_guard lock(generator.mutex);
        for (int64_t i = 0; i < n; ++i) {
            const double tangent = std::tan(3.14159265358979323846 * (uniform53(generator) - 0.5));
            data[i] = to_element<T>(std::fma(sigma, tangent, median));
        }
    });
}

void fill_exponential(Generator& generator, DType dtype, void* out, int64_t n, double lambd) {
    MASHAL_CHECK(lambd > 0, "exponential_", "lambd must be > 0, got lambd=", lambd, ".");
    visit_random_floating("exponential_", dtype, [&](auto tag) {
        using T = decltype(tag);
        T* data = static_cast<T*>(out);
        const std::lock_guard lock(generator.mutex);
        for (int64_t i = 0; i < n; ++i) data[i] = to_element<T>(-1.0 / lambd * std::log1p(-uniform53(generator)));
    });
}

void fill_geometric(Generator& generator, DType dtype, void* out, int64_t n, double p) {
    MASHAL_CHECK(p > 0 && p < 1, "geometric_", "p must be in (0, 1), got p=", p, ".");
    visit_all(dtype, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (is_complex_type<T> || std::is_same_v<T, bool>) {
            raise_unsupported("geometric_", dtype);
        } else {
            T* data = static_cast<T*>(out);
            const std::lock_guard lock(generator.mutex);
            for (int64_t i = 0; i < n; ++i) {
                data[i] = to_element<T>(std::ceil(std::log(uniform53(generator)) / std::log1p(-p)));
            }
        }
    });
}

void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t n, double p) {
    MASHAL_CHECK(p >= 0 && p <= 1, "bernoulli_", "p must be in [0, 1], got p=", p, ".");
    // k / 2^53 < p exactly when k < ceil(p * 2^53): scaling by a power of two is exact.
    const BernoulliWords64 loop{static_cast<uint64_t>(std::ceil(p * 0x1p53))};
    visit_all(dtype, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (is_complex_type<T>) {
            raise_unsupported("bernoulli_", dtype);
        } else {
            T* data = static_cast<T*>(out);
            const T values[2] = {to_element<T>(0), to_element<T>(1)};
            const std::lock_guard lock(generator.mutex);
            for_each_chunk(generator, n, 2, [&](const uint32_t* words, int64_t begin, int64_t count) {
                uint8_t hits[kChunkWords / 2];
                run_vectorised(loop, words, static_cast<uint8_t*>(hits), count);
                for (int64_t i = 0; i < count; ++i) data[begin + i] = values[hits[i]];
            });
        }
    });
}

void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t n, DType p_dtype, const void* p) {
    visit_random_floating("bernoulli_", p_dtype, [&](auto p_tag) {
        using P = decltype(p_tag);
        visit_all(dtype, [&](auto tag) {
            using T = decltype(tag);
            if constexpr (is_complex_type<T>) {
                raise_unsupported("bernoulli_", dtype);
            } else {
                T* data = static_cast<T*>(out);
                const P* probability = static_cast<const P*>(p);
                const auto check = [](double value) {
                    MASHAL_CHECK(value >= 0 && value <= 1, "bernoulli_", "p must be in [0, 1], got p=", value, ".");
                };
                const std::lock_guard lock(generator.mutex);
                for (int64_t i = 0; i < n; ++i) {
                    bool hit;
                    if constexpr (std::is_same_v<P, double>) {
                        check(probability[i]);
                        hit = uniform53(generator) < probability[i];
                    } else {
                        float value;
                        if constexpr (is_half_type<P>)
                            value = to_float(probability[i]);
                        else
                            value = probability[i];
                        check(value);
                        hit = static_cast<float>(generator.random() & 0xffffffu) * 0x1p-24f < value;
                    }
                    data[i] = to_element<T>(hit ? 1 : 0);
                }
            }
        });
    });
}

RandomRange random_range(DType dtype, int64_t from, std::optional<int64_t> to) {
    constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
    MASHAL_CHECK(!to || from < *to, "random_", "from must be less than to, got from=", from, ", to=", *to, ".");
    RandomRange result;
    visit_all(dtype, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (is_complex_type<T>) {
            raise_unsupported("random_", dtype);
        } else if (!to && from == kLowest) {
            constexpr bool kWide = std::is_same_v<T, int64_t> || (is_floating_type<T> && !std::is_same_v<T, f16>);
            MASHAL_CHECK(kWide, "random_",
                         "the range of all 64-bit integers needs int64, bfloat16, float32 or float64, "
                         "got ",
                         dtype_name(dtype), ".");
        } else {
            int64_t last;
            if constexpr (is_floating_type<T>) {
                constexpr int64_t kExact = int64_t{1} << mantissa_digits<T>();
                from = representable_from<T>(from);
                last = to ? representable_to<T>(*to) - 1 : kExact;
                MASHAL_CHECK(to ? from <= last : from < last, "random_", "from must be less than to after rounding to ",
                             dtype_name(dtype), ", got from=", from, ", to=", to ? last + 1 : last, ".");
                result.from_imprecise = from < -kExact || from > kExact;
                result.to_imprecise = last < -kExact || last > kExact;
                check_bound("from", static_cast<double>(from), -largest_value<T>(), largest_value<T>(), dtype);
                check_bound("to - 1", static_cast<double>(last), -largest_value<T>(), largest_value<T>(), dtype);
            } else {
                constexpr auto kMin = static_cast<int64_t>(std::numeric_limits<T>::min());
                constexpr auto kMax = static_cast<int64_t>(std::numeric_limits<T>::max());
                last = to ? *to - 1 : kMax;
                MASHAL_CHECK(from >= kMin && from <= kMax, "random_", "from must be representable in ",
                             dtype_name(dtype), ", got from=", from, ".");
                MASHAL_CHECK(last >= kMin && last <= kMax, "random_", "to - 1 must be representable in ",
                             dtype_name(dtype), ", got to=", last + 1, ".");
            }
            result.base = from;
            result.range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
        }
    });
    return result;
}

void fill_random_range(Generator& generator, DType dtype, void* out, int64_t n, const RandomRange& range) {
    visit_all(dtype, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (is_complex_type<T>) {
            raise_unsupported("random_", dtype);
        } else {
            T* data = static_cast<T*>(out);
            const auto base = static_cast<uint64_t>(range.base);
            const auto emit = [base](uint64_t value) { return to_element<T>(static_cast<int64_t>(value + base)); };
            const std::lock_guard lock(generator.mutex);
            if (range.range == 0) {
                for (int64_t i = 0; i < n; ++i) data[i] = to_element<T>(static_cast<int64_t>(generator.random64()));
            } else if (range.range < (uint64_t{1} << 28)) {
                const FastModulo modulo(static_cast<uint32_t>(range.range));
                for_each_chunk(generator, n, 1, [&](const uint32_t* words, int64_t begin, int64_t count) {
                    for (int64_t i = 0; i < count; ++i) data[begin + i] = emit(modulo(words[i]));
                });
            } else {
                for (int64_t i = 0; i < n; ++i) data[i] = emit(generator.random64() % range.range);
            }
        }
    });
}

void fill_random(Generator& generator, DType dtype, void* out, int64_t n) {
    visit_all(dtype, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (is_complex_type<T>) {
            raise_unsupported("random_", dtype);
        } else {
            T* data = static_cast<T*>(out);
            const std::lock_guard lock(generator.mutex);
            if constexpr (std::is_same_v<T, int64_t>) {
                for (int64_t i = 0; i < n; ++i)
                    data[i] = static_cast<int64_t>(generator.random64() & (~uint64_t{0} >> 1));
            } else if constexpr (std::is_same_v<T, double>) {
                for (int64_t i = 0; i < n; ++i) {
                    data[i] = static_cast<double>(generator.random64() % ((uint64_t{1} << 53) + 1));
                }
            } else {
                uint32_t count_of_values;
                if constexpr (std::is_same_v<T, bool>)
                    count_of_values = 2;
                else if constexpr (is_floating_type<T>)
                    count_of_values = (1u << mantissa_digits<T>()) + 1;
                else
                    count_of_values = static_cast<uint32_t>(std::numeric_limits<T>::max()) + 1;
                const FastModulo modulo(count_of_values);
                for_each_chunk(generator, n, 1, [&](const uint32_t* words, int64_t begin, int64_t count) {
                    for (int64_t i = 0; i < count; ++i) data[begin + i] = to_element<T>(modulo(words[i]));
                });
            }
        }
    });
}

}  // namespace mashal
