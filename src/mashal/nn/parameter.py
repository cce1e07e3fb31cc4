"""Parameter and Buffer: tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

import mashal

from .. import Tensor
from .._pickling import reduce_parameter
from ..overrides import DisableTorchFunctionSubclass, _disabled_torch_function_impl

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


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


class UninitializedTensorMixin:
    """A tensor that knows its dtype and device but not yet its shape; :meth:`materialize` makes it an ordinary one."""

    cls_to_become: Any = Tensor

    # What moving, copying and converting a module does to its tensors. All else needs values.
    _allowed = frozenset(
        (
            "bfloat16", "copy_", "cpu", "cuda", "detach", "double", "dtype", "float", "get_device", "half",
            "is_complex", "is_floating_point", "is_meta", "requires_grad_", "size", "to", "_to", "_to_copy", "type",
        )
    )  # fmt: skip

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Gives the tensor a shape, and uninitialised values; its class becomes the ordinary one.

        Args: shape: of any length. device, dtype: default to those the tensor was made with.
        """
        me: Any = self
        me.data = mashal.empty(
            tuple(shape),
            device=me.data.device if device is None else device,
            dtype=me.data.dtype if dtype is None else dtype,
        )
        me.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized module. Call "
            "`forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, proto: Any) -> Any:
        return type(self), (self.requires_grad,)  # type: ignore[attr-defined]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in cls._allowed:
            with DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {name or func}. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )


def is_lazy(param: Any) -> bool:
    """Whether the tensor has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet. It becomes a :class:`Parameter` in :meth:`materialize`.

    Args:
        requires_grad: as for :class:`Parameter`.
        device, dtype: of the parameter to come.
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return Tensor._make_subclass(cls, mashal.empty(0, device=device, dtype=dtype), requires_grad)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        """Everything happens in ``__new__``."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet. It becomes a tensor in :meth:`materialize`.

    Args:
        requires_grad: rarely wanted for a buffer.
        device, dtype: of the buffer to come.
        persistent: as for :class:`Buffer`.
    """

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        buffer = Tensor._make_subclass(cls, mashal.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> None:
        """Everything happens in ``__new__``."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype, self.persistent)
        return memo[id(self)]
