"""Larger and smaller of two, limits, selection by a condition, replacement of nan."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from .._dtype_info import finfo
from ._pointwise import in_place, is_number, pointwise, zeros
from ._registry import composite


def _chosen(g: Tensor, wins: Tensor) -> Tensor:
    """The gradient where ``wins``, else 0."""
    return where(wins, g, 0)


# ---- larger and smaller of two ----

maximum = pointwise(
    "maximum(Tensor input, Tensor other) -> Tensor",
    "same",
    "The larger of two elements; nan if one of them is.",
    gradient="g to the larger one, half to each of two equal ones.",
    example="mashal.maximum(mashal.tensor([1, 5]), mashal.tensor([3, 2]))\ntensor([3, 5])",
)
minimum = pointwise(
    "minimum(Tensor input, Tensor other) -> Tensor",
    "same",
    "The smaller of two elements; nan if one of them is.",
    gradient="g to the smaller one, half to each of two equal ones.",
    example="mashal.minimum(mashal.tensor([1, 5]), mashal.tensor([3, 2]))\ntensor([1, 2])",
)


def _shared(g: Tensor, tie: Tensor, loses: Tensor) -> Tensor:
    return where(tie, g * 0.5, g).masked_fill(loses, 0)


maximum.vjp(
    input=lambda g, input, other: _shared(g, input == other, input < other),
    other=lambda g, input, other: _shared(g, input == other, input > other),
)
minimum.vjp(
    input=lambda g, input, other: _shared(g, input == other, input > other),
    other=lambda g, input, other: _shared(g, input == other, input < other),
)

fmax = pointwise(
    "fmax(Tensor input, Tensor other) -> Tensor",
    "same",
    "The larger of two elements; the other one if one is nan.",
    gradient="g to the one that is chosen, ``input`` if they are equal.",
    example="mashal.fmax(mashal.tensor([1.0, float('nan')]), mashal.tensor([3.0, 2.0]))\ntensor([3., 2.])",
)
fmin = pointwise(
    "fmin(Tensor input, Tensor other) -> Tensor",
    "same",
    "The smaller of two elements; the other one if one is nan.",
    gradient="g to the one that is chosen, ``input`` if they are equal.",
    example="mashal.fmin(mashal.tensor([1.0, float('nan')]), mashal.tensor([3.0, 2.0]))\ntensor([1., 2.])",
)


def _is_nan(value: Any) -> Any:
    return value.isnan() if isinstance(value, Tensor) else math.isnan(value)


fmax.vjp(
    input=lambda g, input, other: _chosen(g, (input >= other) | _is_nan(other)),
    other=lambda g, input, other: g.masked_fill((input >= other) | _is_nan(other), 0),
)
fmin.vjp(
    input=lambda g, input, other: _chosen(g, (input <= other) | _is_nan(other)),
    other=lambda g, input, other: g.masked_fill((input <= other) | _is_nan(other), 0),
)

# ---- limits ----

_clamp_backward = pointwise(
    "_clamp_backward(Tensor grad, Tensor input, Number min, Number max) -> Tensor",
    "same",
    "The gradient of clamp: ``grad`` where ``min <= input <= max``, else 0.",
    loop="clamp_backward",
)
_clamp_backward.vjp(grad=lambda g, input, min, max: _clamp_backward(g, input, min, max), input=zeros)

_clamp = pointwise(
    "_clamp(Tensor input, Number min, Number max) -> Tensor",
    "same",
    "The input limited to [min, max].",
    gradient="g within the limits and at them, 0 beyond.",
    inplace=True,
    loop="clamp",
)
_clamp.vjp(input=lambda g, input, min, max: _clamp_backward(g, input, min, max))

_clamp_min = pointwise(
    "_clamp_min(Tensor input, Number min) -> Tensor",
    "same",
    "The input limited from below.",
    gradient="g at the limit and above, 0 below.",
    inplace=True,
    loop="clamp_min",
)
_clamp_min.vjp(input=lambda g, input, min: _clamp_backward(g, input, min, float("inf")))

_clamp_max = pointwise(
    "_clamp_max(Tensor input, Number max) -> Tensor",
    "same",
    "The input limited from above.",
    gradient="g at the limit and below, 0 above.",
    inplace=True,
    loop="clamp_max",
)
_clamp_max.vjp(input=lambda g, input, max: _clamp_backward(g, input, -float("inf"), max))

_clamp_tensor = pointwise(
    "_clamp_tensor(Tensor input, Tensor min, Tensor max) -> Tensor",
    "same",
    "The input limited to [min, max], element by element.",
    gradient="g to the one that is chosen: to ``input`` at a limit, to ``max`` where ``min > max``.",
    inplace=True,
    loop="clamp_tensor",
)
_clamp_tensor.vjp(
    input=lambda g, input, min, max: _chosen(g, (input >= min) & (input <= max)),
    min=lambda g, input, min, max: _chosen(g, (min < max) & (input < min)),
    max=lambda g, input, min, max: _chosen(g, (input > max) | (max < min)),
)
_clamp_min_tensor = pointwise(
    "_clamp_min_tensor(Tensor input, Tensor min) -> Tensor",
    "same",
    "The input limited from below, element by element.",
    gradient="g to the one that is chosen, to ``input`` at the limit.",
    inplace=True,
    loop="maximum",
)
_clamp_min_tensor.vjp(
    input=lambda g, input, min: _chosen(g, input >= min),
    min=lambda g, input, min: _chosen(g, input < min),
)
_clamp_max_tensor = pointwise(
    "_clamp_max_tensor(Tensor input, Tensor max) -> Tensor",
    "same",
    "The input limited from above, element by element.",
    gradient="g to the one that is chosen, to ``input`` at the limit.",
    inplace=True,
    loop="minimum",
)
_clamp_max_tensor.vjp(
    input=lambda g, input, max: _chosen(g, input <= max),
    max=lambda g, input, max: _chosen(g, input > max),
)
_IN_PLACE = {
    p: in_place(p) for p in (_clamp, _clamp_min, _clamp_max, _clamp_tensor, _clamp_min_tensor, _clamp_max_tensor)
}


def _as_number(bound: Any) -> Any:
    """A tensor beside a number stands for one itself if it has no dimensions and no gradient."""
    if not isinstance(bound, Tensor):
        return bound
    if bound.ndim or bound.requires_grad:
        raise TypeError("clamp(): arguments 'min' and 'max' must both be tensors or both be numbers")
    return bound.item()


def _clamp_call(input: Tensor, min: Any, max: Any) -> tuple[Any, tuple[Any, ...]]:
    """The primitive for these bounds and its arguments after the input."""
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if min is None:
            return _clamp_max_tensor, (max,)
        if max is None:
            return _clamp_min_tensor, (min,)
        if isinstance(min, Tensor) and isinstance(max, Tensor):
            return _clamp_tensor, (min, max)
        min, max = _as_number(min), _as_number(max)
    for name, bound in (("min", min), ("max", max)):
        if bound is not None and not is_number(bound):
            raise TypeError(f"clamp(): argument '{name}' must be Number or Tensor, not {type(bound).__name__}")
    if max is None:
        if min is None:
            raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None.")
        return _clamp_min, (min,)
    return (_clamp_max, (max,)) if min is None else (_clamp, (min, max))


def _widened(input: Tensor, bounds: tuple[Any, ...]) -> Tensor:
    """The input in the common type of it and of bounds that are numbers."""
    dtype = input.dtype
    if dtype.is_floating_point or dtype.is_complex or isinstance(bounds[0], Tensor):
        return input
    for bound in bounds:
        if isinstance(bound, float):
            dtype = _core.get_default_dtype()
        elif dtype == _core.bool and not isinstance(bound, bool):
            dtype = _core.int64
    return input if dtype == input.dtype else input.to(dtype)


@composite(method=True, out=True)
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """``min(max(input, min), max)``: every element limited to [min, max]; ``max`` where ``min > max``.

    Args:
        input: real tensor of any shape.
        min: lower limit: number, tensor that broadcasts with ``input``, or None for no limit.
        max: upper limit, likewise; not both may be None.

    Returns:
        a tensor of the broadcast shape and the common type of input and limits; nan stays nan.

    Raises:
        RuntimeError: both limits are None, or the input is complex.

    Gradient:
        g within the limits and at them, 0 beyond; limits that are tensors receive the rest.

    Example:
        >>> import mashal
        >>> mashal.clamp(mashal.tensor([-1.0, 0.5, 2.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
    if isinstance(min, (int, float)) and isinstance(max, (int, float)) and input.dtype.is_floating_point:
        return _clamp(input, min, max)
    primitive, bounds = _clamp_call(input, min, max)
    return primitive(_widened(input, bounds), *bounds)


@composite(method=True)
def clamp_(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """In-place :func:`clamp`."""
    primitive, bounds = _clamp_call(input, min, max)
    wide = _widened(input, bounds)
    if wide.dtype != input.dtype:
        raise RuntimeError(
            f"clamp_: result type {wide.dtype} can't be cast to the type of input, "
            f"got input {tuple(input.shape)} {input.dtype}."
        )
    return _IN_PLACE[primitive](input, *bounds)


@composite(method=True, out=True)
def clip(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Another name of :func:`clamp`."""
    return clamp(input, min, max)


@composite(method=True)
def clip_(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Another name of :func:`clamp_`."""
    return clamp_(input, min, max)


@composite(method=True, out=True)
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """:func:`clamp` with a lower limit only."""
    return clamp(input, min, None)


@composite(method=True)
def clamp_min_(input: Tensor, min: Any) -> Tensor:
    """In-place :func:`clamp_min`."""
    return clamp_(input, min, None)


@composite(method=True, out=True)
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """:func:`clamp` with an upper limit only."""
    return clamp(input, None, max)


@composite(method=True)
def clamp_max_(input: Tensor, max: Any) -> Tensor:
    """In-place :func:`clamp_max`."""
    return clamp_(input, None, max)


# ---- selection ----

where = pointwise(
    "where(Tensor condition, Tensor input, Tensor other) -> Tensor",
    "where",
    "``input`` where the condition holds, else ``other``.\n\n"
    "With the condition alone, the indices at which it holds, as ``nonzero(as_tuple=True)``.",
    gradient="g where the condition holds, 0 elsewhere; the rest to ``other``.",
    raises="the condition is not bool.",
    example="mashal.where(mashal.tensor([True, False]), mashal.tensor([1, 2]), 0)\ntensor([1, 0])",
    method=False,
)
where.vjp(input=lambda g, condition: where(condition, g, 0), other=lambda g, condition: where(condition, 0, g))


@where.overloaded
def _(condition: Tensor) -> tuple[Tensor, ...]:
    return condition.nonzero(as_tuple=True)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``x.where(condition, y)`` is ``where(condition, x, y)``."""
    return where(condition, self, other)


setattr(_core.Tensor, "where", _where_method)  # noqa: B010 (an assignment would be a type error)

_heaviside = pointwise(
    "_heaviside(Tensor input, Tensor values) -> Tensor",
    "same",
    "The step function: 0 below 0, 1 above, ``values`` at 0.",
    loop="heaviside",
)
_heaviside.nondifferentiable("a step function")


@composite(method=True, out=True, inplace=True)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """The step function: 0 below 0, 1 above, ``values`` at 0.

    Args:
        input: real tensor of any shape.
        values: tensor of the same type that broadcasts with it.

    Returns:
        a tensor of the broadcast shape and the same type, without gradient.

    Raises:
        RuntimeError: the types differ.

    Example:
        >>> import mashal
        >>> mashal.heaviside(mashal.tensor([-1.0, 0.0, 2.0]), mashal.tensor([0.5]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    if input.dtype != values.dtype:
        raise RuntimeError(
            f"heaviside: input and values must have one type, got input {input.dtype} and values {values.dtype}."
        )
    return _heaviside(input, values)


# ---- nan ----

_nan_to_num = pointwise(
    "_nan_to_num(Tensor input, Number nan, Number posinf, Number neginf) -> Tensor",
    "same",
    "The input with nan and infinities replaced.",
    gradient="g where the input is finite, else 0.",
    inplace=True,
    loop="nan_to_num",
)
_nan_to_num.vjp(input=lambda g, input: _chosen(g, input.isfinite()))
_nan_to_num_in_place = in_place(_nan_to_num)


def _replacements(
    dtype: Any, nan: float | None, posinf: float | None, neginf: float | None
) -> tuple[float, float, float]:
    limits = finfo(dtype)
    return (
        0.0 if nan is None else nan,
        limits.max if posinf is None else posinf,
        limits.min if neginf is None else neginf,
    )


@composite(method=True, out=True)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """The input with nan and infinities replaced by numbers.

    Args:
        input: tensor of any shape; integers are returned unchanged.
        nan: replaces nan, 0 if None.
        posinf: replaces infinity, the largest number of the type if None.
        neginf: replaces minus infinity, the smallest number of the type if None.

    Returns:
        a tensor of the same shape and type.

    Gradient:
        g where the input is finite, else 0.

    Example:
        >>> import mashal
        >>> mashal.nan_to_num(mashal.tensor([1.0, float('nan'), float('inf')]), posinf=9.0)
        tensor([1., 0., 9.])
    """
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        return input.clone()
    return _nan_to_num(input, *_replacements(input.dtype, nan, posinf, neginf))


@composite(method=True)
def nan_to_num_(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """In-place :func:`nan_to_num`."""
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        return input
    return _nan_to_num_in_place(input, *_replacements(input.dtype, nan, posinf, neginf))
