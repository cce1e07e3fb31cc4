// The Tensor type: identity with the C++ object, attributes, operators.
#include "core/blocking.h"
#include "python/primitive_type.h"

namespace mashal {

PyTypeObject* g_tensor_type = nullptr;

namespace {

// ---- identity: references of the C++ object are references of its face ----

// Whether this thread is inside AllowThreads. Threads of kernels never touch references, so that a thread which has not
// released the interpreter lock holds it; asking the interpreter instead costs more than the count itself.
thread_local bool g_lock_released = false;

template <class F>
void with_lock(F&& f) {
    // After the interpreter has gone its objects cannot be counted any more; static C++ objects may still hold some.
    if (!Py_IsInitialized()) return;
    if (!g_lock_released) {
        f();
        return;
    }
    PyGILState_STATE state = PyGILState_Ensure();
    f();
    PyGILState_Release(state);
}
void owner_inc_ref(void* owner) noexcept {
    with_lock([&] { Py_INCREF(static_cast<PyObject*>(owner)); });
}
void owner_dec_ref(void* owner) noexcept {
    with_lock([&] { Py_DECREF(static_cast<PyObject*>(owner)); });
}
uint32_t owner_count(void* owner) noexcept { return static_cast<uint32_t>(Py_REFCNT(static_cast<PyObject*>(owner))); }

}  // namespace

PyObject* wrap_as(Tensor t, PyTypeObject* type) {
    if (!t.defined()) Py_RETURN_NONE;
    TensorObj* o = t.get();
    if (void* owner = o->owner()) {
        t.release();  // our reference is one of the face's
        return static_cast<PyObject*>(owner);
    }
    auto* face = reinterpret_cast<PyTensor*>(checked(type->tp_alloc(type, 0)).release());
    face->impl = o;
    // Every C++ reference, ours included, becomes one of the face's; ours is what we return.
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(face), static_cast<Py_ssize_t>(o->use_count()));
    o->set_owner(face);
    t.release();
    return reinterpret_cast<PyObject*>(face);
}

PyObject* wrap(Tensor t) { return wrap_as(std::move(t), g_tensor_type); }

namespace {

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
    auto* t = reinterpret_cast<PyTensor*>(self);
    Py_VISIT(t->dict);
    Py_VISIT(Py_TYPE(self));
    if (t->impl != nullptr && t->impl->autograd) {
        auto& meta = static_cast<AutogradMeta&>(*t->impl->autograd);
        if (meta.grad && meta.grad->owner()) Py_VISIT(static_cast<PyObject*>(meta.grad->owner()));
        for (auto& hook : meta.hooks)
            if (int stop = visit_hook(*hook, visit, arg)) return stop;
        for (auto& hook : meta.post_accumulate)
            if (int stop = visit_hook(*hook, visit, arg)) return stop;
        if (Node* node = meta.grad_fn.get()) {
            if (node->owner() != nullptr) Py_VISIT(static_cast<PyObject*>(node->owner()));
            // A node without a face that only this tensor holds: what it owns is the tensor's.
            else if (node->use_count() == 1)
                if (int stop = visit_node(*node, visit, arg)) return stop;
        }
    }
    return 0;
}

int tensor_clear(PyObject* self) {
    auto* t = reinterpret_cast<PyTensor*>(self);
    Py_CLEAR(t->dict);
    if (t->impl != nullptr && t->impl->autograd) {
        auto& meta = static_cast<AutogradMeta&>(*t->impl->autograd);
        Tensor grad = std::move(meta.grad);
        meta.grad = Tensor();
        auto hooks = std::move(meta.hooks);
        auto post = std::move(meta.post_accumulate);
        if (Node* node = meta.grad_fn.get(); node && !node->owner() && node->use_count() == 1) clear_node(*node);
    }
    return 0;
}

