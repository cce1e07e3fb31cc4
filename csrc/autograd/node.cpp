#include "autograd/node.h"

#include "dispatch/primitive.h"

namespace mashal {

Tensor (*unpack_saved)(RefCounted*) = nullptr;
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
            if (fits && owned_alone(g) && !g.requires_grad()) {
                g->view_base = Tensor();
                meta.grad = g;
            } else {
                IntVec strides = is_dense(leaf) ? leaf.strides() : contiguous_strides(leaf.sizes());
                meta.grad = call_op_in_place("copy_", empty_strided(leaf.sizes(), strides, g.dtype(), g.device()), g);
            }
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

// Where a view lies in its base, so that the same part can be taken out of another tensor of the base's geometry.
struct Region {
    Region(const Tensor& base, const Tensor& view) : sizes(view.sizes()), strides(view.strides()), dtype(view.dtype()) {
        int64_t bytes = view->offset * item_size(dtype) - base->offset * item_size(base.dtype());
        offset = bytes / item_size(dtype);
    }
    Tensor of(const Tensor& whole) const {
        int64_t start = whole->offset;
        if (whole.dtype() == dtype) return call_op("as_strided", whole, sizes, strides, start + offset);
        if (is_complex(whole.dtype()))
            return call_op("as_strided", call_op("view_as_real", whole), sizes, strides, 2 * start + offset);
        IntVec pair_sizes = sizes, pair_strides = strides;
        for (int64_t& s : pair_strides) s *= 2;
        pair_sizes.push_back(2);
        pair_strides.push_back(1);
        return call_op("view_as_complex", call_op("as_strided", whole, pair_sizes, pair_strides, start + 2 * offset));
    }
    IntVec sizes, strides;
    int64_t offset = 0;  // in elements of the view, from the base's first
    DType dtype;
};

// The gradient of a view written in place, as seen from its base (PyTorch's CopySlices): the part that the view covers
// goes through `fn`, the rest passes.
struct CopySlices final : Node {
    CopySlices(Edge base_edge, const Tensor& base, const Tensor& view, Ref<Node> f)
        : fn(std::move(f)), base_geometry(meta_like(base)), region(base, view) {
        next.push_back(std::move(base_edge));
        for (size_t i = 1; i < fn->next.size(); i++) next.push_back(fn->next[i]);
        fn->within = this;
        results.push_back({base.sizes(), base.dtype(), base.device()});
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
        Tensor slice = region.of(result);
        Tensor slice_grad = call_op("clone", slice, MemoryFormat::Preserve);
        SmallVec<Tensor, 2> inner;
        fn->apply(std::span<const Tensor>(&slice_grad, 1), inner);
        if (!inner.empty() && inner[0])
            call_op_in_place("copy_", slice, inner[0]);
        else
            call_op_in_place("zero_", slice);
        out[0] = result;
        for (size_t i = 1; i < inner.size() && i < next.size(); i++) out[i] = inner[i];
    }
    void release_saved() override {
        if (fn) fn->release_saved();
        drop();
    }
    ~CopySlices() override { drop(); }
    void drop() {
        if (fn) fn->within = nullptr;
        fn = nullptr;
    }
    // Makes t, which has the view's value, the part of this node's result that the view was.
    void link_part(const Tensor& t) {
        Tensor whole = meta_like(base_geometry);
        set_history(whole, Ref<Node>(this), 0);
        GradModeGuard on(true);
        set_history(t, autograd_meta(region.of(whole))->grad_fn, 0);
    }

    Ref<Node> fn;
    Tensor base_geometry;
    Region region;
};

// Refuses writes through views whose history can't be told: `indirect` when the base, or another view, was written.
void check_view_origin(std::string_view op, const Tensor& t, bool indirect) {
    if (t->view_origin == ViewOrigin::Recorded) return;
    const char* what =
        indirect ? "its base or another view of its base has been modified in place" : "is being modified in place";
    switch (t->view_origin) {
        case ViewOrigin::Recorded: break;
        case ViewOrigin::NoGrad:
            raise_error(ErrorKind::Runtime, op, "a view was created in no_grad mode and ", what,
                        " with grad mode enabled. Move both the view and the write inside the no_grad block, or both "
                        "outside");
        case ViewOrigin::Inference:
            raise_error(ErrorKind::Runtime, op, "a view was created in inference mode and ", what,
                        " in normal mode. Move both inside the inference_mode block, or both outside");
        case ViewOrigin::OneOfMany:
            raise_error(ErrorKind::Runtime, op, "a view that a function with several views returned (split, unbind) ",
                        what, ". Such functions do not allow it: use the out-of-place operation");
        case ViewOrigin::CustomFunction:
            raise_error(ErrorKind::Runtime, op, "a view that a custom Function returned ", what,
                        ". It would override the function's own backward: let the function return a clone()");
    }
}

}  // namespace

bool owned_alone(const Tensor& t) {
    auto references = [](const Tensor& x) {
        void* owner = x->owner();
        return owner ? foreign_owner_hooks.count(owner) : x->use_count();
    };
    if (references(t) != 1 || t->storage->is_foreign()) return false;
    if (!t->view_base) return t->storage->use_count() == 1;
    return references(t->view_base) == 1 && t->storage->use_count() == 2;
}

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
    AutogradMeta* meta = autograd_meta(t);
    bool has_own = meta != nullptr && meta->grad_fn;
    // A view that is itself a leaf keeps its own identity.
    if (t->view_base && t->view_version != t->version() && t->view_base->requires_grad &&
        (has_own || !t->requires_grad)) {
        check_view_origin("", t, true);
        t->view_version = t->version();
        GradModeGuard on(true);
        Tensor again = Region(t->view_base, t).of(t->view_base);
        set_history(t, autograd_meta(again)->grad_fn, 0);
        meta = autograd_meta(t);
    }
    return meta ? meta->grad_fn : none;
}

