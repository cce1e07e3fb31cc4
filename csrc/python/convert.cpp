#include "python/common.h"

#include "core/generator.h"

namespace mashal {

PythonHooks g_hooks;

namespace {
// PyTorch raises IndexError for some ops and RuntimeError for others when an index is out of range: one class that is
// both.
PyObject* out_of_range_error() {
    static PyObject* type = [] {
        PyRef bases = PyRef::steal(PyTuple_Pack(2, PyExc_IndexError, PyExc_RuntimeError));
        return PyErr_NewException("mashal.OutOfRangeError", bases.get(), nullptr);
    }();
    return type ? type : PyExc_IndexError;
}
}  // namespace

PyObject* translate_exception() noexcept {
    try {
        throw;
    } catch (const ForeignError&) {
    } catch (const Error& e) {
        PyObject* type = PyExc_RuntimeError;
        switch (e.kind()) {
            case ErrorKind::Value: type = PyExc_ValueError; break;
            case ErrorKind::Type: type = PyExc_TypeError; break;
            case ErrorKind::Index: type = out_of_range_error(); break;
            case ErrorKind::Assertion: type = PyExc_AssertionError; break;
            case ErrorKind::NotImplemented: type = PyExc_NotImplementedError; break;
            default: break;
        }
        PyErr_SetString(type, e.what());
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError, "not enough memory for the working space of an operation on the CPU");
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    return nullptr;
}

bool is_number(PyObject* o) {
    if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) return true;
    if (is_tensor(o)) return false;
    // NumPy scalars and the like; sequences and arrays are no numbers.
    PyNumberMethods* methods = Py_TYPE(o)->tp_as_number;
    if (methods == nullptr || (methods->nb_index == nullptr && methods->nb_float == nullptr)) return false;
    return !PySequence_Check(o);
}

int64_t int_from(PyObject* o) {
    if (PyLong_CheckExact(o)) {
        int overflow = 0;
        long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow) raise_error(ErrorKind::Runtime, "", "Overflow when unpacking long");
        return v;
    }
    PyRef index = checked(PyNumber_Index(o));
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (overflow) raise_error(ErrorKind::Runtime, "", "Overflow when unpacking long");
    if (v == -1 && PyErr_Occurred()) throw ForeignError();
    return v;
}

// Asking may raise: a tensor of several elements has no truth value.
static bool truth_of(PyObject* o) {
    const int truth = PyObject_IsTrue(o);
    check_status(truth);
    return truth == 1;
}

Scalar scalar_from(PyObject* o) {
    if (PyFloat_Check(o)) return Scalar::of(PyFloat_AS_DOUBLE(o));
    if (PyBool_Check(o)) return Scalar::of(o == Py_True);
    if (PyLong_Check(o)) return Scalar::of(int_from(o));
    if (PyComplex_Check(o)) {
        Py_complex c = PyComplex_AsCComplex(o);
        return Scalar::of(c128{c.real, c.imag});
    }
    if (is_tensor(o)) {
        Tensor t = as_tensor(o);
        MASHAL_CHECK(t.numel() == 1, "", "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
        MASHAL_CHECK(!t.device().is_meta(), "", "a meta Tensor has no data and cannot be converted to Scalar");
        return load_scalar(t.data(), t.dtype());
    }
    PyNumberMethods* methods = Py_TYPE(o)->tp_as_number;
    if (methods != nullptr && methods->nb_index != nullptr) return Scalar::of(int_from(o));
    // numpy.bool_ has no __index__ and says so by its name; its __float__ would lose the type.
    if (std::string_view(Py_TYPE(o)->tp_name) == "numpy.bool" || std::string_view(Py_TYPE(o)->tp_name) == "numpy.bool_")
        return Scalar::of(truth_of(o));
    if (PyObject_HasAttrString(o, "__complex__") && !PyObject_HasAttrString(o, "__float__")) {
        Py_complex c = PyComplex_AsCComplex(o);
        if (PyErr_Occurred()) throw ForeignError();
        return Scalar::of(c128{c.real, c.imag});
    }
    double v = PyFloat_AsDouble(o);
    if (v == -1 && PyErr_Occurred()) throw ForeignError();
    return Scalar::of(v);
}

PyObject* scalar_to_python(const Scalar& s) {
    switch (s.tag) {
        case Scalar::Tag::Bool: return PyBool_FromLong(s.i != 0);
        case Scalar::Tag::Int: return PyLong_FromLongLong(s.i);
        case Scalar::Tag::Float: return PyFloat_FromDouble(s.re);
        default: return PyComplex_FromDoubles(s.re, s.im);
    }
}

PyObject* size_to_python(IntSpan sizes) {
    PyRef tuple = checked(g_size_type->tp_alloc(g_size_type, static_cast<Py_ssize_t>(sizes.size())));
    for (size_t i = 0; i < sizes.size(); i++)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(sizes[i])).release());
    return tuple.release();
}