void tensor_dealloc(PyObject* self) {
    auto* t = reinterpret_cast<PyTensor*>(self);
    PyTypeObject* type = Py_TYPE(self);
    if (type->tp_finalize != nullptr && PyObject_CallFinalizerFromDealloc(self) < 0) return;
    PyObject_GC_UnTrack(self);
    if (t->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
    Py_CLEAR(t->dict);
    if (TensorObj* o = std::exchange(t->impl, nullptr)) o->owner_died();
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    // The legacy constructor lives in Python: Tensor(2, 3), Tensor([1., 2.]).
    static PyObject* constructor = nullptr;
    if (constructor == nullptr) {
        PyRef module = PyRef::steal(PyImport_ImportModule("mashal._tensor"));
        if (!module) return nullptr;
        constructor = PyObject_GetAttrString(module.get(), "legacy_constructor");
        if (constructor == nullptr) return nullptr;
    }
    PyRef made = PyRef::steal(PyObject_Call(constructor, args, kwargs));
    if (!made) return nullptr;
    if (type == g_tensor_type) return made.release();
    return guarded([&] { return wrap_as(detach(as_tensor(made.get())), type); });
}

// _make_subclass(cls, data, requires_grad=False): the same memory under another type.
PyObject* tensor_make_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"cls", "data", "require_grad", nullptr};
    PyTypeObject* cls;
    PyObject* data;
    int requires_grad = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!|p", const_cast<char**>(names), &PyType_Type, &cls,
                                     g_tensor_type, &data, &requires_grad))
        return nullptr;
    return guarded([&]() -> PyObject* {
        Tensor t = detach(as_tensor(data));
        t->is_inference = false;
        if (requires_grad) set_requires_grad(t, true);
        return wrap_as(std::move(t), cls);
    });
}

Tensor self_of(PyObject* self) { return as_tensor(self); }

