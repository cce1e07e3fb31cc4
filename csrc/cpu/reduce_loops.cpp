#include "cpu/reduce_loops.h"

namespace mashal {

ReduceLoops find_reduce_loops(Reduce op, DType t) {
    if (op >= Reduce::SumAbs) return MASHAL_SELECT(special_reduce_loops)(op, t);
    if (is_integral(t, true)) return MASHAL_SELECT(integer_reduce_loops)(op, t);
    return MASHAL_SELECT(float_reduce_loops)(op, t);
}

ArgLoops find_arg_loops(bool largest, DType t) { return MASHAL_SELECT(arg_loops)(largest, t); }

}  // namespace mashal
