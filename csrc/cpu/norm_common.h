// What the normalisation kernels share.
#pragma once
#include <cmath>
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/copy.h"
#include "cpu/norm_loops.h"
#include "cpu/pointwise_loops.h"
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

// An argument that is read row by row. Rows of a half type pass through a buffer: no wide copy of the whole is made.
template <class T>
class RowSource {
public:
    explicit RowSource(const Tensor& t) {
        if (is_half(t.dtype())) convert_ = find_convert_loop(t.dtype(), dtype_of<T>::value);
        tensor_ = contiguous(convert_ ? t : to_dtype(t, dtype_of<T>::value));
    }
    const T* row(int64_t offset, int64_t n, T* buffer) const {
        if (convert_ == nullptr) return tensor_.data<T>() + offset;
        convert_(n, buffer, tensor_.data<char>() + offset * 2);
        return buffer;
    }

private:
    Tensor tensor_;
    ConvertLoop convert_ = nullptr;
};

// A result that is written row by row; not wanted if it has no elements.
template <class T>
class RowTarget {
public:
    explicit RowTarget(const Tensor& t) : out_(t) {
        if (is_half(t.dtype()) && t.is_contiguous())
            convert_ = find_convert_loop(dtype_of<T>::value, t.dtype());
        else if (t.dtype() != dtype_of<T>::value || !t.is_contiguous())
            wide_ = empty(t.sizes(), dtype_of<T>::value);
        if (convert_ == nullptr && t.numel() > 0) data_ = wide_ ? wide_.data<T>() : out_.data<T>();
    }
    bool wanted() const { return out_.numel() > 0; }
    // Where to write a row, and that it has been written.
    T* row(int64_t offset, T* buffer) const { return convert_ ? buffer : data_ + offset; }
    void written(int64_t offset, int64_t n, const T* buffer) const {
        if (convert_) convert_(n, out_.data<char>() + offset * 2, buffer);
    }
    void finish() const {
        if (wide_) copy_into(out_, wide_);
    }

private:
    Tensor out_, wide_;
    T* data_ = nullptr;
    ConvertLoop convert_ = nullptr;
};

// Statistics of half inputs are kept in float.
inline DType stats_dtype(const Tensor& input) { return compute_dtype(input.dtype()); }

}  // namespace mashal
