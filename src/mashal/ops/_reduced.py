"""What the rooms of reductions share about reduced dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Tensor, get_default_dtype
from ._dims import wrap_dim

Dims = int | Sequence[int] | None


def reduced_dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The reduced dimensions, counted from the front; None and () mean all."""
    if isinstance(dim, int):
        dim = (dim,)
    if dim is None or len(dim) == 0:
        return tuple(range(ndim))
    return tuple(wrap_dim("dim", d, ndim) for d in dim) if ndim else ()


def restore_dims(t: Tensor, ndim: int, dim: Dims, keepdim: bool) -> Tensor:
    """A result with its reduced dimensions put back as size 1, to broadcast with the ``ndim`` of the input."""
    if keepdim or t.ndim == ndim or dim is None:
        return t
    for d in sorted(reduced_dims(dim, ndim)):
        t = t.unsqueeze(d)
    return t


def reduced_count(shape: Sequence[int], dim: Dims) -> int:
    """How many elements make up one result."""
    n = 1
    for d in reduced_dims(dim, len(shape)):
        n *= shape[d]
    return n


def put_selected(g: Tensor, shape: Sequence[int], dim: int, keepdim: bool, indices: Tensor) -> Tensor:
    """The gradient of selecting one element at ``indices`` along ``dim``."""
    if len(shape) == 0:
        return g
    if not keepdim:
        g, indices = g.unsqueeze(dim), indices.unsqueeze(dim)
    return g.new_zeros(shape).scatter(dim, indices, g)


def promoted_float(input: Tensor) -> Tensor:
    """Integers as the default float type."""
    if input.is_floating_point() or input.is_complex():
        return input
    return input.to(get_default_dtype())


def spread_sum(g: Tensor, shape: Sequence[int], dim: Dims, keepdim: bool) -> Tensor:
    """The gradient of a sum."""
    return restore_dims(g, len(shape), dim, keepdim).expand(shape)
