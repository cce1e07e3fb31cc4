"""Parameter and Buffer: tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

import mashal

from .. import Tensor
from .._pickling import reduce_parameter
from ..overrides import _disabled_torch_function_impl

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    r"""A tensor that counts as a parameter of the module it is assigned to.

    Assigning one as an attribute of a :class:`~mashal.nn.Module` adds it to ``module.parameters()``. The parameter
    shares memory with ``data`` and is a leaf of the autograd graph. Building one is unaffected by ``no_grad``.

    Args:
        data: tensor of any shape. Omitted: an empty tensor.
        requires_grad: whether ``backward`` fills ``grad``. Default: ``True``.

    Example::

        >>> scale = nn.Parameter(torch.ones(3))
        >>> scale.requires_grad
        True
    """

    # Results of operations on parameters are plain tensors.
    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = mashal.empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter: data must be a Tensor, got {type(data).__name__}. Use torch.tensor(data).")
        return Tensor._make_subclass(cls, data, requires_grad)

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        """Everything happens in ``__new__``; the tensor type's own initialiser must not see these arguments."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.data.clone(memory_format=mashal.preserve_format), self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        # As a plain tensor, whose text does not depend on how subclasses are named.
        return f"Parameter containing:\n{self.data.requires_grad_(self.requires_grad)!r}"

    def __reduce_ex__(self, proto: Any) -> Any:
        return reduce_parameter(self)


class _BufferMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(metaclass=_BufferMeta):
    r"""A tensor that becomes a buffer of the module it is assigned to: saved and moved with it, never optimised.

    The call returns a plain tensor that shares memory with ``data`` and carries a mark; ``isinstance(x, Buffer)``
    looks for the mark.

    Args:
        data: tensor of any shape. Omitted: an empty tensor.
        persistent: whether the buffer is part of ``state_dict``. Default: ``True``.

    Example::

        >>> module = nn.Module()
        >>> module.mean = nn.Buffer(torch.zeros(3))
        >>> [name for name, _ in module.named_buffers()]
        ['mean']
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = mashal.empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer
