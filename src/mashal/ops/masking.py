"""Ops whose positions come from a mask or from values: masked_fill, masked_select, nonzero, triangles, diagonals."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from ._registry import composite, op
from .copy import _number_or_tensor
from .joining import cat
from .views import broadcast_shapes


@op("_masked_fill(Tensor input, Tensor mask, Number value) -> Tensor")
def _masked_fill() -> None:
    """``input`` with a number where ``mask`` is true; see ``masked_fill``.

    Example:
        >>> import mashal
        >>> mashal._ops._masked_fill(mashal.zeros(2), mashal.tensor([True, False]), 3)
        tensor([3., 0.])
    """


@op("_masked_fill_(Tensor input, Tensor mask, Number value) -> Tensor", out=False)
def _masked_fill_() -> None:
    """Writes a number into ``input`` where ``mask`` is true; see ``masked_fill_``.

    Example:
        >>> import mashal
        >>> mashal._ops._masked_fill_(mashal.zeros(2), mashal.tensor([True, False]), 3)
        tensor([3., 0.])
    """


for _primitive in (_masked_fill, _masked_fill_):
    _primitive.vjp(input=lambda g, mask: _masked_fill(g, mask, 0))


@composite(method=True, out=True)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``input`` with ``value`` where ``mask`` is true.

    Args: ``mask``: bool Tensor, broadcast with ``input``; ``value``: number or 0-d Tensor.
    Raises: RuntimeError for a mask of another dtype. Gradient: zero where masked; ``value`` gets the sum of the rest.

    Example:
        >>> import mashal
        >>> mashal.tensor([1., 2.]).masked_fill(mashal.tensor([True, False]), 0)
        tensor([0., 2.])
    """
    value = _number_or_tensor("masked_fill", value)
    if isinstance(value, Tensor):
        return value.to(input.dtype).where(mask, input)
    return _masked_fill(input, mask, value)


