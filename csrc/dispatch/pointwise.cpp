// The driver of every pointwise op: promotion, broadcasting, casting and striding happen here, so that an inner loop
// only ever sees short contiguous runs of one type.
#include <algorithm>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/copy.h"
#include "cpu/pointwise_loops.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

constexpr int64_t kBlock = 512;    // elements per inner call where operands pass through buffers
constexpr int64_t kLongRow = 256;  // rows at least this long are walked one by one, without gathering
constexpr size_t kMaxInputs = 4;

struct Operand {
    char* data = nullptr;
    DType dtype = DType::F32;
    DType wanted = DType::F32;  // what the inner loop reads (or, for the output, writes)
    bool constant = false;      // one value for the whole run
    IntVec strides;             // in elements, innermost first after `plan`
    alignas(16) unsigned char value[16];
};

// A loop nest over all operands with dimensions sorted and merged: innermost first.
struct Plan {
    IntVec sizes;
    Operand operands[kMaxInputs + 1];  // [0] is the output
    size_t count = 1;
    DType compute = DType::F32;
    DType loop_out = DType::F32;
    PointwiseLoop loop = nullptr;
    const double* params = nullptr;
    int64_t numel = 0;
};

// Order of dimensions, innermost first, by the operands' strides; ties keep logical order (PyTorch's TensorIterator).
SmallVec<size_t, 6> dimension_order(IntSpan sizes, std::span<const IntVec* const> strides) {
    size_t n = sizes.size();
    SmallVec<size_t, 6> order(n);
    for (size_t i = 0; i < n; i++) order[i] = n - 1 - i;
    auto compare = [&](size_t a, size_t b) -> int {
        for (const IntVec* s : strides) {
            int64_t sa = (*s)[a], sb = (*s)[b];
            if (sa == 0 || sb == 0) continue;
            if (sa != sb) return sa < sb ? -1 : 1;
            if (sizes[a] > sizes[b]) return 1;
        }
        return 0;
    };
    for (size_t i = 1; i < n; i++) {
        size_t d1 = i;
        for (size_t d0 = i; d0-- > 0;) {
            int c = compare(order[d0], order[d1]);
            if (c > 0) {
                std::swap(order[d0], order[d1]);
                d1 = d0;
            } else if (c < 0) {
                break;
            }
        }
    }
    return order;
}

IntVec broadcast_strides(const Tensor& t, IntSpan sizes) {
    IntVec strides(sizes.size());
    size_t lead = sizes.size() - t.sizes().size();
    for (size_t i = 0; i < t.sizes().size(); i++)
        strides[lead + i] = t.sizes()[i] == 1 && sizes[lead + i] != 1 ? 0 : t.strides()[i];
    return strides;
}

// Sorts dimensions and merges those that every operand walks evenly.
void merge_dimensions(Plan& plan, IntSpan sizes, const SmallVec<size_t, 6>& order) {
    IntVec merged;
    IntVec strides[kMaxInputs + 1];
    for (size_t d : order) {
        if (sizes[d] == 1) continue;
        bool fits = !merged.empty();
        for (size_t k = 0; fits && k < plan.count; k++)
            fits = plan.operands[k].constant || plan.operands[k].strides[d] == strides[k].back() * merged.back();
        if (fits) {
            merged.back() *= sizes[d];
            continue;
        }
        merged.push_back(sizes[d]);
        for (size_t k = 0; k < plan.count; k++)
            strides[k].push_back(plan.operands[k].constant ? 0 : plan.operands[k].strides[d]);
    }
    if (merged.empty()) {
        merged.push_back(1);
        for (size_t k = 0; k < plan.count; k++) strides[k].push_back(1);
    }
    plan.sizes = std::move(merged);
    for (size_t k = 0; k < plan.count; k++) plan.operands[k].strides = std::move(strides[k]);
}

