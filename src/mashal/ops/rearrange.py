"""Moving and repeating blocks: flip, roll, rot90, repeat, tile, repeat_interleave."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ._dims import spread_ints, wrap_dim
from ._registry import composite, op


@op("flip(Tensor input, int[*] dims) -> Tensor")
def flip() -> None:
    """Reverses the order of elements along ``dims`` (a copy, not a view).

    Raises: RuntimeError for a dimension named twice, IndexError for one that does not exist. Gradient: flipped back.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 2, 3]).flip(0)
        tensor([3, 2, 1])
    """


flip.vjp(input=lambda g, dims: g.flip(dims))


@composite(method=True)
def fliplr(input: Tensor) -> Tensor:
    """``flip`` along dimension 1.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1, 2]]).fliplr()
        tensor([[2, 1]])
    """
    if input.dim() < 2:
        raise RuntimeError("fliplr: Input must be >= 2-d.")
    return input.flip(1)


@composite(method=True)
def flipud(input: Tensor) -> Tensor:
    """``flip`` along dimension 0.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 2]).flipud()
        tensor([2, 1])
    """
    if input.dim() < 1:
        raise RuntimeError("flipud: Input must be >= 1-d.")
    return input.flip(0)


@op("_roll(Tensor input, int[] shifts, int[] dims) -> Tensor")
def _roll() -> None:
    """Moves elements by ``shifts[i]`` along ``dims[i]``, around the end; see ``roll``.

    Gradient: rolled back.

    Example:
        >>> import mashal
        >>> mashal._ops._roll(mashal.tensor([1, 2, 3]), [1], [0])
        tensor([3, 1, 2])
    """


_roll.vjp(input=lambda g, shifts, dims: _roll(g, [-n for n in shifts], dims))


@composite(method=True)
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Moves elements along dimensions; those that leave at the end come back at the start.

    Args: ``shifts``: int or sequence; ``dims``: as many dimensions; without them the flattened tensor is rolled.
    Raises: RuntimeError if the numbers of shifts and dimensions differ. Gradient: rolled back.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 2, 3]).roll(1)
        tensor([3, 1, 2])
    """
    shifts = list(shifts) if isinstance(shifts, (list, tuple)) else [operator.index(shifts)]
    dims = [] if dims is None else list(dims) if isinstance(dims, (list, tuple)) else [operator.index(dims)]
    if not shifts:
        raise RuntimeError("roll: `shifts` required")
    if dims and input.dim() == 0:
        raise IndexError(f"roll: Dimension specified as {dims[0]} but tensor has no dimensions")
    if not dims and len(shifts) == 1:
        return _roll(input.reshape(-1), shifts, [0]).view(input.shape)
    if len(shifts) != len(dims):
        raise RuntimeError(f"roll: shifts and dimensions must align. shifts: {len(shifts)}, dims: {len(dims)}")
    return _roll(input, shifts, dims)


@composite(method=True)
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turns the plane of two dimensions by ``k`` right angles, from the first dimension towards the second.

    Raises: RuntimeError unless ``dims`` names two different dimensions. Gradient: turned back.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1, 2], [3, 4]]).rot90()
        tensor([[2, 4],
                [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"rot90: expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"rot90: expected total dims >= 2, but got total dims = {input.dim()}")
    a, b = (wrap_dim("rot90", d, input.dim()) for d in dims)
    if a == b:
        raise RuntimeError(
            f"rot90: expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    k %= 4
    if k == 0:
        return input.clone(memory_format=_core.contiguous_format)
    if k == 1:
        return input.flip(b).transpose(a, b)
    return input.flip((a, b)) if k == 2 else input.flip(a).transpose(a, b)


@composite(method=True, function=False)
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """Copies laid side by side: ``repeats[i]`` times along dimension i; more repeats than dimensions add leading ones.

    Raises: RuntimeError for fewer repeats than dimensions or a negative one. Gradient: the sum over the copies.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    if not repeats:
        raise TypeError("repeat() missing 1 required positional argument: 'repeats'")
    times = spread_ints(repeats)
    if len(times) < input.dim():
        raise RuntimeError(
            "repeat: Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor, got "
            f"repeats {times} and input {tuple(input.shape)}"
        )
    if any(n < 0 for n in times):
        raise RuntimeError(f"repeat: Trying to create tensor with negative dimension, got repeats {times}")
    shape = (1,) * (len(times) - input.dim()) + tuple(input.shape)
    # Each dimension (n) becomes (times, n); where nothing repeats, one is enough.
    parts = [(n,) if t == 1 else (t, n) for t, n in zip(times, shape, strict=True)]
    ones = [p if len(p) == 1 else (1, p[1]) for p in parts]
    spread = input.reshape([n for p in ones for n in p]).expand([n for p in parts for n in p])
    return spread.clone(memory_format=_core.contiguous_format).view([t * n for t, n in zip(times, shape, strict=True)])


@composite(method=True)
def tile(input: Tensor, *dims: Any) -> Tensor:
    """``repeat``, where missing leading counts are 1.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1, 2]]).tile(2)
        tensor([[1, 2, 1, 2]])
    """
    times = spread_ints(dims)
    return repeat(input, (1,) * (input.dim() - len(times)) + times)


@op("_repeat_interleave(Tensor repeats, int? output_size=None) -> Tensor", dynamic="as long as the sum of the repeats")
def _repeat_interleave() -> None:
    """The index ``i``, ``repeats[i]`` times, for every i; see ``repeat_interleave``.

    Example:
        >>> import mashal
        >>> mashal._ops._repeat_interleave(mashal.tensor([2, 0, 1]))
        tensor([0, 0, 2])
    """


_repeat_interleave.nondifferentiable("integer output")


@composite(method=True)
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeats elements along ``dim`` (default: of the flattened tensor), each in place.

    Args: ``repeats``: int, or integer Tensor with a count for every element along ``dim`` (or one for all). With a
    single argument, the counts, the result holds the numbers of the elements. ``output_size``: the sum of the counts.
    Raises: RuntimeError for negative or ill-fitting counts. Gradient: the sum over the copies.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 2]).repeat_interleave(2)
        tensor([1, 1, 2, 2])
    """
    if repeats is None:
        return _repeat_interleave(input, output_size)
    if dim is None:
        input, dim = input.reshape(-1), 0
    dim = wrap_dim("repeat_interleave", dim, input.dim())
    if input.dim() == 0:
        input = input.reshape(1)
    n = input.shape[dim]
    if isinstance(repeats, Tensor):
        if repeats.dim() == 0 or (repeats.dim() == 1 and repeats.shape[0] == 1):
            repeats = repeats.reshape(1).expand(n)
        elif repeats.dim() != 1 or repeats.shape[0] != n:
            raise RuntimeError(
                f"repeat_interleave: repeats must have the same size as input along dim, got repeats "
                f"{tuple(repeats.shape)} and input {tuple(input.shape)} along dim {dim}"
            )
        return input.index_select(dim, _repeat_interleave(repeats, output_size))
    if repeats < 0:
        raise RuntimeError(f"repeat_interleave: repeats must be non-negative, got repeats {repeats}")
    if output_size is not None and output_size != n * repeats:
        raise RuntimeError(
            f"repeat_interleave: allocated size does not match required size: got output_size {output_size}, "
            f"but repeats add up to {n * repeats}"
        )
    shape = list(input.shape)
    spread = input.unsqueeze(dim + 1).expand([*shape[: dim + 1], repeats, *shape[dim + 1 :]])
    shape[dim] *= repeats
    return spread.clone(memory_format=_core.contiguous_format).view(shape)
