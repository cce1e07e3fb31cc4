"""``Variable`` of programs written before tensors and variables became one."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _core
from .._core import Tensor


class _VariableMeta(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(data, requires_grad=False)``: a tensor of any type that shares ``data``'s memory, outside its graph.

    Without data, an empty tensor. ``volatile`` has no effect.

    Raises:
        TypeError: ``data`` is not a tensor.
        RuntimeError: ``requires_grad`` of data that are not of a floating type.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2
            )
        if data is None:
            return _core.empty((0,), None, None, None).requires_grad_(requires_grad)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
