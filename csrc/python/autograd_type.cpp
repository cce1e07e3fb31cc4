// The tape as Python sees it: nodes, hooks, modes, custom functions, running backward.
#include <vector>

#include "python/common.h"

namespace mashal {

PyTypeObject* g_node_type = nullptr;

Interception& interception() {
    static thread_local Interception state;
    return state;
}

namespace {

PyNode* node_face(PyObject* o) { return reinterpret_cast<PyNode*>(o); }
Node& node_of(PyObject* o) { return *node_face(o)->impl; }

// ---- hooks written in Python ----

struct PyGradHook final : GradHook {
    explicit PyGradHook(PyObject* f) : fn(PyRef::borrow(f)) {}
    void* callee() const override { return fn.get(); }
    Tensor call(const Tensor& grad) override {
        PyRef arg = PyRef::steal(wrap(grad));
        PyRef result = checked(PyObject_CallOneArg(fn.get(), arg.get()));
        if (result.get() == Py_None) return {};
        if (!is_tensor(result.get()))
            raise_error(ErrorKind::Type, "", "hooks must return a Tensor or None, not ",
                        Py_TYPE(result.get())->tp_name);
        Tensor t = as_tensor(result.get());
        MASHAL_CHECK(equal(t.sizes(), grad.sizes()), "hook",
                     "has changed the size of value: ", shape_text(grad.sizes()), " became ", shape_text(t.sizes()));
        return t;
    }
    PyRef fn;
};

struct PyTensorHook final : TensorHook {
    explicit PyTensorHook(PyObject* f) : fn(PyRef::borrow(f)) {}
    void* callee() const override { return fn.get(); }
    void call(const Tensor& t) override {
        PyRef arg = PyRef::steal(wrap(t));
        checked(PyObject_CallOneArg(fn.get(), arg.get()));
    }
    PyRef fn;
};

PyRef grads_tuple(std::span<const Tensor> grads) {
    PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(grads.size())));
    for (size_t i = 0; i < grads.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(grads[i]));
    return tuple;
}

void read_grads(PyObject* o, SmallVec<Tensor, 2>& out, std::string_view what, ErrorKind kind = ErrorKind::Type) {
    if (o == Py_None) return;
    PyRef single;
    if (is_tensor(o)) {
        single = checked(PyTuple_Pack(1, o));
        o = single.get();
    }
    if (!PyTuple_Check(o) && !PyList_Check(o))
        raise_error(ErrorKind::Type, what, "expected a tuple of Tensors or None, not ", Py_TYPE(o)->tp_name);
    MASHAL_CHECK(static_cast<size_t>(PySequence_Fast_GET_SIZE(o)) == out.size(), what,
                 "returned an incorrect number of values, got ", PySequence_Fast_GET_SIZE(o), ", but expected ",
                 out.size());
    for (size_t i = 0; i < out.size(); i++) {
        PyObject* item = PySequence_Fast_GET_ITEM(o, static_cast<Py_ssize_t>(i));
        if (item != Py_None && !is_tensor(item))
            raise_error(kind, what, "expected Tensor or None, not ", Py_TYPE(item)->tp_name);
        out[i] = item == Py_None ? Tensor() : as_tensor(item);
    }
}

struct PyNodeHook final : NodeHook {
    explicit PyNodeHook(PyObject* f) : fn(PyRef::borrow(f)) {}
    void* callee() const override { return fn.get(); }
    void pre(SmallVec<Tensor, 2>& grads) override {
        PyRef arg = grads_tuple(grads);
        PyRef result = checked(PyObject_CallOneArg(fn.get(), arg.get()));
        read_grads(result.get(), grads, "prehook");
    }
    void post(SmallVec<Tensor, 2>& grad_inputs, std::span<const Tensor> grad_outputs) override {
        PyRef inputs = grads_tuple(grad_inputs), outputs = grads_tuple(grad_outputs);
        PyObject* args[] = {inputs.get(), outputs.get()};
        PyRef result = checked(PyObject_Vectorcall(fn.get(), args, 2, nullptr));
        read_grads(result.get(), grad_inputs, "hook");
    }
    PyRef fn;
};

