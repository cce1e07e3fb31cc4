#include "python/primitive_type.h"

#include <vector>

#include "python/vjp_rule.h"

namespace mashal {

PyTypeObject* g_primitive_type = nullptr;

namespace {

PyTypeObject* g_method_type = nullptr;

struct PyMethod {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyPrimitive* primitive;
    PyObject* name;
    bool in_place;
};

// ---- calling ----

bool is_special(PyObject* o) {
    return Py_TYPE(o) != g_tensor_type && is_tensor(o) && overrides_torch_function(Py_TYPE(o));
}

bool has_special(PyObject* const* args, Py_ssize_t total) {
    for (Py_ssize_t i = 0; i < total; i++) {
        PyObject* o = args[i];
        if (is_special(o)) return true;
        if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
            PyObject** items = PySequence_Fast_ITEMS(o);
            for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); k++)
                if (is_special(items[k])) return true;
        }
    }
    return false;
}

// Objects that are no tensors but want to take the call.
bool has_foreign_override(PyObject* const* args, Py_ssize_t total) {
    for (Py_ssize_t i = 0; i < total; i++) {
        if (is_tensor(args[i])) continue;
        PyRef attr =
            PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(args[i])), "__torch_function__"));
        if (attr) return true;
        PyErr_Clear();
    }
    return false;
}

PyObject* call_torch_function(PyObject* face, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyRef positional = checked(PyTuple_New(nargs));
    for (Py_ssize_t i = 0; i < nargs; i++) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
    PyRef named = checked(PyDict_New());
    if (kwnames != nullptr)
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++)
            check_status(PyDict_SetItem(named.get(), PyTuple_GET_ITEM(kwnames, i), args[nargs + i]));
    PyObject* call_args[] = {face, positional.get(), named.get()};
    return PyObject_Vectorcall(g_hooks.torch_function, call_args, 3, nullptr);
}

int find_keyword(const PyPrimitive* p, PyObject* name) {
    size_t n = p->prim->schema.args.size();
    for (size_t i = 0; i < n; i++)
        if (p->arg_names[i] == name) return static_cast<int>(i);
    std::string_view text = utf8(name);
    // NumPy's words, which PyTorch accepts.
    if (text == "axis") text = "dim";
    if (text == "keepdims") text = "keepdim";
    return p->prim->schema.find(text);
}

[[noreturn]] void type_error(const std::string& text) { throw Error(ErrorKind::Type, text); }

void take_out(Call& call, PyObject* o) {
    if (o == Py_None) return;
    call.out_given = true;
    if (is_tensor(o)) {
        call.out.push_back(as_tensor(o));
    } else if (PyTuple_Check(o) || PyList_Check(o)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) {
            PyObject* item = PySequence_Fast_GET_ITEM(o, i);
            if (!is_tensor(item)) type_error(call.name() + "(): argument 'out' must be tuple of Tensors");
            call.out.push_back(as_tensor(item));
        }
    } else {
        type_error(call.name() + "(): argument 'out' must be Tensor, not " + Py_TYPE(o)->tp_name);
    }
    size_t wanted = call.op.schema.n_outputs;
    if (call.out.size() != wanted)
        type_error(call.name() + "(): argument 'out' must have " + std::to_string(wanted) + " tensor(s), got " +
                   std::to_string(call.out.size()));
}

