// mashal.Generator: a stream of random numbers, one Python object per C++ object.
#include "core/generator.h"

#include "cpu/copy.h"
#include "python/common.h"

namespace mashal {
namespace {

struct PyGenerator {
    PyObject_HEAD Generator* impl;
};

PyTypeObject* g_generator_type = nullptr;

Generator& stream_of(PyObject* self) { return *reinterpret_cast<PyGenerator*>(self)->impl; }

PyObject* wrap_generator(Ref<Generator> g, PyTypeObject* type) {
    if (void* owner = g->owner()) {
        g.release();  // our reference is one of the face's
        return static_cast<PyObject*>(owner);
    }
    auto* face = reinterpret_cast<PyGenerator*>(checked(type->tp_alloc(type, 0)).release());
    face->impl = g.get();
    // Every C++ reference, ours included, becomes one of the face's; ours is what we return.
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(face), static_cast<Py_ssize_t>(g->use_count()));
    g->set_owner(face);
    g.release();
    return reinterpret_cast<PyObject*>(face);
}

// Seeds are 64 bits; negative ones count from 2^64 downwards.
uint64_t seed_from(PyObject* o) {
    if (PyBool_Check(o) || !PyIndex_Check(o))
        raise_error(ErrorKind::Runtime, "manual_seed", "seed must be an int, got ", Py_TYPE(o)->tp_name,
                    ". Pass int(seed).");
    PyRef number = checked(PyNumber_Index(o));
    int overflow = 0;
    const int64_t low = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    if (overflow == 0) return static_cast<uint64_t>(low);
    if (overflow > 0) {
        const uint64_t high = PyLong_AsUnsignedLongLong(number.get());
        if (PyErr_Occurred() == nullptr) return high;
        PyErr_Clear();
    }
    raise_error(ErrorKind::Value, "manual_seed",
                "seed must be in [-2^63, 2^64). Pass seed % 2**64 to use the low 64 bits.");
}

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"device", nullptr};
    PyObject* device = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device)) return nullptr;
    return guarded([&]() -> PyObject* {
        if (device != Py_None) {
            const Device d = device_from(device);
            MASHAL_CHECK(d.is_cpu(), "Generator", "device must be 'cpu', got '", device_text(d),
                         "'. Other devices draw from the CPU generator.");
        }
        return wrap_generator(make_ref<Generator>(), type);
    });
}
void generator_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    auto* face = reinterpret_cast<PyGenerator*>(self);
    if (Generator* g = std::exchange(face->impl, nullptr)) g->owner_died();
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* manual_seed(PyObject* self, PyObject* seed) {
    return guarded([&] {
        const uint64_t value = seed_from(seed);
        Generator& g = stream_of(self);
        std::lock_guard lock(g.mutex);
        g.manual_seed(value);
        return Py_NewRef(self);
    });
}
PyObject* seed(PyObject* self, PyObject*) {
    return guarded([&] {
        Generator& g = stream_of(self);
        std::lock_guard lock(g.mutex);
        return PyLong_FromUnsignedLongLong(g.seed());
    });
}
PyObject* initial_seed(PyObject* self, PyObject*) {
    return guarded([&] {
        Generator& g = stream_of(self);
        std::lock_guard lock(g.mutex);
        return PyLong_FromUnsignedLongLong(g.initial_seed());
    });
}
PyObject* get_state(PyObject* self, PyObject*) {
    return guarded([&] {
        const int64_t sizes[] = {static_cast<int64_t>(Generator::kStateBytes)};
        Tensor state = empty(sizes, DType::U8);
        Generator& g = stream_of(self);
        {
            std::lock_guard lock(g.mutex);
            const auto bytes = g.get_state();
            std::memcpy(state.data(), bytes.data(), bytes.size());
        }
        return wrap(std::move(state));
    });
}
PyObject* set_state(PyObject* self, PyObject* new_state) {
    return guarded([&] {
        MASHAL_CHECK_AS(Type, is_tensor(new_state), "set_state", "new_state must be a uint8 tensor, got ",
                        Py_TYPE(new_state)->tp_name, ". Pass what get_state() returned.");
        Tensor state = as_tensor(new_state);
        MASHAL_CHECK_AS(Type, state.dtype() == DType::U8 && state.device().is_cpu(), "set_state",
                        "new_state must be a uint8 tensor on the CPU, got new_state ", text(state), " on ",
                        device_text(state.device()), ". Pass what get_state() returned.");
        state = contiguous(state);
        Generator& g = stream_of(self);
        std::lock_guard lock(g.mutex);
        g.set_state({state.data<std::byte>(), static_cast<size_t>(state.numel())});
        return Py_NewRef(self);
    });
}
PyObject* clone_state(PyObject* self, PyObject*) {
    return guarded([&] {
        Ref<Generator> copy;
        {
            Generator& g = stream_of(self);
            std::lock_guard lock(g.mutex);
            copy = g.clone();
        }
        return wrap_generator(std::move(copy), Py_TYPE(self));
    });
}
PyObject* no_offset(PyObject*, PyObject*) {
    return guarded([]() -> PyObject* { raise_error(ErrorKind::Runtime, "", "CPU Generator does not use offset"); });
}
PyObject* generator_device(PyObject*, void*) {
    return guarded([] { return device_to_python({DeviceType::CPU, -1}); });
}

