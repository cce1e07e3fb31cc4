#include "autograd/node.h"

#include "dispatch/primitive.h"

namespace mashal {

SavedTensorHooks saved_tensor_hooks;
AnomalyHooks anomaly_hooks;

GradModes& grad_modes() {
    static thread_local GradModes modes;
    return modes;
}

namespace {

thread_local uint64_t g_next_seq = 1;

// Nodes waiting to be freed by the outermost destroy() of this thread.
thread_local std::vector<Node*>* g_dying = nullptr;

// Adds a leaf's gradient to its `.grad`.
struct AccumulateGrad final : Node {
    explicit AccumulateGrad(const Tensor& t) : leaf(t) {
        seq = UINT64_MAX;  // leaves come first: their gradient is final as soon as it is ready
        results.push_back({t.sizes(), t.dtype(), t.device()});
    }
    ~AccumulateGrad() override {
        if (AutogradMeta* meta = autograd_meta(leaf))
            if (meta->accumulator == this) meta->accumulator = nullptr;
    }
    const std::string& name() const override {
        static const std::string text = "torch::autograd::AccumulateGrad";
        return text;
    }
    bool is_accumulator() const override { return true; }
    Tensor leaf_tensor() const override { return leaf; }
    Tensor leaf_hooks(Tensor grad) override {
        AutogradMeta& meta = ensure_autograd_meta(leaf);
        for (size_t i = 0; i < meta.hooks.size(); i++) {
            Ref<GradHook> hook = meta.hooks[i];
            if (Tensor replaced = hook->call(grad)) grad = replaced;
        }
        return grad;
    }
    void apply(std::span<const Tensor> grads, SmallVec<Tensor, 2>& out) override;

    Tensor leaf;
};

bool owned_alone(const Tensor& t) {
    void* owner = t->owner();
    uint32_t count = owner ? foreign_owner_hooks.count(owner) : t->use_count();
    return count == 1 && t->storage->use_count() == 1 && !t->view_base && !t->storage->is_foreign();
}

void AccumulateGrad::apply(std::span<const Tensor> grads, SmallVec<Tensor, 2>&) {
    Tensor g = grads[0];
    if (!g) return;
    const_cast<Tensor&>(grads[0]) = Tensor();
    AutogradMeta& meta = ensure_autograd_meta(leaf);
    if (!meta.hooks.empty()) g = leaf_hooks(std::move(g));
    if (!meta.grad) {
        if (grad_modes().grad) {
            meta.grad = call_op("clone", g, MemoryFormat::Preserve);
        } else {
            bool fits = g.strides() == leaf.strides() || (g.is_contiguous() && !is_dense(leaf));
            meta.grad = owned_alone(g) && fits && !g.requires_grad() ? g : [&] {
                Tensor fresh =
                    empty_strided(leaf.sizes(), is_dense(leaf) ? leaf.strides() : contiguous_strides(leaf.sizes()),
                                  g.dtype(), g.device());
                return call_op_in_place("copy_", fresh, g);
            }();
        }
    } else if (grad_modes().grad) {
        meta.grad = call_op("add", meta.grad, g);
    } else {
        call_op_in_place("add", meta.grad, g);
    }
    // By index: a hook may register another.
    for (size_t i = 0; i < meta.post_accumulate.size(); i++) {
        Ref<TensorHook> hook = meta.post_accumulate[i];
        hook->call(leaf);
    }
}

// The gradient of a view written in place, as seen from its base (PyTorch's CopySlices): the part that the view covers
// goes through `fn`, the rest passes.
struct CopySlices final : Node {
    CopySlices(Edge base_edge, const Tensor& base, const Tensor& view, Ref<Node> f) : fn(std::move(f)) {
        seq = g_next_seq++;
        next.push_back(std::move(base_edge));
        for (size_t i = 1; i < fn->next.size(); i++) next.push_back(fn->next[i]);
        results.push_back({base.sizes(), base.dtype(), base.device()});
        base_geometry = meta_like(base);
        sizes = view.sizes();
        strides = view.strides();
        offset = view->offset - base->offset;
    }
    const std::string& name() const override {
        static const std::string text = "CopySlices";
        return text;
    }
    void apply(std::span<const Tensor> grads, SmallVec<Tensor, 2>& out) override {
        out.resize(next.size());
        if (!grads[0]) return;
        MASHAL_CHECK(static_cast<bool>(fn), "backward", kFreedText);
        // A dense copy with the base's strides, so that the view's geometry applies to it.
        Tensor result = call_op_in_place(
            "copy_", empty_strided(base_geometry.sizes(), base_geometry.strides(), grads[0].dtype(), grads[0].device()),
            grads[0]);
        Tensor slice = call_op("as_strided", result, sizes, strides, offset);
        Tensor slice_grad = call_op("clone", slice, MemoryFormat::Preserve);
        SmallVec<Tensor, 2> inner;
        fn->apply(std::span<const Tensor>(&slice_grad, 1), inner);
        for (size_t i = 0; i < inner.size() && i < next.size(); i++) {
            if (!next[i] && i != 0) continue;
            if (i == 0) {
                if (inner[0])
                    call_op_in_place("copy_", slice, inner[0]);
                else
                    call_op_in_place("zero_", slice);
                out[0] = result;
            } else {
                out[i] = inner[i];
            }
        }
        if (inner.empty()) out[0] = result;
    }
    void release_saved() override {
        if (fn) fn->release_saved();
        fn = nullptr;
    }

