// Element types: names, sizes, categories and the C++ types that hold them.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/errors.h"
#include "scalar/complex.h"

namespace mashal {

enum class DType : uint8_t { Bool, U8, I8, I16, I32, I64, F16, BF16, F32, F64, C64, C128 };
constexpr int kNumDTypes = 12;

// Storage-only half types. Kernels compute in float; the conversions live in csrc/cpu/isa/convert.cpp and below.
struct f16 {
    uint16_t bits;
};
struct bf16 {
    uint16_t bits;
};
using c64 = scalar::cplx<float>;
using c128 = scalar::cplx<double>;

float to_float(f16 h);
f16 to_f16(float f);
inline float to_float(bf16 h) {
    uint32_t u = static_cast<uint32_t>(h.bits) << 16;
    float f;
    std::memcpy(&f, &u, 4);
    return f;
}
// Round to nearest even; NaN stays NaN.
inline bf16 to_bf16(float f) {
    uint32_t u;
    std::memcpy(&u, &f, 4);
    if (f != f) return {static_cast<uint16_t>((u >> 16) | 0x40)};
    return {static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16)};
}

constexpr int kItemSize[kNumDTypes] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
constexpr int item_size(DType t) { return kItemSize[static_cast<int>(t)]; }
// "float32", "bool", ...: as in `mashal.float32`.
const char* dtype_name(DType t);
// "Float", "Bool", ...: as PyTorch's error messages and legacy type names say.
const char* dtype_legacy_name(DType t);

constexpr bool is_complex(DType t) { return t >= DType::C64; }
constexpr bool is_floating(DType t) { return t >= DType::F16 && t <= DType::F64; }
constexpr bool is_integral(DType t, bool include_bool) { return t <= DType::I64 && (include_bool || t != DType::Bool); }
constexpr bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }
constexpr bool is_differentiable_dtype(DType t) { return t >= DType::F16; }
// complex64 -> float32, complex128 -> float64, others unchanged.
constexpr DType real_dtype(DType t) { return t == DType::C64 ? DType::F32 : t == DType::C128 ? DType::F64 : t; }
constexpr DType complex_dtype(DType t) { return t == DType::F64 || t == DType::C128 ? DType::C128 : DType::C64; }
// The type kernels compute in: float for the half types, else itself.
constexpr DType compute_dtype(DType t) { return is_half(t) ? DType::F32 : t; }

// PyTorch's promotion lattice for two element types of equal standing.
DType promote_dtypes(DType a, DType b);
// Whether a result of type `from` may be stored in `to` (complex -> float, float -> int, int -> bool are refused).
bool can_cast(DType from, DType to);

template <class T>
struct dtype_of;
#define MASHAL_DTYPE_OF(T, D)                    \
    template <>                                  \
    struct dtype_of<T> {                         \
        static constexpr DType value = DType::D; \
    }
MASHAL_DTYPE_OF(bool, Bool);
MASHAL_DTYPE_OF(uint8_t, U8);
MASHAL_DTYPE_OF(int8_t, I8);
MASHAL_DTYPE_OF(int16_t, I16);
MASHAL_DTYPE_OF(int32_t, I32);
MASHAL_DTYPE_OF(int64_t, I64);
MASHAL_DTYPE_OF(f16, F16);
MASHAL_DTYPE_OF(bf16, BF16);
MASHAL_DTYPE_OF(float, F32);
MASHAL_DTYPE_OF(double, F64);
MASHAL_DTYPE_OF(c64, C64);
MASHAL_DTYPE_OF(c128, C128);
#undef MASHAL_DTYPE_OF

// Calls f(T{}) with a value of the C++ type of `t`. visit_all: every type; visit_compute: no half types.
template <class F>
decltype(auto) visit_all(DType t, F&& f) {
    switch (t) {
        case DType::Bool: return f(bool{});
        case DType::U8: return f(uint8_t{});
        case DType::I8: return f(int8_t{});
        case DType::I16: return f(int16_t{});
        case DType::I32: return f(int32_t{});
        case DType::I64: return f(int64_t{});
        case DType::F16: return f(f16{});
        case DType::BF16: return f(bf16{});
        case DType::F32: return f(float{});
        case DType::F64: return f(double{});
        case DType::C64: return f(c64{});
        case DType::C128: return f(c128{});
    }
    __builtin_unreachable();
}

// Calls f with an unsigned type of the item's size (16 bytes: c128): for kernels that only move elements.
template <class F>
decltype(auto) visit_size(DType t, F&& f) {
    switch (item_size(t)) {
        case 1: return f(uint8_t{});
        case 2: return f(uint16_t{});
        case 4: return f(uint32_t{});
        case 8: return f(uint64_t{});
        default: return f(c128{});
    }
}

template <class F>
decltype(auto) visit_floating(std::string_view op, DType t, F&& f) {
    switch (t) {
        case DType::F32: return f(float{});
        case DType::F64: return f(double{});
        default: raise_error(ErrorKind::NotImplemented, op, "not implemented for '", dtype_legacy_name(t), "'");
    }
}

}  // namespace mashal
