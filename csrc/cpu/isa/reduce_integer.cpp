// Reductions of integer elements; bool is stored as uint8. Sums and products wrap in int64, as in PyTorch.
#include "cpu/isa/reduce_ops.h"

namespace mashal::MASHAL_ISA {
namespace {

// Part is unsigned: overflow wraps.
template <class T, bool kProduct>
struct ArithmeticOp {
    using In = T;
    using Part = uint64_t;
    using Acc = uint64_t;
    MASHAL_LOOP Part start() { return kProduct ? 1 : 0; }
    MASHAL_LOOP T neutral(double) { return kProduct ? 1 : 0; }
    MASHAL_LOOP void step(Part& p, T x, double) {
        const auto wide = static_cast<uint64_t>(static_cast<int64_t>(x));
        p = kProduct ? p * wide : p + wide;
    }
    MASHAL_LOOP void join(Part& p, Part q) { p = kProduct ? p * q : p + q; }
    MASHAL_LOOP Acc identity() { return start(); }
    MASHAL_LOOP void merge(Acc& a, Part p) { join(a, p); }
    MASHAL_LOOP void combine(Acc& a, Acc b) { join(a, b); }
};

// Blocks of 4096 cannot overflow 32 bits when elements have 16 bits or fewer.
template <class T>
struct ShortSumOp {
    using In = T;
    using Part = int32_t;
    using Acc = int64_t;
    MASHAL_LOOP Part start() { return 0; }
    MASHAL_LOOP T neutral(double) { return 0; }
    MASHAL_LOOP void step(Part& p, T x, double) { p += x; }
    MASHAL_LOOP void join(Part& p, Part q) { p += q; }
    MASHAL_LOOP Acc identity() { return 0; }
    MASHAL_LOOP void merge(Acc& a, Part p) { a += p; }
    MASHAL_LOOP void combine(Acc& a, Acc b) { a += b; }
};

template <class T, class Wide, class Counter>
ReduceLoops integer(Reduce op) {
    switch (op) {
        case Reduce::Sum:
        case Reduce::NanSum:
            if constexpr (sizeof(T) <= 2)
                return loops_of<ShortSumOp<T>>();
            else
                return loops_of<ArithmeticOp<T, false>>();
        case Reduce::Prod: return loops_of<ArithmeticOp<T, true>>();
        case Reduce::Max: return loops_of<ExtremumOp<T, true>>();
        case Reduce::Min: return loops_of<ExtremumOp<T, false>>();
        case Reduce::Any: return loops_of<LogicalOp<T, Wide, true>>();
        case Reduce::All: return loops_of<LogicalOp<T, Wide, false>>();
        case Reduce::CountNonzero: return loops_of<CountOp<T, Counter>>();
        default: return {};
    }
}

}  // namespace

ReduceLoops integer_reduce_loops(Reduce op, DType t) {
    switch (t) {
        case DType::Bool:
        case DType::U8: return integer<uint8_t, uint8_t, int32_t>(op);
        case DType::I8: return integer<int8_t, uint8_t, int32_t>(op);
        case DType::I16: return integer<int16_t, uint16_t, int32_t>(op);
        case DType::I32: return integer<int32_t, uint32_t, int32_t>(op);
        case DType::I64: return integer<int64_t, uint64_t, int64_t>(op);
        default: return {};
    }
}

}  // namespace mashal::MASHAL_ISA