    Ref<Node> fn;
    Tensor base_geometry;
    IntVec sizes, strides;
    int64_t offset = 0;
};

// The history of a view whose base was rewritten: the same geometry taken out of the base's present value.
struct AsStridedBackward final : Node {
    AsStridedBackward(const Tensor& base, const Tensor& view) {
        seq = g_next_seq++;
        next.push_back(gradient_edge(base));
        results.push_back({view.sizes(), view.dtype(), view.device()});
        base_geometry = meta_like(base);
        sizes = view.sizes();
        strides = view.strides();
        offset = view->offset - base->offset;
    }
    const std::string& name() const override {
        static const std::string text = "AsStridedBackward0";
        return text;
    }
    void apply(std::span<const Tensor> grads, SmallVec<Tensor, 2>& out) override {
        out.resize(1);
        if (!grads[0]) return;
        Tensor whole =
            empty_strided(base_geometry.sizes(), base_geometry.strides(), grads[0].dtype(), grads[0].device());
        call_op_in_place("zero_", whole);
        call_op_in_place("copy_", call_op("as_strided", whole, sizes, strides, offset), grads[0]);
        out[0] = whole;
    }

    Tensor base_geometry;
    IntVec sizes, strides;
    int64_t offset = 0;
};

}  // namespace

const char kFreedText[] =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward.";

Node::Node() : seq(g_next_seq++) {}

void Node::destroy() {
    if (g_dying != nullptr) {
        g_dying->push_back(this);
        return;
    }
    std::vector<Node*> dying{this};
    g_dying = &dying;
    while (!dying.empty()) {
        Node* node = dying.back();
        dying.pop_back();
        delete node;
    }
    g_dying = nullptr;
}

AutogradMeta* autograd_meta(const Tensor& t) { return static_cast<AutogradMeta*>(t->autograd.get()); }

AutogradMeta& ensure_autograd_meta(const Tensor& t) {
    if (!t->autograd) t->autograd = std::make_unique<AutogradMeta>();
    return static_cast<AutogradMeta&>(*t->autograd);
}

const Ref<Node>& grad_fn(const Tensor& t) {
    static const Ref<Node> none;
    if (t->view_base && t->view_version != t->version() && tensor_requires_grad(t->view_base)) {
        t->view_version = t->version();
        // A view that is itself a leaf keeps its own identity.
        if (!(t->requires_grad && (!autograd_meta(t) || !autograd_meta(t)->grad_fn)))
            set_history(t, make_ref<AsStridedBackward>(t->view_base, t), 0);
    }
    AutogradMeta* meta = autograd_meta(t);
    return meta ? meta->grad_fn : none;
}

bool tensor_requires_grad(const Tensor& t) {
    if (t->requires_grad) return true;
    return t->view_base && t->view_version != t->version() && grad_fn(t);
}

bool is_leaf(const Tensor& t) { return !grad_fn(t); }

Ref<Node> grad_accumulator(const Tensor& t) {
    AutogradMeta& meta = ensure_autograd_meta(t);
    if (meta.accumulator != nullptr) return Ref<Node>(meta.accumulator);
    Ref<Node> node = make_ref<AccumulateGrad>(t);
    meta.accumulator = node.get();
    return node;
}

Edge gradient_edge(const Tensor& t) {
    if (const Ref<Node>& fn = grad_fn(t)) return {fn, autograd_meta(t)->output_nr};
    if (t->requires_grad) return {grad_accumulator(t), 0};
    return {};
}

void set_history(const Tensor& t, const Ref<Node>& node, uint32_t nr) {
    AutogradMeta& meta = ensure_autograd_meta(t);
    meta.grad_fn = node;
    meta.output_nr = nr;
    meta.retains_grad = false;
    t->requires_grad = true;
}

void rebase_history(const Tensor& t, const Ref<Node>& node) {
    if (!t->view_base) {
        // Hooks of a tensor stay with the value it had when they were registered.
        set_history(t, node, 0);
        return;
    }
    Tensor base = t->view_base;
    Ref<Node> slices = make_ref<CopySlices>(gradient_edge(base), base, t, node);
    set_history(base, slices, 0);
    set_history(t, make_ref<AsStridedBackward>(base, t), 0);
    t->view_version = t->version();
}

void set_requires_grad(const Tensor& t, bool value) {
    if (!value) {
        MASHAL_CHECK(
            is_leaf(t), "requires_grad",
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
            "subgraph that doesn't require differentiation use var_no_grad = var.detach()");
        t->requires_grad = false;
        return;
    }
    MASHAL_CHECK(is_differentiable_dtype(t.dtype()), "requires_grad",
                 "only Tensors of floating point and complex dtype can require gradients");
    MASHAL_CHECK(!t->is_inference || grad_modes().inference, "requires_grad",
                 "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed");
    t->requires_grad = true;
}

Tensor detach(const Tensor& t) {
    Tensor d = alias(t);
    d->is_inference = t->is_inference;
    return d;
}

Tensor data_alias(const Tensor& t) {
    Tensor d = alias(t);
    d->own_version = make_ref<OwnVersion>();
    return d;
}

namespace {
struct RetainGrad final : GradHook {
    explicit RetainGrad(const Tensor& t) : target(t.get()) {}
    Tensor call(const Tensor& grad) override {
        AutogradMeta& meta = ensure_autograd_meta(Tensor(target));
        if (!meta.grad)
            meta.grad = call_op("clone", grad, MemoryFormat::Preserve);
        else
            meta.grad = call_op("add", meta.grad, grad);
        return {};
    }
    TensorObj* target;  // weak: the tensor owns its grad_fn, which owns this hook; ~AutogradMeta cannot outlive it
};
}  // namespace

void retain_grad(const Tensor& t) {
    MASHAL_CHECK(tensor_requires_grad(t), "retain_grad", "can't retain_grad on Tensor that has requires_grad=False");
    if (is_leaf(t)) return;
    AutogradMeta& meta = ensure_autograd_meta(t);
    if (meta.retains_grad) return;
    meta.retains_grad = true;
    meta.grad_fn->ensure_hooks().retain_grad.emplace_back(meta.output_nr, make_ref<RetainGrad>(t));
}

AutogradMeta::~AutogradMeta() {
    // A graph may outlive the tensor: its retain_grad hook must not reach for it any more.
    if (retains_grad && grad_fn && grad_fn->hooks) {
        auto& list = grad_fn->hooks->retain_grad;
        std::erase_if(list, [&](auto& entry) {
            auto* hook = dynamic_cast<RetainGrad*>(entry.second.get());
            return hook != nullptr && hook->target->autograd.get() == this;
        });
    }
}

void check_in_place(std::string_view op, const Tensor& t, bool records) {
    GradModes& modes = grad_modes();
    if (t->is_inference && !modes.inference) {
        MASHAL_CHECK(
            !records, op,
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get "
            "a normal tensor before doing inplace update");
    }
    if (!modes.grad) return;
    if (tensor_requires_grad(t) && is_leaf(t))
        raise_error(ErrorKind::Runtime, op,
                    "a leaf Variable that requires grad is being used in an in-place operation.");
    if (t->view_base && tensor_requires_grad(t->view_base) && is_leaf(t->view_base))
        raise_error(ErrorKind::Runtime, op,
                    "a view of a leaf Variable that requires grad is being used in an in-place operation.");
}

// ---- saved tensors ----

SavedTensor::SavedTensor(const Tensor& t, bool is_output, uint32_t output_nr)
    : version_(t->version()), output_nr_(output_nr), is_output_(is_output) {
    if (saved_tensor_hooks.pack != nullptr) {
        packed_ = saved_tensor_hooks.pack(is_output ? detach(t) : t);
        if (packed_) {
            t_ = meta_like(t);
            return;
        }
    }
    // A result that kept itself alive through its own node would never be freed: keep a detached alias.
    t_ = is_output ? detach(t) : t;
}

Tensor SavedTensor::unpack(std::string_view op, const Ref<Node>& owner) const {
    if (!t_) return {};
    Tensor t;
    if (packed_) {
        t = saved_tensor_hooks.unpack(packed_.get());
    } else {
        MASHAL_CHECK(
            t_->version() == version_, op,
            "one of the variables needed for gradient computation has been modified by an inplace operation: [",
            dtype_legacy_name(t_.dtype()), " tensor of shape ", shape_text(t_.sizes()),
            is_output_ ? "], which is an output of this op, is at version " : "] is at version ", t_->version(),
            "; expected version ", version_,
            " instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
            "with mashal.autograd.set_detect_anomaly(True).");
        t = t_;
    }
    if (!is_output_) return t;
    Tensor linked = detach(t);
    if (owner) {
        set_history(linked, owner, output_nr_);
    }
    return linked;
}

// ---- recording primitive calls ----

bool call_needs_grad(const Call& call) {
    if (!call.op.differentiable || !grad_modes().grad) return false;
    for (uint32_t mask = call.op.tensor_args; mask; mask &= mask - 1) {
        const Value& v = call.args[static_cast<size_t>(__builtin_ctz(mask))];
        if (v.is_tensor()) {
            TensorObj* t = v.tensor_obj();
            if (t->requires_grad || (t->view_base && tensor_requires_grad(v.tensor()))) return true;
        } else if (v.tag() == Value::Tag::Tensors) {
            for (const Tensor& t : v.tensor_list())
                if (t.defined() && tensor_requires_grad(t)) return true;
        }
    }
    return false;
}

namespace {

void check_saveable(std::string_view op, const Tensor& t) {
    MASHAL_CHECK(
        !t->is_inference, op,
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
        "computation tracked by autograd. To work around this, you can make a clone");
}

}  // namespace

Ref<PrimNode> begin_record(Call& call) {
    const Primitive& op = call.op;
    Ref<PrimNode> node = make_ref<PrimNode>(op);
    size_t n = call.args.size();
    node->edge_of_arg.resize(n);
    uint64_t save = 0, shapes = 0;
    bool keep_outputs = false;
    for (uint32_t mask = op.tensor_args; mask; mask &= mask - 1) {
        size_t i = static_cast<size_t>(__builtin_ctz(mask));
        const Value& v = call.args[i];
        node->edge_of_arg[i] = static_cast<uint32_t>(node->next.size());
        bool needs = false;
        if (v.is_tensor()) {
            node->next.push_back(gradient_edge(v.tensor()));
            needs = static_cast<bool>(node->next.back());
        } else if (v.tag() == Value::Tag::Tensors) {
            for (const Tensor& t : v.tensor_list()) {
                node->next.push_back(t ? gradient_edge(t) : Edge{});
                needs |= static_cast<bool>(node->next.back());
            }
        }
        if (!needs) continue;
        node->needs |= uint64_t{1} << i;
        save |= op.vjp->saved_args(i);
        shapes |= op.vjp->saved_shapes(i);
        keep_outputs |= op.vjp->saves_outputs(i);
    }
    node->keeps_outputs = keep_outputs;
    node->args.resize(n);
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = uint64_t{1} << i;
        const Value& v = call.args[i];
        bool is_tensor = v.is_tensor(), is_list = v.tag() == Value::Tag::Tensors;
        if (!is_tensor && !is_list) {
            if ((save | shapes) & bit) node->args[i] = v;
            continue;
        }
        if (shapes & bit) {
            if (is_tensor) {
                node->args[i] = Value(meta_like(v.tensor()));
            } else {
                SmallVec<Tensor, 4> metas;
                for (const Tensor& t : v.tensor_list()) metas.push_back(t ? meta_like(t) : Tensor());
                node->args[i] = Value::tensors(std::move(metas));
            }
        }
        if (!(save & bit)) continue;
        if (is_tensor) {
            check_saveable(op.name, v.tensor());
            node->tensors.resize(n);
            // The value before the write is needed, and this call is about to overwrite it.
            bool overwritten = call.in_place && i == 0;
            Tensor kept = v.tensor();
            if (overwritten) {
                GradModeGuard off(false);
                kept = call_op("clone", kept, MemoryFormat::Preserve);
            }
            node->tensors[i] = SavedTensor(kept, false);
        } else {
            node->lists.resize(n);
            for (const Tensor& t : v.tensor_list()) node->lists[i].push_back(t ? SavedTensor(t, false) : SavedTensor());
        }
    }
    if (grad_modes().anomaly && anomaly_hooks.capture) node->forward_trace = anomaly_hooks.capture();
    return node;
}

