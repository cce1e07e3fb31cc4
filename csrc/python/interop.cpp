#include "python/interop.h"

#include <string>
#include <vector>

#include "cpu/copy.h"

namespace mashal {

namespace {

// ---- buffers ----

std::optional<DType> dtype_of_format(const char* format, Py_ssize_t itemsize) {
    std::string_view f = format ? format : "B";
    if (!f.empty() && (f[0] == '@' || f[0] == '=' || f[0] == '|')) f.remove_prefix(1);
    if (!f.empty() && f[0] == '<') f.remove_prefix(1);
    if (f == "?") return DType::Bool;
    if (f == "Zf") return DType::C64;
    if (f == "Zd") return DType::C128;
    if (f.size() != 1) return {};
    switch (f[0]) {
        case 'B': return DType::U8;
        case 'b': return DType::I8;
        case 'h': return DType::I16;
        case 'i':
        case 'l':
        case 'q': return itemsize == 4 ? DType::I32 : DType::I64;
        case 'e': return DType::F16;
        case 'f': return DType::F32;
        case 'd': return DType::F64;
        default: return {};
    }
}

const char* format_of_dtype(DType t) {
    static const char* const formats[kNumDTypes] = {"?", "B", "b", "h", "i", "q", "e", nullptr, "f", "d", "Zf", "Zd"};
    return formats[static_cast<int>(t)];
}

void release_buffer(void* context) noexcept {
    auto* view = static_cast<Py_buffer*>(context);
    if (!Py_IsInitialized()) return;
    PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(view);
    PyGILState_Release(state);
    delete view;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    Tensor t = as_tensor(self);
    const char* format = format_of_dtype(t.dtype());
    if (format == nullptr || t.requires_grad() || !t.device().is_cpu()) {
        PyErr_SetString(PyExc_BufferError,
                        "this tensor offers no buffer: it requires grad, is bfloat16, or is not on the CPU");
        view->obj = nullptr;
        return -1;
    }
    if (Py_TYPE(self) != g_tensor_type && PyObject_HasAttrString(self, "__buffer_refused__")) {
        // A subclass whose elements are elsewhere says why; NumPy then asks its __array__.
        PyObject* why = PyObject_CallMethod(self, "__buffer_refused__", nullptr);
        if (why != nullptr) PyErr_SetObject(PyExc_BufferError, why);
        Py_XDECREF(why);
        view->obj = nullptr;
        return -1;
    }
    bool plain = (flags & PyBUF_STRIDES) != PyBUF_STRIDES;
    if (plain && !t.is_contiguous()) {
        PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous");
        view->obj = nullptr;
        return -1;
    }
    size_t n = t.sizes().size();
    auto* numbers = new Py_ssize_t[2 * n + 1];
    for (size_t i = 0; i < n; i++) {
        numbers[i] = t.sizes()[i];
        numbers[n + i] = t.strides()[i] * item_size(t.dtype());
    }
    static char nothing[1];
    view->buf = t.numel() == 0 ? nothing : t.data<char>();
    view->obj = Py_NewRef(self);
    view->len = t.numel() * item_size(t.dtype());
    view->itemsize = item_size(t.dtype());
    view->readonly = 0;
    view->ndim = static_cast<int>(n);
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->shape = flags & PyBUF_ND ? numbers : nullptr;
    view->strides = plain ? nullptr : numbers + n;
    view->suboffsets = nullptr;
    view->internal = numbers;
    t->storage->mark_exported();
    return 0;
}
void drop_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

// ---- nested data ----

// A Python number. NumPy's float64 and complex128 derive from Python's, but keep their own type: they offer a buffer.
bool is_scalar(PyObject* o) {
    if (PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o)) return true;
    return (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) && !PyObject_CheckBuffer(o);
}

bool has_buffer(PyObject* o) { return PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o); }

struct Nested {
    IntVec sizes;
    DType type = DType::Bool;
    bool typed = false;

