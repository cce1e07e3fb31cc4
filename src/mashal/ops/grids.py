"""Grids, combinations and block matrices."""

from __future__ import annotations

import itertools
from typing import Any

from .._core import Tensor
from ._registry import composite
from .creation import arange, empty
from .joining import cat, stack
from .views import atleast_2d

# A grid has a dimension for each tensor; tensors have at most so many.
_MAX_DIMS = 64


@composite()
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: views of vectors, spread over each other's lengths.

    Args: ``tensors``: 0-d or 1-d Tensors of one dtype; ``indexing``: "ij" (default: dimension i belongs to argument
    i) or "xy" (the first two dimensions are swapped). Returns: tuple of Tensors of shape ``(len(t0), len(t1), ...)``.
    Raises: RuntimeError for more dimensions or differing dtypes. Gradient: the sum over the copies.

    Example:
        >>> import mashal
        >>> mashal.meshgrid(mashal.tensor([1, 2]), mashal.tensor([3, 4]), indexing="ij")[0]
        tensor([[1, 1],
                [2, 2]])
    """
    if len(tensors) == 1 and not isinstance(tensors[0], Tensor):
        tensors = tuple(tensors[0])
    if not tensors:
        raise RuntimeError("meshgrid: expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(f"meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tuple(t.shape)}")
        if t.dtype != tensors[0].dtype:
            raise RuntimeError("meshgrid: expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = [t.numel() for t in tensors]
    grids = [t.reshape([-1 if i == k else 1 for i in range(len(tensors))]).expand(shape) for k, t in enumerate(tensors)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@composite()
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of elements, one from each vector, as rows; a single vector is returned as it is.

    Raises: RuntimeError for tensors that are not 1-d. Gradient: that of the copies.

    Example:
        >>> import mashal
        >>> mashal.cartesian_prod(mashal.tensor([1, 2]), mashal.tensor([3]))
        tensor([[1, 3],
                [2, 3]])
    """
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"cartesian_prod: Expect a 1D vector, but got shape {tuple(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([g.reshape(-1) for g in meshgrid(*tensors, indexing="ij")], 1)


@composite()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Combinations of ``r`` elements of a vector, as rows in lexicographic order of positions.

    Raises: RuntimeError for a negative ``r`` or an input that is not 1-d. Gradient: that of the copies.

    Example:
        >>> import mashal
        >>> mashal.combinations(mashal.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(f"combinations: Expect a 1D vector, but got shape {tuple(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    if r > _MAX_DIMS:
        raise RuntimeError(f"combinations: r must be at most {_MAX_DIMS}, the number of dimensions, got {r}")
    number = arange(input.shape[0])
    values, positions = meshgrid(*[input] * r, indexing="ij"), meshgrid(*[number] * r, indexing="ij")
    wanted = positions[0] >= 0
    for before, after in itertools.pairwise(positions):
        wanted = wanted & (before <= after if with_replacement else before < after)
    return stack([v.masked_select(wanted) for v in values], 1)


@composite()
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices (vectors are rows, 0-d tensors 1 x 1) along its diagonal and zeros elsewhere.

    Raises: RuntimeError for more than two dimensions. Gradient: every tensor gets its block.

    Example:
        >>> import mashal
        >>> mashal.block_diag(mashal.tensor([[1, 2]]), mashal.tensor(3))
        tensor([[1, 2, 0],
                [0, 0, 3]])
    """
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(f"block_diag(): argument 'tensors' must be Tensors, not {type(t).__name__}")
    blocks = [atleast_2d(t) for t in tensors]
    for i, b in enumerate(blocks):
        if b.dim() > 2:
            raise RuntimeError(
                f"block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {b.dim()} dimensions"
            )
    if not blocks:
        return empty(1, 0)
    columns = sum(b.shape[1] for b in blocks)
    rows, before = [], 0
    for b in blocks:
        after = columns - before - b.shape[1]
        rows.append(cat([b.new_zeros(b.shape[0], before), b, b.new_zeros(b.shape[0], after)], 1))
        before += b.shape[1]
    return cat(rows, 0)