// ---- attributes ----
PyObject* get_shape(PyObject* self, void*) {
    return guarded([&] { return size_to_python(tensor_obj(self)->sizes); });
}
PyObject* get_dtype(PyObject* self, void*) { return dtype_to_python(tensor_obj(self)->dtype); }
PyObject* get_device(PyObject* self, void*) {
    return guarded([&] { return device_to_python(tensor_obj(self)->device()); });
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromSize_t(tensor_obj(self)->sizes.size()); }
PyObject* get_requires_grad(PyObject* self, void*) {
    return guarded([&] { return PyBool_FromLong(tensor_requires_grad(self_of(self))); });
}
int set_requires_grad_attr(PyObject* self, PyObject* value, void*) {
    if (value == nullptr || !PyBool_Check(value)) {
        PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
        return -1;
    }
    return guarded_status([&] { set_requires_grad(self_of(self), value == Py_True); });
}
PyObject* get_grad(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        Tensor t = self_of(self);
        AutogradMeta* meta = autograd_meta(t);
        if (meta == nullptr) Py_RETURN_NONE;
        if (!meta->grad.defined() && !meta->retains_grad && !is_leaf(t))
            check_status(PyErr_WarnEx(PyExc_UserWarning,
                                      "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed: "
                                      "backward() fills .grad of leaves only. Call .retain_grad() on this Tensor "
                                      "before backward(), or read .grad of the leaf it was computed from.",
                                      1));
        return wrap(meta->grad);
    });
}
int set_grad(PyObject* self, PyObject* value, void*) {
    return guarded_status([&] {
        Tensor t = self_of(self);
        if (value == nullptr || value == Py_None) {
            if (AutogradMeta* meta = autograd_meta(t)) meta->grad = Tensor();
            return;
        }
        if (!is_tensor(value))
            raise_error(ErrorKind::Type, "", "assigned grad expected to be a Tensor or None but got grad of type ",
                        Py_TYPE(value)->tp_name);
        Tensor g = as_tensor(value);
        MASHAL_CHECK(!g.is_same(t), "grad", "can't assign Variable as its own grad");
        MASHAL_CHECK(g.dtype() == t.dtype(), "grad",
                     "assigned grad has data of a different type: ", dtype_name(g.dtype()), " for a tensor of ",
                     dtype_name(t.dtype()));
        MASHAL_CHECK(g.device() == t.device(), "grad", "assigned grad has data located on a different device");
        MASHAL_CHECK(equal(g.sizes(), t.sizes()), "grad",
                     "assigned grad has data of a different size: ", shape_text(g.sizes()), " for a tensor of shape ",
                     shape_text(t.sizes()));
        ensure_autograd_meta(t).grad = g;
    });
}
PyObject* get_grad_fn(PyObject* self, void*) {
    return guarded([&] { return wrap_node(grad_fn(self_of(self))); });
}
PyObject* get_is_leaf(PyObject* self, void*) {
    return guarded([&] { return PyBool_FromLong(is_leaf(self_of(self))); });
}
PyObject* get_retains_grad(PyObject* self, void*) {
    AutogradMeta* meta = autograd_meta(self_of(self));
    return PyBool_FromLong(meta != nullptr && meta->retains_grad);
}
PyObject* get_output_nr(PyObject* self, void*) {
    AutogradMeta* meta = autograd_meta(self_of(self));
    return PyLong_FromLong(meta ? static_cast<long>(meta->output_nr) : 0);
}
PyObject* get_data(PyObject* self, void*) {
    return guarded([&] { return wrap_as(data_alias(self_of(self)), g_tensor_type); });
}
int set_data(PyObject* self, PyObject* value, void*) {
    return guarded_status([&] {
        if (value == nullptr || !is_tensor(value)) raise_error(ErrorKind::Type, "data", "must be a Tensor");
        Tensor t = self_of(self), source = as_tensor(value);
        MASHAL_CHECK(!t.requires_grad() || is_differentiable_dtype(source.dtype()), "data",
                     "data set to a tensor that requires gradients must be floating point or complex dtype");
        // The graph sees a new version, as its own counter must.
        if (AutogradMeta* meta = autograd_meta(t))
            if (meta->accumulator != nullptr) meta->accumulator = nullptr;
        t->storage = source->storage;
        t->offset = source->offset;
        t->sizes = source.sizes();
        t->strides = source.strides();
        t->dtype = source.dtype();
        t->geometry_changed();
    });
}
PyObject* get_version(PyObject* self, void*) {
    return guarded([&] {
        MASHAL_CHECK(!tensor_obj(self)->is_inference, "_version", "Inference tensors do not track version counter.");
        return PyLong_FromUnsignedLong(tensor_obj(self)->version());
    });
}
PyObject* get_base(PyObject* self, void*) {
    return guarded([&] { return wrap(tensor_obj(self)->view_base); });
}
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromLong(item_size(tensor_obj(self)->dtype)); }
PyObject* get_nbytes(PyObject* self, void*) {
    return PyLong_FromLongLong(tensor_obj(self)->numel * item_size(tensor_obj(self)->dtype));
}
PyObject* get_transposed(PyObject* self, void*) {
    // .T: all dimensions reversed.
    return guarded([&] {
        Tensor t = self_of(self);
        IntVec dims;
        for (int64_t d = t.dim() - 1; d >= 0; d--) dims.push_back(d);
        return wrap(call_op("permute", t, dims));
    });
}
template <bool conjugate>
PyObject* get_matrix_transposed(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        Tensor t = self_of(self);
        MASHAL_CHECK(t.dim() >= 2, conjugate ? "mH" : "mT",
                     "only supported on matrices or batches of matrices, got input ", text(t));
        Tensor r = call_op("transpose", t, int64_t{-2}, int64_t{-1});
        if (conjugate && is_complex(t.dtype())) r = call_op("_conj", r);
        return wrap(std::move(r));
    });
}
template <bool imag>
PyObject* get_complex_part(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        Tensor t = self_of(self);
        if (!imag && !is_complex(t.dtype())) return Py_NewRef(self);
        return wrap(call_op(imag ? "imag" : "real", t));
    });
}
template <DeviceType type>
PyObject* get_is_on(PyObject* self, void*) {
    return PyBool_FromLong(tensor_obj(self)->device().type == type);
}
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }

