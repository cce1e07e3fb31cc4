// What the indexing kernels share: index checks and positions.
#pragma once
#include <vector>

#include "core/tensor.h"
#include "cpu/copy.h"
#include "cpu/strided.h"

namespace mashal {

[[noreturn, gnu::cold, gnu::noinline]] inline void raise_index(std::string_view op, int64_t index, int64_t dim,
                                                               int64_t size) {
    raise_error(ErrorKind::Index, op, "index ", index, " is out of bounds for dimension ", dim, " with size ", size);
}

// An index that may count from the end.
inline int64_t wrapped_index(std::string_view op, int64_t index, int64_t dim, int64_t size) {
    if (index < -size || index >= size) [[unlikely]]
        raise_index(op, index, dim, size);
    return index < 0 ? index + size : index;
}

// int64 as it is, int32 widened; anything else is refused.
inline Tensor index_tensor(std::string_view op, const Tensor& index) {
    MASHAL_CHECK(index.dtype() == DType::I64 || index.dtype() == DType::I32, op,
                 "index must be int64 or int32, got index ", text(index), ". Use index.long()");
    return to_dtype(index, DType::I64);
}

inline Tensor at_least_1d(const Tensor& t) { return t.dim() > 0 ? t : alias(t, IntVec{1}, IntVec{1}, t->offset); }

// Offsets of all elements of a geometry in row-major order.
inline std::vector<int64_t> element_offsets(IntSpan sizes, IntSpan strides) {
    std::vector<int64_t> out(1, 0);
    for (size_t d = 0; d < sizes.size(); d++) {
        std::vector<int64_t> next;
        next.reserve(out.size() * static_cast<size_t>(sizes[d]));
        for (int64_t o : out)
            for (int64_t i = 0; i < sizes[d]; i++) next.push_back(o + i * strides[d]);
        out = std::move(next);
    }
    return out;
}

// Positions of the true elements, one row of the result per dimension: (dim, n) int64.
Tensor nonzero_rows(const Tensor& t);
int64_t count_true(const Tensor& mask);
// out <- the elements of input where mask (of its shape) is true. `out` is dense and has room for exactly these.
void read_masked(const Tensor& out, const Tensor& input, const Tensor& mask);
// out <- value (one element) where mask is true, input elsewhere; all of one shape. `out` may be `input`.
void fill_masked(const Tensor& out, const Tensor& input, const Tensor& mask, const Tensor& value);

}  // namespace mashal
