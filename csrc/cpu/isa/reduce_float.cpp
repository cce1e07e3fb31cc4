// Sums, products, extrema and logical reductions of floating and complex elements.
#include "cpu/isa/reduce_ops.h"

namespace mashal::MASHAL_ISA {
namespace {

// PartT is In for the blocks' speed; AccT is double or c128.
template <class T, class AccT, bool kSkipNan>
struct SumOp {
    using In = T;
    using Part = T;
    using Acc = AccT;
    MASHAL_LOOP Part start() { return Part(0); }
    MASHAL_LOOP T neutral(double) { return T(0); }
    MASHAL_LOOP void step(Part& p, T x, double) {
        if constexpr (kSkipNan)
            p += x == x ? x : T(0);
        else
            p += x;
    }
    MASHAL_LOOP void join(Part& p, Part q) { p += q; }
    MASHAL_LOOP Acc identity() { return Acc(0); }
    MASHAL_LOOP void merge(Acc& a, Part p) { a += Acc(p); }
    MASHAL_LOOP void combine(Acc& a, Acc b) { a += b; }
};

template <class T, class AccT>
struct ProdOp {
    using In = T;
    using Part = T;
    using Acc = AccT;
    MASHAL_LOOP Part start() { return Part(1); }
    MASHAL_LOOP T neutral(double) { return T(1); }
    MASHAL_LOOP void step(Part& p, T x, double) { p *= x; }
    MASHAL_LOOP void join(Part& p, Part q) { p *= q; }
    MASHAL_LOOP Acc identity() { return Acc(1); }
    MASHAL_LOOP void merge(Acc& a, Part p) { a *= Acc(p); }
    MASHAL_LOOP void combine(Acc& a, Acc b) { a *= b; }
};

template <class T, class Acc, class Wide>
ReduceLoops common(Reduce op) {
    switch (op) {
        case Reduce::Sum: return loops_of<SumOp<T, Acc, false>>();
        case Reduce::Prod: return loops_of<ProdOp<T, Acc>>();
        case Reduce::Any: return loops_of<LogicalOp<T, Wide, true>>();
        case Reduce::All: return loops_of<LogicalOp<T, Wide, false>>();
        case Reduce::CountNonzero: return loops_of<CountOp<T, Wide>>();
        default: return {};
    }
}

template <class T, class Wide>
ReduceLoops real(Reduce op) {
    switch (op) {
        case Reduce::NanSum: return loops_of<SumOp<T, double, true>>();
        case Reduce::Max: return loops_of<ExtremumOp<T, true>>();
        case Reduce::Min: return loops_of<ExtremumOp<T, false>>();
        default: return common<T, double, Wide>(op);
    }
}

}  // namespace

ReduceLoops float_reduce_loops(Reduce op, DType t) {
    switch (t) {
        case DType::F32: return real<float, int32_t>(op);
        case DType::F64: return real<double, int64_t>(op);
        case DType::C64: return common<c64, c128, int64_t>(op);
        case DType::C128: return common<c128, c128, int64_t>(op);
        default: return {};
    }
}

}  // namespace mashal::MASHAL_ISA