PyGetSetDef tensor_getset[] = {
    {"shape", get_shape, nullptr, "The sizes of all dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the data lives.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad_attr, "Whether operations on this tensor are recorded.",
     nullptr},
    {"grad", get_grad, set_grad, "The gradient that backward() accumulated, or None.", nullptr},
    {"_grad", get_grad, set_grad, nullptr, nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The node that computes this tensor's gradient, or None for a leaf.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "True if no recorded operation made this tensor.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, nullptr, nullptr},
    {"output_nr", get_output_nr, nullptr, nullptr, nullptr},
    {"data", get_data, set_data, "The same memory without history; writes to it go unnoticed by autograd.", nullptr},
    {"_version", get_version, nullptr, nullptr, nullptr},
    {"_base", get_base, nullptr, nullptr, nullptr},
    {"itemsize", get_itemsize, nullptr, nullptr, nullptr},
    {"nbytes", get_nbytes, nullptr, nullptr, nullptr},
    {"T", get_transposed, nullptr, "All dimensions reversed.", nullptr},
    {"mT", get_matrix_transposed<false>, nullptr, "The last two dimensions exchanged.", nullptr},
    {"mH", get_matrix_transposed<true>, nullptr, "The last two dimensions exchanged, conjugated.", nullptr},
    {"H", get_matrix_transposed<true>, nullptr, nullptr, nullptr},
    {"real", get_complex_part<false>, nullptr, nullptr, nullptr},
    {"imag", get_complex_part<true>, nullptr, nullptr, nullptr},
    {"is_cpu", get_is_on<DeviceType::CPU>, nullptr, nullptr, nullptr},
    {"is_meta", get_is_on<DeviceType::Meta>, nullptr, nullptr, nullptr},
    {"is_cuda", get_is_on<DeviceType::CUDA>, nullptr, nullptr, nullptr},
    {"is_sparse", get_false, nullptr, nullptr, nullptr},
    {"is_quantized", get_false, nullptr, nullptr, nullptr},
    {"is_nested", get_false, nullptr, nullptr, nullptr},
    {"is_mps", get_false, nullptr, nullptr, nullptr},
    {"is_xpu", get_false, nullptr, nullptr, nullptr},
    {"is_mkldnn", get_false, nullptr, nullptr, nullptr},
    {"is_sparse_csr", get_false, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// ---- plain methods ----
PyObject* tensor_size(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"dim", nullptr};
    PyObject* dim = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &dim)) return nullptr;
    return guarded([&]() -> PyObject* {
        if (dim == Py_None) return size_to_python(tensor_obj(self)->sizes);
        Tensor t = self_of(self);
        int64_t d = int_from(dim);
        MASHAL_CHECK_AS(Index, t.dim() > 0, "size", "Dimension specified as ", d, " but tensor has no dimensions");
        return PyLong_FromLongLong(t.size(wrap_dim("size", d, t.dim())));
    });
}
PyObject* tensor_stride(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"dim", nullptr};
    PyObject* dim = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &dim)) return nullptr;
    return guarded([&]() -> PyObject* {
        Tensor t = self_of(self);
        if (dim == Py_None) return ints_to_python(t.strides());
        int64_t d = int_from(dim);
        MASHAL_CHECK_AS(Index, t.dim() > 0, "stride", "Dimension specified as ", d, " but tensor has no dimensions");
        return PyLong_FromLongLong(t.stride(wrap_dim("stride", d, t.dim())));
    });
}
PyObject* tensor_dim(PyObject* self, PyObject*) { return get_ndim(self, nullptr); }
PyObject* tensor_numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_obj(self)->numel); }
PyObject* tensor_element_size(PyObject* self, PyObject*) { return get_itemsize(self, nullptr); }
PyObject* tensor_storage_offset(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_obj(self)->offset); }
PyObject* tensor_data_ptr(PyObject* self, PyObject*) {
    Tensor t = self_of(self);
    if (t.numel() == 0 || t.device().is_meta()) return PyLong_FromLong(0);
    t->storage->mark_addressed();
    return PyLong_FromUnsignedLongLong(reinterpret_cast<uintptr_t>(t.data<char>()));
}
PyObject* tensor_is_contiguous(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"memory_format", nullptr};
    PyObject* format = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &format)) return nullptr;
    return guarded([&] {
        MemoryFormat m = format == Py_None ? MemoryFormat::Contiguous : memory_format_from(format);
        return PyBool_FromLong(is_contiguous_as(self_of(self), m));
    });
}
PyObject* tensor_item(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        Tensor t = self_of(self);
        MASHAL_CHECK(t.numel() == 1, "item", "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
        MASHAL_CHECK_AS(NotImplemented, !t.device().is_meta(), "item", "cannot be called on meta tensors");
        return scalar_to_python(load_scalar(t.data(), t.dtype()));
    });
}
PyObject* list_from(const Tensor& t, size_t d, const char* p) {
    if (d == t.sizes().size()) return scalar_to_python(load_scalar(p, t.dtype()));
    int64_t n = t.sizes()[d], step = t.strides()[d] * item_size(t.dtype());
    PyRef list = checked(PyList_New(n));
    for (int64_t i = 0; i < n; i++)
        PyList_SET_ITEM(list.get(), i, checked(list_from(t, d + 1, p + i * step)).release());
    return list.release();
}
PyObject* tensor_tolist(PyObject* self, PyObject*) {
    return guarded([&] {
        Tensor t = self_of(self);
        MASHAL_CHECK_AS(NotImplemented, !t.device().is_meta(), "tolist", "cannot be called on meta tensors");
        return list_from(t, 0, t.data<char>());
    });
}
PyObject* tensor_requires_grad_method(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"requires_grad", nullptr};
    int value = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p", const_cast<char**>(names), &value)) return nullptr;
    return guarded([&] {
        set_requires_grad(self_of(self), value != 0);
        return Py_NewRef(self);
    });
}
PyObject* tensor_detach(PyObject* self, PyObject*) {
    return guarded([&] {
        Tensor t = self_of(self);
        Tensor d = detach(t);
        return wrap(std::move(d));
    });
}
PyObject* tensor_detach_in_place(PyObject* self, PyObject*) {
    return guarded([&] {
        Tensor t = self_of(self);
        MASHAL_CHECK(!t->view_base || !tensor_requires_grad(t), "detach_",
                     "Can't detach views in-place. Use detach() instead");
        if (AutogradMeta* meta = autograd_meta(t)) meta->grad_fn = nullptr;
        t->requires_grad = false;
        return Py_NewRef(self);
    });
}
PyObject* tensor_retain_grad(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        retain_grad(self_of(self));
        Py_RETURN_NONE;
    });
}
PyObject* tensor_is_inference(PyObject* self, PyObject*) { return PyBool_FromLong(tensor_obj(self)->is_inference); }
PyObject* tensor_is_set_to(PyObject* self, PyObject* other) {
    if (!is_tensor(other)) {
        PyErr_SetString(PyExc_TypeError, "is_set_to(): argument 'tensor' must be Tensor");
        return nullptr;
    }
    Tensor a = self_of(self), b = as_tensor(other);
    return PyBool_FromLong(a->storage == b->storage && a->offset == b->offset && a.sizes() == b.sizes() &&
                           a.strides() == b.strides());
}
// _set(source, sizes, strides, offset): rebinds this tensor to another storage and geometry (set_, resize_).
PyObject* tensor_set(PyObject* self, PyObject* args) {
    PyObject *source, *sizes, *strides;
    long long offset;
    if (!PyArg_ParseTuple(args, "O!OOL", g_tensor_type, &source, &sizes, &strides, &offset)) return nullptr;
    return guarded([&] {
        Tensor t = self_of(self), s = as_tensor(source);
        IntVec new_sizes = ints_from(sizes, "set_"), new_strides = ints_from(strides, "set_");
        MASHAL_CHECK(new_sizes.size() == new_strides.size() && new_sizes.size() <= kMaxDims, "set_",
                     "size and stride must have the same length, at most ", kMaxDims, ", got size ",
                     shape_text(new_sizes), " and stride ", shape_text(new_strides));
        int64_t last = offset, reach = 0;
        int64_t n = checked_numel("set_", new_sizes);
        bool fits = offset >= 0;
        for (size_t i = 0; i < new_sizes.size() && n > 0; i++)
            fits = fits && new_strides[i] >= 0 && !__builtin_mul_overflow(new_sizes[i] - 1, new_strides[i], &reach) &&
                   !__builtin_add_overflow(last, reach, &last);
        MASHAL_CHECK(fits && last < kMaxNumel, "set_",
                     "storage_offset and stride must not be negative, nor reach too far, got storage_offset ", offset,
                     ", size ", shape_text(new_sizes), " and stride ", shape_text(new_strides));
        size_t needed = n == 0 ? 0 : static_cast<size_t>((last + 1) * item_size(s.dtype()));
        if (needed > s->storage->nbytes()) s->storage->resize(needed);
        t->storage = s->storage;
        t->dtype = s.dtype();
        t->sizes = new_sizes;
        t->strides = new_strides;
        t->offset = offset;
        t->geometry_changed();
        t->bump_version();
        return Py_NewRef(self);
    });
}
// _become_view(name, view): the geometry and history of a view of this tensor (squeeze_, t_).
PyObject* tensor_become_view(PyObject* self, PyObject* args) {
    const char* name;
    PyObject* view;
    if (!PyArg_ParseTuple(args, "sO!", &name, g_tensor_type, &view)) return nullptr;
    return guarded([&] {
        take_view(name, self_of(self), as_tensor(view));
        return Py_NewRef(self);
    });
}
PyObject* tensor_storage_key(PyObject* self, PyObject*) {
    // (identity of the storage, its size in bytes)
    Storage* s = tensor_obj(self)->storage.get();
    return Py_BuildValue("(Kn)", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(s)),
                         static_cast<Py_ssize_t>(s->nbytes()));
}
// _storage_bytes(): the whole storage as a uint8 tensor.
PyObject* tensor_storage_bytes(PyObject* self, PyObject*) {
    return guarded([&] {
        Tensor t = self_of(self);
        int64_t n = static_cast<int64_t>(t->storage->nbytes());
        Tensor bytes = alias(t, IntVec{n}, IntVec{1}, 0);
        bytes->dtype = DType::U8;
        return wrap(std::move(bytes));
    });
}

