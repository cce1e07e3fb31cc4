// Reduction of a tensor of any strides over any set of dimensions, by the loops of csrc/cpu/reduce_loops.h.
#pragma once
#include "cpu/reduce_loops.h"
#include "dispatch/primitive.h"

namespace mashal {

// Bit d is set when dimension d is reduced. None and an empty list mean all; repeated dimensions raise.
uint64_t reduced_mask(std::string_view op, const Value& dims, int64_t ndim);
IntVec reduced_sizes(IntSpan sizes, uint64_t mask, bool keepdim);
// Number of elements that make up one result.
int64_t reduced_count(IntSpan sizes, uint64_t mask);

// Receives finished accumulators: acc[j] belongs to element `offset + j * stride` of the (contiguous) result.
// Runs on several threads, with the interpreter lock released.
class FinishRef {
public:
    template <class F>
    FinishRef(F& f)
        : context_(&f), call_([](void* c, const void* acc, int64_t n, int64_t offset, int64_t stride) {
              (*static_cast<F*>(c))(acc, n, offset, stride);
          }) {}
    void operator()(const void* acc, int64_t n, int64_t offset, int64_t stride) const {
        call_(context_, acc, n, offset, stride);
    }

private:
    void* context_;
    void (*call_)(void*, const void*, int64_t, int64_t, int64_t);
};

// Reduces `input` over the dimensions in `mask`. Elements are converted to `loop_dtype`, that of `loops`, block by
// block.
void reduce_tensor(const Tensor& input, uint64_t mask, const ReduceLoops& loops, DType loop_dtype, double param,
                   FinishRef finish);

}  // namespace mashal
