// Checks that shape rules share. Derivatives call backward primitives with what fits; anyone else may call them with
// anything, so they check like all others.
#pragma once
#include "core/tensor.h"

namespace mashal {

inline void check_shape(std::string_view op, const char* name, const Tensor& t, IntSpan sizes) {
    MASHAL_CHECK(equal(t.sizes(), sizes), op, name, " must have shape ", shape_text(sizes), ", got ", name, " ",
                 text(t), ".");
}

inline void check_dtype(std::string_view op, const char* name, const Tensor& t, DType dtype) {
    MASHAL_CHECK(t.dtype() == dtype, op, name, " must be ", dtype_name(dtype), ", got ", name, " ", text(t), ".");
}

inline void check_floating(std::string_view op, const Tensor& t) {
    MASHAL_CHECK_AS(NotImplemented, is_floating(t.dtype()), op, "not implemented for '", dtype_legacy_name(t.dtype()),
                    "'");
}

// Windows, strides and the like: from `least` up, and small enough that sums and products with sizes fit 63 bits.
inline void check_window(std::string_view op, const char* name, IntSpan values, int64_t least) {
    for (int64_t v : values) {
        MASHAL_CHECK(v >= least, op, name, " must be at least ", least, ", got ", shape_text(values), ".");
        MASHAL_CHECK(v <= INT32_MAX, op, name, " must be below 2**31, got ", shape_text(values), ".");
    }
}

inline int64_t checked_product(std::string_view op, int64_t a, int64_t b) {
    int64_t c;
    MASHAL_CHECK(!__builtin_mul_overflow(a, b, &c), op, "size is too large for a tensor: ", a, " times ", b, ".");
    return c;
}

inline int64_t checked_sum(std::string_view op, int64_t a, int64_t b) {
    int64_t c;
    MASHAL_CHECK(!__builtin_add_overflow(a, b, &c), op, "size is too large for a tensor: ", a, " plus ", b, ".");
    return c;
}

}  // namespace mashal