PyObject* ints_to_python(IntSpan v) {
    PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(v.size())));
    for (size_t i = 0; i < v.size(); i++)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(v[i])).release());
    return tuple.release();
}

IntVec ints_from(PyObject* o, std::string_view what) {
    IntVec out;
    if (is_tensor(o) && as_tensor(o).dim() > 0)
        raise_error(ErrorKind::Type, what, "must be a tuple of ints, not Tensor");
    PyRef fast = PyRef::steal(PySequence_Fast(o, ""));
    if (!fast) {
        PyErr_Clear();
        raise_error(ErrorKind::Type, what, "must be a tuple of ints, not ", Py_TYPE(o)->tp_name);
    }
    // The size is read each time and the item held: an __index__ of the user's own may change the list.
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
        PyRef item = PyRef::borrow(PySequence_Fast_GET_ITEM(fast.get(), i));
        if (!PyIndex_Check(item.get()))
            raise_error(ErrorKind::Type, what, "must be a tuple of ints, but found element of type ",
                        Py_TYPE(item.get())->tp_name, " at pos ", i);
        out.push_back(int_from(item.get()));
    }
    return out;
}

PyObject* value_to_python(const Value& v) {
    switch (v.tag()) {
        case Value::Tag::None: Py_RETURN_NONE;
        case Value::Tag::Tensor: return wrap(v.tensor());
        case Value::Tag::Tensors: {
            const auto& items = v.tensor_list();
            PyRef list = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
            for (size_t i = 0; i < items.size(); i++)
                PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap(items[i]));
            return list.release();
        }
        case Value::Tag::Bool:
        case Value::Tag::Int:
        case Value::Tag::Float:
        case Value::Tag::Complex: return scalar_to_python(v.scalar());
        case Value::Tag::Ints: return ints_to_python(v.int_list());
        case Value::Tag::Floats: {
            const auto& items = v.float_list();
            PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
            for (size_t i = 0; i < items.size(); i++)
                PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                                 checked(PyFloat_FromDouble(items[i])).release());
            return tuple.release();
        }
        case Value::Tag::Text:
            return PyUnicode_FromStringAndSize(v.text().data(), static_cast<Py_ssize_t>(v.text().size()));
        case Value::Tag::DType: return dtype_to_python(v.dtype());
        case Value::Tag::Device: return device_to_python(v.device());
        case Value::Tag::MemoryFormat: return memory_format_to_python(v.memory_format());
        case Value::Tag::Object: return generator_to_python(Ref<RefCounted>(v.object_ptr()));
    }
    Py_RETURN_NONE;
}

namespace {

[[noreturn]] void type_error(const Primitive& op, size_t index, const char* wanted, PyObject* got) {
    std::ostringstream out;
    out << op.name << "(): argument '" << op.schema.args[index].name << "' (position " << index + 1 << ") must be "
        << wanted << ", not " << Py_TYPE(got)->tp_name;
    throw Error(ErrorKind::Type, out.str());
}

bool is_int_like(PyObject* o) {
    if (PyLong_Check(o)) return true;
    if (is_tensor(o)) return as_tensor(o).numel() == 1 && is_integral(as_tensor(o).dtype(), false);
    return PyIndex_Check(o);
}

Value tensor_list_from(const Primitive& op, size_t index, PyObject* o) {
    const ArgSpec& spec = op.schema.args[index];
    if (!PyTuple_Check(o) && !PyList_Check(o)) {
        if (is_tensor(o) || !PySequence_Check(o)) type_error(op, index, "tuple of Tensors", o);
    }
    PyRef fast = checked(PySequence_Fast(o, "expected a sequence of Tensors"));
    SmallVec<Tensor, 4> items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
        PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
        if (item == Py_None && spec.item_optional) {
            items.push_back({});
            continue;
        }
        if (!is_tensor(item)) {
            std::ostringstream out;
            out << op.name << "(): argument '" << spec.name << "' (position " << index + 1
                << ") must be tuple of Tensors, but found element of type " << Py_TYPE(item)->tp_name << " at pos "
                << i;
            throw Error(ErrorKind::Type, out.str());
        }
        items.push_back(as_tensor(item));
    }
    return Value::tensors(std::move(items));
}

}  // namespace

