#include "core/dtype.h"

namespace mashal {

const char* dtype_name(DType t) {
    static const char* const names[kNumDTypes] = {"bool",    "uint8",   "int8",      "int16",
                                                  "int32",   "int64",   "float16",   "bfloat16",
                                                  "float32", "float64", "complex64", "complex128"};
    return names[static_cast<int>(t)];
}

const char* dtype_legacy_name(DType t) {
    static const char* const names[kNumDTypes] = {"Bool",  "Byte",   "Char",         "Short",
                                                  "Int",   "Long",   "Half",         "BFloat16",
                                                  "Float", "Double", "ComplexFloat", "ComplexDouble"};
    return names[static_cast<int>(t)];
}

float to_float(f16 h) {
    uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000) << 16;
    uint32_t exponent = (h.bits >> 10) & 0x1f;
    uint32_t mantissa = h.bits & 0x3ff;
    uint32_t u;
    if (exponent == 0x1f) {
        u = sign | 0x7f800000 | (mantissa << 13);
    } else if (exponent != 0) {
        u = sign | ((exponent + 112) << 23) | (mantissa << 13);
    } else {
        // Denormal: mantissa * 2^-24 is exact in float.
        float f = static_cast<float>(mantissa) * 0x1p-24f;
        std::memcpy(&u, &f, 4);
        u |= sign;
    }
    float out;
    std::memcpy(&out, &u, 4);
    return out;
}

f16 to_f16(float f) {
    uint32_t u;
    std::memcpy(&u, &f, 4);
    uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000);
    u &= 0x7fffffff;
    if (u > 0x7f800000) return {static_cast<uint16_t>(sign | 0x7e00 | ((u >> 13) & 0x1ff))};
    if (u >= 0x477ff000) return {static_cast<uint16_t>(sign | 0x7c00)};  // rounds beyond 65504
    if (u < 0x38800000) {
        // Result is denormal: adding 0.5 leaves the rounded mantissa in the low bits.
        float a;
        std::memcpy(&a, &u, 4);
        a += 0.5f;
        std::memcpy(&u, &a, 4);
        return {static_cast<uint16_t>(sign | (u - 0x3f000000))};
    }
    u += 0xfff + ((u >> 13) & 1) - (112u << 23);
    return {static_cast<uint16_t>(sign | (u >> 13))};
}

DType promote_dtypes(DType a, DType b) {
    if (a == b) return a;
    if (a > b) std::swap(a, b);
    // a < b in the order Bool, U8, I8, ..., C128
    if (b <= DType::I64) return a == DType::U8 && b == DType::I8 ? DType::I16 : b;
    if (a <= DType::I64) return b;
    if (a == DType::F16 && b == DType::BF16) return DType::F32;
    if (b == DType::C64 && a == DType::F64) return DType::C128;
    return b;
}

bool can_cast(DType from, DType to) {
    if (is_complex(from)) return is_complex(to);
    if (is_floating(from)) return is_floating(to) || is_complex(to);
    if (from != DType::Bool) return to != DType::Bool;
    return true;
}

}  // namespace mashal