// A handle removes its hook by calling the returned function once.
template <class Remove>
PyObject* remover(Remove remove) {
    auto* boxed = new std::function<void()>(std::move(remove));
    static PyMethodDef def = {"remove",
                              [](PyObject* self, PyObject*) -> PyObject* {
                                  auto* f = static_cast<std::function<void()>*>(PyCapsule_GetPointer(self, nullptr));
                                  (*f)();
                                  *f = [] {};
                                  Py_RETURN_NONE;
                              },
                              METH_NOARGS, nullptr};
    PyRef capsule = checked(PyCapsule_New(boxed, nullptr, [](PyObject* c) {
        delete static_cast<std::function<void()>*>(PyCapsule_GetPointer(c, nullptr));
    }));
    return PyCFunction_New(&def, capsule.get());
}

// register_hook(tensor, fn) -> remove()
PyObject* register_tensor_hook(PyObject*, PyObject* args) {
    PyObject *self, *fn;
    if (!PyArg_ParseTuple(args, "O!O", g_tensor_type, &self, &fn)) return nullptr;
    return guarded([&] {
        Tensor t = as_tensor(self);
        MASHAL_CHECK(tensor_requires_grad(t), "register_hook",
                     "cannot register a hook on a tensor that doesn't require gradient");
        auto hook = make_ref<PyGradHook>(fn);
        AutogradMeta& meta = ensure_autograd_meta(t);
        if (grad_fn(t)) {
            Ref<Node> node = meta.grad_fn;
            node->ensure_hooks().tensor_pre.emplace_back(meta.output_nr, hook);
            GradHook* key = hook.get();
            return remover([node, key] {
                std::erase_if(node->ensure_hooks().tensor_pre, [&](auto& e) { return e.second.get() == key; });
            });
        }
        meta.hooks.push_back(hook);
        GradHook* key = hook.get();
        PyRef weak = checked(PyWeakref_NewRef(self, nullptr));
        return remover([weak, key] {
            PyObject* target = PyWeakref_GetObject(weak.get());
            if (target == Py_None) return;
            std::erase_if(ensure_autograd_meta(as_tensor(target)).hooks, [&](auto& h) { return h.get() == key; });
        });
    });
}

PyObject* register_post_accumulate_hook(PyObject*, PyObject* args) {
    PyObject *self, *fn;
    if (!PyArg_ParseTuple(args, "O!O", g_tensor_type, &self, &fn)) return nullptr;
    return guarded([&] {
        Tensor t = as_tensor(self);
        MASHAL_CHECK(tensor_requires_grad(t), "register_post_accumulate_grad_hook",
                     "cannot register a hook on a tensor that doesn't require gradient");
        MASHAL_CHECK(is_leaf(t), "register_post_accumulate_grad_hook",
                     "post accumulate grad hooks cannot be registered on non-leaf tensors");
        auto hook = make_ref<PyTensorHook>(fn);
        ensure_autograd_meta(t).post_accumulate.push_back(hook);
        TensorHook* key = hook.get();
        PyRef weak = checked(PyWeakref_NewRef(self, nullptr));
        return remover([weak, key] {
            PyObject* target = PyWeakref_GetObject(weak.get());
            if (target == Py_None) return;
            std::erase_if(ensure_autograd_meta(as_tensor(target)).post_accumulate,
                          [&](auto& h) { return h.get() == key; });
        });
    });
}

// ---- custom functions ----

// The node of an autograd.Function: its backward is a method of the context object.
struct FunctionNode final : Node {
    FunctionNode(PyObject* context, std::string n) : ctx(PyRef::borrow(context)), name_(std::move(n)) {}
    const std::string& name() const override { return name_; }
    bool wants_zeros(size_t) const override { return materialize; }
    void apply(std::span<const Tensor> grads, SmallVec<Tensor, 2>& out) override {
        SmallVec<Tensor, 2> gs(grads);
        if (materialize)
            for (size_t k = 0; k < gs.size(); k++)
                if (!gs[k])
                    gs[k] = call_op_in_place("zero_", empty(results[k].sizes, results[k].dtype, results[k].device));
        PyRef arg = grads_tuple(gs);
        PyRef result = checked(PyObject_CallMethod(ctx.get(), "_run_backward", "(O)", arg.get()));
        out.resize(next.size());
        read_grads(result.get(), out, name_, ErrorKind::Runtime);
    }
    void release_saved() override {
        saved.clear();
        freed = true;
    }

