// A number as a user passed it: bool, int, float or complex.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace mashal {

struct Scalar {
    enum class Tag : uint8_t { Bool, Int, Float, Complex };
    Tag tag = Tag::Int;
    int64_t i = 0;
    double re = 0, im = 0;

    static Scalar of(bool v) { return {Tag::Bool, v, static_cast<double>(v), 0}; }
    static Scalar of(int64_t v) { return {Tag::Int, v, static_cast<double>(v), 0}; }
    static Scalar of(double v) { return {Tag::Float, 0, v, 0}; }
    static Scalar of(c128 v) { return {Tag::Complex, 0, v.re, v.im}; }

    bool is_integral() const { return tag <= Tag::Int; }
    double to_double() const { return is_integral() ? static_cast<double>(i) : re; }
    int64_t to_int() const { return is_integral() ? i : static_cast<int64_t>(re); }
    c128 to_complex() const { return {to_double(), im}; }
    // The type it has in promotion: bool, int64, the default float type or its complex.
    DType dtype() const;
};

DType default_dtype();
void set_default_dtype(DType t);

// Writes the value as one element of type t at p. Raises when an integer type can't hold it.
void store_scalar(void* p, DType t, const Scalar& s);
Scalar load_scalar(const void* p, DType t);

}  // namespace mashal
