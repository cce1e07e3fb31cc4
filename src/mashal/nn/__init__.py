"""Neural networks: parameters, modules, functions and initial values."""

# ruff: noqa: F403 (every file names what it exports; one by one, because mypy loses `from .modules import *` in a cycle)

from typing import Any

from . import _reduction as _reduction
from . import attention, functional, init, modules, parallel, utils
from . import common_types as common_types
from . import grad as grad
from .modules import Module as Module
from .modules.activation import *
from .modules.adaptive import *
from .modules.batchnorm import *
from .modules.container import *
from .modules.conv import *
from .modules.distance import *
from .modules.dropout import *
from .modules.instancenorm import *
from .modules.lazy import *
from .modules.linear import *
from .modules.linear_cross_entropy import *
from .modules.loss import *
from .modules.multihead import *
from .modules.normalization import *
from .modules.padding import *
from .modules.pooling import *
from .modules.rnn import *
from .modules.shaping import *
from .modules.sparse import *
from .modules.transformer import *
from .modules.upsampling import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of tensor factories among a module's: device, dtype, memory_format.

    Those in a nested ``factory_kwargs`` come first; a name in both places is an error.

    Raises: TypeError for other names, or names given twice.

    Example:
        >>> import mashal
        >>> mashal.nn.factory_kwargs({"dtype": mashal.float64})
        {'dtype': mashal.float64}
    """
    if kwargs is None:
        return {}
    allowed = {"device", "dtype", "memory_format"}
    nested = kwargs.get("factory_kwargs", {})
    unexpected = (set(kwargs) - allowed - {"factory_kwargs"}) | (set(nested) - allowed)
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    twice = set(kwargs) & set(nested)
    if twice:
        raise TypeError(f"{min(twice)} specified twice, in **kwargs and in factory_kwargs")
    return {**nested, **{k: v for k, v in kwargs.items() if k in allowed}}


__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "factory_kwargs",
    "functional",
    "init",
    "modules",
    "parallel",
    "utils",
]
__all__ += modules.__all__