void end_record(Call& call, const Ref<PrimNode>& node) {
    uint32_t nr = 0;
    bool single = call.in_place;
    for (const Tensor& t : call.out) {
        node->results.push_back({t.sizes(), t.dtype(), t.device()});
        if (is_differentiable_dtype(t.dtype())) {
            if (single)
                rebase_history(t, node);
            else
                set_history(t, node, nr);
        }
        if (node->keeps_outputs) node->outputs.push_back(SavedTensor(t, true, nr));
        nr++;
    }
}

const std::string& PrimNode::name() const { return op->node_name; }

void PrimNode::apply(std::span<const Tensor> grads, SmallVec<Tensor, 2>& out) {
    MASHAL_CHECK(!released, op->name, kFreedText);
    out.resize(next.size());
    op->vjp->apply(*this, grads, std::span<Tensor>(out.data(), out.size()));
}

void PrimNode::release_saved() {
    released = tensors.size() + lists.size() + outputs.size() > 0 || released;
    tensors.clear();
    lists.clear();
    outputs.clear();
}

Value PrimNode::saved_arg(size_t i) {
    if (i < tensors.size() && op->tensor_args >> i & 1) {
        if (Tensor t = tensors[i].unpack(op->name, Ref<Node>(this))) return Value(t);
    }
    if (i < lists.size() && !lists[i].empty()) {
        SmallVec<Tensor, 4> items;
        for (SavedTensor& s : lists[i]) items.push_back(s.unpack(op->name, Ref<Node>(this)));
        return Value::tensors(std::move(items));
    }
    // A tensor argument's slot holds a shape's stand-in, unless the user gave a number.
    return op->tensor_args >> i & 1 && !args[i].is_number() ? Value() : args[i];
}

Tensor PrimNode::saved_output(size_t k) { return outputs[k].unpack(op->name, Ref<Node>(this)); }

}  // namespace mashal
