"""Tensors with random values for tests."""

from __future__ import annotations

import math
from typing import Any

import mashal

from .. import _core
from .._core import Tensor

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor with values drawn uniformly from ``[low, high)``, the same numbers as PyTorch's for a seed.

    Args:
        shape: sizes, or one sequence of them.
        dtype: its type.
        device: its device.
        low: default -9 (0 for uint8 and bool).
        high: default 9 for floating types, 10 for integers, 2 for bool.
        requires_grad: mark it.
        noncontiguous: leave gaps between the elements of the last dimension.
        exclude_zero: replace zeros by the smallest positive number of the type (1 for integers).
        memory_format: the order of dimensions in memory; not with ``noncontiguous``.

    Raises:
        ValueError: ``low`` is not below ``high``, requires_grad for integers, or both of the last two are given.

    Example:
        >>> import mashal
        >>> mashal.testing.make_tensor((2, 3), dtype=mashal.int64, device="cpu", low=0, high=1)
        tensor([[0, 0, 0],
                [0, 0, 0]])
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
            f"{memory_format=}"
        )
    real = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not real:
        raise ValueError(
            f"`requires_grad=True` is only supported for floating point and complex dtypes, but got {dtype}"
        )
    low, high = _bounds(dtype, low, high)
    if dtype.is_complex:
        result = mashal.empty(sizes, dtype=dtype, device=device)
        mashal.view_as_real(result).uniform_(low, high)
    elif real:
        result = mashal.empty(sizes, dtype=dtype, device=device).uniform_(low, high)
    else:
        result = mashal.randint(int(low), int(high), sizes, dtype=dtype, device=device)
    if noncontiguous and result.numel() > 1:
        result = mashal.repeat_interleave(result, 2, dim=-1)[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        smallest = mashal.finfo(dtype).tiny if real else 1
        result[result == 0] = smallest
    return result.requires_grad_() if requires_grad else result


def _bounds(dtype: Any, low: float | None, high: float | None) -> tuple[float, float]:
    """The bounds, within the type's range; integer ones are rounded up."""
    real = dtype.is_floating_point or dtype.is_complex
    if dtype is _core.bool:
        least, most, defaults = 0.0, 2.0, (0, 2)
    elif real:
        info = mashal.finfo(dtype)
        least, most, defaults = info.min, info.max, (-9, 9)
    else:
        whole = mashal.iinfo(dtype)
        least, most, defaults = (
            whole.min,
            whole.max + (dtype is not _core.int64),
            (0 if dtype is _core.uint8 else -9, 10),
        )
    low = defaults[0] if low is None else low
    high = defaults[1] if high is None else high
    for name, value in (("low", low), ("high", high)):
        if isinstance(value, float) and math.isnan(value):
            raise ValueError(f"`low` and `high` cannot be NaN, but got {name}={value}")
    if low > high or (low == high and not real):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < least or low > most:
        raise ValueError(f"The value interval [{low}, {high}) lies outside of the range of {dtype}.")
    low, high = max(low, least), min(high, most)
    if not real:
        return math.ceil(low), math.ceil(high)
    return low, high