    PyRef ctx;
    std::string name_;
    std::vector<SavedTensor> saved;
    bool materialize = true;
    bool freed = false;
};

// _function_node(ctx, name, inputs): a node over the inputs that need a gradient (None where none does).
PyObject* function_node(PyObject*, PyObject* args) {
    PyObject *ctx, *inputs;
    const char* name;
    if (!PyArg_ParseTuple(args, "OsO!", &ctx, &name, &PyTuple_Type, &inputs)) return nullptr;
    return guarded([&]() -> PyObject* {
        auto node = make_ref<FunctionNode>(ctx, name);
        bool any = false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
            PyObject* item = PyTuple_GET_ITEM(inputs, i);
            node->next.push_back(is_tensor(item) ? gradient_edge(as_tensor(item)) : Edge{});
            any |= static_cast<bool>(node->next.back());
        }
        if (!any) Py_RETURN_NONE;
        if (grad_modes().anomaly && anomaly_hooks.capture) node->forward_trace = anomaly_hooks.capture();
        return wrap_node(node);
    });
}

// _function_finish(node, outputs, flags, saved, materialize): links the results. flags: 0 fresh, 1 dirty (written in
// place), 2 not differentiable. `saved` are (tensor, index among outputs or -1).
PyObject* function_finish(PyObject*, PyObject* args) {
    PyObject *face, *outputs, *flags, *saved;
    int materialize;
    if (!PyArg_ParseTuple(args, "O!O!O!O!p", g_node_type, &face, &PyTuple_Type, &outputs, &PyTuple_Type, &flags,
                          &PyTuple_Type, &saved, &materialize))
        return nullptr;
    return guarded([&]() -> PyObject* {
        auto& node = static_cast<FunctionNode&>(node_of(face));
        Ref<Node> ref(&node);
        node.materialize = materialize != 0;
        Py_ssize_t n = PyTuple_GET_SIZE(outputs);
        for (Py_ssize_t i = 0; i < n; i++) {
            PyObject* item = PyTuple_GET_ITEM(outputs, i);
            if (!is_tensor(item)) {
                node.results.push_back({});
                continue;
            }
            Tensor t = as_tensor(item);
            node.results.push_back({t.sizes(), t.dtype(), t.device()});
            int64_t flag = int_from(PyTuple_GET_ITEM(flags, i));
            if (flag == 2 || !is_differentiable_dtype(t.dtype())) continue;
            if (flag == 1) {
                t->bump_version();
                rebase_history(t, ref);
                ensure_autograd_meta(t).output_nr = static_cast<uint32_t>(i);
            } else {
                set_history(t, ref, static_cast<uint32_t>(i));
                if (t->view_base) {
                    t->view_version = t->version();
                    t->view_origin = ViewOrigin::CustomFunction;
                }
            }
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved); i++) {
            PyObject* pair = PyTuple_GET_ITEM(saved, i);
            PyObject* item = PyTuple_GET_ITEM(pair, 0);
            int64_t output = int_from(PyTuple_GET_ITEM(pair, 1));
            if (!is_tensor(item))
                node.saved.emplace_back();
            else
                node.saved.emplace_back(as_tensor(item), output >= 0, output >= 0 ? static_cast<uint32_t>(output) : 0);
        }
        Py_RETURN_NONE;
    });
}

PyObject* function_saved(PyObject*, PyObject* face) {
    return guarded([&]() -> PyObject* {
        auto& node = static_cast<FunctionNode&>(node_of(face));
        MASHAL_CHECK(!node.freed, "", kFreedText);
        PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(node.saved.size())));
        for (size_t i = 0; i < node.saved.size(); i++)
            PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                             wrap(node.saved[i].unpack(node.name_, Ref<Node>(&node))));
        return tuple.release();
    });
}

}  // namespace

// ---- collecting cycles: only what an object owns alone may be visited on its behalf ----

