// The profiler from Python: on and off, ranges of the user's own, and what was recorded.
#include "dispatch/profile.h"

#include "python/common.h"

namespace mashal {

namespace {

// The Python frames of this thread, innermost first, as (code, line) pairs: they are made text when the profile is
// read.
Ref<RefCounted> capture_frames() {
    PyRef list = checked(PyList_New(0));
    PyRef frame = PyRef::steal(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
    while (frame) {
        auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
        PyRef code = PyRef::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
        PyRef line = checked(PyLong_FromLong(PyFrame_GetLineNumber(f)));
        check_status(PyList_Append(list.get(), checked(PyTuple_Pack(2, code.get(), line.get())).get()));
        frame = PyRef::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
    }
    return make_ref<PyHolder>(std::move(list));
}

// profiler_start(shapes, memory, stack)
PyObject* profiler_start(PyObject*, PyObject* args) {
    int shapes, memory, stack;
    if (!PyArg_ParseTuple(args, "ppp", &shapes, &memory, &stack)) return nullptr;
    if (g_profile != nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "Profiler is already enabled on this thread");
        return nullptr;
    }
    auto* profile = new Profile;
    profile->shapes = shapes != 0;
    profile->memory = memory != 0;
    profile->stack = stack != 0;
    g_profile = profile;
    Py_RETURN_NONE;
}

PyRef event_to_python(const ProfileEvent& e) {
    PyRef shapes = PyRef::borrow(Py_None), dtypes = PyRef::borrow(Py_None);
    if (e.has_shapes) {
        shapes = checked(PyList_New(0));
        dtypes = checked(PyList_New(0));
        for (const IntVec& s : e.shapes) {
            PyRef sizes = checked(ints_to_python(s));
            check_status(PyList_Append(shapes.get(), checked(PySequence_List(sizes.get())).get()));
        }
        for (const char* d : e.dtypes)
            check_status(PyList_Append(dtypes.get(), checked(PyUnicode_FromString(d)).get()));
    }
    PyObject* stack = e.stack ? static_cast<PyHolder&>(*e.stack).object.get() : Py_None;
    PyRef name = checked(PyUnicode_FromStringAndSize(e.name.data(), static_cast<Py_ssize_t>(e.name.size())));
    return checked(Py_BuildValue("(OiiLLLKOOO)", name.get(), static_cast<int>(e.kind), static_cast<int>(e.parent),
                                 static_cast<long long>(e.start), static_cast<long long>(e.end),
                                 static_cast<long long>(e.memory), static_cast<unsigned long long>(e.sequence),
                                 shapes.get(), dtypes.get(), stack));
}

// profiler_stop() -> [(name, kind, parent, start, end, memory, sequence, shapes, dtypes, frames)]
PyObject* profiler_stop(PyObject*, PyObject*) {
    if (g_profile == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "Can't disable Kineto profiler when it's not running");
        return nullptr;
    }
    std::unique_ptr<Profile> profile(std::exchange(g_profile, nullptr));
    return guarded([&] {
        while (profile->open >= 0) profile->end(profile->open);
        PyRef list = checked(PyList_New(0));
        for (const ProfileEvent& e : profile->events) check_status(PyList_Append(list.get(), event_to_python(e).get()));
        return list.release();
    });
}

PyObject* profiler_on(PyObject*, PyObject*) { return PyBool_FromLong(profiling()); }

// profiler_push(name) -> the number of the range; -1 when no profiler is on
PyObject* profiler_push(PyObject*, PyObject* name) {
    return guarded([&] {
        if (g_profile == nullptr) return PyLong_FromLong(-1);
        return PyLong_FromLong(g_profile->begin(ProfileEvent::Kind::User, utf8(name)));
    });
}
PyObject* profiler_pop(PyObject*, PyObject* number) {
    return guarded([&]() -> PyObject* {
        int64_t event = int_from(number);
        if (g_profile != nullptr && event >= 0 && event < static_cast<int64_t>(g_profile->events.size()))
            g_profile->end(static_cast<int32_t>(event));
        Py_RETURN_NONE;
    });
}

PyMethodDef functions[] = {{"profiler_start", profiler_start, METH_VARARGS, nullptr},
                           {"profiler_stop", profiler_stop, METH_NOARGS, nullptr},
                           {"profiler_on", profiler_on, METH_NOARGS, "Whether a profiler records this thread."},
                           {"profiler_push", profiler_push, METH_O, nullptr},
                           {"profiler_pop", profiler_pop, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_profiler(PyObject* module) {
    capture_profile_stack = capture_frames;
    check_status(PyModule_AddFunctions(module, functions));
}

}  // namespace mashal
