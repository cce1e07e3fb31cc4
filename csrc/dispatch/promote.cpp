// torch.result_type: dimensioned tensors outrank 0-d tensors, which outrank Python numbers, within a category.
#include "dispatch/primitive.h"

namespace mashal {

namespace {

struct MaybeType {
    bool set = false;
    DType type = DType::Bool;
    void add(DType t) {
        type = set ? promote_dtypes(type, t) : t;
        set = true;
    }
};

MaybeType combine(MaybeType high, MaybeType low) {
    if (!high.set) return low;
    if (!low.set) return high;
    if (is_complex(high.type)) return high;
    if (is_floating(high.type)) {
        if (is_complex(low.type)) high.type = complex_dtype(high.type);
        return high;
    }
    if (high.type == DType::Bool || !is_integral(low.type, true)) {
        high.type = promote_dtypes(high.type, low.type);
        return high;
    }
    return high;
}

}  // namespace

DType result_type(std::span<const Value* const> values) {
    MaybeType dim, zero, number;
    for (const Value* v : values) {
        if (v->is_tensor()) {
            TensorObj* t = v->tensor_obj();
            if (!t->sizes.empty())
                dim.add(t->dtype);
            else if (t->is_wrapped_number)
                number.add(is_complex(t->dtype)    ? complex_dtype(default_dtype())
                           : is_floating(t->dtype) ? default_dtype()
                                                   : t->dtype);
            else
                zero.add(t->dtype);
        } else if (v->is_number()) {
            number.add(v->scalar().dtype());
        }
    }
    return combine(dim, combine(zero, number)).type;
}

}  // namespace mashal
