// Moving elements between tensors of any geometry and type.
#pragma once
#include "core/scalar_value.h"
#include "core/tensor.h"

namespace mashal {

// dst <- src, broadcast to dst's shape and cast to its type. The two may overlap.
void copy_into(const Tensor& dst, const Tensor& src);
// t itself when it is contiguous already.
Tensor contiguous(const Tensor& t);
// t itself when it has that type already; otherwise a dense copy in t's order of dimensions.
Tensor to_dtype(const Tensor& t, DType dtype);
Tensor clone(const Tensor& t, MemoryFormat format = MemoryFormat::Preserve);
void fill(const Tensor& t, const Scalar& value);

// The same on raw memory; strides in elements and of any sign. The regions must not overlap.
void copy_strided(DType dtype, IntSpan sizes, void* dst, IntSpan dst_strides, const void* src, IntSpan src_strides);

}  // namespace mashal
