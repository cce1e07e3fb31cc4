// The callable faces of a primitive: a function (mashal.exp) and a method descriptor (Tensor.exp, Tensor.exp_).
#pragma once
#include "dispatch/autocast.h"
#include "python/common.h"

namespace mashal {

struct PyPrimitive {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject* dict;
    Primitive* prim;        // lives as long as the process
    PyObject** arg_names;   // interned
    PyObject* overload;     // tried when the arguments do not fit the schema
    PyObject* result_type;  // names the parts of a tuple result
    bool allows_out;
    CastPolicy cast_policy;
};

struct CallStyle {
    bool in_place = false;
    bool allows_out = false;
};

// Parses Python's arguments and runs the primitive; `face` is what __torch_function__ is told was called.
PyObject* call_primitive(PyPrimitive* p, PyObject* face, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                         CallStyle style);
// A binary operator: NotImplemented when an operand does not fit.
PyObject* call_operator(PyObject* callable, PyObject* a, PyObject* b, bool in_place);

}  // namespace mashal