int visit_hook(const Hook& hook, visitproc visit, void* arg) {
    if (hook.use_count() == 1) Py_VISIT(static_cast<PyObject*>(hook.callee()));
    return 0;
}
int visit_node(Node& node, visitproc visit, void* arg) {
    if (auto* function = dynamic_cast<FunctionNode*>(&node)) Py_VISIT(function->ctx.get());
    if (node.is_accumulator())
        if (void* owner = node.leaf_tensor()->owner()) Py_VISIT(static_cast<PyObject*>(owner));
    if (!node.hooks) return 0;
    for (auto& [nr, hook] : node.hooks->tensor_pre)
        if (int stop = visit_hook(*hook, visit, arg)) return stop;
    for (auto* list : {&node.hooks->pre, &node.hooks->post})
        for (auto& hook : *list)
            if (int stop = visit_hook(*hook, visit, arg)) return stop;
    return 0;
}
void clear_node(Node& node) {
    if (auto* function = dynamic_cast<FunctionNode*>(&node)) PyRef ctx = std::move(function->ctx);
    std::unique_ptr<Node::Hooks> hooks = std::move(node.hooks);
}

namespace {

// ---- the node type ----

PyObject* node_name(PyObject* self, PyObject*) { return PyUnicode_FromString(node_of(self).name().c_str()); }
PyObject* node_repr(PyObject* self) {
    return PyUnicode_FromFormat("<%s object at %p>", node_of(self).name().c_str(), self);
}
PyObject* node_next_functions(PyObject* self, void*) {
    return guarded([&] {
        Node& node = node_of(self);
        PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(node.next.size())));
        for (size_t i = 0; i < node.next.size(); i++) {
            PyRef face = PyRef::steal(wrap_node(node.next[i].node));
            PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                             Py_BuildValue("(OI)", face.get(), node.next[i].nr));
        }
        return tuple.release();
    });
}
PyObject* node_metadata(PyObject* self, void*) {
    return guarded([&] {
        Node& node = node_of(self);
        if (!node.metadata) node.metadata = make_ref<PyHolder>(checked(PyDict_New()));
        return Py_NewRef(static_cast<PyHolder&>(*node.metadata).object.get());
    });
}
PyObject* node_variable(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        Tensor leaf = node_of(self).leaf_tensor();
        if (!leaf) {
            PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", node_of(self).name().c_str());
            return nullptr;
        }
        return wrap(leaf);
    });
}
PyObject* node_sequence_nr(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(node_of(self).seq); }
template <bool pre>
PyObject* node_register(PyObject* self, PyObject* fn) {
    return guarded([&] {
        auto hook = make_ref<PyNodeHook>(fn);
        Ref<Node> node(&node_of(self));
        auto& hooks = node->ensure_hooks();
        (pre ? hooks.pre : hooks.post).push_back(hook);
        NodeHook* key = hook.get();
        return remover([node, key] {
            auto& h = node->ensure_hooks();
            std::erase_if(pre ? h.pre : h.post, [&](auto& e) { return e.get() == key; });
        });
    });
}
PyObject* node_saved(PyObject* self, void*) {
    // Names and values that the derivative rule keeps, for inspection and tests.
    return guarded([&]() -> PyObject* {
        PyRef dict = checked(PyDict_New());
        auto* node = dynamic_cast<PrimNode*>(&node_of(self));
        if (node == nullptr) return dict.release();
        MASHAL_CHECK(!node->released, node->name(), kFreedText);
        for (size_t i = 0; i < node->args.size(); i++) {
            Value v = node->saved_arg(i);
            if (v.is_none()) continue;
            check_status(PyDict_SetItemString(dict.get(), node->op->schema.args[i].name.c_str(),
                                              checked(value_to_python(v)).get()));
        }
        if (!node->outputs.empty())
            check_status(PyDict_SetItemString(dict.get(), "result", PyRef::steal(wrap(node->saved_output(0))).get()));
        return dict.release();
    });
}
// (shape, dtype, device) of one of the values whose gradient enters the node.
PyObject* node_result(PyObject* self, PyObject* number) {
    return guarded([&] {
        auto nr = static_cast<size_t>(int_from(number));
        MASHAL_CHECK_AS(Index, nr < node_of(self).results.size(), "", "the node has no result ", nr);
        const ResultMeta& m = node_of(self).results[nr];
        return Py_BuildValue("(NNN)", size_to_python(m.sizes), dtype_to_python(m.dtype), device_to_python(m.device));
    });
}
void node_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (node_face(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
    if (Node* n = std::exchange(node_face(self)->impl, nullptr)) n->owner_died();
    type->tp_free(self);
    Py_DECREF(type);
}
// Attributes of a custom function's context are attributes of its node, as they are one object in PyTorch.
PyObject* node_getattro(PyObject* self, PyObject* name) {
    PyObject* found = PyObject_GenericGetAttr(self, name);
    if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    auto* node = dynamic_cast<FunctionNode*>(node_face(self)->impl);
    if (node == nullptr || !node->ctx) return nullptr;
    PyErr_Clear();
    return PyObject_GetAttr(node->ctx.get(), name);
}
int node_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Node* node = node_face(self)->impl;
    return node == nullptr ? 0 : visit_node(*node, visit, arg);
}
int node_clear(PyObject* self) {
    if (Node* node = node_face(self)->impl) clear_node(*node);
    return 0;
}

