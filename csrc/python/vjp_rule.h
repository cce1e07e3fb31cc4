// Derivative rules written in Python.
#pragma once
#include "python/common.h"

namespace mashal {

// Adds a rule for one argument (`input` names it) or, with None, a joint rule for all. `params` are the names of the
// function's parameters: they say what the tape saves.
void add_vjp_rule(Primitive& prim, PyObject* input, PyObject* fn, PyObject* params);

}  // namespace mashal
