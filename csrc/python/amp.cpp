// Autocast from Python: the state of a thread, and calls of composites that have a cast policy.
#include "dispatch/autocast.h"

#include "python/common.h"

namespace mashal {

CastPolicy cast_policy_from(PyObject* name) {
    std::string_view text = utf8(name);
    if (text == "lower") return CastPolicy::Lower;
    if (text == "float32") return CastPolicy::Float32;
    if (text == "promote") return CastPolicy::Promote;
    if (text == "exempt") return CastPolicy::Exempt;
    raise_error(ErrorKind::Value, "op", "unknown cast policy '", text, "'");
}

namespace {

int device_index(PyObject* o) { return static_cast<int>(parse_device(utf8(o)).type); }

PyObject* autocast_on(PyObject*, PyObject*) { return PyBool_FromLong(autocast_state().any); }

// (device type) -> whether it is on
PyObject* autocast_enabled(PyObject*, PyObject* device) {
    return guarded([&] { return PyBool_FromLong(autocast_state().enabled[device_index(device)]); });
}
PyObject* autocast_enable(PyObject*, PyObject* args) {
    PyObject* device;
    int on;
    if (!PyArg_ParseTuple(args, "Up", &device, &on)) return nullptr;
    return guarded([&]() -> PyObject* {
        autocast_state().enable(static_cast<DeviceType>(device_index(device)), on != 0);
        Py_RETURN_NONE;
    });
}
PyObject* autocast_dtype(PyObject*, PyObject* device) {
    return guarded([&] { return dtype_to_python(autocast_state().dtype[device_index(device)]); });
}
PyObject* autocast_set_dtype(PyObject*, PyObject* args) {
    PyObject *device, *dtype;
    if (!PyArg_ParseTuple(args, "UO", &device, &dtype)) return nullptr;
    return guarded([&]() -> PyObject* {
        DType t = dtype_from(dtype);
        autocast_state().dtype[device_index(device)] = t;
        Py_RETURN_NONE;
    });
}
template <int step>
PyObject* autocast_nest(PyObject*, PyObject*) {
    return PyLong_FromLong(autocast_state().nesting += step);
}
PyObject* autocast_cache_enabled(PyObject*, PyObject*) { return PyBool_FromLong(autocast_state().cache); }
PyObject* autocast_enable_cache(PyObject*, PyObject* value) {
    int on = PyObject_IsTrue(value);
    if (on < 0) return nullptr;
    autocast_state().cache = on != 0;
    Py_RETURN_NONE;
}
PyObject* autocast_clear_cache(PyObject*, PyObject*) {
    clear_autocast_cache();
    Py_RETURN_NONE;
}

template <class F>
void each_tensor(PyObject* o, F&& f) {
    if (is_tensor(o)) {
        f(o);
    } else if (PyTuple_Check(o) || PyList_Check(o)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) each_tensor(PySequence_Fast_GET_ITEM(o, i), f);
    }
}
PyRef cast_object(const Autocast& autocast, PyObject* o) {
    if (is_tensor(o)) {
        Tensor t = as_tensor(o);
        Tensor cast = autocast.cast(t);
        return cast.is_same(t) ? PyRef::borrow(o) : PyRef::steal(wrap(std::move(cast)));
    }
    if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return PyRef::borrow(o);
    PyRef list = checked(PyList_New(0));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
        check_status(PyList_Append(list.get(), cast_object(autocast, PySequence_Fast_GET_ITEM(o, i)).get()));
    return PyTuple_CheckExact(o) ? checked(PyList_AsTuple(list.get())) : list;
}

// call_autocast(function, policy, args, kwargs): the call with cast arguments, and autocast off inside it.
PyObject* call_autocast(PyObject*, PyObject* args) {
    PyObject *fn, *name, *positional, *named;
    if (!PyArg_ParseTuple(args, "OUO!O!", &fn, &name, &PyTuple_Type, &positional, &PyDict_Type, &named)) return nullptr;
    return guarded([&] {
        CastPolicy policy = cast_policy_from(name);
        PyRef cast_args = PyRef::borrow(positional), cast_named = PyRef::borrow(named);
        if (policy != CastPolicy::Exempt) {
            Autocast autocast(policy);
            auto see = [&](PyObject* t) { autocast.see(as_tensor(t)); };
            each_tensor(positional, see);
            cast_named = checked(PyDict_Copy(named));
            PyObject *key, *value;
            Py_ssize_t at = 0;
            while (PyDict_Next(named, &at, &key, &value)) each_tensor(value, see);
            cast_args = cast_object(autocast, positional);
            at = 0;
            while (PyDict_Next(named, &at, &key, &value))
                check_status(PyDict_SetItem(cast_named.get(), key, cast_object(autocast, value).get()));
        }
        AutocastOff exact;
        return checked(PyObject_Call(fn, cast_args.get(), cast_named.get())).release();
    });
}

PyMethodDef functions[] = {
    {"autocast_on", autocast_on, METH_NOARGS, "Whether this thread is in an autocast region of any device."},
    {"autocast_enabled", autocast_enabled, METH_O, nullptr},
    {"autocast_enable", autocast_enable, METH_VARARGS, nullptr},
    {"autocast_dtype", autocast_dtype, METH_O, nullptr},
    {"autocast_set_dtype", autocast_set_dtype, METH_VARARGS, nullptr},
    {"autocast_increment_nesting", autocast_nest<1>, METH_NOARGS, nullptr},
    {"autocast_decrement_nesting", autocast_nest<-1>, METH_NOARGS, nullptr},
    {"autocast_cache_enabled", autocast_cache_enabled, METH_NOARGS, nullptr},
    {"autocast_enable_cache", autocast_enable_cache, METH_O, nullptr},
    {"autocast_clear_cache", autocast_clear_cache, METH_NOARGS, nullptr},
    {"call_autocast", call_autocast, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_amp(PyObject* module) { check_status(PyModule_AddFunctions(module, functions)); }

}  // namespace mashal