PyMethodDef node_methods[] = {{"name", node_name, METH_NOARGS, nullptr},
                              {"_sequence_nr", node_sequence_nr, METH_NOARGS, nullptr},
                              {"_result", node_result, METH_O, nullptr},
                              {"_register_hook", node_register<false>, METH_O, nullptr},
                              {"_register_prehook", node_register<true>, METH_O, nullptr},
                              {nullptr, nullptr, 0, nullptr}};
PyGetSetDef node_getset[] = {{"next_functions", node_next_functions, nullptr, nullptr, nullptr},
                             {"metadata", node_metadata, nullptr, nullptr, nullptr},
                             {"variable", node_variable, nullptr, nullptr, nullptr},
                             {"_saved", node_saved, nullptr, nullptr, nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef node_members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weakrefs), READONLY, nullptr},
                              {nullptr, 0, 0, 0, nullptr}};
PyType_Slot node_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                            {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                            {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                            {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
                            {Py_tp_getattro, reinterpret_cast<void*>(node_getattro)},
                            {Py_tp_methods, node_methods},
                            {Py_tp_getset, node_getset},
                            {Py_tp_members, node_members},
                            {0, nullptr}};
PyType_Spec node_spec = {"mashal.autograd.graph.Node", sizeof(PyNode), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

// ---- running ----

// A tensor's place in the graph, or one given as (node, number of the result).
Edge edge_from(PyObject* o) {
    if (is_tensor(o)) return gradient_edge(as_tensor(o));
    if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != 2 || !PyObject_TypeCheck(PyTuple_GET_ITEM(o, 0), g_node_type))
        raise_error(ErrorKind::Type, "", "expected Tensors or GradientEdges, but got ", Py_TYPE(o)->tp_name);
    return {Ref<Node>(&node_of(PyTuple_GET_ITEM(o, 0))), static_cast<uint32_t>(int_from(PyTuple_GET_ITEM(o, 1)))};
}

// run_backward(roots, grads, inputs or None, keep_graph, create_graph, accumulate) -> list of gradients
PyObject* py_run_backward(PyObject*, PyObject* args) {
    PyObject *tensors, *grads, *inputs;
    int keep, create, accumulate;
    if (!PyArg_ParseTuple(args, "O!O!Oppp", &PyTuple_Type, &tensors, &PyTuple_Type, &grads, &inputs, &keep, &create,
                          &accumulate))
        return nullptr;
    return guarded([&]() -> PyObject* {
        std::vector<Edge> roots, targets;
        std::vector<Tensor> gs;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); i++) {
            roots.push_back(edge_from(PyTuple_GET_ITEM(tensors, i)));
            MASHAL_CHECK(static_cast<bool>(roots.back()), "", "element ", i,
                         " of tensors does not require grad and does not have a grad_fn");
            PyObject* g = PyTuple_GET_ITEM(grads, i);
            gs.push_back(g == Py_None ? Tensor() : as_tensor(g));
        }
        if (inputs != Py_None) {
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
                PyObject* input = PyTuple_GET_ITEM(inputs, i);
                targets.push_back(edge_from(input));
                if (!is_tensor(input)) continue;
                Tensor t = as_tensor(input);
                MASHAL_CHECK(tensor_requires_grad(t), "", "One of the differentiated Tensors does not require grad");
                if (accumulate) retain_grad(t);
            }
        }
        std::vector<Tensor> out = run_backward(
            roots, gs, targets, {.keep_graph = keep != 0, .create_graph = create != 0, .accumulate = accumulate != 0});
        PyRef list = checked(PyList_New(static_cast<Py_ssize_t>(out.size())));
        for (size_t i = 0; i < out.size(); i++)
            PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap(std::move(out[i])));
        return list.release();
    });
}

