"""Indexing with tensors: what ``x[i, :, j]`` and ``x[mask] = v`` come down to; take and put over flattened tensors."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Tensor
from ._registry import composite, op


@op("_index(Tensor input, Tensor?[] indices) -> Tensor")
def _index() -> None:
    """Picks elements by one index tensor per dimension; None takes a whole dimension.

    Args: ``indices``: int64 or int32 (negative entries count from the end), or bool masks, which stand for the
    positions of their true elements. They are broadcast together; if they name neighbouring dimensions, the result
    has theirs in that place, else in front.
    Raises: IndexError for an index out of range, a mask of the wrong shape, too many or ill-fitting indices.
    Gradient: added up where it was picked.

    Example:
        >>> import mashal
        >>> mashal._ops._index(mashal.tensor([[1, 2], [3, 4]]), [None, mashal.tensor([1, 0])])
        tensor([[2, 1],
                [4, 3]])
    """


@op("_index_put_(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", out=False)
def _index_put_() -> None:
    """Writes ``values``, broadcast, to the elements that ``_index`` would pick; ``accumulate`` adds instead.

    Raises: RuntimeError if dtypes differ or ``values`` does not broadcast; IndexError as ``_index``.
    Gradient: zero for what was overwritten; ``values`` gets that of its places.

    Example:
        >>> import mashal
        >>> mashal._ops._index_put_(mashal.zeros(2), [mashal.tensor([1, 1])], mashal.tensor(2.), True)
        tensor([0., 4.])
    """


_index.vjp(input=lambda g, input_shape, indices: _index_put_(g.new_zeros(input_shape), indices, g, True))


@_index_put_.vjp("input")
def _(g: Tensor, indices: Sequence[Tensor | None], accumulate: bool) -> Tensor:
    return g if accumulate else _index_put_(g.clone(), indices, g.new_zeros(()), False)


@_index_put_.vjp("values")
def _(g: Tensor, indices: Sequence[Tensor | None], values_shape: tuple[int, ...]) -> Tensor:
    picked = _index(g, indices)
    extra = len(values_shape) - picked.dim()  # leading sizes of 1 that the result lacks
    return picked.reshape((1,) * extra + tuple(picked.shape)) if extra > 0 else picked


@composite(method=True)
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Writes ``values`` to ``input[indices]`` in place; with ``accumulate`` adds them, repeated positions included.

    Raises: RuntimeError if dtypes differ or ``values`` does not broadcast; IndexError for an index out of range.
    Gradient: zero for what was overwritten (not with ``accumulate``); ``values`` gets that of its places.

    Example:
        >>> import mashal
        >>> mashal.zeros(2).index_put_((mashal.tensor([1]),), mashal.tensor(2.))
        tensor([0., 2.])
    """
    return _index_put_(input, indices, values, accumulate)


@composite(method=True)
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """``index_put_`` into a copy of ``input``.

    Example:
        >>> import mashal
        >>> mashal.zeros(2).index_put((mashal.tensor([1]),), mashal.tensor(2.))
        tensor([0., 2.])
    """
    return _index_put_(input.clone(), indices, values, accumulate)


@composite(method=True, out=True)
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened ``input``, in the shape of ``index``.

    Args: ``index``: int64; negative entries count from the end. Raises: IndexError for an index out of range.
    Gradient: added up where it was taken.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1, 2], [3, 4]]).take(mashal.tensor([0, 3]))
        tensor([1, 4])
    """
    return _index(input.reshape(-1), [index])


@composite(method=True, function=False)
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Writes the elements of ``source`` to positions of the flattened ``input``; with ``accumulate`` adds them.

    Args: ``index``: int64; ``source``: dtype of ``input``, as many elements as ``index``. Raises: IndexError for an
    index out of range; RuntimeError if the numbers differ. Gradient: as ``index_put_``.

    Example:
        >>> import mashal
        >>> mashal.zeros(2, 2).put_(mashal.tensor([3]), mashal.tensor([5.]))
        tensor([[0., 0.],
                [0., 5.]])
    """
    if index.numel() != source.numel():
        raise IndexError(
            "put_: Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    values = source.reshape(index.shape)
    if input.is_contiguous():
        _index_put_(input.view(-1), [index], values, accumulate)
        return input
    flat = _index_put_(input.reshape(-1), [index], values, accumulate)
    return input.copy_(flat.view(input.shape))


@composite(method=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """``put_`` into a copy of ``input``.

    Example:
        >>> import mashal
        >>> mashal.zeros(2).put(mashal.tensor([1]), mashal.tensor([5.]))
        tensor([0., 5.])
    """
    return put_(input.clone(), index, source, accumulate)