PyObject* tensor_storage_resizable(PyObject* self, PyObject*) {
    return PyBool_FromLong(tensor_obj(self)->storage->resizable());
}

PyMethodDef tensor_methods[] = {
    {"size", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(tensor_size)), METH_VARARGS | METH_KEYWORDS,
     "size(dim=None): all sizes, or that of one dimension."},
    {"stride", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(tensor_stride)), METH_VARARGS | METH_KEYWORDS,
     "stride(dim=None): steps between elements."},
    {"dim", tensor_dim, METH_NOARGS, "The number of dimensions."},
    {"ndimension", tensor_dim, METH_NOARGS, "The number of dimensions."},
    {"numel", tensor_numel, METH_NOARGS, "The number of elements."},
    {"nelement", tensor_numel, METH_NOARGS, "The number of elements."},
    {"element_size", tensor_element_size, METH_NOARGS, "Bytes of one element."},
    {"storage_offset", tensor_storage_offset, METH_NOARGS, "Index of the first element in the storage."},
    {"data_ptr", tensor_data_ptr, METH_NOARGS, "Address of the first element."},
    {"is_contiguous", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(tensor_is_contiguous)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"item", tensor_item, METH_NOARGS, "The value of a one-element tensor as a Python number."},
    {"tolist", tensor_tolist, METH_NOARGS, "Nested lists of Python numbers."},
    {"requires_grad_", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(tensor_requires_grad_method)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"detach", tensor_detach, METH_NOARGS, "The same memory without history."},
    {"detach_", tensor_detach_in_place, METH_NOARGS, nullptr},
    {"retain_grad", tensor_retain_grad, METH_NOARGS, "Keeps the gradient of a tensor that is no leaf in `.grad`."},
    {"is_inference", tensor_is_inference, METH_NOARGS, nullptr},
    {"is_set_to", tensor_is_set_to, METH_O, nullptr},
    {"_set", tensor_set, METH_VARARGS, nullptr},
    {"_become_view", tensor_become_view, METH_VARARGS, nullptr},
    {"_storage_key", tensor_storage_key, METH_NOARGS, nullptr},
    {"_storage_bytes", tensor_storage_bytes, METH_NOARGS, nullptr},
    {"_storage_resizable", tensor_storage_resizable, METH_NOARGS, nullptr},
    {"_make_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(tensor_make_subclass)),
     METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {nullptr, nullptr, 0, nullptr}};

