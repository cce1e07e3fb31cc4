// What random.cpp and random_samplers.cpp share: conversions and uniform samples.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/dtype.h"
#include "core/generator.h"

namespace mashal::random_detail {

inline double uniform53(Generator& generator) {
    return static_cast<double>(generator.random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

// Conversion of a sample to an element; double goes to the half types through float, as in PyTorch.
template <class T, class V>
inline T to_element(V value) {
    if constexpr (std::is_same_v<T, f16>) {
        return to_f16(static_cast<float>(value));
    } else if constexpr (std::is_same_v<T, bf16>) {
        return to_bf16(static_cast<float>(value));
    } else {
        return static_cast<T>(value);
    }
}

// One standard normal sample in double: the cached half of the last pair, or a new pair.
inline double standard_normal(Generator& generator) {
    if (generator.next_double_normal) {
        const double sample = *generator.next_double_normal;
        generator.next_double_normal.reset();
        return sample;
    }
    const double u1 = uniform53(generator);
    const double u2 = uniform53(generator);
    const double radius = std::sqrt(-2.0 * std::log1p(-u2));
    const double theta = 2.0 * 3.14159265358979323846 * u1;
    generator.next_double_normal = radius * std::sin(theta);
    return radius * std::cos(theta);
}

[[noreturn]] inline void raise_unsupported(const char* op, DType dtype) {
    raise_error(ErrorKind::NotImplemented, op, "not implemented for '", dtype_legacy_name(dtype), "'");
}

template <class T>
constexpr bool is_half_type = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
constexpr bool is_floating_type = std::is_floating_point_v<T> || is_half_type<T>;
template <class T>
constexpr bool is_complex_type = std::is_same_v<T, c64> || std::is_same_v<T, c128>;

// Calls f(T{}) for the floating dtypes; others raise.
template <class F>
void visit_random_floating(const char* op, DType dtype, F&& f) {
    visit_all(dtype, [&](auto tag) {
        if constexpr (is_floating_type<decltype(tag)>) {
            f(tag);
        } else {
            raise_unsupported(op, dtype);
        }
    });
}

}  // namespace mashal::random_detail
