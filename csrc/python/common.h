// What the files of the Python layer share: faces of C++ objects, conversions, error translation.
#pragma once
#include <Python.h>
#include <structmember.h>

#include "autograd/node.h"
#include "dispatch/primitive.h"

namespace mashal {

// The Python face of a tensor (and, with other types, of nodes): the C++ object's references are this object's.
struct PyTensor {
    PyObject_HEAD PyObject* dict;
    PyObject* weakrefs;
    TensorObj* impl;
};
struct PyNode {
    PyObject_HEAD PyObject* weakrefs;
    Node* impl;
};

extern PyTypeObject* g_tensor_type;
extern PyTypeObject* g_size_type;
extern PyTypeObject* g_dtype_type;
extern PyTypeObject* g_primitive_type;
extern PyTypeObject* g_node_type;

// An owned reference to a Python object.
class PyRef {
public:
    PyRef() = default;
    static PyRef steal(PyObject* p) {
        PyRef r;
        r.p_ = p;
        return r;
    }
    static PyRef borrow(PyObject* p) {
        Py_XINCREF(p);
        return steal(p);
    }
    PyRef(const PyRef& o) : p_(o.p_) { Py_XINCREF(p_); }
    PyRef(PyRef&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    PyRef& operator=(PyRef o) noexcept {
        std::swap(p_, o.p_);
        return *this;
    }
    ~PyRef() { Py_XDECREF(p_); }
    PyObject* get() const { return p_; }
    PyObject* release() { return std::exchange(p_, nullptr); }
    explicit operator bool() const { return p_ != nullptr; }

private:
    PyObject* p_ = nullptr;
};
// Takes a new reference or throws when Python reported an error.
inline PyRef checked(PyObject* p) {
    if (p == nullptr) throw ForeignError();
    return PyRef::steal(p);
}
// The text of a str, which lives as long as it does; raises UnicodeEncodeError for lone surrogates.
inline std::string_view utf8(PyObject* text) {
    Py_ssize_t n;
    const char* data = PyUnicode_AsUTF8AndSize(text, &n);
    if (data == nullptr) throw ForeignError();
    return {data, static_cast<size_t>(n)};
}
inline void check_status(int status) {
    if (status < 0) throw ForeignError();
}

// A Python object that C++ keeps without knowing what it is.
struct PyHolder final : RefCounted {
    explicit PyHolder(PyRef o) : object(std::move(o)) {}
    PyRef object;
};

// Sets the Python error of the C++ exception in flight; always returns null.
PyObject* translate_exception() noexcept;
// Runs f, which returns a new reference; exceptions become Python errors.
template <class F>
PyObject* guarded(F&& f) noexcept {
    try {
        return f();
    } catch (...) {
        return translate_exception();
    }
}
template <class F>
int guarded_status(F&& f) noexcept {
    try {
        f();
        return 0;
    } catch (...) {
        translate_exception();
        return -1;
    }
}

// ---- tensors ----
inline bool is_tensor(PyObject* o) {
    return Py_TYPE(o) == g_tensor_type || PyType_IsSubtype(Py_TYPE(o), g_tensor_type);
}
inline TensorObj* tensor_obj(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->impl; }
inline Tensor as_tensor(PyObject* o) { return Tensor(tensor_obj(o)); }
// A new reference to the tensor's face, made on first sight; None for an undefined tensor.
PyObject* wrap(Tensor t);
PyObject* wrap_as(Tensor t, PyTypeObject* type);
PyObject* wrap_node(Ref<Node> node);
// For collectors of cycles: shows, or drops, the Python objects that a hook or node owns.
int visit_hook(const Hook& hook, visitproc visit, void* arg);
int visit_node(Node& node, visitproc visit, void* arg);
void clear_node(Node& node);

// ---- values ----
// Strings and numbers from Python; `op`/`arg` name them in errors.
bool is_number(PyObject* o);
Scalar scalar_from(PyObject* o);
int64_t int_from(PyObject* o);
PyObject* scalar_to_python(const Scalar& s);
DType dtype_from(PyObject* o);
PyObject* dtype_to_python(DType t);  // new reference
bool is_dtype(PyObject* o);
Device device_from(PyObject* o);
PyObject* device_to_python(Device d);
PyObject* size_to_python(IntSpan sizes);
PyObject* ints_to_python(IntSpan v);
IntVec ints_from(PyObject* o, std::string_view what);
PyObject* value_to_python(const Value& v);
MemoryFormat memory_format_from(PyObject* o);
PyObject* memory_format_to_python(MemoryFormat m);
Ref<RefCounted> generator_from(PyObject* o);  // null when o is none
PyObject* generator_to_python(Ref<RefCounted> g);

// Converts one argument for a slot of a schema.
void convert_argument(const Primitive& op, size_t index, PyObject* o, Value& out);

// ---- autocast ----
enum class CastPolicy : uint8_t;
CastPolicy cast_policy_from(PyObject* name);

// ---- interception ----
struct Interception {
    int disabled = 0;    // inside DisableTorchFunction
    int mode_depth = 0;  // active function modes
};
Interception& interception();
// A tensor subclass that overrides __torch_function__.
bool overrides_torch_function(PyTypeObject* type);

// Objects handed over at start-up by the Python package.
struct PythonHooks {
    PyObject* torch_function = nullptr;  // (callable, args, kwargs) -> result
    PyObject* tensor_repr = nullptr;
    PyObject* make_generator = nullptr;
};
extern PythonHooks g_hooks;

// ---- module parts ----
void init_types(PyObject* module);
void init_dtype_type(PyObject* module);
void init_generator_type(PyObject* module);
void init_tensor_type(PyObject* module);
void init_primitive_type(PyObject* module);
void init_autograd(PyObject* module);
void init_interop(PyObject* module);
void init_shared(PyObject* module);
void init_amp(PyObject* module);
void init_profiler(PyObject* module);
PyObject* tensor_getitem(PyObject* self, PyObject* key);
int tensor_setitem(PyObject* self, PyObject* key, PyObject* value);

}  // namespace mashal