// ---- operators: any callable, set by the package; primitives are called without going through Python ----
enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    MatMul,
    And,
    Or,
    Xor,
    Lshift,
    Rshift,
    Neg,
    Pos,
    Abs,
    Invert,
    Lt,
    Le,
    Eq,
    Ne,
    Gt,
    Ge,
    kOperators
};
const char* const kOperatorNames[kOperators] = {
    "add",    "sub", "mul", "div", "floor_divide", "remainder", "pow", "matmul", "and", "or", "xor", "lshift",
    "rshift", "neg", "pos", "abs", "invert",       "lt",        "le",  "eq",     "ne",  "gt", "ge"};
PyObject* g_operators[kOperators];
PyObject* g_in_place_operators[kOperators];

template <Operator op>
PyObject* binary_slot(PyObject* a, PyObject* b) {
    return call_operator(g_operators[op], a, b, false);
}
template <Operator op>
PyObject* in_place_slot(PyObject* a, PyObject* b) {
    PyObject* callable = g_in_place_operators[op];
    return callable ? call_operator(callable, a, b, false) : call_operator(g_operators[op], a, b, true);
}
template <Operator op>
PyObject* unary_slot(PyObject* a) {
    return call_operator(g_operators[op], a, nullptr, false);
}
PyObject* pow_slot(PyObject* a, PyObject* b, PyObject*) { return call_operator(g_operators[Pow], a, b, false); }
PyObject* in_place_pow_slot(PyObject* a, PyObject* b, PyObject*) {
    return call_operator(g_in_place_operators[Pow], a, b, false);
}
PyObject* compare_slot(PyObject* a, PyObject* b, int op) {
    // Py_LT .. Py_GE are 0 .. 5 in the order of our table.
    return call_operator(g_operators[Lt + op], a, b, false);
}
int bool_slot(PyObject* self) {
    return guarded_status([&] {
               Tensor t = self_of(self);
               MASHAL_CHECK(t.numel() == 1, "bool",
                            t.numel() == 0 ? "Boolean value of Tensor with no values is ambiguous"
                                           : "Boolean value of Tensor with more than one value is ambiguous");
           }) < 0
               ? -1
               : [&] {
                     PyRef item = PyRef::steal(tensor_item(self, nullptr));
                     return item ? PyObject_IsTrue(item.get()) : -1;
                 }();
}
PyObject* index_slot(PyObject* self) {
    return guarded([&]() -> PyObject* {
        Tensor t = self_of(self);
        MASHAL_CHECK_AS(Type, is_integral(t.dtype(), true) && t.numel() == 1, "",
                        "only integer tensors of a single element can be converted to an index");
        PyRef item = checked(tensor_item(self, nullptr));
        return PyNumber_Long(item.get());
    });
}
template <PyObject* (*convert)(PyObject*)>
PyObject* number_slot(PyObject* self) {
    if (int64_t n = as_tensor(self).numel(); n != 1) {
        PyErr_Format(PyExc_ValueError,
                     "only one element tensors can be converted to Python scalars, got one of %lld elements",
                     static_cast<long long>(n));
        return nullptr;
    }
    PyRef item = PyRef::steal(tensor_item(self, nullptr));
    return item ? convert(item.get()) : nullptr;
}
Py_ssize_t length_slot(PyObject* self) {
    TensorObj* t = tensor_obj(self);
    if (t->sizes.empty()) {
        PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
        return -1;
    }
    return t->sizes[0];
}
PyObject* repr_slot(PyObject* self) { return PyObject_CallOneArg(g_hooks.tensor_repr, self); }
PyObject* iter_slot(PyObject* self) {
    return guarded([&]() -> PyObject* {
        Tensor t = self_of(self);
        MASHAL_CHECK_AS(Type, t.dim() > 0, "", "iteration over a 0-d tensor");
        PyRef parts = checked(PyObject_CallMethod(self, "unbind", "i", 0));
        return PyObject_GetIter(parts.get());
    });
}

