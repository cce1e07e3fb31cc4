"""Page-locked memory for batches, as far as a value has a method for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .... import Tensor
from .collate import _rebuild_mapping, _rebuild_sequence

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """Return ``data`` with every tensor, and everything else that has a method ``pin_memory``, pinned.

    Loaders do so where there is a device that gains from it.
    """
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, lambda key: pin_memory(data[key], device))
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(value, device) for value in data))
    if isinstance(data, tuple):
        return [pin_memory(value, device) for value in data]
    if isinstance(data, Sequence):
        return _rebuild_sequence(data, [pin_memory(value, device) for value in data])
    return data
