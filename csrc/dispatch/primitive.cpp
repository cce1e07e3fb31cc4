#include "dispatch/primitive.h"

#include <string_view>
#include <unordered_map>

#include "autograd/node.h"
#include "cpu/copy.h"
#include "cpu/layout.h"
#include "cpu/pointwise_loops.h"
#include "dispatch/profile.h"

namespace mashal {

namespace {

struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
template <class T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

TextMap<OpFunctions>& functions() {
    static TextMap<OpFunctions> map;
    return map;
}
TextMap<Primitive*>& primitives() {
    static TextMap<Primitive*> map;
    return map;
}

bool on_meta(const Call& call) {
    for (const Tensor& t : call.out)
        if (t.device().is_meta()) return true;
    return false;
}

// A kernel reads its inputs, and meta tensors have nothing to read.
void check_readable(const Call& call) {
    auto check = [&](const TensorObj* t) {
        MASHAL_CHECK_AS(NotImplemented, t == nullptr || !t->device().is_meta(), call.name(),
                        call.specs.empty() ? "the result depends on the data, which meta tensors do not have"
                                           : "Expected all tensors to be on the same device, but found meta and cpu");
    };
    for (const Value& v : call.args) {
        if (v.is_tensor()) check(v.tensor_obj());
        if (v.tag() == Value::Tag::Tensors)
            for (const Tensor& t : v.tensor_list()) check(t.get());
    }
}

// Whether a target shares memory with an input, or with an earlier target: resizing it in place would change that too.
bool shares_storage(const Call& call, const Tensor& target) {
    for (const Value& v : call.args) {
        if (v.is_tensor() && v.tensor_obj()->storage == target->storage) return true;
        if (v.tag() == Value::Tag::Tensors)
            for (const Tensor& t : v.tensor_list())
                if (t.defined() && t->storage == target->storage) return true;
    }
    for (const Tensor& t : call.out)
        if (t->storage == target->storage) return true;
    return false;
}

// True when the kernel must not write into the user's tensor itself: other layout than announced, or memory shared with
// an input.
bool needs_temporary(const Call& call, const Tensor& target, const TensorSpec& spec, bool in_place_ok) {
    if (in_place_ok && call.in_place) return false;
    if (target.dtype() != spec.dtype) return true;
    if (!equal(target.strides(), spec.strides.empty() ? contiguous_strides(spec.sizes) : spec.strides)) return true;
    for (const Value& v : call.args) {
        if (v.is_tensor() && memory_overlap(target, v.tensor()) != Overlap::None) return true;
        if (v.tag() == Value::Tag::Tensors)
            for (const Tensor& t : v.tensor_list())
                if (t.defined() && memory_overlap(target, t) != Overlap::None) return true;
    }
    return false;
}

void check_devices(const Call& call) {
    const Tensor* first = nullptr;
    Tensor held;
    auto check = [&](const Tensor& t) {
        if (!t.defined() || (t.dim() == 0 && t.device() == Device{})) return;  // a CPU number goes anywhere
        if (first == nullptr) {
            held = t;
            first = &held;
        } else {
            MASHAL_CHECK(t.device() == held.device(), call.name(),
                         "Expected all tensors to be on the same device, but found at least two devices, ",
                         device_text(held.device()), " and ", device_text(t.device()));
        }
    };
    for (const Value& v : call.args) {
        if (v.is_tensor()) check(v.tensor());
        if (v.tag() == Value::Tag::Tensors)
            for (const Tensor& t : v.tensor_list()) check(t);
    }
}

bool has_opaque(const Call& call) {
    for (uint32_t mask = call.op.tensor_args; mask; mask &= mask - 1) {
        const Value& v = call.args[static_cast<size_t>(__builtin_ctz(mask))];
        if (v.is_tensor()) {
            if (v.tensor_obj()->storage->is_deferred()) return true;
        } else if (v.tag() == Value::Tag::Tensors) {
            for (const Tensor& t : v.tensor_list())
                if (t && t->storage->is_deferred()) return true;
        }
    }
    for (const Tensor& t : call.out)
        if (t->storage->is_deferred()) return true;
    return false;
}

// Tells the results of a view op what they are views of.
void link_views(const Call& call) {
    const Tensor source = call.tensor(0);
    const GradModes& modes = grad_modes();
    ViewOrigin origin = modes.inference              ? ViewOrigin::Inference
                        : !modes.grad                ? ViewOrigin::NoGrad
                        : call.op.schema.list_output ? ViewOrigin::OneOfMany
                                                     : source->view_origin;
    for (const Tensor& t : call.out) {
        if (t.is_same(source)) continue;
        bool shares = t->storage == source->storage;
        t->is_inference = shares ? source->is_inference : modes.inference;
        if (!shares || source->is_inference || !call.op.differentiable) continue;
        t->view_base = source->view_base ? source->view_base : source;
        t->view_version = t->version();
        t->view_origin = origin;
    }
}

}  // namespace

OpRegistration::OpRegistration(const char* name, OpFunctions fns) { functions()[name] = fns; }
const OpFunctions* find_op_functions(std::string_view name) {
    auto it = functions().find(name);
    return it == functions().end() ? nullptr : &it->second;
}
std::vector<std::string> registered_op_names() {
    std::vector<std::string> names;
    for (auto& [name, fns] : functions()) names.push_back(name);
    return names;
}
void register_primitive(Primitive* p) { primitives()[p->name] = p; }
Primitive* find_primitive(std::string_view name) {
    auto it = primitives().find(name);
    if (it == primitives().end()) raise_error(ErrorKind::Runtime, name, "no such primitive is registered");
    return it->second;
}

Primitive::Primitive(Schema s, Family f, Promotion p) : schema(std::move(s)), family(f), promotion(p) {
    name = schema.name;
    loop = name;
    public_name = name.substr(std::min(name.find_first_not_of('_'), name.size()));
    if (name.front() == '_' && public_name.ends_with("_dim")) public_name.resize(public_name.size() - 4);
    bool upper = true;
    for (char c : name) {
        if (c == '_')
            upper = true;
        else
            node_name += static_cast<char>(std::exchange(upper, false) ? std::toupper(c) : c);
    }
    node_name += "Backward0";
    mutates = name.back() == '_' && name.front() != '_';
    if (name.size() > 2 && name.front() == '_' && name.back() == '_') mutates = true;
    for (size_t i = 0; i < schema.args.size(); i++)
        if (schema.args[i].type == ArgType::Tensor || schema.args[i].type == ArgType::Tensors) tensor_args |= 1u << i;
    if (const OpFunctions* fns = find_op_functions(name)) {
        shape = fns->shape;
        kernel = fns->kernel;
        in_place_ok = fns->in_place_ok;
        overlap_ok = fns->overlap_ok;
        reads_data = fns->reads_data;
        layout = fns->layout;
    }
    if (f == Family::Pointwise) layout = Layout::Follow;
}

Tensor meta_like(const Tensor& t) {
    Tensor m(new TensorObj);
    m->storage = make_ref<Storage>(size_t{0}, Device{DeviceType::Meta, -1});
    m->sizes = t.sizes();
    m->strides = t.strides();
    m->offset = t->offset;
    m->dtype = t.dtype();
    m->geometry_changed();
    return m;
}

void check_writable(std::string_view op, const Tensor& t) {
    MASHAL_CHECK(!has_self_overlap(t), op,
                 "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                 "location, got shape ",
                 shape_text(t.sizes()), " strides ", shape_text(t.strides()), ". Please clone() the tensor first");
}

void resize_output(std::string_view op, const Tensor& out, IntSpan sizes) {
    if (equal(out.sizes(), sizes)) return;
    MASHAL_CHECK(!out.requires_grad(), op, "cannot resize an out tensor that requires grad");
    int64_t n = checked_numel(op, sizes);
    size_t needed = static_cast<size_t>((out->offset + n) * item_size(out.dtype()));
    if (needed > out->storage->nbytes()) out->storage->resize(needed);
    out->sizes = IntVec(sizes);
    out->strides = contiguous_strides(sizes);
    out->geometry_changed();
}

PointwiseLoop Primitive::find_loop(DType compute, DType* out) const {
    LoopEntry& entry = loops_[static_cast<int>(compute)];
    if (!entry.known) {
        entry.out = compute;
        entry.loop = find_pointwise_loop(loop, compute, &entry.out);
        entry.known = true;
    }
    *out = entry.out;
    return entry.loop;
}

void Primitive::run_general(Call& call) const {
    if (shape != nullptr)
        shape(call);
    else if (foreign_shape)
        foreign_shape->run(call);

    SmallVec<Tensor, 2> targets;
    bool user_outputs = call.in_place || call.out_given;
    if (user_outputs) {
        targets = call.out;
        call.out.clear();
    }
    if (mutates && call.specs.empty() && !foreign_shape && shape == nullptr) {
        call.out = targets;  // the kernel writes into its first argument
    } else {
        for (size_t i = 0; i < call.specs.size(); i++) {
            const TensorSpec& spec = call.specs[i];
            if (i < targets.size()) {
                if (call.in_place)
                    MASHAL_CHECK(equal(targets[i].sizes(), spec.sizes), name, "the result shape ",
                                 shape_text(spec.sizes), " doesn't match the in-place tensor of shape ",
                                 shape_text(targets[i].sizes()));
                MASHAL_CHECK(targets[i].device() == spec.device, name,
                             "Expected out tensor to be on the device of the result, ", device_text(spec.device),
                             ", but it is on ", device_text(targets[i].device()));
                MASHAL_CHECK(can_cast(spec.dtype, targets[i].dtype()), name, "result type ",
                             dtype_legacy_name(spec.dtype), " can't be cast to the desired output type ",
                             dtype_legacy_name(targets[i].dtype()));
                if (call.out_given && shares_storage(call, targets[i]) && !equal(targets[i].sizes(), spec.sizes)) {
                    call.out.push_back(make_tensor(spec));  // resized after the kernel
                    continue;
                }
                if (call.out_given) resize_output(name, targets[i], spec.sizes);
                if (!needs_temporary(call, targets[i], spec, in_place_ok)) {
                    call.out.push_back(targets[i]);
                    continue;
                }
            }
            call.out.push_back(make_tensor(spec));
        }
    }
    if (!call.out.empty() && on_meta(call)) {
        // Shapes are all there is.
    } else if (kernel != nullptr) {
        if (reads_data) check_readable(call);
        kernel(call);
    } else {
        MASHAL_CHECK_AS(NotImplemented, static_cast<bool>(foreign_kernel), name, "has no kernel for the CPU");
        foreign_kernel->run(call);
    }
    for (size_t i = 0; i < call.specs.size(); i++)
        if (call.specs[i].opaque) call.out[i] = hide_layout(call.out[i]);
    for (size_t i = 0; i < targets.size(); i++) {
        if (targets[i].is_same(call.out[i])) continue;
        if (call.out_given) resize_output(name, targets[i], call.out[i].sizes());
        if (!targets[i].device().is_meta()) copy_into(targets[i], call.out[i]);
        call.out[i] = targets[i];
    }
}

void Primitive::run_family(Call& call) const {
    switch (family) {
        case Family::Pointwise: run_pointwise(call); break;
        case Family::View: kernel(call); break;
        case Family::General:
            check_devices(call);
            run_general(call);
            break;
    }
}

void Primitive::run(Call& call) const {
    if (profiling()) [[unlikely]] {
        ProfileRange range(call);
        run_steps(call);
        range.result(call);
    } else {
        run_steps(call);
    }
}

void Primitive::run_steps(Call& call) const {
    bool records = call_needs_grad(call);
    bool writes = call.in_place || call.out_given;
    if (writes) [[unlikely]] {
        for (const Tensor& t : call.out) {
            if (!overlap_ok) check_writable(name, t);
            if (call.out_given)
                MASHAL_CHECK(!(grad_modes().grad && (records || tensor_requires_grad(t))), name,
                             "functions with out=... arguments don't support automatic differentiation, but one of the "
                             "arguments requires grad");
            else
                check_in_place(name, t, records);
        }
    }
    Ref<PrimNode> node;
    if (records) node = begin_record(call);
    if (has_opaque(call) && reads_data && family != Family::View) [[unlikely]]
        run_opaque(call);
    else
        run_family(call);
    if (writes)
        for (const Tensor& t : call.out) t->bump_version();
    if (family == Family::View)
        link_views(call);
    else if (grad_modes().inference && !writes)
        for (const Tensor& t : call.out) t->is_inference = true;
    // A view op may find nothing to do and return its input (`real` of a real tensor): that is no step of the graph.
    if (node && !(family == Family::View && call.out.size() == 1 && call.out[0].is_same(call.tensor(0))))
        end_record(call, node);
}

}  // namespace mashal
