// Casts between all element types, contiguous.
#include "cpu/isa/loop.h"
#include "scalar/half.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace mashal::MASHAL_ISA {

// One element, through the value's natural route. Half types are read as float; written from float.
template <class To, class From>
MASHAL_INLINE stored_t<To> convert_one(stored_t<From> v) {
    constexpr DType from = dtype_of<From>::value, to = dtype_of<To>::value;
    if constexpr (from == to) {
        return v;
    } else if constexpr (from == DType::F16) {
        return convert_one<To, float>(scalar::half_to_float(v.bits));
    } else if constexpr (from == DType::BF16) {
        return convert_one<To, float>(scalar::bfloat16_to_float(v.bits));
    } else if constexpr (to == DType::Bool) {
        return v != stored_t<From>(0) ? 1 : 0;
    } else if constexpr (is_complex(from)) {
        if constexpr (is_complex(to)) {
            return To(v);
        } else {
            return convert_one<To, typename From::value_type>(v.re);
        }
    } else if constexpr (is_complex(to)) {
        return To(static_cast<typename To::value_type>(v));
    } else if constexpr (to == DType::F16) {
        return f16{scalar::float_to_half(static_cast<float>(v))};
    } else if constexpr (to == DType::BF16) {
        return bf16{scalar::float_to_bfloat16(static_cast<float>(v))};
    } else if constexpr (is_floating(from) && is_integral(to, false) && sizeof(To) < 4) {
        // Narrow integers keep the low bits of a wider one, as C does for in-range values on every target. A float
        // beyond 2^31 is a multiple of 256 and has none; a double needs the 64-bit route.
        if constexpr (from == DType::F64 && to == DType::U8) {
            return static_cast<To>(static_cast<int64_t>(v));
        } else {
            return static_cast<To>(static_cast<int32_t>(v));
        }
    } else {
        return static_cast<To>(v);
    }
}

template <class To, class From>
void convert_loop(int64_t n, void* out, const void* in) {
    auto* y = static_cast<stored_t<To>*>(out);
    auto* a = static_cast<const stored_t<From>*>(in);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = convert_one<To, From>(a[i]);
}

#if defined(__F16C__)
// The compiler does not use the half conversion instructions by itself.
void half_to_float_loop(int64_t n, void* out, const void* in) {
    auto* y = static_cast<float*>(out);
    auto* a = static_cast<const uint16_t*>(in);
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) {
        __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i));
        _mm512_storeu_ps(y + i, _mm512_cvtph_ps(h));
    }
#endif
    for (; i + 8 <= n; i += 8) {
        __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i));
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(h));
    }
    for (; i < n; ++i) y[i] = scalar::half_to_float(a[i]);
}
void float_to_half_loop(int64_t n, void* out, const void* in) {
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    auto* y = static_cast<uint16_t*>(out);
    auto* a = static_cast<const float*>(in);
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) {
        __m256i h = _mm512_cvtps_ph(_mm512_loadu_ps(a + i), nearest);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), h);
    }
#endif
    for (; i + 8 <= n; i += 8) {
        __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(a + i), nearest);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), h);
    }
    for (; i < n; ++i) y[i] = scalar::float_to_half(a[i]);
}
#endif

#define MASHAL_CONVERT_ROW(From)                                                                  \
    {                                                                                             \
        &convert_loop<bool, From>,    &convert_loop<uint8_t, From>, &convert_loop<int8_t, From>,  \
        &convert_loop<int16_t, From>, &convert_loop<int32_t, From>, &convert_loop<int64_t, From>, \
        &convert_loop<f16, From>,     &convert_loop<bf16, From>,    &convert_loop<float, From>,   \
        &convert_loop<double, From>,  &convert_loop<c64, From>,     &convert_loop<c128, From>,    \
    }
static constexpr ConvertLoop kConvert[kNumDTypes][kNumDTypes] = {
    MASHAL_CONVERT_ROW(bool),    MASHAL_CONVERT_ROW(uint8_t), MASHAL_CONVERT_ROW(int8_t), MASHAL_CONVERT_ROW(int16_t),
    MASHAL_CONVERT_ROW(int32_t), MASHAL_CONVERT_ROW(int64_t), MASHAL_CONVERT_ROW(f16),    MASHAL_CONVERT_ROW(bf16),
    MASHAL_CONVERT_ROW(float),   MASHAL_CONVERT_ROW(double),  MASHAL_CONVERT_ROW(c64),    MASHAL_CONVERT_ROW(c128),
};

ConvertLoop convert_loop_for(DType from, DType to) {
#if defined(__F16C__)
    if (from == DType::F16 && to == DType::F32) return &half_to_float_loop;
    if (from == DType::F32 && to == DType::F16) return &float_to_half_loop;
#endif
    return kConvert[static_cast<int>(from)][static_cast<int>(to)];
}

}  // namespace mashal::MASHAL_ISA