void convert_argument(const Primitive& op, size_t index, PyObject* o, Value& out) {
    const ArgSpec& spec = op.schema.args[index];
    if (spec.type == ArgType::Tensor) {
        if (is_tensor(o)) {
            out = Value(as_tensor(o));
            return;
        }
        if (op.family == Family::Pointwise && o != Py_None && is_number(o)) {
            out = Value::number(scalar_from(o));
            return;
        }
        if (!(o == Py_None && (spec.optional || (spec.has_default && spec.default_value.is_none()))))
            type_error(op, index, "Tensor", o);
        out = Value();
        return;
    }
    if (o == Py_None) {
        if (!spec.optional) {
            static const char* const wanted[] = {
                "Tensor",        "tuple of Tensors",     "Number",          "int", "float",
                "bool",          "tuple of ints",        "tuple of floats", "str", "mashal.dtype",
                "mashal.device", "mashal.memory_format", "mashal.Generator"};
            type_error(op, index, wanted[static_cast<int>(spec.type)], o);
        }
        out = Value();
        return;
    }
    switch (spec.type) {
        case ArgType::Tensor: break;
        case ArgType::Tensors: out = tensor_list_from(op, index, o); break;
        case ArgType::Number:
            if (!is_number(o) && !(is_tensor(o) && as_tensor(o).numel() == 1)) type_error(op, index, "Number", o);
            out = Value::number(scalar_from(o));
            break;
        case ArgType::Int:
            if (!is_int_like(o) || PyBool_Check(o)) {
                if (PyBool_Check(o)) {
                    out = Value(static_cast<int64_t>(o == Py_True));
                    break;
                }
                type_error(op, index, "int", o);
            }
            out = Value(int_from(o));
            break;
        case ArgType::Float:
            if (!is_number(o) && !(is_tensor(o) && as_tensor(o).numel() == 1)) type_error(op, index, "float", o);
            out = Value(scalar_from(o).to_double());
            break;
        case ArgType::Bool:
            if (PyBool_Check(o))
                out = Value(o == Py_True);
            else if (PyLong_Check(o) || std::string_view(Py_TYPE(o)->tp_name).starts_with("numpy.bool") || is_tensor(o))
                out = Value(truth_of(o));
            else
                type_error(op, index, "bool", o);
            break;
        case ArgType::Ints:
            if (is_int_like(o)) {
                IntVec items(static_cast<size_t>(std::max(spec.repeat, 1)), int_from(o));
                out = Value::ints(items);
            } else {
                std::string what =
                    op.name + "(): argument '" + spec.name + "' (position " + std::to_string(index + 1) + ")";
                IntVec items = ints_from(o, what);
                if (spec.repeat > 1 && items.size() == 1) items.resize(static_cast<size_t>(spec.repeat), items[0]);
                out = Value::ints(items);
            }
            break;
        case ArgType::Floats: {
            auto box = make_ref<FloatList>();
            PyRef fast = PyRef::steal(PySequence_Fast(o, ""));
            if (!fast) {
                PyErr_Clear();
                type_error(op, index, "tuple of floats", o);
            }
            for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++)
                box->items.push_back(scalar_from(PySequence_Fast_GET_ITEM(fast.get(), i)).to_double());
            out = Value(std::move(box));
            break;
        }
        case ArgType::Text: {
            if (!PyUnicode_Check(o)) type_error(op, index, "str", o);
            auto box = make_ref<TextBox>();
            box->text = utf8(o);
            out = Value(std::move(box));
            break;
        }
        case ArgType::DType:
            if (!is_dtype(o)) type_error(op, index, "mashal.dtype", o);
            out = Value(dtype_from(o));
            break;
        case ArgType::Device: out = Value(device_from(o)); break;
        case ArgType::MemoryFormat: out = Value(memory_format_from(o)); break;
        case ArgType::Generator: {
            Ref<RefCounted> g = generator_from(o);
            if (!g) type_error(op, index, "mashal.Generator", o);
            out = Value::object(std::move(g));
            break;
        }
    }
}

}  // namespace mashal