// Whether an operand is walked through memory without gaps, in the order of the loops.
bool is_linear(const Plan& plan, const Operand& op) {
    int64_t expected = 1;
    for (size_t d = 0; d < plan.sizes.size(); d++) {
        if (op.strides[d] != expected) return false;
        expected *= plan.sizes[d];
    }
    return true;
}

// Whether an operand repeats itself from row to row.
bool is_periodic(const Plan& plan, const Operand& op) {
    for (size_t d = 1; d < plan.sizes.size(); d++)
        if (op.strides[d] != 0) return false;
    return true;
}

// Visits the memory runs of elements [index, index + n) of an operand: f(pointer, stride, length).
template <class F>
void for_runs(const Plan& plan, const Operand& op, int64_t index, int64_t n, F&& f) {
    size_t nd = plan.sizes.size();
    SmallVec<int64_t, 6> at(nd);
    int64_t offset = 0;
    for (size_t d = 0; d < nd; d++) {
        at[d] = index % plan.sizes[d];
        index /= plan.sizes[d];
        offset += at[d] * op.strides[d];
    }
    int size = item_size(op.dtype);
    while (n > 0) {
        int64_t run = std::min(n, plan.sizes[0] - at[0]);
        f(op.data + offset * size, op.strides[0], run);
        n -= run;
        offset -= at[0] * op.strides[0];
        at[0] = 0;
        for (size_t d = 1; d < nd; d++) {
            offset += op.strides[d];
            if (++at[d] < plan.sizes[d]) break;
            offset -= at[d] * op.strides[d];
            at[d] = 0;
        }
    }
}

template <class T>
void gather_run(T* dst, const char* src, int64_t stride, int64_t n) {
    const T* from = reinterpret_cast<const T*>(src);
    if (stride == 1)
        std::copy_n(from, n, dst);
    else if (stride == 0)
        std::fill_n(dst, n, *from);
    else
        for (int64_t i = 0; i < n; i++) dst[i] = from[i * stride];
}

void gather(const Plan& plan, const Operand& op, int64_t index, int64_t n, char* dst) {
    visit_size(op.dtype, [&](auto tag) {
        using T = decltype(tag);
        T* out = reinterpret_cast<T*>(dst);
        for_runs(plan, op, index, n, [&](char* src, int64_t stride, int64_t run) {
            gather_run(out, src, stride, run);
            out += run;
        });
    });
}

void scatter(const Plan& plan, const Operand& op, int64_t index, int64_t n, const char* src) {
    visit_size(op.dtype, [&](auto tag) {
        using T = decltype(tag);
        const T* from = reinterpret_cast<const T*>(src);
        for_runs(plan, op, index, n, [&](char* dst, int64_t stride, int64_t run) {
            T* to = reinterpret_cast<T*>(dst);
            if (stride == 1)
                std::copy_n(from, run, to);
            else
                for (int64_t i = 0; i < run; i++) to[i * stride] = from[i];
            from += run;
        });
    });
}

void fill_constant(DType t, char* dst, const unsigned char* value, int64_t n) {
    visit_size(t, [&](auto tag) {
        using T = decltype(tag);
        T v;
        std::memcpy(&v, value, sizeof(T));
        std::fill_n(reinterpret_cast<T*>(dst), n, v);
    });
}

// How one operand reaches the inner loop in one range of elements.
struct Access {
    enum Kind : uint8_t {
        Buffer,    // gathered and cast block by block
        Constant,  // buffer filled once
        Linear,    // in place: element i lies at i
        Row,       // in place within a row
    } kind = Buffer;
    ConvertLoop convert = nullptr;
};