template <class F>
void* slot(F* f) {
    return reinterpret_cast<void*>(f);
}

PyMemberDef tensor_members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
                                {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
                                {nullptr, 0, 0, 0, nullptr}};

PyType_Slot tensor_slots[] = {{Py_tp_new, slot(tensor_new)},
                              {Py_tp_dealloc, slot(tensor_dealloc)},
                              {Py_tp_traverse, slot(tensor_traverse)},
                              {Py_tp_clear, slot(tensor_clear)},
                              {Py_tp_getset, tensor_getset},
                              {Py_tp_methods, tensor_methods},
                              {Py_tp_members, tensor_members},
                              {Py_tp_repr, slot(repr_slot)},
                              {Py_tp_iter, slot(iter_slot)},
                              {Py_tp_hash, slot(_Py_HashPointer)},
                              {Py_tp_richcompare, slot(compare_slot)},
                              {Py_mp_length, slot(length_slot)},
                              {Py_mp_subscript, slot(tensor_getitem)},
                              {Py_mp_ass_subscript, slot(tensor_setitem)},
                              {Py_nb_add, slot(binary_slot<Add>)},
                              {Py_nb_subtract, slot(binary_slot<Sub>)},
                              {Py_nb_multiply, slot(binary_slot<Mul>)},
                              {Py_nb_true_divide, slot(binary_slot<Div>)},
                              {Py_nb_floor_divide, slot(binary_slot<FloorDiv>)},
                              {Py_nb_remainder, slot(binary_slot<Mod>)},
                              {Py_nb_power, slot(pow_slot)},
                              {Py_nb_matrix_multiply, slot(binary_slot<MatMul>)},
                              {Py_nb_and, slot(binary_slot<And>)},
                              {Py_nb_or, slot(binary_slot<Or>)},
                              {Py_nb_xor, slot(binary_slot<Xor>)},
                              {Py_nb_lshift, slot(binary_slot<Lshift>)},
                              {Py_nb_rshift, slot(binary_slot<Rshift>)},
                              {Py_nb_inplace_add, slot(in_place_slot<Add>)},
                              {Py_nb_inplace_subtract, slot(in_place_slot<Sub>)},
                              {Py_nb_inplace_multiply, slot(in_place_slot<Mul>)},
                              {Py_nb_inplace_true_divide, slot(in_place_slot<Div>)},
                              {Py_nb_inplace_floor_divide, slot(in_place_slot<FloorDiv>)},
                              {Py_nb_inplace_remainder, slot(in_place_slot<Mod>)},
                              {Py_nb_inplace_power, slot(in_place_pow_slot)},
                              {Py_nb_inplace_and, slot(in_place_slot<And>)},
                              {Py_nb_inplace_or, slot(in_place_slot<Or>)},
                              {Py_nb_inplace_xor, slot(in_place_slot<Xor>)},
                              {Py_nb_inplace_lshift, slot(in_place_slot<Lshift>)},
                              {Py_nb_inplace_rshift, slot(in_place_slot<Rshift>)},
                              {Py_nb_negative, slot(unary_slot<Neg>)},
                              {Py_nb_positive, slot(unary_slot<Pos>)},
                              {Py_nb_absolute, slot(unary_slot<Abs>)},
                              {Py_nb_invert, slot(unary_slot<Invert>)},
                              {Py_nb_bool, slot(bool_slot)},
                              {Py_nb_int, slot(number_slot<PyNumber_Long>)},
                              {Py_nb_float, slot(number_slot<PyNumber_Float>)},
                              {Py_nb_index, slot(index_slot)},
                              {0, nullptr}};