    void add(DType t) {
        type = typed ? promote_dtypes(type, t) : t;
        typed = true;
    }
};

[[noreturn]] void ragged(const Nested& n, size_t depth, Py_ssize_t got) {
    raise_error(ErrorKind::Value, "", "expected sequence of length ", n.sizes[depth], " at dim ", depth, " (got ", got,
                ")");
}

// One element that is no sequence: a number, a 0-d array or tensor.
Scalar element(PyObject* o) {
    if (is_scalar(o) || is_tensor(o)) return scalar_from(o);
    if (!is_number(o)) {
        if (PyUnicode_Check(o)) raise_error(ErrorKind::Type, "", "new(): invalid data type 'str'");
        if (!PyObject_HasAttrString(o, "__float__") && !PyObject_HasAttrString(o, "__index__"))
            raise_error(ErrorKind::Runtime, "", "Could not infer dtype of ", Py_TYPE(o)->tp_name);
    }
    return scalar_from(o);
}

bool is_nested(PyObject* o) {
    if (is_scalar(o) || PyUnicode_Check(o)) return false;
    if (is_tensor(o)) return as_tensor(o).dim() > 0;
    if (PyList_Check(o) || PyTuple_Check(o)) return true;
    if (!PySequence_Check(o)) return false;
    Py_ssize_t n = PySequence_Size(o);
    if (n < 0) {
        PyErr_Clear();  // a 0-d array
        return false;
    }
    return true;
}

DType element_type(PyObject* o, const Scalar& s) {
    if (is_tensor(o)) return as_tensor(o).dtype();
    if (is_scalar(o)) return s.dtype();
    // A NumPy scalar keeps its own type.
    if (has_buffer(o)) {
        Py_buffer view;
        if (PyObject_GetBuffer(o, &view, PyBUF_FORMAT) == 0) {
            auto t = dtype_of_format(view.format, view.itemsize);
            PyBuffer_Release(&view);
            if (t) return *t;
        } else {
            PyErr_Clear();
        }
    }
    return s.dtype();
}

// Finds the shape from first elements and the type from all.
void measure(PyObject* o, size_t depth, Nested& n, bool first) {
    if (!is_nested(o)) {
        if (depth != n.sizes.size()) {
            if (!first)
                raise_error(ErrorKind::Type, "", "expected a sequence at dim ", depth, ", got ", Py_TYPE(o)->tp_name);
        }
        Scalar s = element(o);
        n.add(element_type(o, s));
        return;
    }
    PyRef fast = checked(PySequence_Fast(o, "expected a sequence"));
    Py_ssize_t size = PySequence_Fast_GET_SIZE(fast.get());
    if (first) {
        MASHAL_CHECK_AS(Value, depth < 64, "", "too many dimensions");
        n.sizes.push_back(size);
    } else if (depth >= n.sizes.size()) {
        raise_error(ErrorKind::Value, "", "too many nested sequences at dim ", depth);
    } else if (n.sizes[depth] != size) {
        ragged(n, depth, size);
    }
    for (Py_ssize_t i = 0; i < size; i++)
        measure(PySequence_Fast_GET_ITEM(fast.get(), i), depth + 1, n, first && i == 0);
}

char* fill_from(PyObject* o, size_t depth, const Nested& n, DType t, char* p) {
    if (depth == n.sizes.size()) {
        store_scalar(p, t, element(o));
        return p + item_size(t);
    }
    PyRef fast = checked(PySequence_Fast(o, "expected a sequence"));
    // A sequence of the user's own may have another length each time it is asked.
    if (PySequence_Fast_GET_SIZE(fast.get()) != n.sizes[depth]) ragged(n, depth, PySequence_Fast_GET_SIZE(fast.get()));
    for (Py_ssize_t i = 0; i < n.sizes[depth]; i++)
        p = fill_from(PySequence_Fast_GET_ITEM(fast.get(), i), depth + 1, n, t, p);
    return p;
}

}  // namespace