void parse(PyPrimitive* p, Call& call, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, CallStyle style) {
    const Primitive& prim = *p->prim;
    const auto& specs = prim.schema.args;
    size_t n = specs.size();
    call.args.resize(n);
    uint64_t given = 0;
    size_t positional = static_cast<size_t>(nargs);
    for (size_t i = 0; i < positional; i++) {
        if (i >= prim.schema.n_positional)
            type_error(prim.name + "() takes " + std::to_string(prim.schema.n_positional) +
                       " positional arguments but " + std::to_string(positional) + " were given");
        given |= uint64_t{1} << i;
        if (specs[i].spread &&
            (positional > i + 1 || PyLong_Check(args[i]) || (!PySequence_Check(args[i]) && PyIndex_Check(args[i])))) {
            IntVec items;
            for (size_t k = i; k < positional; k++) {
                if (!PyIndex_Check(args[k]))
                    type_error(prim.name + "(): argument '" + specs[i].name +
                               "' must be tuple of ints, but found element of type " + Py_TYPE(args[k])->tp_name +
                               " at pos " + std::to_string(k - i));
                items.push_back(int_from(args[k]));
            }
            call.args[i] = Value::ints(items);
            break;
        }
        convert_argument(prim, i, args[i], call.args[i]);
    }
    if (kwnames != nullptr) {
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++) {
            PyObject* name = PyTuple_GET_ITEM(kwnames, k);
            PyObject* value = args[nargs + k];
            int i = find_keyword(p, name);
            if (i < 0) {
                if (style.allows_out && utf8(name) == "out") {
                    take_out(call, value);
                    continue;
                }
                type_error(prim.name + "() got an unexpected keyword argument '" + std::string(utf8(name)) + "'");
            }
            if (given >> i & 1)
                type_error(prim.name + "() got multiple values for argument '" + specs[static_cast<size_t>(i)].name +
                           "'");
            given |= uint64_t{1} << i;
            convert_argument(prim, static_cast<size_t>(i), value, call.args[static_cast<size_t>(i)]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (given >> i & 1) continue;
        if (specs[i].has_default)
            call.args[i] = specs[i].default_value;
        else if (specs[i].spread && i > 0)
            call.args[i] = Value::ints({});
        else
            type_error(prim.name + "() missing required argument '" + specs[i].name + "' (position " +
                       std::to_string(i + 1) + ")");
    }
}

PyObject* wrap_results(PyPrimitive* p, Call& call) {
    const Schema& schema = p->prim->schema;
    if (schema.n_outputs == 1 && !schema.list_output) return wrap(std::move(call.out[0]));
    PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(call.out.size())));
    for (size_t i = 0; i < call.out.size(); i++)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(std::move(call.out[i])));
    if (p->result_type != nullptr) return PyObject_CallOneArg(p->result_type, tuple.get());
    return tuple.release();
}

PyObject* primitive_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    auto* p = reinterpret_cast<PyPrimitive*>(self);
    CallStyle style{.in_place = p->prim->mutates, .allows_out = p->allows_out};
    return call_primitive(p, self, args, PyVectorcall_NARGS(nargsf), kwnames, style);
}

PyObject* method_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    auto* m = reinterpret_cast<PyMethod*>(self);
    CallStyle style{.in_place = m->in_place || m->primitive->prim->mutates, .allows_out = false};
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (nargs < 1 || !is_tensor(args[0])) {
        PyErr_Format(PyExc_TypeError, "unbound method %U() needs a Tensor as its first argument", m->name);
        return nullptr;
    }
    return call_primitive(m->primitive, self, args, nargs, kwnames, style);
}

}  // namespace

PyObject* call_primitive(PyPrimitive* p, PyObject* face, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                         CallStyle style) {
    return guarded([&]() -> PyObject* {
        Interception& tls = interception();
        Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
        if (tls.mode_depth > 0 || (tls.disabled == 0 && has_special(args, total))) [[unlikely]]
            return call_torch_function(face, args, nargs, kwnames);
        Call call(*p->prim);
        try {
            parse(p, call, args, nargs, kwnames, style);
        } catch (const Error& e) {
            if (e.kind() != ErrorKind::Type) throw;
            if (has_foreign_override(args, total)) return call_torch_function(face, args, nargs, kwnames);
            if (p->overload == nullptr || style.in_place) throw;
            return PyObject_Vectorcall(p->overload, args, static_cast<size_t>(nargs), kwnames);
        }
        if (style.in_place) {
            MASHAL_CHECK_AS(Type, call.args[0].is_tensor(), p->prim->name,
                            "the tensor that is written must be a Tensor");
            call.in_place = true;
            call.out.push_back(call.tensor(0));
        }
        // What is written into a tensor that the user gave is not cast, as in PyTorch.
        if (p->cast_policy != CastPolicy::None && autocast_state().any && !style.in_place && !call.out_given)
            autocast_arguments(call, p->cast_policy);
        p->prim->run(call);
        return wrap_results(p, call);
    });
}

PyObject* call_operator(PyObject* callable, PyObject* a, PyObject* b, bool in_place) {
    PyObject* args[] = {a, b};
    Py_ssize_t n = b == nullptr ? 1 : 2;
    if (Py_TYPE(callable) != g_primitive_type)
        return PyObject_Vectorcall(callable, args, static_cast<size_t>(n), nullptr);
    auto* p = reinterpret_cast<PyPrimitive*>(callable);
    PyObject* result = call_primitive(p, callable, args, n, nullptr, {.in_place = in_place, .allows_out = false});
    if (result == nullptr && n == 2 && PyErr_ExceptionMatches(PyExc_TypeError) && !is_tensor(b) && !is_number(b)) {
        PyErr_Clear();
        Py_RETURN_NOTIMPLEMENTED;
    }
    return result;
}

