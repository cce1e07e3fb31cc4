"""Other types, devices and layouts of a tensor: ``to`` and its short forms."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite
from .copy import _to_copy


def _parse_to(args: tuple[Any, ...], dtype: Any, device: Any) -> tuple[Any, Any, bool]:
    """``to(dtype)``, ``to(device, dtype)``, ``to(other)``, each followed by non_blocking and copy."""
    copy = False
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        dtype, device = other.dtype, other.device
    elif rest and (isinstance(rest[0], _core.dtype) or rest[0] in (float, int, bool, complex)):
        dtype = rest.pop(0)
    elif rest and isinstance(rest[0], (str, int, _core.device)):
        device = rest.pop(0)
        if rest and isinstance(rest[0], _core.dtype):
            dtype = rest.pop(0)
    elif rest and rest[0] is None:
        rest.pop(0)
        if rest and isinstance(rest[0], _core.dtype):
            dtype = rest.pop(0)
    elif rest:
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({type(rest[0]).__name__}), but expected a "
            "dtype, a device or a Tensor"
        )
    if len(rest) > 1:
        copy = bool(rest[1])
    return dtype, device, copy


def _checked_device(device: Any) -> Any:
    device = device if isinstance(device, _core.device) else _core.device(device)
    if device.type == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    return device


@composite(method=True, function=False)
def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
    other: Any = None,
) -> Tensor:
    """This tensor with another type or device: itself if nothing changes, else a copy.

    Args:
        args: a dtype, a device with an optional dtype, or a tensor whose type and device are taken.
        copy: copy even if nothing changes. memory_format: the layout of the copy.

    Raises:
        AssertionError: for a CUDA device where none is available.
    Gradient: that of the result, in this tensor's type.

    Example:
        >>> import mashal
        >>> mashal.ones(2).to(mashal.int64)
        tensor([1, 1])
    """
    if args or other is not None:
        dtype, device, forced = _parse_to((other, *args) if other is not None else args, dtype, device)
        copy = copy or forced
    if dtype is None or dtype is self.dtype:
        dtype = None
    if device is not None:
        device = _checked_device(device)
        if device != self.device and (device.type, self.device.type) != ("cpu", "cpu"):
            return _move(self, dtype, device)
    if (
        dtype is None
        and not copy
        and (memory_format in (None, _core.preserve_format) or self.is_contiguous(memory_format=memory_format))
    ):
        return self
    return _to_copy(self, dtype=dtype, memory_format=memory_format)


def _move(self: Tensor, dtype: Any, device: Any) -> Tensor:
    dtype = dtype or self.dtype
    if device.type == "meta":
        out = _core.empty(self.shape, self.stride(), dtype, device)
        return out.requires_grad_() if self.requires_grad else out
    raise NotImplementedError(
        "Cannot copy out of meta tensor; no data! Use nn.Module.to_empty() to move a module from meta to another "
        "device."
    )


def _cast(name: str, dtype: Any) -> None:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        if self.dtype is dtype and memory_format is None:
            return self
        return _to_copy(self, dtype=dtype, memory_format=memory_format)

    cast.__doc__ = f"This tensor as {dtype}: itself, or a copy."
    composite(method=True, function=False, name=name)(cast)


for _name, _dtype in {
    "float": _core.float32,
    "double": _core.float64,
    "half": _core.float16,
    "bfloat16": _core.bfloat16,
    "int": _core.int32,
    "long": _core.int64,
    "short": _core.int16,
    "char": _core.int8,
    "byte": _core.uint8,
    "bool": _core.bool,
    "cfloat": _core.complex64,
    "cdouble": _core.complex128,
}.items():
    _cast(_name, _dtype)


@composite(method=True, function=False)
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """This tensor in CPU memory: itself, or a copy."""
    return to(self, "cpu", memory_format=memory_format)


@composite(method=True, function=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor with the type of another."""
    return to(self, dtype=other.dtype)
