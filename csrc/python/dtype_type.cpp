// dtype, device, memory_format, layout, Size: the small value types.
#include "core/generator.h"
#include "python/common.h"

namespace mashal {

PyTypeObject* g_dtype_type = nullptr;
PyTypeObject* g_size_type = nullptr;

namespace {

struct PyDType {
    PyObject_HEAD DType value;
};
struct PyDevice {
    PyObject_HEAD Device value;
};
struct PyFormat {
    PyObject_HEAD MemoryFormat value;
};

PyTypeObject* g_device_type = nullptr;
PyTypeObject* g_format_type = nullptr;
PyObject* g_dtypes[kNumDTypes];
PyObject* g_formats[4];
const char* const kFormatNames[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};

// What the texts of these values begin with: "torch" where the package runs under that name.
std::string g_display_name = "mashal";

DType value_of(PyObject* self) { return reinterpret_cast<PyDType*>(self)->value; }
Device device_of(PyObject* self) { return reinterpret_cast<PyDevice*>(self)->value; }

PyTypeObject* make_type(PyType_Spec& spec, PyObject* bases = nullptr) {
    return reinterpret_cast<PyTypeObject*>(
        checked(bases ? PyType_FromSpecWithBases(&spec, bases) : PyType_FromSpec(&spec)).release());
}

// ---- dtype ----
PyObject* dtype_repr(PyObject* self) {
    return PyUnicode_FromFormat("%s.%s", g_display_name.c_str(), dtype_name(value_of(self)));
}
PyObject* dtype_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(dtype_name(value_of(self))); }
PyObject* dtype_to_real(PyObject* self, PyObject*) { return dtype_to_python(real_dtype(value_of(self))); }
PyObject* dtype_to_complex(PyObject* self, PyObject*) { return dtype_to_python(complex_dtype(value_of(self))); }
PyObject* dtype_is_floating(PyObject* self, void*) { return PyBool_FromLong(is_floating(value_of(self))); }
PyObject* dtype_is_complex(PyObject* self, void*) { return PyBool_FromLong(is_complex(value_of(self))); }
PyObject* dtype_is_signed(PyObject* self, void*) {
    return PyBool_FromLong(value_of(self) != DType::Bool && value_of(self) != DType::U8);
}
PyObject* dtype_itemsize(PyObject* self, void*) { return PyLong_FromLong(item_size(value_of(self))); }
PyObject* dtype_module(PyObject*, void*) { return PyUnicode_FromString("mashal"); }
PyObject* dtype_legacy(PyObject* self, void*) { return PyUnicode_FromString(dtype_legacy_name(value_of(self))); }
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {"to_real", dtype_to_real, METH_NOARGS, nullptr},
                               {"to_complex", dtype_to_complex, METH_NOARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyGetSetDef dtype_getset[] = {{"is_floating_point", dtype_is_floating, nullptr, nullptr, nullptr},
                              {"is_complex", dtype_is_complex, nullptr, nullptr, nullptr},
                              {"is_signed", dtype_is_signed, nullptr, nullptr, nullptr},
                              {"itemsize", dtype_itemsize, nullptr, nullptr, nullptr},
                              {"__module__", dtype_module, nullptr, nullptr, nullptr},
                              {"_legacy_name", dtype_legacy, nullptr, nullptr, nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_getset, dtype_getset},
                             {0, nullptr}};
PyType_Spec dtype_spec = {"mashal.dtype", sizeof(PyDType), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          dtype_slots};

// ---- device ----
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"type", "index", nullptr};
    PyObject* type;
    PyObject* index = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", const_cast<char**>(names), &type, &index)) return nullptr;
    return guarded([&]() -> PyObject* {
        Device d = device_from(type);
        if (index != Py_None) {
            MASHAL_CHECK(d.index < 0, "device",
                         "type (string) must not include an index because index was passed explicitly");
            int64_t i = int_from(index);
            MASHAL_CHECK(i >= 0 && i < 128, "device", "device index must be in [0, 127], got ", i);
            d.index = static_cast<int16_t>(i);
        }
        return device_to_python(d);
    });
}
PyObject* device_repr(PyObject* self) {
    Device d = device_of(self);
    std::string text = device_text({d.type, -1});
    if (d.index >= 0)
        return PyUnicode_FromFormat("device(type='%s', index=%d)", text.c_str(), static_cast<int>(d.index));
    return PyUnicode_FromFormat("device(type='%s')", text.c_str());
}
PyObject* device_str(PyObject* self) { return PyUnicode_FromString(device_text(device_of(self)).c_str()); }
Py_hash_t device_hash(PyObject* self) {
    Device d = device_of(self);
    return static_cast<Py_hash_t>(d.type) * 1000 + d.index + 1;
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
    if (Py_TYPE(a) != g_device_type || Py_TYPE(b) != g_device_type || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((device_of(a) == device_of(b)) == (op == Py_EQ));
}
PyObject* device_type_name(PyObject* self, void*) {
    return PyUnicode_FromString(device_text({device_of(self).type, -1}).c_str());
}
PyObject* device_index(PyObject* self, void*) {
    if (device_of(self).index < 0) Py_RETURN_NONE;
    return PyLong_FromLong(device_of(self).index);
}
PyObject* device_reduce(PyObject* self, PyObject*) { return Py_BuildValue("(O(N))", Py_TYPE(self), device_str(self)); }
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyGetSetDef device_getset[] = {{"type", device_type_name, nullptr, nullptr, nullptr},
                               {"index", device_index, nullptr, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot device_slots[] = {{Py_tp_new, reinterpret_cast<void*>(device_new)},
                              {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
                              {Py_tp_str, reinterpret_cast<void*>(device_str)},
                              {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
                              {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
                              {Py_tp_methods, device_methods},
                              {Py_tp_getset, device_getset},
                              {0, nullptr}};
PyType_Spec device_spec = {"mashal.device", sizeof(PyDevice), 0, Py_TPFLAGS_DEFAULT, device_slots};

// ---- memory_format ----
PyObject* format_repr(PyObject* self) {
    return PyUnicode_FromFormat("%s.%s", g_display_name.c_str(),
                                kFormatNames[static_cast<int>(reinterpret_cast<PyFormat*>(self)->value)]);
}
PyObject* format_reduce(PyObject* self, PyObject*) {
    return PyUnicode_FromString(kFormatNames[static_cast<int>(reinterpret_cast<PyFormat*>(self)->value)]);
}
PyMethodDef format_methods[] = {{"__reduce__", format_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyGetSetDef format_getset[] = {{"__module__", dtype_module, nullptr, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot format_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(format_repr)},
                              {Py_tp_methods, format_methods},
                              {Py_tp_getset, format_getset},
                              {0, nullptr}};
PyType_Spec format_spec = {"mashal.memory_format", sizeof(PyFormat), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, format_slots};

// ---- Size: a tuple of ints ----
PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    return guarded([&]() -> PyObject* {
        PyRef tuple = checked(PyTuple_Type.tp_new(type, args, kwargs));
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); i++) {
            PyObject* item = PyTuple_GET_ITEM(tuple.get(), i);
            if (PyLong_CheckExact(item)) continue;
            if (!PyIndex_Check(item))
                raise_error(ErrorKind::Type, "", "mashal.Size() takes an iterable of 'int' (item ", i, " is '",
                            Py_TYPE(item)->tp_name, "')");
            PyTuple_SET_ITEM(tuple.get(), i, checked(PyNumber_Index(item)).release());
            Py_DECREF(item);
        }
        return tuple.release();
    });
}
PyObject* size_repr(PyObject* self) {
    PyRef list = PyRef::steal(PySequence_List(self));
    if (!list) return nullptr;
    return PyUnicode_FromFormat("%s.Size(%R)", g_display_name.c_str(), list.get());
}
PyObject* size_numel(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        int64_t n = 1;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); i++) n *= int_from(PyTuple_GET_ITEM(self, i));
        return PyLong_FromLongLong(n);
    });
}
PyObject* as_size(PyObject* tuple) {
    if (tuple == nullptr) return nullptr;
    if (!PyTuple_Check(tuple)) return tuple;
    PyRef held = PyRef::steal(tuple);
    return PyObject_CallOneArg(reinterpret_cast<PyObject*>(g_size_type), tuple);
}
PyObject* size_subscript(PyObject* self, PyObject* key) {
    PyObject* item = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
    return PySlice_Check(key) ? as_size(item) : item;
}
PyObject* size_concat(PyObject* a, PyObject* b) {
    if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
    return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_repeat(PyObject* self, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(self, n)); }
PyObject* size_reduce(PyObject* self, PyObject*) {
    PyRef list = PyRef::steal(PySequence_List(self));
    if (!list) return nullptr;
    PyRef plain = PyRef::steal(PyList_AsTuple(list.get()));
    return Py_BuildValue("(O(O))", g_size_type, plain.get());
}
PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, "The product of the sizes."},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {nullptr, nullptr, 0, nullptr}};
PyType_Slot size_slots[] = {{Py_tp_new, reinterpret_cast<void*>(size_new)},
                            {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
                            {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
                            {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
                            {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
                            {Py_tp_methods, size_methods},
                            {0, nullptr}};
PyType_Spec size_spec = {"mashal.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, size_slots};

// ---- the name in texts ----
PyObject* get_display_name(PyObject*, PyObject*) { return PyUnicode_FromString(g_display_name.c_str()); }
PyObject* set_display_name(PyObject*, PyObject* name) {
    return guarded([&]() -> PyObject* {
        if (!PyUnicode_Check(name)) raise_error(ErrorKind::Type, "set_display_name", "name must be str");
        g_display_name = utf8(name);
        Py_RETURN_NONE;
    });
}
PyMethodDef module_functions[] = {{"display_name", get_display_name, METH_NOARGS, nullptr},
                                  {"set_display_name", set_display_name, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool is_dtype(PyObject* o) {
    return Py_TYPE(o) == g_dtype_type || o == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
           o == reinterpret_cast<PyObject*>(&PyLong_Type) || o == reinterpret_cast<PyObject*>(&PyBool_Type) ||
           o == reinterpret_cast<PyObject*>(&PyComplex_Type);
}
DType dtype_from(PyObject* o) {
    if (Py_TYPE(o) == g_dtype_type) return value_of(o);
    if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::F64;
    if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::I64;
    if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
    if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::C128;
    raise_error(ErrorKind::Type, "", "dtype must be mashal.dtype, not ", Py_TYPE(o)->tp_name);
}
PyObject* dtype_to_python(DType t) { return Py_NewRef(g_dtypes[static_cast<int>(t)]); }

Device device_from(PyObject* o) {
    if (Py_TYPE(o) == g_device_type) return device_of(o);
    if (PyUnicode_Check(o)) return parse_device(utf8(o));
    if (PyLong_Check(o)) {
        int64_t i = int_from(o);
        MASHAL_CHECK(i >= 0 && i < 128, "device", "device index must be in [0, 127], got ", i);
        return {DeviceType::CUDA, static_cast<int16_t>(i)};
    }
    raise_error(ErrorKind::Type, "", "device must be mashal.device, str or int, not ", Py_TYPE(o)->tp_name);
}
PyObject* device_to_python(Device d) {
    auto* o = reinterpret_cast<PyDevice*>(checked(g_device_type->tp_alloc(g_device_type, 0)).release());
    o->value = d;
    return reinterpret_cast<PyObject*>(o);
}

MemoryFormat memory_format_from(PyObject* o) {
    if (Py_TYPE(o) != g_format_type)
        raise_error(ErrorKind::Type, "", "memory_format must be mashal.memory_format, not ", Py_TYPE(o)->tp_name);
    return reinterpret_cast<PyFormat*>(o)->value;
}
PyObject* memory_format_to_python(MemoryFormat m) { return Py_NewRef(g_formats[static_cast<int>(m)]); }

void init_dtype_type(PyObject* module) {
    check_status(PyModule_AddFunctions(module, module_functions));
    g_dtype_type = make_type(dtype_spec);
    g_device_type = make_type(device_spec);
    g_format_type = make_type(format_spec);
    PyRef bases = checked(PyTuple_Pack(1, &PyTuple_Type));
    g_size_type = make_type(size_spec, bases.get());
    for (int i = 0; i < kNumDTypes; i++) {
        g_dtypes[i] = checked(g_dtype_type->tp_alloc(g_dtype_type, 0)).release();
        reinterpret_cast<PyDType*>(g_dtypes[i])->value = static_cast<DType>(i);
        check_status(PyModule_AddObjectRef(module, dtype_name(static_cast<DType>(i)), g_dtypes[i]));
    }
    for (int i = 0; i < 4; i++) {
        g_formats[i] = checked(g_format_type->tp_alloc(g_format_type, 0)).release();
        reinterpret_cast<PyFormat*>(g_formats[i])->value = static_cast<MemoryFormat>(i);
        check_status(PyModule_AddObjectRef(module, kFormatNames[i], g_formats[i]));
    }
    auto add = [&](const char* name, PyTypeObject* type) {
        check_status(PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type)));
    };
    add("dtype", g_dtype_type);
    add("device", g_device_type);
    add("memory_format", g_format_type);
    add("Size", g_size_type);
}

}  // namespace mashal
