// A primitive operation and its one call path: front door, shape rule, kernel, record.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "dispatch/schema.h"

namespace mashal {

class Primitive;
struct PrimNode;
using PointwiseLoop = void (*)(int64_t n, void* out, const void* const* in, const double* params);

// The state of one call while it runs. Kernels read arguments by schema position and write `out`.
struct Call {
    Call(const Primitive& p) : op(p) {}

    const Primitive& op;
    SmallVec<Value, 8> args;
    SmallVec<Tensor, 2> out;        // results; allocated from `specs` before the kernel runs
    SmallVec<TensorSpec, 1> specs;  // filled by the shape rule
    bool in_place = false;          // args[0] is also the result
    bool out_given = false;         // the user passed `out=`

    const std::string& name() const;                            // for messages
    Tensor tensor(size_t i) const { return args[i].tensor(); }  // undefined when None
    bool has(size_t i) const { return !args[i].is_none(); }
    int64_t i64(size_t i) const { return args[i].integer(); }
    double f64(size_t i) const { return args[i].real(); }
    bool flag(size_t i) const { return args[i].boolean(); }
    IntSpan ints(size_t i) const { return args[i].int_list(); }
    const SmallVec<Tensor, 4>& tensors(size_t i) const { return args[i].tensor_list(); }

    // For shape rules: announce a result.
    void result(IntSpan sizes, DType dtype, Device device) { specs.push_back({IntVec(sizes), dtype, device, {}}); }
    void result_like(const Tensor& t) { specs.push_back({t.sizes(), t.dtype(), t.device(), preserved_strides(t)}); }
};

using ShapeFn = void (*)(Call&);
using KernelFn = void (*)(Call&);

// How a primitive finds the type it computes in and the type of its result (pointwise family).
enum class Promotion : uint8_t {
    Same,        // common type of the inputs, result too
    Float,       // integers become the default float type
    Compare,     // common type; result bool
    FloatReal,   // as Float, complex input gives its real type (abs: Same for integers)
    AbsLike,     // as Same, complex input gives its real type
    BoolOut,     // one input, result bool (isnan)
    ComplexOut,  // common real type; result its complex type (complex, polar)
    Where,       // first input is the bool condition, the rest as Same
};

enum class Family : uint8_t { General, Pointwise, View };

// What a kernel is given for an argument whose elements lie in another order than its strides say (cpu/layout.h).
enum class Layout : uint8_t {
    Logical,   // the elements in the order of the strides: they are reordered first
    Follow,    // the channels-last tensor that lies behind it, and the other images beside it brought into that layout
    AsItLies,  // the same, but the other arguments stay as they are
};

// The derivative rule of a primitive as the tape sees it. The Python layer implements it over Python functions.
class VjpRule {
public:
    virtual ~VjpRule() = default;
    // Which arguments and which outputs (bit i each) are needed to compute the gradient of argument `input`.
    virtual uint64_t saved_args(size_t input) const = 0;
    virtual uint64_t saved_shapes(size_t input) const = 0;
    virtual uint64_t saved_outputs(size_t input) const = 0;
    // Whether there is a rule for the gradient of argument `input`.
    virtual bool covers(size_t input) const = 0;
    // Gradients of every tensor argument with needs bit set, into `grads` (slots in the node's edge order).
    virtual void apply(PrimNode& node, std::span<const Tensor> out_grads, std::span<Tensor> grads) const = 0;
};

// Shape rule or kernel written outside C++.
class ForeignRule {
public:
    virtual ~ForeignRule() = default;
    virtual void run(Call& call) const = 0;
};

class Primitive {
public:
    explicit Primitive(Schema schema, Family family, Promotion promotion);

