// tensor[...] and tensor[...] = value: basic indices become views, the rest goes to `_index` and `_index_put_`.
#include <vector>

#include "python/common.h"
#include "python/interop.h"

namespace mashal {

namespace {

bool is_sequence_index(PyObject* o) {
    // A list, or any sequence other than a tuple or string, is an index array.
    return PyList_Check(o) || (!PyTuple_Check(o) && !PyUnicode_Check(o) && !is_tensor(o) && PySequence_Check(o));
}

// A tuple of index items. A list that holds slices, tensors or sequences counts as a tuple, as in old NumPy.
std::vector<PyRef> index_items(PyObject* key) {
    std::vector<PyRef> items;
    if (PyTuple_Check(key)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) items.push_back(PyRef::borrow(PyTuple_GET_ITEM(key, i)));
    } else {
        items.push_back(PyRef::borrow(key));
    }
    return items;
}

int64_t dims_consumed(PyObject* item) {
    if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) return 0;
    if (is_tensor(item)) {
        Tensor t = as_tensor(item);
        return t.dtype() == DType::Bool || t.dtype() == DType::U8 ? t.dim() : 1;
    }
    return 1;
}

struct Indexed {
    Tensor view;                   // after basic indices
    SmallVec<Tensor, 4> advanced;  // per dimension of `view`; undefined where none
    bool any_advanced = false;
};

void put_advanced(Indexed& r, int64_t dim, Tensor index) {
    while (static_cast<int64_t>(r.advanced.size()) <= dim) r.advanced.push_back({});
    r.advanced[static_cast<size_t>(dim)] = std::move(index);
    r.any_advanced = true;
}

Tensor bool_index(bool value) {
    // True selects the only entry of a new dimension of size 1, False none.
    Tensor t = empty(IntVec{value ? 1 : 0}, DType::I64);
    if (value) *t.data<int64_t>() = 0;
    return t;
}

Value optional_int(PyObject* o) {
    if (o == Py_None) return {};
    PyRef index = checked(PyNumber_Index(o));
    // Beyond 64 bits a bound is clamped, as in Python.
    Py_ssize_t v = PyNumber_AsSsize_t(index.get(), nullptr);
    if (v == -1 && PyErr_Occurred()) throw ForeignError();
    return Value(static_cast<int64_t>(v));
}

Tensor slice_dim(const Tensor& t, int64_t dim, PyObject* o) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    if (s->start == Py_None && s->stop == Py_None && s->step == Py_None) return t;
    Call call(*find_primitive("_slice"));
    call.args.push_back(Value(t));
    call.args.push_back(Value(dim));
    call.args.push_back(optional_int(s->start));
    call.args.push_back(optional_int(s->stop));
    Value step = optional_int(s->step);
    call.args.push_back(step.is_none() ? Value(int64_t{1}) : step);
    MASHAL_CHECK_AS(Value, call.args[4].integer() > 0, "slice", "step must be greater than zero");
    call.op.run(call);
    return call.out[0];
}

// view[..., index, ...] along `dim`, which is dimension `source_dim` of what the user indexes.
Tensor select_index(const Tensor& source, int64_t source_dim, const Tensor& view, int64_t dim, int64_t index) {
    if (view.dim() > 0) {
        const int64_t size = view.size(dim);
        MASHAL_CHECK_AS(Index, -size <= index && index < size, "index", "index ", index,
                        " is out of bounds for dimension ", source_dim, " with size ", size, ", got input ",
                        text(source));
    }
    return call_op("select", view, dim, index);
}