template <bool GradModes::* mode>
PyObject* get_mode(PyObject*, PyObject*) {
    return PyBool_FromLong(grad_modes().*mode);
}
template <bool GradModes::* mode>
PyObject* set_mode(PyObject*, PyObject* value) {
    int on = PyObject_IsTrue(value);
    if (on < 0) return nullptr;
    bool before = std::exchange(grad_modes().*mode, on != 0);
    return PyBool_FromLong(before);
}

// Nesting counters of __torch_function__; return the value before.
template <int Interception::* counter>
PyObject* add_interception(PyObject*, PyObject* delta) {
    return guarded([&] {
        int& value = interception().*counter;
        int before = value;
        value += static_cast<int>(int_from(delta));
        return PyLong_FromLong(before);
    });
}

// ---- saved-tensor hooks: a stack of (pack, unpack) per thread, innermost last ----

thread_local PyObject* g_saved_hooks = nullptr;  // a list, or null when it is empty

struct PackedTensor final : RefCounted {
    PyRef object, unpack;
};

Ref<RefCounted> pack_saved(const Tensor& t) {
    PyRef pair = PyRef::borrow(PyList_GET_ITEM(g_saved_hooks, PyList_GET_SIZE(g_saved_hooks) - 1));
    PyRef arg = PyRef::steal(wrap(t));
    auto packed = make_ref<PackedTensor>();
    GradModeGuard off(false);
    packed->object = checked(PyObject_CallOneArg(PyTuple_GET_ITEM(pair.get(), 0), arg.get()));
    packed->unpack = PyRef::borrow(PyTuple_GET_ITEM(pair.get(), 1));
    return packed;
}
Tensor unpack_packed(RefCounted* box) {
    auto& packed = static_cast<PackedTensor&>(*box);
    PyRef result = checked(PyObject_CallOneArg(packed.unpack.get(), packed.object.get()));
    if (!is_tensor(result.get()))
        raise_error(ErrorKind::Type, "",
                    "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
                    Py_TYPE(result.get())->tp_name);
    return as_tensor(result.get());
}

PyObject* push_saved_hooks(PyObject*, PyObject* args) {
    PyObject *pack, *unpack;
    if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) return nullptr;
    return guarded([&]() -> PyObject* {
        if (g_saved_hooks == nullptr) g_saved_hooks = checked(PyList_New(0)).release();
        check_status(PyList_Append(g_saved_hooks, checked(PyTuple_Pack(2, pack, unpack)).get()));
        grad_modes().pack = pack_saved;
        Py_RETURN_NONE;
    });
}
PyObject* pop_saved_hooks(PyObject*, PyObject*) {
    Py_ssize_t n = g_saved_hooks ? PyList_GET_SIZE(g_saved_hooks) : 0;
    if (n == 0) {
        PyErr_SetString(PyExc_RuntimeError, "no saved-tensor hooks are registered");
        return nullptr;
    }
    if (PyList_SetSlice(g_saved_hooks, n - 1, n, nullptr) < 0) return nullptr;
    if (n == 1) {
        grad_modes().pack = nullptr;
        Py_CLEAR(g_saved_hooks);
    }
    Py_RETURN_NONE;
}

// ---- anomaly mode: Python says how to record and report where a forward call was made ----

PyRef &g_anomaly_capture = *new PyRef, &g_anomaly_report = *new PyRef, &g_anomaly_check = *new PyRef;

PyObject* set_anomaly_hooks(PyObject*, PyObject* args) {
    PyObject *capture, *report, *check;
    if (!PyArg_ParseTuple(args, "OOO", &capture, &report, &check)) return nullptr;
    g_anomaly_capture = PyRef::borrow(capture);
    g_anomaly_report = PyRef::borrow(report);
    g_anomaly_check = PyRef::borrow(check);
    anomaly_hooks.capture = []() -> Ref<RefCounted> {
        return make_ref<PyHolder>(checked(PyObject_CallNoArgs(g_anomaly_capture.get())));
    };
    anomaly_hooks.report = [](const Node& node) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject* trace = node.forward_trace ? static_cast<PyHolder&>(*node.forward_trace).object.get() : Py_None;
        PyRef done = PyRef::steal(PyObject_CallFunction(g_anomaly_report.get(), "sO", node.name().c_str(), trace));
        if (!done) PyErr_Clear();
        PyErr_Restore(type, value, traceback);
    };
    anomaly_hooks.check = [](const Node& node, std::span<const Tensor> grads) {
        PyRef tuple = grads_tuple(grads);
        PyObject* trace = node.forward_trace ? static_cast<PyHolder&>(*node.forward_trace).object.get() : Py_None;
        checked(PyObject_CallFunction(g_anomaly_check.get(), "sOO", node.name().c_str(), trace, tuple.get()));
    };
    Py_RETURN_NONE;
}