namespace {

// ---- the types ----

Family family_from(std::string_view text) {
    if (text == "general") return Family::General;
    if (text == "pointwise") return Family::Pointwise;
    if (text == "view") return Family::View;
    raise_error(ErrorKind::Value, "op", "unknown family '", text, "'");
}

Promotion promotion_from(std::string_view text) {
    static const std::pair<const char*, Promotion> table[] = {{"same", Promotion::Same},
                                                              {"float", Promotion::Float},
                                                              {"compare", Promotion::Compare},
                                                              {"float_real", Promotion::FloatReal},
                                                              {"abs_like", Promotion::AbsLike},
                                                              {"bool_out", Promotion::BoolOut},
                                                              {"complex_out", Promotion::ComplexOut},
                                                              {"where", Promotion::Where}};
    for (auto& [name, value] : table)
        if (text == name) return value;
    raise_error(ErrorKind::Value, "op", "unknown promotion '", text, "'");
}

PyObject* primitive_new(PyTypeObject* type, PyObject* args, PyObject*) {
    const char *schema, *family, *promotion, *loop;
    int allows_out;
    if (!PyArg_ParseTuple(args, "ssszp", &schema, &family, &promotion, &loop, &allows_out)) return nullptr;
    return guarded([&]() -> PyObject* {
        auto* prim = new Primitive(parse_schema(schema), family_from(family), promotion_from(promotion));
        if (loop != nullptr) prim->loop = loop;
        register_primitive(prim);
        auto* self = reinterpret_cast<PyPrimitive*>(checked(type->tp_alloc(type, 0)).release());
        self->vectorcall = primitive_vectorcall;
        self->dict = PyDict_New();
        self->prim = prim;
        self->allows_out = allows_out != 0;
        self->arg_names = new PyObject*[prim->schema.args.size()];
        for (size_t i = 0; i < prim->schema.args.size(); i++)
            self->arg_names[i] = PyUnicode_InternFromString(prim->schema.args[i].name.c_str());
        return reinterpret_cast<PyObject*>(self);
    });
}

PyPrimitive* prim_of(PyObject* o) { return reinterpret_cast<PyPrimitive*>(o); }

PyObject* primitive_set_vjp(PyObject* self, PyObject* args) {
    // (input name or None for a joint rule, function, parameter names)
    PyObject *input, *fn, *params;
    if (!PyArg_ParseTuple(args, "OOO!", &input, &fn, &PyTuple_Type, &params)) return nullptr;
    return guarded([&]() -> PyObject* {
        add_vjp_rule(*prim_of(self)->prim, input, fn, params);
        Py_RETURN_NONE;
    });
}

PyObject* primitive_set_no_gradient(PyObject* self, PyObject* reason) {
    prim_of(self)->prim->no_gradient = PyUnicode_AsUTF8(reason);
    Py_RETURN_NONE;
}

class PyForeignRule final : public ForeignRule {
public:
    PyForeignRule(PyObject* fn, bool is_shape) : fn_(PyRef::borrow(fn)), is_shape_(is_shape) {}
    void run(Call& call) const override {
        AutocastOff exact;  // the call's arguments have been cast already
        SmallVec<PyObject*, 8> args;
        std::vector<PyRef> keep;
        for (const Value& v : call.args) {
            keep.push_back(checked(value_to_python(v)));
            args.push_back(keep.back().get());
        }
        PyRef result = checked(PyObject_Vectorcall(fn_.get(), args.data(), args.size(), nullptr));
        if (is_shape_)
            read_specs(call, result.get());
        else
            read_results(call, result.get());
    }

private:
    static void read_spec(Call& call, PyObject* o) {
        if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != 2)
            raise_error(ErrorKind::Type, call.name(), "a shape rule returns (shape, dtype) or a list of them");
        Device device;
        for (const Value& v : call.args)
            if (v.is_tensor()) {
                device = v.tensor().device();
                break;
            }
        call.result(ints_from(PyTuple_GET_ITEM(o, 0), "shape"), dtype_from(PyTuple_GET_ITEM(o, 1)), device);
    }
    static void read_specs(Call& call, PyObject* result) {
        if (!PyList_Check(result)) return read_spec(call, result);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(result); i++) read_spec(call, PyList_GET_ITEM(result, i));
    }
    static void read_results(Call& call, PyObject* result) {
        bool many = PyTuple_Check(result) || PyList_Check(result);
        size_t n = many ? static_cast<size_t>(PySequence_Fast_GET_SIZE(result)) : 1;
        call.out.resize(n);
        for (size_t i = 0; i < n; i++) {
            PyObject* item = many ? PySequence_Fast_GET_ITEM(result, static_cast<Py_ssize_t>(i)) : result;
            if (!is_tensor(item)) raise_error(ErrorKind::Type, call.name(), "a kernel returns tensors");
            call.out[i] = as_tensor(item);
        }
    }
    PyRef fn_;
    bool is_shape_;
};