Indexed apply_indices(PyObject* self, PyObject* key) {
    Tensor source = as_tensor(self);
    Indexed r{source, {}, false};
    std::vector<PyRef> items = index_items(key);
    int64_t consumed = 0;
    int ellipses = 0;
    for (PyRef& item : items) {
        if (is_sequence_index(item.get())) item = checked(wrap(index_array_from(item.get())));
        consumed += dims_consumed(item.get());
        ellipses += item.get() == Py_Ellipsis;
    }
    MASHAL_CHECK_AS(Index, consumed <= source.dim(), "index", "too many indices for tensor of dimension ", source.dim(),
                    ": ", consumed, ", got input ", text(source));
    MASHAL_CHECK_AS(Index, ellipses <= 1, "index", "an index can only have a single ellipsis ('...')");
    int64_t dim = 0, source_dim = 0, next_dim = 0;
    auto select = [&](int64_t index) { r.view = select_index(source, source_dim, r.view, dim, index); };
    for (PyRef& held : items) {
        PyObject* item = held.get();
        source_dim = next_dim;
        next_dim += item == Py_Ellipsis ? source.dim() - consumed : dims_consumed(item);
        if (PyLong_Check(item) && !PyBool_Check(item)) {
            select(int_from(item));
        } else if (PySlice_Check(item)) {
            r.view = slice_dim(r.view, dim, item);
            dim++;
        } else if (item == Py_Ellipsis) {
            dim += source.dim() - consumed;
        } else if (item == Py_None) {
            r.view = call_op("unsqueeze", r.view, dim);
            dim++;
        } else if (PyBool_Check(item)) {
            r.view = call_op("unsqueeze", r.view, dim);
            put_advanced(r, dim, bool_index(item == Py_True));
            dim++;
        } else if (is_tensor(item)) {
            Tensor index = as_tensor(item);
            bool mask = index.dtype() == DType::Bool || index.dtype() == DType::U8;
            if (index.dim() == 0 && is_integral(index.dtype(), true) && !index.device().is_meta()) {
                if (mask) {
                    r.view = call_op("unsqueeze", r.view, dim);
                    put_advanced(r, dim, bool_index(load_scalar(index.data(), index.dtype()).i != 0));
                    dim++;
                } else {
                    select(load_scalar(index.data(), index.dtype()).i);
                }
                continue;
            }
            MASHAL_CHECK_AS(
                NotImplemented, !mask || index.dim() > 0, "index",
                "what a mask without dimensions selects depends on its data, which meta tensors do not have");
            put_advanced(r, dim, index);
            dim += mask ? index.dim() : 1;
        } else if (PyIndex_Check(item)) {
            select(int_from(item));
        } else {
            raise_error(ErrorKind::Index, "index",
                        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                        "indices (got ",
                        Py_TYPE(item)->tp_name, ")");
        }
    }
    // In the list a mask takes one place, however many dimensions it covers.
    SmallVec<Tensor, 4> list;
    for (size_t d = 0; d < r.advanced.size();) {
        const Tensor& t = r.advanced[d];
        const bool mask = t.defined() && (t.dtype() == DType::Bool || t.dtype() == DType::U8);
        list.push_back(t);
        d += mask ? t.sizes().size() : 1;
    }
    r.advanced = std::move(list);
    return r;
}

PyObject* overridden(PyObject* self, const char* name, std::initializer_list<PyObject*> args) {
    PyRef face = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(g_tensor_type), name));
    PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(args.size()) + 1));
    PyTuple_SET_ITEM(tuple.get(), 0, Py_NewRef(self));
    Py_ssize_t i = 1;
    for (PyObject* a : args) PyTuple_SET_ITEM(tuple.get(), i++, Py_NewRef(a));
    PyRef named = checked(PyDict_New());
    PyObject* call_args[] = {face.get(), tuple.get(), named.get()};
    return PyObject_Vectorcall(g_hooks.torch_function, call_args, 3, nullptr);
}

bool intercepts(PyObject* self) {
    Interception& tls = interception();
    return tls.mode_depth > 0 ||
           (tls.disabled == 0 && Py_TYPE(self) != g_tensor_type && overrides_torch_function(Py_TYPE(self)));
}

}  // namespace

PyObject* tensor_getitem(PyObject* self, PyObject* key) {
    return guarded([&]() -> PyObject* {
        if (intercepts(self)) return overridden(self, "__getitem__", {key});
        if (PyLong_CheckExact(key)) {
            const Tensor t = as_tensor(self);
            return wrap(select_index(t, 0, t, 0, int_from(key)));
        }
        Indexed r = apply_indices(self, key);
        if (r.any_advanced) {
            return wrap(call_op("_index", r.view, make_tensor_list(r.advanced)));
        }
        if (r.view.get() == tensor_obj(self)) r.view = call_op("_alias", r.view);
        return wrap(std::move(r.view));
    });
}

int tensor_setitem(PyObject* self, PyObject* key, PyObject* value) {
    return guarded_status([&] {
        if (value == nullptr) raise_error(ErrorKind::Type, "", "Tensor does not support deleting items");
        if (intercepts(self)) {
            checked(overridden(self, "__setitem__", {key, value}));
            return;
        }
        Tensor source = as_tensor(self);
        Indexed r = apply_indices(self, key);
        bool number = is_number(value);
        Tensor v;
        if (is_tensor(value)) {
            v = as_tensor(value);
        } else if (number) {
            v = empty({}, source.dtype(), source.device());
            if (!r.any_advanced && !source.device().is_meta()) {
                call_op_in_place("_fill_", r.view, scalar_from(value));
                return;
            }
            if (!source.device().is_meta()) store_scalar(v.data(), v.dtype(), scalar_from(value));
        } else if (PySequence_Check(value)) {
            v = tensor_from_data(value, source.dtype(), true);
        } else {
            raise_error(ErrorKind::Type, "", "can't assign a ", Py_TYPE(value)->tp_name, " to a mashal.",
                        dtype_legacy_name(source.dtype()), "Tensor");
        }
        if (r.any_advanced) {
            if (v.dtype() != source.dtype()) v = call_op("_to_copy", v, source.dtype());
            call_op_in_place("_index_put_", r.view, make_tensor_list(r.advanced), v, false);
            return;
        }
        // Leading dimensions of size 1 that the place does not have are dropped.
        while (v.dim() > r.view.dim() && v.size(0) == 1) v = call_op("select", v, int64_t{0}, int64_t{0});
        call_op_in_place("copy_", r.view, v);
    });
}

}  // namespace mashal