    Schema schema;
    std::string name;
    std::string public_name;  // for messages: what the user called ("max" for `_max_dim`)
    std::string node_name;    // "AddBackward0"
    Family family;
    Promotion promotion;
    ShapeFn shape = nullptr;
    KernelFn kernel = nullptr;
    std::unique_ptr<ForeignRule> foreign_shape;
    std::unique_ptr<ForeignRule> foreign_kernel;
    std::unique_ptr<VjpRule> vjp;
    bool differentiable = false;  // has a vjp
    std::string no_gradient;      // why there is none
    bool in_place_ok = false;
    bool reads_data = true;
    bool overlap_ok = false;  // an element may be written several times (fills)
    Layout layout = Layout::Logical;
    bool mutates = false;      // name ends in `_`: always writes into args[0]
    std::string loop;          // pointwise: name of the inner loop
    uint32_t tensor_args = 0;  // bit i: argument i is a Tensor or Tensor[]

    // Runs the whole path; results are in call.out. With `in_place` or `out_given`, call.out holds the targets already.
    void run(Call& call) const;

    // The inner loop for a compute type (null: not implemented), looked up once; `*out` is what the loop writes.
    PointwiseLoop find_loop(DType compute, DType* out) const;

private:
    void run_steps(Call& call) const;
    void run_general(Call& call) const;
    void run_family(Call& call) const;
    // Runs a call that has opaque arguments.
    void run_opaque(Call& call) const;

    struct LoopEntry {
        PointwiseLoop loop = nullptr;
        DType out = DType::Bool;
        bool known = false;
    };
    mutable LoopEntry loops_[kNumDTypes];
};

inline const std::string& Call::name() const { return op.public_name; }

// C++ kernels and shape rules register themselves by primitive name at start-up:
//   static const OpRegistration r{"gather", {.shape = gather_shape, .kernel = gather_kernel}};
struct OpFunctions {
    ShapeFn shape = nullptr;
    KernelFn kernel = nullptr;
    bool in_place_ok = false;  // the kernel may be given args[0] itself as out[0]
    bool reads_data = true;   // false: only shapes and types of the arguments matter, so they may be on the meta device
    bool overlap_ok = false;  // elements of args[0] may share memory: all are written with one value
    Layout layout = Layout::Logical;
};
struct OpRegistration {
    OpRegistration(const char* name, OpFunctions fns);
};
const OpFunctions* find_op_functions(std::string_view name);
std::vector<std::string> registered_op_names();

// Primitives by name, for C++ code that calls them (the tape, composites of the core).
void register_primitive(Primitive* p);
Primitive* find_primitive(std::string_view name);
// Promotion over tensors, 0-d tensors and numbers, as torch.result_type.
DType result_type(std::span<const Value* const> values);

// Steps of `run`, by family.
void run_pointwise(Call& call);
// Raises when several indices of t share memory, so that a write has no meaning.
void check_writable(std::string_view op, const Tensor& t);
// Makes a user's `out` tensor fit `sizes`, as PyTorch resizes out tensors.
void resize_output(std::string_view op, const Tensor& out, IntSpan sizes);
// A geometry-only stand-in on the meta device: what `<arg>_shape` of a derivative rule keeps.
Tensor meta_like(const Tensor& t);

inline Value to_value(IntSpan s) { return Value::ints(s); }
inline Value to_value(const Scalar& s) { return Value::number(s); }
inline Value to_value(const IntVec& s) { return Value::ints(s); }
template <class T>
Value to_value(const T& v) {
    return Value(v);
}

template <class... Args>
void prepare_call(Call& call, const Args&... args) {
    (call.args.push_back(to_value(args)), ...);
    const auto& specs = call.op.schema.args;
    while (call.args.size() < specs.size()) call.args.push_back(specs[call.args.size()].default_value);
}

template <class... Args>
Tensor call_op(std::string_view name, const Args&... args) {
    Call call(*find_primitive(name));
    prepare_call(call, args...);
    call.op.run(call);
    return call.out[0];
}

// The in-place form: the result is the first argument.
template <class... Args>
Tensor call_op_in_place(std::string_view name, const Tensor& self, const Args&... args) {
    Call call(*find_primitive(name));
    prepare_call(call, self, args...);
    call.in_place = true;
    call.out.push_back(self);
    call.op.run(call);
    return self;
}

}  // namespace mashal