Tensor tensor_from_buffer(PyObject* o) {
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(o, view.get(), PyBUF_STRIDES | PyBUF_FORMAT) < 0) throw ForeignError();
    struct Guard {
        std::unique_ptr<Py_buffer>& v;
        ~Guard() {
            if (v) PyBuffer_Release(v.get());
        }
    } guard{view};
    auto dtype = dtype_of_format(view->format, view->itemsize);
    if (!dtype)
        raise_error(ErrorKind::Type, "", "can't convert an array of format '", view->format ? view->format : "?",
                    "'. The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, "
                    "int16, int8, uint8, and bool.");
    IntVec sizes, strides;
    for (int i = 0; i < view->ndim; i++) {
        sizes.push_back(view->shape[i]);
        int64_t step = view->strides ? view->strides[i] : 0;
        MASHAL_CHECK_AS(Value, step >= 0, "",
                        "At least one stride in the given array is negative, and tensors with negative strides are not "
                        "currently supported. (You can probably work around this by making a copy of your array with "
                        "array.copy().)");
        MASHAL_CHECK_AS(
            Value, step % view->itemsize == 0, "",
            "given array strides not a multiple of the element byte size. Copy the array to reallocate the memory.");
        strides.push_back(step / view->itemsize);
    }
    int64_t reach = 1;
    for (size_t i = 0; i < sizes.size(); i++) reach += std::max<int64_t>(sizes[i] - 1, 0) * strides[i];
    Tensor t(new TensorObj);
    void* data = view->buf;
    t->storage = make_ref<Storage>(data, static_cast<size_t>(reach) * static_cast<size_t>(view->itemsize), Device{},
                                   release_buffer, view.get());
    view.release();
    t->dtype = *dtype;
    t->sizes = sizes;
    t->strides = strides;
    t->geometry_changed();
    return t;
}

Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, bool) {
    if (is_tensor(data)) {
        Tensor t = as_tensor(data);
        return to_dtype(clone(detach(t), MemoryFormat::Preserve), dtype.value_or(t.dtype()));
    }
    if (is_scalar(data)) {
        Scalar s = scalar_from(data);
        Tensor t = empty({}, dtype.value_or(s.dtype()));
        store_scalar(t.data(), t.dtype(), s);
        return t;
    }
    if (has_buffer(data)) {
        Tensor shared = tensor_from_buffer(data);
        return to_dtype(clone(shared, MemoryFormat::Contiguous), dtype.value_or(shared.dtype()));
    }
    Nested n;
    measure(data, 0, n, true);
    DType t = dtype.value_or(n.typed ? n.type : default_dtype());
    Tensor out = empty(n.sizes, t);
    if (out.numel() > 0) fill_from(data, 0, n, t, out.data<char>());
    return out;
}

Tensor index_array_from(PyObject* data) {
    Tensor t = tensor_from_data(data, {}, true);
    if (t.numel() == 0 && !is_integral(t.dtype(), true)) return empty(t.sizes(), DType::I64);
    return t;
}