PyObject* primitive_set_shape(PyObject* self, PyObject* fn) {
    prim_of(self)->prim->foreign_shape = std::make_unique<PyForeignRule>(fn, true);
    Py_RETURN_NONE;
}
PyObject* primitive_set_kernel(PyObject* self, PyObject* fn) {
    prim_of(self)->prim->foreign_kernel = std::make_unique<PyForeignRule>(fn, false);
    Py_RETURN_NONE;
}

PyObject* primitive_set_cast_policy(PyObject* self, PyObject* policy) {
    return guarded([&]() -> PyObject* {
        prim_of(self)->cast_policy = cast_policy_from(policy);
        Py_RETURN_NONE;
    });
}

PyObject* primitive_method(PyObject* self, PyObject* args) {
    const char* name;
    int in_place;
    if (!PyArg_ParseTuple(args, "sp", &name, &in_place)) return nullptr;
    auto* m = reinterpret_cast<PyMethod*>(g_method_type->tp_alloc(g_method_type, 0));
    if (m == nullptr) return nullptr;
    m->vectorcall = method_vectorcall;
    m->primitive = prim_of(Py_NewRef(self));
    m->name = PyUnicode_InternFromString(name);
    m->in_place = in_place != 0;
    return reinterpret_cast<PyObject*>(m);
}

PyObject* primitive_repr(PyObject* self) {
    return PyUnicode_FromFormat("<mashal primitive %s>", prim_of(self)->prim->schema.text.c_str());
}

PyObject* primitive_reduce(PyObject* self, PyObject*) {
    return PyUnicode_FromString(prim_of(self)->prim->name.c_str());
}

PyObject* primitive_info(PyObject* self, void*) {
    // Everything the registry test and the documentation ask for.
    return guarded([&]() -> PyObject* {
        const Primitive& p = *prim_of(self)->prim;
        PyRef dict = checked(PyDict_New());
        auto put = [&](const char* key, PyRef value) {
            check_status(PyDict_SetItemString(dict.get(), key, value.get()));
        };
        put("name", checked(PyUnicode_FromString(p.name.c_str())));
        put("schema", checked(PyUnicode_FromString(p.schema.text.c_str())));
        static const char* const families[] = {"general", "pointwise", "view"};
        put("family", checked(PyUnicode_FromString(families[static_cast<int>(p.family)])));
        put("differentiable", PyRef::borrow(p.differentiable ? Py_True : Py_False));
        put("no_gradient", checked(PyUnicode_FromString(p.no_gradient.c_str())));
        PyRef covered = checked(PyList_New(0));
        for (size_t i = 0; i < p.schema.args.size(); i++)
            if (p.vjp && p.tensor_args >> i & 1 && p.vjp->covers(i))
                check_status(
                    PyList_Append(covered.get(), checked(PyUnicode_FromString(p.schema.args[i].name.c_str())).get()));
        put("gradient_of", std::move(covered));
        put("has_shape_rule",
            PyRef::borrow(p.shape || p.foreign_shape || p.family != Family::General ? Py_True : Py_False));
        bool kernel = p.kernel || p.foreign_kernel;
        PyRef dtypes = checked(PyList_New(0));
        if (p.family == Family::Pointwise) {
            for (int t = 0; t < kNumDTypes; t++) {
                DType out;
                if (p.find_loop(static_cast<DType>(t), &out) == nullptr) continue;
                kernel = true;
                check_status(PyList_Append(dtypes.get(), checked(dtype_to_python(static_cast<DType>(t))).get()));
            }
        }
        put("has_kernel", PyRef::borrow(kernel ? Py_True : Py_False));
        put("compute_dtypes", dtypes);
        put("in_place_ok", PyRef::borrow(p.in_place_ok ? Py_True : Py_False));
        PyRef args = checked(PyList_New(0));
        static const char* const types[] = {"Tensor", "Tensor[]",      "Number",   "int", "float",
                                            "bool",   "int[]",         "float[]",  "str", "dtype",
                                            "device", "memory_format", "Generator"};
        for (const ArgSpec& a : p.schema.args) {
            PyRef item = checked(Py_BuildValue("(ssO)", a.name.c_str(), types[static_cast<int>(a.type)],
                                               a.optional ? Py_True : Py_False));
            check_status(PyList_Append(args.get(), item.get()));
        }
        put("args", args);
        put("n_outputs", checked(PyLong_FromLong(p.schema.list_output ? -1 : static_cast<long>(p.schema.n_outputs))));
        return dict.release();
    });
}

