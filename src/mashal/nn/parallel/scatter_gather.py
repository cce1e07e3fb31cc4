"""Batches split over devices and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mashal

from ... import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _is_namedtuple(obj: Any) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_fields")


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """One value per device: tensors are cut along ``dim`` and moved, containers by element, the rest repeated."""
    if isinstance(inputs, Tensor):
        parts = inputs.chunk(len(target_gpus), dim)
        return tuple(part.to(device) for part, device in zip(parts, target_gpus, strict=False))
    if _is_namedtuple(inputs):
        return [type(inputs)(*parts) for parts in _each(inputs, target_gpus, dim)]
    if isinstance(inputs, (tuple, list)) and inputs:
        return [type(inputs)(parts) for parts in _each(inputs, target_gpus, dim)]
    if isinstance(inputs, dict) and inputs:
        columns = _each(list(inputs.values()), target_gpus, dim)
        return [type(inputs)(zip(inputs, parts, strict=True)) for parts in columns]
    return [inputs for _ in target_gpus]


def _each(items: Any, target_gpus: Sequence[Any], dim: int) -> list[tuple[Any, ...]]:
    # A tensor that is too short for all devices limits their number.
    return list(zip(*(scatter(item, target_gpus, dim) for item in items), strict=False))


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Positional and keyword arguments per device; the shorter list is filled up with empty ones."""
    positional = list(scatter(inputs, target_gpus, dim)) if inputs else []
    keywords = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    positional += [()] * (len(keywords) - len(positional))
    keywords += [{}] * (len(positional) - len(keywords))
    return tuple(positional), tuple(keywords)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The devices' results as one on ``target_device``: tensors joined along ``dim``, containers element by element."""
    first = outputs[0]
    if isinstance(first, Tensor):
        return mashal.cat([t.unsqueeze(0) if t.dim() == 0 else t for t in (o.to(target_device) for o in outputs)], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(o) != len(first) for o in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    parts = [gather(list(column), target_device, dim) for column in zip(*outputs, strict=True)]
    return type(first)(*parts) if _is_namedtuple(first) else type(first)(parts)