// (type, (device,), (seed, offset, state)), the form PyTorch pickles.
PyObject* generator_reduce(PyObject* self, PyObject*) {
    return guarded([&] {
        PyRef device = checked(generator_device(self, nullptr));
        PyRef seed = checked(initial_seed(self, nullptr));
        PyRef state = checked(get_state(self, nullptr));
        return Py_BuildValue("(O(O)(OOO))", Py_TYPE(self), device.get(), seed.get(), Py_None, state.get());
    });
}
PyObject* generator_setstate(PyObject* self, PyObject* saved) {
    return guarded([&]() -> PyObject* {
        MASHAL_CHECK_AS(Type, PyTuple_Check(saved) && PyTuple_GET_SIZE(saved) == 3, "Generator",
                        "the pickled state must be (seed, offset, state)");
        checked(manual_seed(self, PyTuple_GET_ITEM(saved, 0)));
        checked(set_state(self, PyTuple_GET_ITEM(saved, 2)));
        Py_RETURN_NONE;
    });
}

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O, "manual_seed(seed): restarts the stream from `seed`; returns self."},
    {"seed", seed, METH_NOARGS, "seed(): restarts the stream from a seed of the operating system; returns the seed."},
    {"initial_seed", initial_seed, METH_NOARGS, "initial_seed(): the seed that the stream was started from."},
    {"get_state", get_state, METH_NOARGS, "get_state(): the state as a uint8 tensor."},
    {"set_state", set_state, METH_O, "set_state(new_state): continues from what get_state() returned."},
    {"clone_state", clone_state, METH_NOARGS, "clone_state(): another generator in the same state."},
    {"get_offset", no_offset, METH_NOARGS, "get_offset(): raises; the CPU stream has no offset."},
    {"set_offset", no_offset, METH_O, "set_offset(offset): raises; the CPU stream has no offset."},
    {"__reduce__", generator_reduce, METH_NOARGS, nullptr},
    {"__setstate__", generator_setstate, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef getset[] = {{"device", generator_device, nullptr, "The device whose numbers it makes.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(generator_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc, const_cast<char*>("Generator(device='cpu')\n--\n\n"
                                  "A stream of random numbers, seeded with PyTorch's default seed.")},
    {0, nullptr}};
PyType_Spec spec = {"mashal.Generator", sizeof(PyGenerator), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

PyObject* default_generator_to_python(PyObject*, PyObject*) {
    return guarded([] { return generator_to_python(default_generator()); });
}
PyMethodDef functions[] = {{"default_generator", default_generator_to_python, METH_NOARGS,
                            "default_generator(): the generator used when none is given."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

Ref<RefCounted> generator_from(PyObject* o) {
    if (!PyObject_TypeCheck(o, g_generator_type)) return nullptr;
    return Ref<RefCounted>(&stream_of(o));
}

PyObject* generator_to_python(Ref<RefCounted> g) {
    if (!g) Py_RETURN_NONE;
    return wrap_generator(Ref<Generator>(static_cast<Generator*>(g.get())), g_generator_type);
}

void init_generator_type(PyObject* module) {
    g_generator_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
    check_status(PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(g_generator_type)));
    check_status(PyModule_AddFunctions(module, functions));
}

}  // namespace mashal
