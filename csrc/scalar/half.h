// Conversions between float and the two 16-bit formats, on bit patterns.
// Rounding is to nearest, ties to even; overflow gives inf, denormals are kept, nan stays a quiet nan.
#pragma once
#include "scalar/common.h"

namespace mashal::scalar {

MASHAL_FN float half_to_float(uint16_t h) {
    uint32_t magnitude = static_cast<uint32_t>(h & 0x7fffu) << 13;
    // Rebias the exponent by a multiplication, which also normalises denormals.
    uint32_t finite = bits_of(from_bits(magnitude) * 0x1p112f);
    uint32_t special = magnitude | limits<float>::inf_bits | (magnitude > 0x0f800000u ? 0x400000u : 0u);
    uint32_t r = magnitude >= 0x0f800000u ? special : finite;
    return from_bits(r | (static_cast<uint32_t>(h & 0x8000u) << 16));
}
MASHAL_FN uint16_t float_to_half(float f) {
    uint32_t u = bits_of(f);
    uint32_t a = u & 0x7fffffffu;
    uint32_t normal = (a + 0xfffu + ((a >> 13) & 1u) - (112u << 23)) >> 13;
    // Adding 0.5 aligns the last bit of the sum with the smallest half denormal; the hardware rounds.
    uint32_t denormal = bits_of(from_bits(a) + 0.5f) - 0x3f000000u;
    uint32_t r = a < 0x38800000u ? denormal : normal;
    r = a >= 0x47800000u ? 0x7c00u : r;
    r = a > limits<float>::inf_bits ? 0x7e00u | ((a >> 13) & 0x3ffu) : r;
    return static_cast<uint16_t>(r | (u >> 16 & 0x8000u));
}
MASHAL_FN float bfloat16_to_float(uint16_t h) { return from_bits(static_cast<uint32_t>(h) << 16); }
MASHAL_FN uint16_t float_to_bfloat16(float f) {
    uint32_t u = bits_of(f);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t r = (u & 0x7fffffffu) > limits<float>::inf_bits ? (u >> 16) | 0x40u : rounded;
    return static_cast<uint16_t>(r);
}

}  // namespace mashal::scalar
