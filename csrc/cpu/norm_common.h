// What the normalisation kernels share.
#pragma once
#include <cmath>
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/copy.h"
#include "cpu/norm_loops.h"
#include "cpu/reduce_driver.h"

namespace mashal {

// An argument as a contiguous array of T; null when it was not given.
template <class T>
struct Operand {
    explicit Operand(const Tensor& t) {
        if (t.defined()) tensor = contiguous(to_dtype(t, dtype_of<T>::value));
    }
    const T* data() const { return tensor.defined() ? tensor.data<T>() : nullptr; }
    Tensor tensor;
};

// A result as a contiguous array of T, copied back where it is neither; null when it has no elements (not wanted).
template <class T>
struct Target {
    explicit Target(const Tensor& t) : out(t) {
        const bool direct = t.dtype() == dtype_of<T>::value && t.is_contiguous();
        tensor = direct ? t : empty(t.sizes(), dtype_of<T>::value);
    }
    T* data() const { return out.numel() == 0 ? nullptr : tensor.data<T>(); }
    void finish() const {
        if (!tensor.is_same(out)) copy_into(out, tensor);
    }
    Tensor out, tensor;
};

// Statistics of half inputs are kept in float.
inline DType stats_dtype(const Tensor& input) { return compute_dtype(input.dtype()); }

}  // namespace mashal
