// LAPACK by element type, over the library's C interface, on column-major matrices. Only csrc/cpu/linalg*.cpp need it.
#pragma once
#include <lapacke.h>

#include <type_traits>
#include <vector>

#include "core/dtype.h"

namespace mashal::lapack {

template <class T>
struct real_of {
    using type = T;
};
template <>
struct real_of<c64> {
    using type = float;
};
template <>
struct real_of<c128> {
    using type = double;
};
template <class T>
using Real = typename real_of<T>::type;
template <class T>
constexpr bool is_complex_type = !std::is_same_v<T, Real<T>>;

inline lapack_complex_float* raw(c64* p) { return reinterpret_cast<lapack_complex_float*>(p); }
inline lapack_complex_double* raw(c128* p) { return reinterpret_cast<lapack_complex_double*>(p); }
inline const lapack_complex_float* raw(const c64* p) { return reinterpret_cast<const lapack_complex_float*>(p); }
inline const lapack_complex_double* raw(const c128* p) { return reinterpret_cast<const lapack_complex_double*>(p); }
template <class T>
T* raw(T* p) {
    return p;
}

constexpr int kColumnMajor = LAPACK_COL_MAJOR;

// Calls the routine of the right type: NAME with prefix s, d, c or z.
#define MASHAL_LAPACK(T, NAME, ...)                    \
    [&]() -> lapack_int {                              \
        if constexpr (std::is_same_v<T, float>)        \
            return scipy_LAPACKE_s##NAME(__VA_ARGS__); \
        else if constexpr (std::is_same_v<T, double>)  \
            return scipy_LAPACKE_d##NAME(__VA_ARGS__); \
        else if constexpr (std::is_same_v<T, c64>)     \
            return scipy_LAPACKE_c##NAME(__VA_ARGS__); \
        else                                           \
            return scipy_LAPACKE_z##NAME(__VA_ARGS__); \
    }()

}  // namespace mashal::lapack
