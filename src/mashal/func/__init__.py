"""Functions of functions: derivatives, and calls of modules with given parameters."""

from ._modules import functional_call as functional_call
from ._modules import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from ._modules import stack_module_state as stack_module_state
from ._transforms import grad as grad
from ._transforms import grad_and_value as grad_and_value
from ._transforms import hessian as hessian
from ._transforms import jacfwd as jacfwd
from ._transforms import jacrev as jacrev
from ._transforms import jvp as jvp
from ._transforms import linearize as linearize
from ._transforms import vjp as vjp

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
]