@composite(method=True, function=False)
def masked_fill_(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``masked_fill`` into ``input`` itself.

    Example:
        >>> import mashal
        >>> mashal.tensor([1., 2.]).masked_fill_(mashal.tensor([True, False]), 0)
        tensor([0., 2.])
    """
    value = _number_or_tensor("masked_fill_", value)
    if isinstance(value, Tensor):
        return input.copy_(value.to(input.dtype).where(mask, input))
    return _masked_fill_(input, mask, value)


@op("masked_select(Tensor input, Tensor mask) -> Tensor", dynamic="as long as the mask has ones")
def masked_select() -> None:
    """The elements of ``input`` where ``mask`` is true, as a vector in row-major order; the two are broadcast together.

    Raises: RuntimeError for a mask that is not bool. Gradient: goes back to where the elements came from.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 2, 3]).masked_select(mashal.tensor([True, False, True]))
        tensor([1, 3])
    """


@masked_select.vjp("input")
def _(g: Tensor, input_shape: tuple[int, ...], mask: Tensor) -> Tensor:
    shape = broadcast_shapes(input_shape, mask.shape)
    return g.new_zeros(shape).masked_scatter(mask.expand(shape), g)


@op("masked_scatter(Tensor input, Tensor mask, Tensor source) -> Tensor", inplace=True)
def masked_scatter() -> None:
    """``input`` with the elements of ``source``, one after the other, where ``mask`` is true.

    Args: ``mask``: bool Tensor, broadcast with ``input``; ``source``: dtype of ``input``, at least as many elements
    as the mask has true ones. Raises: RuntimeError otherwise.
    Gradient: zero where written; every element of ``source`` gets that of its place.

    Example:
        >>> import mashal
        >>> mashal.zeros(3).masked_scatter(mashal.tensor([True, False, True]), mashal.tensor([1., 2.]))
        tensor([1., 0., 2.])
    """


@masked_scatter.vjp("input")
def _(g: Tensor, mask: Tensor) -> Tensor:
    return _masked_fill(g, mask, 0)


@masked_scatter.vjp("source")
def _(g: Tensor, mask: Tensor, source_shape: tuple[int, ...]) -> Tensor:
    used = g.masked_select(mask)
    count = 1
    for n in source_shape:
        count *= n
    return cat([used, g.new_zeros(count - used.numel())]).view(source_shape)


@op("_nonzero(Tensor input) -> Tensor", dynamic="as many rows as elements that are not zero")
def _nonzero() -> None:
    """Positions of elements that are not zero, one row each; see ``nonzero``.

    Example:
        >>> import mashal
        >>> mashal._ops._nonzero(mashal.tensor([0, 3]))
        tensor([[1]])
    """


_nonzero.nondifferentiable("integer output")


@composite(method=True, out=True)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not zero, in row-major order.

    Returns: int64 Tensor ``(n, input.dim())``; with ``as_tuple`` one vector for every dimension (a 0-d input counts
    as 1-d).

    Example:
        >>> import mashal
        >>> mashal.nonzero(mashal.tensor([[0, 1], [2, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    if not as_tuple:
        return _nonzero(input)
    return _nonzero(input.reshape(1) if input.dim() == 0 else input).unbind(1)


@composite(method=True)
def argwhere(input: Tensor) -> Tensor:
    """``nonzero``, by NumPy's name.

    Example:
        >>> import mashal
        >>> mashal.argwhere(mashal.tensor([0, 3]))
        tensor([[1]])
    """
    return _nonzero(input)


# ---- triangles and diagonals ----


@op("tril(Tensor input, int diagonal=0) -> Tensor", inplace=True)
def tril() -> None:
    """The lower triangles of matrices; the other elements become zero.

    Args: ``input``: ``(..., rows, columns)``; ``diagonal``: the last diagonal that stays (0: main, negative: below).
    Raises: RuntimeError for fewer than two dimensions. Gradient: that of the triangle.

    Example:
        >>> import mashal
        >>> mashal.ones(2, 2).tril()
        tensor([[1., 0.],
                [1., 1.]])
    """


tril.vjp(input=lambda g, diagonal: g.tril(diagonal))


@op("triu(Tensor input, int diagonal=0) -> Tensor", inplace=True)
def triu() -> None:
    """The upper triangles of matrices; the other elements become zero.

    Args: ``input``: ``(..., rows, columns)``; ``diagonal``: the first diagonal that stays (0: main, positive: above).
    Raises: RuntimeError for fewer than two dimensions. Gradient: that of the triangle.

    Example:
        >>> import mashal
        >>> mashal.ones(2, 2).triu()
        tensor([[1., 1.],
                [0., 1.]])
    """


triu.vjp(input=lambda g, diagonal: g.triu(diagonal))


@op("diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
def diag_embed() -> None:
    """Vectors along the last dimension become diagonals of matrices over ``dim1`` and ``dim2`` of the result.

    ``offset``: which diagonal (0: main, positive: above). Raises: RuntimeError if ``dim1`` equals ``dim2``.
    Gradient: that of the diagonal.

    Example:
        >>> import mashal
        >>> mashal.diag_embed(mashal.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """


diag_embed.vjp(input=lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2))


@composite(method=True, out=True)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector becomes the diagonal of a square matrix; of a matrix, a copy of the diagonal is taken.

    Raises: RuntimeError for other numbers of dimensions. Gradient: that of the diagonal.

    Example:
        >>> import mashal
        >>> mashal.diag(mashal.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    if input.dim() == 1:
        return diag_embed(input, diagonal)
    if input.dim() == 2:
        return input.diagonal(diagonal).clone()
    raise RuntimeError(f"diag: Supports 1D or 2D tensors. Got {input.dim()}D")


@composite(method=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A square matrix with the flattened input on a diagonal. Gradient: that of the diagonal.

    Example:
        >>> import mashal
        >>> mashal.diagflat(mashal.tensor([[1], [2]]))
        tensor([[1, 0],
                [0, 2]])
    """
    return diag_embed(input.reshape(-1), offset)