namespace {

PyObject* py_tensor_from_data(PyObject*, PyObject* args) {
    PyObject *data, *dtype;
    if (!PyArg_ParseTuple(args, "OO", &data, &dtype)) return nullptr;
    return guarded([&] {
        return wrap(tensor_from_data(data, dtype == Py_None ? std::nullopt : std::optional(dtype_from(dtype))));
    });
}
PyObject* py_from_buffer(PyObject*, PyObject* o) {
    return guarded([&] { return wrap(tensor_from_buffer(o)); });
}

// ---- DLPack (the ABI of dmlc/dlpack, version 0) ----

struct DLDevice {
    int32_t type;
    int32_t id;
};
struct DLDataType {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};
struct DLTensor {
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
};
struct DLManagedTensor {
    DLTensor tensor;
    void* manager_ctx;
    void (*deleter)(DLManagedTensor*);
};
enum DLCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

DLDataType dl_type(DType t) {
    uint8_t code = t == DType::Bool   ? kBool
                   : t == DType::U8   ? kUInt
                   : t == DType::BF16 ? kBfloat
                   : is_complex(t)    ? kComplex
                   : is_floating(t)   ? kFloat
                                      : kInt;
    return {code, static_cast<uint8_t>(item_size(t) * 8), 1};
}

PyObject* to_dlpack(PyObject*, PyObject* o) {
    return guarded([&]() -> PyObject* {
        struct Held {
            DLManagedTensor managed;
            IntVec sizes, strides;
            Tensor tensor;
        };
        Tensor t = as_tensor(o);
        MASHAL_CHECK_AS(NotImplemented, t.device().is_cpu(), "__dlpack__", "only CPU tensors are exported");
        t->storage->mark_exported();
        auto* held = new Held{{}, t.sizes(), t.strides(), detach(t)};
        held->managed.tensor = {t.numel() ? t.data<char>() : nullptr,
                                {1, 0},
                                static_cast<int32_t>(t.dim()),
                                dl_type(t.dtype()),
                                held->sizes.data(),
                                held->strides.data(),
                                0};
        held->managed.manager_ctx = held;
        held->managed.deleter = [](DLManagedTensor* m) { delete static_cast<Held*>(m->manager_ctx); };
        return PyCapsule_New(&held->managed, "dltensor", [](PyObject* capsule) {
            if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // consumed
            auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
            m->deleter(m);
        });
    });
}

PyObject* from_dlpack(PyObject*, PyObject* capsule) {
    return guarded([&]() -> PyObject* {
        auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
        if (m == nullptr) throw ForeignError();
        const DLTensor& d = m->tensor;
        MASHAL_CHECK(d.device.type == 1, "from_dlpack", "only CPU tensors can be imported, got device type ",
                     d.device.type);
        std::optional<DType> dtype;
        for (int i = 0; i < kNumDTypes; i++) {
            DLDataType mine = dl_type(static_cast<DType>(i));
            if (mine.code == d.dtype.code && mine.bits == d.dtype.bits && d.dtype.lanes == 1)
                dtype = static_cast<DType>(i);
        }
        MASHAL_CHECK(dtype.has_value(), "from_dlpack", "unsupported type code ", int{d.dtype.code}, " with ",
                     int{d.dtype.bits}, " bits");
        IntSpan sizes(d.shape, static_cast<size_t>(d.ndim));
        IntVec strides =
            d.strides ? IntVec(IntSpan(d.strides, static_cast<size_t>(d.ndim))) : contiguous_strides(sizes);
        int64_t reach = 1;
        for (size_t i = 0; i < sizes.size(); i++) reach += std::max<int64_t>(sizes[i] - 1, 0) * strides[i];
        Tensor t(new TensorObj);
        t->storage = make_ref<Storage>(
            static_cast<char*>(d.data) + d.byte_offset, static_cast<size_t>(reach * item_size(*dtype)), Device{},
            [](void* context) noexcept {
                auto* managed = static_cast<DLManagedTensor*>(context);
                if (managed->deleter) managed->deleter(managed);
            },
            m);
        t->dtype = *dtype;
        t->sizes = IntVec(sizes);
        t->strides = strides;
        t->geometry_changed();
        check_status(PyCapsule_SetName(capsule, "used_dltensor"));
        return wrap(std::move(t));
    });
}

PyMethodDef functions[] = {
    {"tensor_from_data", py_tensor_from_data, METH_VARARGS, "tensor_from_data(data, dtype or None)"},
    {"from_buffer", py_from_buffer, METH_O, "Shares the memory of a buffer."},
    {"to_dlpack", to_dlpack, METH_O, nullptr},
    {"from_dlpack", from_dlpack, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_interop(PyObject* module) {
    g_tensor_type->tp_as_buffer->bf_getbuffer = get_buffer;
    g_tensor_type->tp_as_buffer->bf_releasebuffer = drop_buffer;
    check_status(PyModule_AddFunctions(module, functions));
}

}  // namespace mashal