// Runs elements [begin, end).
void run_range(const Plan& plan, int64_t begin, int64_t end) {
    alignas(64) char buffers[kMaxInputs + 1][kBlock * 16];
    alignas(64) char raw[kBlock * 16];
    const void* in[kMaxInputs];
    const int64_t row = plan.sizes[0];
    const bool by_row = plan.sizes.size() > 1 && row >= kLongRow;
    // Short rows: whole rows to a block, so that an operand that is the same in each is gathered once.
    const bool whole_rows = !by_row && plan.sizes.size() > 1 && row <= kBlock / 2;
    const int64_t block = whole_rows ? kBlock / row * row : kBlock;
    Access access[kMaxInputs + 1];
    bool in_place = true;
    for (size_t k = 0; k < plan.count; k++) {
        const Operand& op = plan.operands[k];
        Access& a = access[k];
        if (!op.constant && op.dtype != op.wanted)
            a.convert = k == 0 ? find_convert_loop(op.wanted, op.dtype) : find_convert_loop(op.dtype, op.wanted);
        if (op.constant) {
            a.kind = Access::Constant;
            fill_constant(op.wanted, buffers[k], op.value, std::min(block, end - begin));
        } else if (a.convert == nullptr && is_linear(plan, op)) {
            a.kind = Access::Linear;
        } else if (a.convert == nullptr && by_row && op.strides[0] == 1) {
            a.kind = Access::Row;
        } else if (k > 0 && whole_rows && end - begin > row && is_periodic(plan, op)) {
            a.kind = Access::Constant;
            gather(plan, op, 0, std::min(block, plan.numel), a.convert ? raw : buffers[k]);
            if (a.convert) a.convert(std::min(block, plan.numel), buffers[k], raw);
        }
        in_place &= a.kind == Access::Linear;
    }
    auto linear = [](const Operand& op, int64_t i) { return op.data + i * item_size(op.dtype); };
    if (in_place) {
        for (size_t k = 1; k < plan.count; k++) in[k - 1] = linear(plan.operands[k], begin);
        plan.loop(end - begin, linear(plan.operands[0], begin), in, plan.params);
        return;
    }
    const Operand& out = plan.operands[0];
    for (int64_t i = begin; i < end;) {
        int64_t n = std::min(block, end - i);
        if (by_row) n = std::min(n, row - i % row);
        if (whole_rows && i % row != 0) n = std::min(n, row - i % row);  // up to the first whole row
        auto address = [&](const Operand& op) {
            char* p = nullptr;
            for_runs(plan, op, i, 1, [&](char* at, int64_t, int64_t) { p = at; });
            return p;
        };
        for (size_t k = 1; k < plan.count; k++) {
            const Operand& op = plan.operands[k];
            switch (access[k].kind) {
                case Access::Constant:
                    // A periodic operand starts anywhere only in the part before the first whole row.
                    in[k - 1] = buffers[k] + (op.constant || !whole_rows ? 0 : i % row * item_size(op.wanted));
                    break;
                case Access::Linear: in[k - 1] = linear(op, i); break;
                case Access::Row: in[k - 1] = address(op); break;
                case Access::Buffer:
                    in[k - 1] = buffers[k];
                    if (access[k].convert == nullptr) {
                        gather(plan, op, i, n, buffers[k]);
                    } else if ((by_row || plan.sizes.size() == 1) && op.strides[0] == 1) {
                        access[k].convert(n, buffers[k], address(op));
                    } else {
                        gather(plan, op, i, n, raw);
                        access[k].convert(n, buffers[k], raw);
                    }
                    break;
            }
        }
        if (access[0].kind == Access::Linear) {
            plan.loop(n, linear(out, i), in, plan.params);
        } else if (access[0].kind == Access::Row) {
            plan.loop(n, address(out), in, plan.params);
        } else {
            plan.loop(n, buffers[0], in, plan.params);
            if (access[0].convert != nullptr && (by_row || plan.sizes.size() == 1) && out.strides[0] == 1) {
                access[0].convert(n, address(out), buffers[0]);
            } else if (access[0].convert != nullptr) {
                access[0].convert(n, raw, buffers[0]);
                scatter(plan, out, i, n, raw);
            } else {
                scatter(plan, out, i, n, buffers[0]);
            }
        }
        i += n;
    }
}

DType compute_type(Promotion promotion, DType common) {
    bool floats = promotion == Promotion::Float || promotion == Promotion::FloatReal;
    return floats && is_integral(common, true) ? default_dtype() : common;
}