PyObject* current_graph_node(PyObject*, PyObject*) {
    return guarded([] { return wrap_node(Ref<Node>(current_node())); });
}

PyObject* py_backward_pass(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(backward_pass()); }
PyObject* py_will_run(PyObject*, PyObject* node) {
    if (!PyObject_TypeCheck(node, g_node_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a Node");
        return nullptr;
    }
    return PyBool_FromLong(will_run(&node_of(node)));
}

PyMethodDef functions[] = {
    {"register_hook", register_tensor_hook, METH_VARARGS, nullptr},
    {"register_post_accumulate_hook", register_post_accumulate_hook, METH_VARARGS, nullptr},
    {"function_node", function_node, METH_VARARGS, nullptr},
    {"function_finish", function_finish, METH_VARARGS, nullptr},
    {"function_saved", function_saved, METH_O, nullptr},
    {"run_backward", py_run_backward, METH_VARARGS, nullptr},
    {"is_grad_enabled", get_mode<&GradModes::grad>, METH_NOARGS, "Whether operations are recorded in this thread."},
    {"set_grad_mode", set_mode<&GradModes::grad>, METH_O, nullptr},
    {"is_inference_mode_enabled", get_mode<&GradModes::inference>, METH_NOARGS, nullptr},
    {"set_inference_mode", set_mode<&GradModes::inference>, METH_O, nullptr},
    {"is_anomaly_enabled", get_mode<&GradModes::anomaly>, METH_NOARGS, nullptr},
    {"set_anomaly_mode", set_mode<&GradModes::anomaly>, METH_O, nullptr},
    {"add_torch_function_disabled", add_interception<&Interception::disabled>, METH_O, nullptr},
    {"add_function_mode", add_interception<&Interception::mode_depth>, METH_O, nullptr},
    {"push_saved_hooks", push_saved_hooks, METH_VARARGS, nullptr},
    {"pop_saved_hooks", pop_saved_hooks, METH_NOARGS, nullptr},
    {"set_anomaly_hooks", set_anomaly_hooks, METH_VARARGS, nullptr},
    {"backward_pass", py_backward_pass, METH_NOARGS, "A number for the backward pass being run; 0 outside one."},
    {"will_run", py_will_run, METH_O, "Whether the present backward pass runs a node."},
    {"current_graph_node", current_graph_node, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* wrap_node(Ref<Node> node) {
    if (!node) Py_RETURN_NONE;
    Node* n = node.get();
    if (void* owner = n->owner()) {
        node.release();
        return static_cast<PyObject*>(owner);
    }
    auto* face = reinterpret_cast<PyNode*>(checked(g_node_type->tp_alloc(g_node_type, 0)).release());
    face->impl = n;
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(face), static_cast<Py_ssize_t>(n->use_count()));
    n->set_owner(face);
    node.release();
    return reinterpret_cast<PyObject*>(face);
}

bool overrides_torch_function(PyTypeObject* type) {
    // Decided once per type: the attribute of a class does not change after use.
    static PyObject* name = PyUnicode_InternFromString("__torch_function__");
    static std::vector<std::pair<PyTypeObject*, bool>> known;
    for (auto& [t, value] : known)
        if (t == type) return value;
    PyRef attr = PyRef::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
    if (!attr) PyErr_Clear();
    bool value = attr && !PyObject_HasAttrString(attr.get(), "_mashal_disabled");
    Py_INCREF(type);
    known.emplace_back(type, value);
    return value;
}

void init_autograd(PyObject* module) {
    g_node_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&node_spec)).release());
    unpack_saved = unpack_packed;
    check_status(PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(g_node_type)));
    check_status(PyModule_AddFunctions(module, functions));
}

}  // namespace mashal