bool tensor_requires_grad(const Tensor& t) { return t->requires_grad || (t->view_base && t->view_base->requires_grad); }

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

void move_retained(AutogradMeta& meta, const Tensor& t, Node& to, uint32_t nr) {
    if (!meta.grad_fn || !meta.grad_fn->hooks) return;
    auto& list = meta.grad_fn->hooks->retain_grad;
    for (size_t i = 0; i < list.size(); i++) {
        auto* hook = dynamic_cast<RetainGrad*>(list[i].second.get());
        if (hook == nullptr || hook->target != t.get()) continue;
        to.ensure_hooks().retain_grad.emplace_back(nr, list[i].second);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        return;
    }
}

}  // namespace

void set_history(const Tensor& t, const Ref<Node>& node, uint32_t nr) {
    AutogradMeta& meta = ensure_autograd_meta(t);
    // Hooks stay with the value that the tensor had when they were registered; `.grad` is that of its last one.
    if (meta.retains_grad) move_retained(meta, t, *node, nr);
    meta.grad_fn = node;
    meta.output_nr = nr;
    t->requires_grad = true;
}

void rebase_history(const Tensor& t, const Ref<Node>& node) {
    if (!t->view_base) {
        set_history(t, node, 0);
        return;
    }
    Tensor base = t->view_base;
    Ref<Node> slices = make_ref<CopySlices>(gradient_edge(base), base, t, node);
    set_history(base, slices, 0);
    t->view_version = t->version() - 1;  // out of step: its history is that of its part of the base
    grad_fn(t);
}

void take_view(std::string_view op, const Tensor& t, const Tensor& view) {
    check_in_place(op, t, false);
    t->sizes = view.sizes();
    t->strides = view.strides();
    t->offset = view->offset;
    t->geometry_changed();
    t->bump_version();
    if (AutogradMeta* meta = autograd_meta(view); meta && meta->grad_fn) {
        set_history(t, meta->grad_fn, meta->output_nr);
        t->view_version = t->version();
    }
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
    MASHAL_CHECK(!t->is_inference || modes.inference, op,
                 "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get "
                 "a normal tensor before doing inplace update");
    bool needs = tensor_requires_grad(t);
    if (!modes.grad || !(records || needs)) return;
    if (t->view_base) {
        check_view_origin(op, t, false);
        if (needs && is_leaf(t->view_base))
            raise_error(ErrorKind::Runtime, op,
                        "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    }
    if (needs && is_leaf(t))
        raise_error(ErrorKind::Runtime, op,
                    "a leaf Variable that requires grad is being used in an in-place operation.");
}

// ---- saved tensors ----

SavedTensor::SavedTensor(const Tensor& t, bool is_output, uint32_t output_nr)
    : version_(t->version()), output_nr_(output_nr), is_output_(is_output) {
    if (grad_modes().pack != nullptr) {
        packed_ = grad_modes().pack(is_output ? detach(t) : t);
        MASHAL_CHECK(t->version() == version_, "saved_tensors_hooks",
                     "A saved tensor pack hook is modifying its input in place, got tensor ", text(t),
                     ". Work on a clone() of it");
        t_ = meta_like(t);
        return;
    }
    // A result that kept itself alive through its own node would never be freed: keep a detached alias.
    t_ = is_output ? detach(t) : t;
}

Tensor SavedTensor::unpack(std::string_view op, const Ref<Node>& owner) const {
    if (!t_) return {};
    Tensor t;
    if (packed_) {
        t = unpack_saved(packed_.get());
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
    if (owner && owner->within)
        static_cast<CopySlices*>(owner->within)->link_part(linked);
    else if (owner)
        set_history(linked, owner, output_nr_);
    return linked;
}

// ---- recording primitive calls ----

bool call_needs_grad(const Call& call) {
    if (!call.op.differentiable || !grad_modes().grad) return false;
    for (uint32_t mask = call.op.tensor_args; mask; mask &= mask - 1) {
        const Value& v = call.args[static_cast<size_t>(__builtin_ctz(mask))];
        if (v.is_tensor()) {
            TensorObj* t = v.tensor_obj();
            if (t->requires_grad || (t->view_base && t->view_base->requires_grad)) return true;
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
    uint64_t outputs = 0;
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
        outputs |= op.vjp->saved_outputs(i);
    }
    node->kept_outputs = outputs;
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
            Tensor kept = v.tensor();
            if (call.in_place && i == 0) {
                // The value before the write is needed, and this call is about to overwrite it.
                GradModeGuard off(false);
                kept = call_op("clone", kept, MemoryFormat::Preserve);
                if (const Edge& e = node->next[0]) set_history(kept, e.node, e.nr);
            } else if (call.in_place && kept->storage == call.tensor(0)->storage) {
                // The target in another role: backward will refuse it, but must not be kept alive by it.
                kept = detach(kept);
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
        if (node->kept_outputs)
            node->outputs.push_back(node->kept_outputs >> nr & 1 ? SavedTensor(t, true, nr) : SavedTensor());
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