DType output_type(Promotion promotion, DType computed) {
    switch (promotion) {
        case Promotion::Compare:
        case Promotion::BoolOut: return DType::Bool;
        case Promotion::FloatReal:
        case Promotion::AbsLike: return real_dtype(computed);
        case Promotion::ComplexOut: return complex_dtype(computed);
        default: return computed;
    }
}

// The factor of an operand (add, sub, rsub) must not widen its type.
void check_alpha(const Call& call, const Value& alpha, DType computed) {
    using Tag = Value::Tag;
    MASHAL_CHECK(!(is_integral(computed, true) && alpha.tag() > Tag::Int), call.name(),
                 "For integral input tensors, argument alpha must not be a floating point number.");
    MASHAL_CHECK(is_complex(computed) || alpha.tag() != Tag::Complex, call.name(),
                 "For non-complex input tensors, argument alpha must not be a complex number.");
    MASHAL_CHECK(computed == DType::Bool || alpha.tag() != Tag::Bool, call.name(),
                 "Boolean alpha only supported for Boolean results.");
}

// An input whose memory the output is about to overwrite in another order must be read first.
Tensor safe_input(const Call& call, const Tensor& t) {
    if (t.device().is_meta()) return t;
    for (const Tensor& out : call.out)
        if (memory_overlap(out, t) == Overlap::Partial) return clone(t, MemoryFormat::Preserve);
    return t;
}

// The most common call without the machinery: contiguous CPU tensors of one shape and one type that the loop reads as
// they are, and a fresh result. Returns false for anything else.
bool run_simple(Call& call) {
    const Primitive& p = call.op;
    if (call.in_place || call.out_given || p.promotion == Promotion::Where) return false;
    const TensorObj* first = nullptr;
    const void* in[kMaxInputs];
    double params[4];
    size_t n_inputs = 0, n_params = 0;
    for (size_t i = 0; i < call.args.size(); i++) {
        const Value& v = call.args[i];
        if (p.tensor_args >> i & 1) {
            if (!v.is_tensor()) return false;
            const TensorObj* t = v.tensor_obj();
            if (first == nullptr) first = t;
            if (!t->contiguous || t->dtype != first->dtype || t->device() != Device{} || !(t->sizes == first->sizes))
                return false;
            in[n_inputs++] = static_cast<const char*>(t->storage->data()) + t->offset * item_size(t->dtype);
        } else if (v.tag() == Value::Tag::Int || v.tag() == Value::Tag::Float) {
            if (n_params == 4) return false;
            params[n_params++] = v.real();
        } else if (v.is_number()) {
            return false;
        }
    }
    DType type = first->dtype, written;
    if (type != DType::F32 && type != DType::F64) return false;
    PointwiseLoop loop = p.find_loop(type, &written);
    if (loop == nullptr || written != output_type(p.promotion, type)) return false;
    Tensor out = empty(first->sizes, written);
    int64_t numel = first->numel;
    char* to = out.data<char>();
    if (numel <= kGrain) {
        if (numel > 0) loop(numel, to, in, params);
    } else {
        AllowThreads threads(true);
        parallel_for(0, numel, kGrain, [&](int64_t b, int64_t e) {
            const void* from[kMaxInputs];
            for (size_t k = 0; k < n_inputs; k++) from[k] = static_cast<const char*>(in[k]) + b * item_size(type);
            loop(e - b, to + b * item_size(written), from, params);
        });
    }
    call.out.push_back(std::move(out));
    return true;
}

// What the op computes with instead tells the repair.
[[noreturn, gnu::cold]] void refuse_dtype(const Call& call, DType t) {
    const Primitive& p = call.op;
    DType out;
    const char* repair = "";
    if (t == DType::Bool && p.find_loop(DType::I64, &out) != nullptr)
        repair = ". To invert or combine masks use `~`, `^`, `&` and `|`; to calculate with them convert with .long()";
    else if (is_floating(t) && p.find_loop(DType::I64, &out) != nullptr)
        repair = ", only for integer and bool tensors. Convert with .long() or .bool()";
    raise_error(ErrorKind::NotImplemented, call.name(), "not implemented for '", dtype_legacy_name(t), "'", repair);
}

}  // namespace

