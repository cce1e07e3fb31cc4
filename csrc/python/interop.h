// Data in and out: nested lists, buffers (NumPy), DLPack.
#pragma once
#include <optional>

#include "python/common.h"

namespace mashal {

// A new tensor from numbers, nested sequences, arrays or tensors. Without `dtype`, the type is inferred: bool, int64,
// the default float type or its complex; arrays keep theirs. `convert` allows float data for an integer type.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, bool convert = true);
// An index array: int64, or bool as a mask.
Tensor index_array_from(PyObject* data);
// Shares the memory of an object with the buffer protocol.
Tensor tensor_from_buffer(PyObject* o);

inline Ref<TensorList> make_tensor_list(const SmallVec<Tensor, 4>& items) {
    auto box = make_ref<TensorList>();
    box->items = items;
    return box;
}

}  // namespace mashal