template <PyObject* PyPrimitive::* member>
PyObject* get_object(PyObject* self, void*) {
    PyObject* o = prim_of(self)->*member;
    return Py_NewRef(o ? o : Py_None);
}
template <PyObject* PyPrimitive::* member>
int set_object(PyObject* self, PyObject* value, void*) {
    Py_XSETREF(prim_of(self)->*member, Py_XNewRef(value));
    return 0;
}

PyObject* primitive_name(PyObject* self, void*) { return PyUnicode_FromString(prim_of(self)->prim->name.c_str()); }

PyMethodDef primitive_methods[] = {
    {"_set_vjp", primitive_set_vjp, METH_VARARGS, nullptr},
    {"_set_no_gradient", primitive_set_no_gradient, METH_O, nullptr},
    {"_set_shape", primitive_set_shape, METH_O, nullptr},
    {"_set_kernel", primitive_set_kernel, METH_O, nullptr},
    {"_set_cast_policy", primitive_set_cast_policy, METH_O, nullptr},
    {"_method", primitive_method, METH_VARARGS, "The descriptor that makes this primitive a method (name, in_place)."},
    {"__reduce__", primitive_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef primitive_getset[] = {
    {"__name__", primitive_name, nullptr, nullptr, nullptr},
    {"__qualname__", primitive_name, nullptr, nullptr, nullptr},
    {"info", primitive_info, nullptr, nullptr, nullptr},
    {"_overload", get_object<&PyPrimitive::overload>, set_object<&PyPrimitive::overload>, nullptr, nullptr},
    {"_result_type", get_object<&PyPrimitive::result_type>, set_object<&PyPrimitive::result_type>, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef primitive_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyPrimitive, dict), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyPrimitive, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot primitive_slots[] = {{Py_tp_new, reinterpret_cast<void*>(primitive_new)},
                                 {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                 {Py_tp_repr, reinterpret_cast<void*>(primitive_repr)},
                                 {Py_tp_methods, primitive_methods},
                                 {Py_tp_getset, primitive_getset},
                                 {Py_tp_members, primitive_members},
                                 {0, nullptr}};
PyType_Spec primitive_spec = {"mashal._core.Primitive", sizeof(PyPrimitive), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, primitive_slots};

PyObject* method_get(PyObject* self, PyObject* instance, PyObject*) {
    if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}
PyObject* method_name(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyMethod*>(self)->name); }
PyObject* method_primitive(PyObject* self, void*) {
    return Py_NewRef(reinterpret_cast<PyObject*>(reinterpret_cast<PyMethod*>(self)->primitive));
}
PyObject* method_doc(PyObject* self, void*) {
    return PyObject_GetAttrString(reinterpret_cast<PyObject*>(reinterpret_cast<PyMethod*>(self)->primitive), "__doc__");
}
PyObject* method_repr(PyObject* self) {
    return PyUnicode_FromFormat("<method '%U' of mashal.Tensor objects>", reinterpret_cast<PyMethod*>(self)->name);
}
PyGetSetDef method_getset[] = {{"__name__", method_name, nullptr, nullptr, nullptr},
                               {"__doc__", method_doc, nullptr, nullptr, nullptr},
                               {"primitive", method_primitive, nullptr, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef method_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PyMethod, vectorcall), READONLY, nullptr},
                                {nullptr, 0, 0, 0, nullptr}};
PyType_Slot method_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                              {Py_tp_descr_get, reinterpret_cast<void*>(method_get)},
                              {Py_tp_repr, reinterpret_cast<void*>(method_repr)},
                              {Py_tp_getset, method_getset},
                              {Py_tp_members, method_members},
                              {0, nullptr}};
PyType_Spec method_spec = {
    "mashal._core.PrimitiveMethod", sizeof(PyMethod), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    method_slots};

}  // namespace

void init_primitive_type(PyObject* module) {
    g_primitive_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&primitive_spec)).release());
    g_method_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&method_spec)).release());
    check_status(PyModule_AddObjectRef(module, "Primitive", reinterpret_cast<PyObject*>(g_primitive_type)));
    check_status(PyModule_AddObjectRef(module, "PrimitiveMethod", reinterpret_cast<PyObject*>(g_method_type)));
}

}  // namespace mashal