PyType_Spec tensor_spec = {"mashal.Tensor", sizeof(PyTensor), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, tensor_slots};

PyObject* set_operator(PyObject*, PyObject* args) {
    const char* name;
    PyObject* callable;
    int in_place = 0;
    if (!PyArg_ParseTuple(args, "sO|p", &name, &callable, &in_place)) return nullptr;
    for (int i = 0; i < kOperators; i++) {
        if (std::string_view(kOperatorNames[i]) != name) continue;
        Py_XSETREF((in_place ? g_in_place_operators : g_operators)[i], Py_NewRef(callable));
        Py_RETURN_NONE;
    }
    PyErr_Format(PyExc_ValueError, "no operator named '%s'", name);
    return nullptr;
}
PyMethodDef functions[] = {{"set_operator", set_operator, METH_VARARGS, "set_operator(name, callable, in_place=False)"},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_tensor_type(PyObject* module) {
    foreign_owner_hooks = {owner_inc_ref, owner_dec_ref, owner_count};
    blocking_hooks = {[]() noexcept -> void* {
                          g_lock_released = true;
                          return PyEval_SaveThread();
                      },
                      [](void* state) noexcept {
                          PyEval_RestoreThread(static_cast<PyThreadState*>(state));
                          g_lock_released = false;
                      }};
    g_tensor_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&tensor_spec)).release());
    check_status(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(g_tensor_type)));
    check_status(PyModule_AddFunctions(module, functions));
}

}  // namespace mashal
