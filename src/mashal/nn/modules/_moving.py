"""Moving and converting a module: ``to``, ``float``, ``cuda``, ``to_empty`` and the rest of that family."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import mashal

from ... import Tensor
from ..parameter import Parameter, is_lazy

T = TypeVar("T", bound="_MovingMixin")


class _MovingMixin:
    """The part of :class:`~mashal.nn.Module` that changes devices and dtypes. All of it goes through ``_apply``."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]

    def children(self) -> Iterator[Any]:
        raise NotImplementedError

    def _apply(self: T, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> T:
        """Replaces every parameter, gradient and buffer by ``fn`` of it; parameters keep their identity."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for key, param in self._parameters.items():
            if param is None:
                continue
            with mashal.no_grad():
                new = fn(param)
            grad = param.grad
            if _can_swap_data(param, new):
                param.data = new
                owner = param
            else:
                owner = Parameter(new, param.requires_grad)
                self._parameters[key] = owner
            if grad is not None:
                with mashal.no_grad():
                    new_grad = fn(grad)
                if _can_swap_data(grad, new_grad) and owner is param:
                    requires_grad = grad.requires_grad
                    grad.data = new_grad
                    grad.requires_grad_(requires_grad)
                    owner.grad = grad
                else:
                    owner.grad = new_grad.requires_grad_(grad.requires_grad)
        for key, buf in self._buffers.items():
            if is_lazy(buf):
                buf.data = fn(buf)  # type: ignore[union-attr]
            elif buf is not None:
                self._buffers[key] = fn(buf)
        return self

    def apply(self: T, fn: Callable[[Any], None]) -> T:
        """Calls ``fn`` on every submodule and then on this module; often used to initialise weights."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        r"""Moves and/or converts the parameters and buffers, in place.

        Forms: ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype, non_blocking=False)``,
        ``to(tensor, non_blocking=False)``, ``to(memory_format=channels_last)``. A dtype is applied to floating-point
        and complex tensors only; a memory format to 4-D and 5-D tensors only.

        Raises:
            TypeError: the dtype is neither floating point nor complex.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may change, "
                    "and some modules might not work as expected when using complex tensors as parameters or buffers. "
                    "Please file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml "
                    "if a complex module does not work as expected.",
                    stacklevel=2,
                )

        def convert(t: Tensor) -> Tensor:
            new_dtype = dtype if t.is_floating_point() or t.is_complex() else None
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device, new_dtype, non_blocking, memory_format=memory_format)
            try:
                return t.to(device, new_dtype, non_blocking)
            except NotImplementedError as err:
                # Copying out of the meta device cannot work; say what can.
                if t.is_meta:
                    raise NotImplementedError(
                        f"{err} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() "
                        "when moving module from meta to a different device."
                    ) from None
                raise

        return self._apply(convert)

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """Moves to ``device`` without copying values: the new tensors are uninitialised."""
        return self._apply(lambda t: mashal.empty_like(t, device=device), recurse=recurse)

    def cuda(self: T, device: Any = None) -> T:
        """Moves everything to the GPU ``device`` (default: the current one)."""
        return self._apply(lambda t: t.cuda(device))

    def cpu(self: T) -> T:
        """Moves everything to main memory."""
        return self._apply(lambda t: t.cpu())

    def type(self: T, dst_type: Any) -> T:
        """Converts every parameter and buffer, integers included, to ``dst_type``."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self: T) -> T:
        """Converts floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self: T) -> T:
        """Converts floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self: T) -> T:
        """Converts floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self: T) -> T:
        """Converts floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def share_memory(self: T) -> T:
        """Moves parameters and buffers to memory that other processes can map."""
        return self._apply(lambda t: t.share_memory_())


def _can_swap_data(old: Tensor, new: Tensor) -> bool:
    """Whether ``old.data = new`` works: real and meta tensors cannot become each other."""
    return old.is_meta == new.is_meta


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The arguments of ``to`` as ``(device, dtype, non_blocking, memory_format)``."""
    memory_format = kwargs.pop("memory_format", None)
    kwargs.pop("copy", None)  # a module is always changed in place
    device = dtype = None
    rest = list(args)
    other = kwargs.pop("tensor", kwargs.pop("other", None))
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    if other is not None:
        device, dtype = other.device, other.dtype
    elif rest and isinstance(rest[0], mashal.dtype):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], mashal.dtype)):
            dtype = rest.pop(0)
    non_blocking = bool(rest.pop(0)) if rest else False
    if len(rest) > 1:
        raise TypeError(f"to: at most device, dtype, non_blocking and copy may be given by position, got {args}.")
    device = kwargs.pop("device", device)
    dtype = kwargs.pop("dtype", dtype)
    non_blocking = kwargs.pop("non_blocking", non_blocking)
    if kwargs:
        raise TypeError(
            f"to() received an invalid combination of arguments - unexpected keyword {next(iter(kwargs))!r}"
        )
    if device is not None and not isinstance(device, mashal.device):
        device = mashal.device(device)
    return device, dtype, non_blocking, memory_format