void run_pointwise(Call& call) {
    if (run_simple(call)) return;
    const Primitive& p = call.op;
    SmallVec<const Value*, kMaxInputs> inputs;
    for (size_t i = 0; i < p.schema.args.size(); i++)
        if (p.schema.args[i].type == ArgType::Tensor) inputs.push_back(&call.args[i]);
    bool where = p.promotion == Promotion::Where;
    DType common = result_type(std::span<const Value* const>(inputs).subspan(where ? 1 : 0));
    DType computed = compute_type(p.promotion, common);

    Plan plan;
    plan.compute = compute_dtype(computed);
    plan.loop = p.find_loop(plan.compute, &plan.loop_out);
    if (plan.loop == nullptr) refuse_dtype(call, common);
    DType result = output_type(p.promotion, computed);

    SmallVec<double, 4> params;
    for (size_t i = 0; i < p.schema.args.size(); i++) {
        if (p.schema.args[i].type == ArgType::Tensor) continue;
        const Value& v = call.args[i];
        if (!v.is_number()) continue;
        if (p.schema.args[i].name == "alpha") check_alpha(call, v, computed);
        params.push_back(v.real());
        if (is_complex(plan.compute)) params.push_back(v.tag() == Value::Tag::Complex ? v.scalar().im : 0.0);
    }
    plan.params = params.data();

    // Shapes, and the device: that of the first tensor with dimensions, else of the first tensor.
    Tensor tensors[kMaxInputs];
    const Tensor* lead = nullptr;
    bool same_shape = true, plain = true;
    for (size_t k = 0; k < inputs.size(); k++) {
        if (!inputs[k]->is_tensor()) continue;
        tensors[k] = inputs[k]->tensor();
        const Tensor& t = tensors[k];
        plain &= t.is_contiguous();
        if (lead == nullptr) {
            lead = &t;
            continue;
        }
        if (!(t.sizes() == lead->sizes())) same_shape = false;
        if (lead->dim() == 0 && (t.dim() > 0 || lead->device() == Device{})) lead = &t;
    }
    auto check_device = [&](const Tensor& t) {
        MASHAL_CHECK(t.device() == lead->device(), call.name(),
                     "Expected all tensors to be on the same device, but found at least two devices, ",
                     device_text(lead->device()), " and ", device_text(t.device()));
    };
    if (lead != nullptr)  // a number on the CPU goes with any device
        for (const Tensor& t : tensors)
            if (t.defined() && (t.dim() > 0 || t.device() != Device{})) check_device(t);
    MASHAL_CHECK_AS(Type, lead != nullptr, call.name(), "at least one argument must be a Tensor");
    Device device = lead->device();
    IntVec sizes = lead->sizes();
    if (!same_shape)
        for (size_t k = 0; k < inputs.size(); k++)
            if (tensors[k].defined() && !tensors[k].is_same(*lead))
                sizes = broadcast_shapes(call.name(), sizes, tensors[k].sizes());

    bool user_output = call.in_place || call.out_given;
    if (user_output) {
        Tensor& target = call.out[0];
        check_device(target);
        MASHAL_CHECK(can_cast(result, target.dtype()), call.name(), "result type ", dtype_legacy_name(result),
                     " can't be cast to the desired output type ", dtype_legacy_name(target.dtype()));
        if (call.in_place)
            MASHAL_CHECK(equal(target.sizes(), sizes), call.name(), "output with shape ", shape_text(target.sizes()),
                         " doesn't match the broadcast shape ", shape_text(sizes));
        else {
            for (const Tensor& t : tensors)
                MASHAL_CHECK(!t.is_same(target) || equal(target.sizes(), sizes), call.name(), "output with shape ",
                             shape_text(target.sizes()), " doesn't match the broadcast shape ", shape_text(sizes));
            resize_output(call.name(), target, sizes);
        }
        for (Tensor& t : tensors)
            if (t.defined()) t = safe_input(call, t);
        plain &= target.is_contiguous();
        same_shape &= equal(target.sizes(), sizes);
    } else if ((same_shape && plain) || device.is_meta()) {
        call.out.push_back(empty(sizes, result, device));
    }

    plan.count = inputs.size() + 1;
    for (size_t k = 1; k < plan.count; k++) {
        Operand& op = plan.operands[k];
        bool condition = where && k == 1;
        DType wanted = op.wanted = condition ? DType::Bool : plan.compute;
        if (!tensors[k - 1].defined()) {
            op.constant = true;
            op.dtype = wanted;
            Scalar number = inputs[k - 1]->scalar();
            // Python integers wrap in arithmetic, whatever the width of the tensor's type.
            if (number.is_integral() && is_integral(wanted, true))
                find_convert_loop(DType::I64, wanted)(1, op.value, &number.i);
            else
                store_scalar(op.value, wanted, number);
        } else {
            const Tensor& t = tensors[k - 1];
            op.dtype = t.dtype();
            op.data = t.data<char>();
            if (t.numel() == 1 && !t.device().is_meta() && !sizes.empty()) {
                op.constant = true;
                if (t.dtype() == wanted) {
                    std::memcpy(op.value, op.data, static_cast<size_t>(item_size(wanted)));
                } else {
                    find_convert_loop(t.dtype(), wanted)(1, op.value, op.data);
                }
                op.dtype = wanted;
            }
        }
        if (condition)
            MASHAL_CHECK(op.dtype == DType::Bool || op.dtype == DType::U8, call.name(),
                         "expected condition to be a boolean tensor, but got a tensor with dtype ",
                         dtype_name(op.dtype));
    }

    // Lay the loops out: one row when everything is contiguous and of one shape.
    int64_t numel = 1;
    for (int64_t s : sizes) numel *= s;
    bool one_row = plain;
    for (size_t k = 1; one_row && k < plan.count; k++)
        one_row = plan.operands[k].constant || tensors[k - 1].numel() == numel;
    if (one_row && !call.out.empty()) one_row = call.out[0].is_contiguous();
    if (one_row) {
        if (call.out.empty()) call.out.push_back(empty(sizes, result, device));
        plan.sizes.push_back(numel);
        for (size_t k = 0; k < plan.count; k++) plan.operands[k].strides.push_back(1);
    } else {
        IntVec strides[kMaxInputs + 1];
        SmallVec<const IntVec*, kMaxInputs + 1> ranked;
        if (!call.out.empty()) {
            strides[0] = call.out[0].strides();
            ranked.push_back(&strides[0]);
        }
        for (size_t k = 1; k < plan.count; k++) {
            if (!tensors[k - 1].defined()) continue;
            strides[k] = broadcast_strides(tensors[k - 1], sizes);
            ranked.push_back(&strides[k]);
        }
        SmallVec<size_t, 6> order = dimension_order(sizes, ranked);
        if (call.out.empty()) {
            IntVec fresh(sizes.size());
            int64_t step = 1;
            for (size_t d : order) {
                fresh[d] = step;
                step *= std::max<int64_t>(sizes[d], 1);
            }
            strides[0] = fresh;
            call.out.push_back(empty_strided(sizes, fresh, result, device));
        }
        for (size_t k = 0; k < plan.count; k++) plan.operands[k].strides = std::move(strides[k]);
        merge_dimensions(plan, sizes, order);
    }
    if (device.is_meta() || numel == 0) return;
    plan.numel = numel;
    plan.operands[0].data = call.out[0].data<char>();
    plan.operands[0].dtype = call.out[0].dtype();
    plan.operands[0].wanted = plan.loop_out;
    AllowThreads threads(numel > kGrain);
    parallel_for(0, numel, kGrain, [&](int64_t b, int64_t e) { run_range(plan, b, e); });
}

}  // namespace mashal
