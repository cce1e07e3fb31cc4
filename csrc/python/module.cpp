// The extension module: a table of contents.
#include <nanobind/nanobind.h>

#include "core/allocator.h"
#include "core/parallel.h"
#include "cpu/layout.h"
#include "cpu/pointwise_loops.h"
#include "python/common.h"

namespace nb = nanobind;

namespace mashal {

namespace {

PyObject* set_python_hooks(PyObject*, PyObject* args) {
    PyObject *torch_function, *tensor_repr;
    if (!PyArg_ParseTuple(args, "OO", &torch_function, &tensor_repr)) return nullptr;
    Py_XSETREF(g_hooks.torch_function, Py_NewRef(torch_function));
    Py_XSETREF(g_hooks.tensor_repr, Py_NewRef(tensor_repr));
    Py_RETURN_NONE;
}

PyObject* py_result_type(PyObject*, PyObject* args) {
    return guarded([&] {
        std::vector<Value> values;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
            PyObject* o = PyTuple_GET_ITEM(args, i);
            if (is_tensor(o))
                values.push_back(Value(as_tensor(o)));
            else if (is_number(o))
                values.push_back(Value::number(scalar_from(o)));
            else
                raise_error(ErrorKind::Type, "result_type", "arguments must be Tensors or numbers, not ",
                            Py_TYPE(o)->tp_name);
        }
        SmallVec<const Value*, 4> pointers;
        for (const Value& v : values) pointers.push_back(&v);
        return dtype_to_python(result_type(pointers));
    });
}
PyObject* py_promote_types(PyObject*, PyObject* args) {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
    return guarded([&] { return dtype_to_python(promote_dtypes(dtype_from(a), dtype_from(b))); });
}
PyObject* py_can_cast(PyObject*, PyObject* args) {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
    return guarded([&] { return PyBool_FromLong(can_cast(dtype_from(a), dtype_from(b))); });
}
PyObject* py_default_dtype(PyObject*, PyObject*) { return dtype_to_python(default_dtype()); }
PyObject* py_set_default_dtype(PyObject*, PyObject* o) {
    return guarded([&]() -> PyObject* {
        DType t = dtype_from(o);
        MASHAL_CHECK_AS(Type, is_floating(t), "set_default_dtype",
                        "only floating-point types are supported as the default type");
        set_default_dtype(t);
        Py_RETURN_NONE;
    });
}
PyObject* py_default_device(PyObject*, PyObject*) {
    return guarded([] { return device_to_python(default_device()); });
}
PyObject* py_set_default_device(PyObject*, PyObject* o) {
    return guarded([&]() -> PyObject* {
        set_default_device(device_from(o));
        Py_RETURN_NONE;
    });
}
PyObject* py_resize_output(PyObject*, PyObject* args) {
    const char* name;
    PyObject *out, *sizes;
    if (!PyArg_ParseTuple(args, "sO!O", &name, g_tensor_type, &out, &sizes)) return nullptr;
    return guarded([&]() -> PyObject* {
        resize_output(name, as_tensor(out), ints_from(sizes, name));
        Py_RETURN_NONE;
    });
}
// Whether the elements do not lie as the strides say, which only tests should care for.
PyObject* py_is_opaque(PyObject*, PyObject* t) {
    return guarded([&]() -> PyObject* {
        MASHAL_CHECK_AS(Type, PyObject_TypeCheck(t, g_tensor_type), "is_opaque", "expects a Tensor");
        return PyBool_FromLong(is_opaque(as_tensor(t)));
    });
}
PyObject* py_empty(PyObject*, PyObject* args) {
    // (sizes, strides or None, dtype, device)
    PyObject *sizes, *strides, *dtype, *device;
    if (!PyArg_ParseTuple(args, "OOOO", &sizes, &strides, &dtype, &device)) return nullptr;
    return guarded([&] {
        IntVec shape = ints_from(sizes, "empty");
        Device d = device == Py_None ? Device{} : device_from(device);
        DType t = dtype == Py_None ? default_dtype() : dtype_from(dtype);
        if (strides == Py_None) return wrap(empty(shape, t, d));
        IntVec steps = ints_from(strides, "empty_strided");
        MASHAL_CHECK(steps.size() == shape.size(), "empty_strided", "dimensionality of sizes (", shape.size(),
                     ") must match dimensionality of strides (", steps.size(), ")");
        return wrap(empty_strided(shape, steps, t, d));
    });
}
PyObject* py_registered_op_names(PyObject*, PyObject*) {
    return guarded([] {
        PyRef list = checked(PyList_New(0));
        for (const std::string& name : registered_op_names())
            check_status(PyList_Append(list.get(), checked(PyUnicode_FromString(name.c_str())).get()));
        return list.release();
    });
}

PyMethodDef functions[] = {{"set_python_hooks", set_python_hooks, METH_VARARGS, nullptr},
                           {"result_type", py_result_type, METH_VARARGS, nullptr},
                           {"promote_types", py_promote_types, METH_VARARGS, nullptr},
                           {"can_cast", py_can_cast, METH_VARARGS, nullptr},
                           {"get_default_dtype", py_default_dtype, METH_NOARGS, nullptr},
                           {"set_default_dtype", py_set_default_dtype, METH_O, nullptr},
                           {"get_default_device", py_default_device, METH_NOARGS, nullptr},
                           {"set_default_device", py_set_default_device, METH_O, nullptr},
                           {"resize_output", py_resize_output, METH_VARARGS, nullptr},
                           {"empty", py_empty, METH_VARARGS, nullptr},
                           {"is_opaque", py_is_opaque, METH_O, nullptr},
                           {"registered_op_names", py_registered_op_names, METH_NOARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

}  // namespace mashal

NB_MODULE(_core, m) {
    using namespace mashal;
    try {
        init_dtype_type(m.ptr());
        init_tensor_type(m.ptr());
        init_primitive_type(m.ptr());
        init_autograd(m.ptr());
        init_interop(m.ptr());
        init_amp(m.ptr());
        init_profiler(m.ptr());
        init_generator_type(m.ptr());
        init_shared(m.ptr());
        check_status(PyModule_AddFunctions(m.ptr(), functions));
    } catch (...) {
        translate_exception();
        throw nb::python_error();
    }
    m.def("get_num_threads", &num_threads, "The number of threads that kernels use.");
    m.def("set_num_threads", [](int n) {
        if (n <= 0) raise_error(ErrorKind::Runtime, "set_num_threads", "expects a positive integer, got ", n);
        set_num_threads(n);
    });
    m.def("active_isa", &active_isa, "The instruction set of the kernels: baseline, avx2 or avx512.");
    m.def("empty_cache", &empty_memory_cache, "Returns cached CPU memory to the system.");
    m.def("reset_peak_memory", &reset_peak_memory);
    m.def("memory_stats", [] {
        MemoryStats s = memory_stats();
        nb::dict d;
        d["allocated"] = s.allocated;
        d["peak_allocated"] = s.peak_allocated;
        d["cached"] = s.cached;
        d["allocations"] = s.allocations;
        return d;
    });
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const Error&) {
            translate_exception();
        }
    });
}
