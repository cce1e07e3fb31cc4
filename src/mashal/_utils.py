"""Helpers of PyTorch that programs import."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from ._core import Tensor

# Where a helper lives: the modules that use them are loaded with the first of them.
_PLACES = {
    "ExceptionWrapper": "_exceptions",
    "KeyErrorMessage": "_exceptions",
    "_rebuild_device_tensor_from_cpu_tensor": "_pickling",
    "_rebuild_device_tensor_from_numpy": "_pickling",
    "_rebuild_meta_tensor_no_storage": "_pickling",
    "_rebuild_parameter": "_pickling",
    "_rebuild_parameter_with_state": "_pickling",
    "_rebuild_tensor": "_pickling",
    "_rebuild_tensor_v2": "_pickling",
    "_rebuild_tensor_v3": "_pickling",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(f"{__package__}.{_PLACES[name]}"), name)
    from ._missing import hook

    return hook(__name__)(name)


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """The elements of all, one after the other.

    Example:
        >>> import mashal
        >>> mashal._utils._flatten_dense_tensors([mashal.ones(1, 2), mashal.zeros(1)])
        tensor([1., 1., 0.])
    """
    from . import cat

    return cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Views of ``flat``, in the shapes of ``tensors``."""
    out, place = [], 0
    for t in tensors:
        out.append(flat.narrow(0, place, t.numel()).view_as(t))
        place += t.numel()
    return tuple(out)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterable[list[Tensor]]:
    """Lists of tensors of one type, each up to about ``size_limit`` bytes."""
    groups: dict[str, tuple[list[Tensor], int]] = {}
    for t in tensors:
        size = t.numel() * t.element_size()
        group, total = groups.get(t.type(), ([], 0))
        if group and total + size > size_limit:
            yield group
            group, total = [], 0
        groups[t.type()] = ([*group, t], total + size)
    for group, _ in groups.values():
        if group:
            yield group


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """``tensors``, which are grouped by type, in the order of types of ``ordered_tensors``."""
    queues: dict[str, list[Tensor]] = {}
    for t in tensors:
        queues.setdefault(t.type(), []).append(t)
    iterators = {kind: iter(queue) for kind, queue in queues.items()}
    return tuple(next(iterators[t.type()]) for t in ordered_tensors)


def _element_size(dtype: Any) -> int:
    """Bytes of one element."""
    return int(dtype.itemsize)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of an accelerator's device.

    Raises:
        ValueError: there is none in ``device``, and ``optional`` is False.
    """
    from . import _core

    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = _core.device(device)
    if isinstance(device, _core.device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        return -1 if device.type == "cpu" or device.index is None else int(device.index)
    if optional:
        return -1
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")


def _get_available_device_type() -> str | None:
    """The type of the accelerator: None."""
    return None


def _get_all_device_indices() -> list[int]:
    """The numbers of the accelerator's devices: none."""
    return []


def _import_dotted_name(name: str) -> Any:
    """What a dotted name names."""
    head, *rest = name.split(".")
    obj: Any = __import__(head)
    for part in rest:
        obj = getattr(obj, part)
    return obj


def is_compiling() -> bool:
    """Whether this is being compiled: False."""
    return False


def cpu_count() -> int:
    """How many processors this process may use."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class classproperty:
    """A property of a class."""

    def __init__(self, func: Any) -> None:
        self.fget = func

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.fget(owner if owner is not None else type(instance))
