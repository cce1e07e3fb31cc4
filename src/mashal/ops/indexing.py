"""Reading and writing elements by index tensors along a dimension: gather, scatter, index_select, index_add, ..."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from ._dims import wrap_dim
from ._registry import composite, op
from .copy import _number_or_tensor
from .views import broadcast_shapes


def _padded(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``grad`` in the leading corner of zeros of ``shape``: elements that were never read have no gradient."""
    if tuple(grad.shape) == tuple(shape):
        return grad
    result = grad.new_zeros(shape)
    corner = result
    for d, n in enumerate(grad.shape):
        corner = corner.narrow(d, 0, n)
    corner.copy_(grad)
    return result


@op("gather(Tensor input, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor")
def gather() -> None:
    """Picks elements along ``dim``: ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, and so on.

    Args: ``index``: int64 or int32, as many dimensions as ``input``, in other dimensions not longer than ``input``.
    Returns: Tensor of the shape of ``index``.
    Raises: IndexError for an index outside ``[0, input.size(dim))``; RuntimeError for an index of another type or
    shape.
    Gradient: added up where it was picked.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1, 2], [3, 4]]).gather(1, mashal.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
    """


gather.vjp(input=lambda g, input_shape, dim, index: g.new_zeros(input_shape).scatter_add(dim, index, g))


@op("_scatter(Tensor input, int dim, Tensor index, Tensor src) -> Tensor")
def _scatter() -> None:
    """Writes elements of ``src`` to the places along ``dim`` that ``index`` names; see ``scatter``.

    Example:
        >>> import mashal
        >>> mashal._ops._scatter(mashal.zeros(3), 0, mashal.tensor([1]), mashal.tensor([5.]))
        tensor([0., 5., 0.])
    """


@op("_scatter_(Tensor input, int dim, Tensor index, Tensor src) -> Tensor", out=False)
def _scatter_() -> None:
    """Writes elements of ``src``, in place, to the places along ``dim`` that ``index`` names; see ``scatter``.

    Example:
        >>> import mashal
        >>> mashal._ops._scatter_(mashal.zeros(3), 0, mashal.tensor([1]), mashal.tensor([5.]))
        tensor([0., 5., 0.])
    """


@op("_scatter_value(Tensor input, int dim, Tensor index, Number value) -> Tensor")
def _scatter_value() -> None:
    """Writes a number to the places along ``dim`` that ``index`` names; see ``scatter``.

    Example:
        >>> import mashal
        >>> mashal._ops._scatter_value(mashal.zeros(3), 0, mashal.tensor([1]), 5)
        tensor([0., 5., 0.])
    """


@op("_scatter_value_(Tensor input, int dim, Tensor index, Number value) -> Tensor", out=False)
def _scatter_value_() -> None:
    """Writes a number, in place, to the places along ``dim`` that ``index`` names; see ``scatter``.

    Example:
        >>> import mashal
        >>> mashal._ops._scatter_value_(mashal.zeros(3), 0, mashal.tensor([1]), 5)
        tensor([0., 5., 0.])
    """


for _primitive in (_scatter, _scatter_, _scatter_value, _scatter_value_):
    _primitive.vjp(input=lambda g, dim, index: _scatter_value(g, dim, index, 0))
for _primitive in (_scatter, _scatter_):
    _primitive.vjp(src=lambda g, dim, index, src_shape: _padded(g.gather(dim, index), src_shape))

_LEGACY_REDUCE = {"add": "sum", "multiply": "prod"}


def _legacy_reduce(reduce: str) -> str:
    if reduce not in _LEGACY_REDUCE:
        raise RuntimeError(f"scatter: reduce argument must be either add or multiply, got {reduce}")
    return _LEGACY_REDUCE[reduce]


def _scatter_source(src: Any, value: Any) -> Any:
    if src is None and value is None:
        raise TypeError("scatter() missing required argument 'src' or 'value'")
    return value if src is None else src


@composite(method=True, out=True)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """Writes along ``dim``: ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``, and so on, into a copy of ``input``.

    Args: ``index``: int64 or int32, not longer than ``src`` anywhere, nor than ``input`` in other dimensions;
    ``src``: Tensor of the dtype of ``input``, or a number (also as ``value``); ``reduce``: "add" or "multiply"
    instead of overwriting. Of several elements for one place, the last one counts.
    Raises: IndexError for an index outside the dimension; RuntimeError for ill-fitting types or shapes.
    Gradient: zero for what was overwritten; each element of ``src`` gets that of its place.

    Example:
        >>> import mashal
        >>> mashal.zeros(3).scatter(0, mashal.tensor([1]), 5)
        tensor([0., 5., 0.])
    """
    source = _scatter_source(src, value)
    if reduce is not None:
        if not isinstance(source, Tensor):
            source = input.new_full(index.shape, source)
        return input.scatter_reduce(dim, index, source, _legacy_reduce(reduce))
    if isinstance(source, Tensor):
        return _scatter(input, dim, index, source)
    return _scatter_value(input, dim, index, source)


@composite(method=True, function=False)
def scatter_(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """``scatter`` into ``input`` itself.

    Example:
        >>> import mashal
        >>> mashal.zeros(3).scatter_(0, mashal.tensor([1]), 5)
        tensor([0., 5., 0.])
    """
    source = _scatter_source(src, value)
    if reduce is not None:
        if not isinstance(source, Tensor):
            source = input.new_full(index.shape, source)
        return input.scatter_reduce_(dim, index, source, _legacy_reduce(reduce))
    if isinstance(source, Tensor):
        return _scatter_(input, dim, index, source)
    return _scatter_value_(input, dim, index, source)


@op("scatter_add(Tensor input, int dim, Tensor index, Tensor src) -> Tensor", inplace=True)
def scatter_add() -> None:
    """Adds along ``dim``: ``out[index[i][j]][j] += src[i][j]`` for ``dim=0``, and so on, starting from ``input``.

    Arguments and errors as ``scatter``. Sums are in order of the index; the half types accumulate in float32.
    Gradient: passes to ``input``; each element of ``src`` gets that of its place.

    Example:
        >>> import mashal
        >>> mashal.zeros(2).scatter_add(0, mashal.tensor([1, 1]), mashal.tensor([2., 3.]))
        tensor([0., 5.])
    """


scatter_add.vjp(
    input=lambda g: g,
    src=lambda g, dim, index, src_shape: _padded(g.gather(dim, index), src_shape),
)


@op(
    "scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    inplace=True,
)
def scatter_reduce() -> None:
    """Reduces all elements of ``src`` that ``index`` sends to one place: "sum", "prod", "mean", "amax" or "amin".

    ``include_self``: whether the element of ``input`` takes part. Places that get nothing keep it. Other arguments
    and errors as ``scatter``. Gradient: shared evenly between the elements that equal an extremum.

    Example:
        >>> import mashal
        >>> mashal.zeros(2).scatter_reduce(0, mashal.tensor([1, 1]), mashal.tensor([2., 3.]), "amax")
        tensor([0., 3.])
    """


@scatter_reduce.vjp
def _(
    g: Tensor, input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, out: Tensor
) -> tuple[Tensor, None, Tensor]:
    grad_input, grad_src = _reduce_gradients(g, input, dim, index, src, reduce, include_self, out)
    return grad_input, None, grad_src


def _reduce_gradients(
    g: Tensor, input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, out: Tensor
) -> tuple[Tensor, Tensor]:
    shape = tuple(src.shape)
    for d in range(src.dim()):  # only what the index covers took part
        src = src.narrow(d, 0, index.shape[d])

    def touched(t: Tensor, number: float) -> Tensor:
        return t if include_self else _scatter_value(t, dim, index, number)

    if reduce == "sum":
        grad_input, grad_src = g, g.gather(dim, index)
    elif reduce == "mean":
        count = touched(g.new_ones(g.shape), 0).scatter_add(dim, index, g.new_ones(index.shape)).clamp(min=1)
        grad_input = g / count
        grad_src = grad_input.gather(dim, index)
    elif reduce in ("amax", "amin"):
        from_input = touched((input == out).to(g.dtype), 0)
        from_src = (src == out.gather(dim, index)).to(g.dtype)
        share = g / from_input.scatter_add(dim, index, from_src).clamp(min=1)
        grad_input, grad_src = from_input * share, from_src * share.gather(dim, index)
    else:
        # A product without one factor is a quotient, unless the factor is zero: those are computed with a one instead.
        start = touched(input, 1)
        no_zero = start.masked_fill(start == 0, 1)
        grad_input = g * no_zero.scatter_reduce(dim, index, src, "prod") / no_zero
        zero = src == 0
        zeros_here = _scatter_value(g.new_zeros(g.shape), dim, index, 0).scatter_add(dim, index, zero.to(g.dtype))
        single = zero & (zeros_here.gather(dim, index) == 1)
        without = start.scatter_reduce(dim, index, src.masked_fill(single, 1), "prod")
        quotient = (g * out).gather(dim, index) / src.masked_fill(zero, 1)
        grad_src = (g * without).gather(dim, index).where(single, quotient)
    return touched(grad_input, 0), _padded(grad_src, shape)


@op("index_select(Tensor input, int dim, Tensor index) -> Tensor")
def index_select() -> None:
    """Picks whole slices along ``dim``, in the order of ``index``.

    Args: ``index``: int64 or int32, 1-d (or 0-d). Returns: a new Tensor with ``len(index)`` slices.
    Raises: IndexError for an index outside ``[0, input.size(dim))`` or with more dimensions.
    Gradient: added up where it was picked.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1, 2], [3, 4]]).index_select(0, mashal.tensor([1, 1]))
        tensor([[3, 4],
                [3, 4]])
    """


index_select.vjp(input=lambda g, input_shape, dim, index: g.new_zeros(input_shape).index_add(dim, index, g))


@op("index_add(Tensor input, int dim, Tensor index, Tensor source, *, Number alpha=1) -> Tensor", inplace=True)
def index_add() -> None:
    """Adds ``alpha`` times the slices of ``source`` to the slices of ``input`` that ``index`` names.

    Args: ``index``: int64 or int32 vector with an entry for every slice of ``source`` along ``dim``; ``source``:
    dtype of ``input``, and its shape but for ``dim``. Raises: IndexError for an index outside the dimension;
    RuntimeError otherwise.
    Gradient: passes to ``input``; every slice of ``source`` gets ``alpha`` times that of its place.

    Example:
        >>> import mashal
        >>> mashal.zeros(2).index_add(0, mashal.tensor([1, 1]), mashal.tensor([2., 3.]))
        tensor([0., 5.])
    """


index_add.vjp(
    input=lambda g: g,
    source=lambda g, dim, index, alpha, source_shape: _times(g.index_select(dim, index).reshape(source_shape), alpha),
)


def _times(g: Tensor, alpha: Any) -> Tensor:
    if alpha == 1:
        return g
    return g * (alpha.conjugate() if isinstance(alpha, complex) else alpha)


@op("index_copy(Tensor input, int dim, Tensor index, Tensor source) -> Tensor", inplace=True)
def index_copy() -> None:
    """Replaces the slices of ``input`` that ``index`` names by those of ``source``; arguments as ``index_add``.

    Gradient: zero for what was replaced; every slice of ``source`` gets that of its place.

    Example:
        >>> import mashal
        >>> mashal.zeros(2).index_copy(0, mashal.tensor([1]), mashal.tensor([3.]))
        tensor([0., 3.])
    """


@op(
    "index_reduce(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    inplace=True,
)
def index_reduce() -> None:
    """Reduces slices of ``source`` into the slices of ``input`` that ``index`` names: "prod", "mean", "amax" or "amin".

    Arguments as ``index_add``; ``include_self``: whether ``input`` takes part. Gradient: as ``scatter_reduce``.

    Example:
        >>> import mashal
        >>> mashal.ones(2).index_reduce(0, mashal.tensor([1, 1]), mashal.tensor([2., 3.]), "prod")
        tensor([1., 6.])
    """


@index_reduce.vjp
def _(
    g: Tensor, input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, out: Tensor
) -> tuple[Tensor, None, Tensor]:
    shape = source.shape
    if source.dim() == 0:
        source = source.reshape(1)
    dim = wrap_dim("index_reduce", dim, source.dim())
    spread = index.reshape([-1 if d == dim else 1 for d in range(source.dim())]).expand(source.shape)
    grad_input, grad_source = _reduce_gradients(
        g.reshape(g.shape or (1,)), input.reshape(input.shape or (1,)), dim, spread, source, reduce, include_self,
        out.reshape(out.shape or (1,)),
    )  # fmt: skip
    return grad_input.reshape(input.shape), None, grad_source.reshape(shape)


@op("_index_fill(Tensor input, int dim, Tensor index, Number value) -> Tensor")
def _index_fill() -> None:
    """Fills the slices that ``index`` names with a number; see ``index_fill``.

    Example:
        >>> import mashal
        >>> mashal._ops._index_fill(mashal.zeros(2), 0, mashal.tensor([1]), 3)
        tensor([0., 3.])
    """


index_copy.vjp(
    input=lambda g, dim, index: _index_fill(g, dim, index, 0),
    source=lambda g, dim, index, source_shape: g.index_select(dim, index).reshape(source_shape),
)


@op("_index_fill_(Tensor input, int dim, Tensor index, Number value) -> Tensor", out=False)
def _index_fill_() -> None:
    """Fills the slices that ``index`` names with a number, in place; see ``index_fill``.

    Example:
        >>> import mashal
        >>> mashal._ops._index_fill_(mashal.zeros(2), 0, mashal.tensor([1]), 3)
        tensor([0., 3.])
    """


for _primitive in (_index_fill, _index_fill_):
    _primitive.vjp(input=lambda g, dim, index: _index_fill(g, dim, index, 0))


def _fill_source(input: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    shape = list(input.shape)
    if shape:
        shape[wrap_dim("index_fill", dim, len(shape))] = index.numel()
    return value.to(input.dtype).expand(shape)


def _nonnegative(input: Tensor, dim: int, index: Tensor) -> Tensor:
    n = input.shape[dim] if input.dim() else 1
    return index.where(index >= 0, index + n)


@composite(method=True, out=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Fills the slices of ``input`` that ``index`` names with ``value``.

    Args: ``index``: int64 vector (negative entries count from the end); ``value``: number or 0-d Tensor.
    Raises: IndexError for an index outside the dimension. Gradient: zero for what was overwritten, the sum for
    ``value``.

    Example:
        >>> import mashal
        >>> mashal.zeros(2, 2).index_fill(1, mashal.tensor([0]), 3)
        tensor([[3., 0.],
                [3., 0.]])
    """
    value = _number_or_tensor("index_fill", value)
    if isinstance(value, Tensor):
        return index_copy(input, dim, _nonnegative(input, dim, index), _fill_source(input, dim, index, value))
    return _index_fill(input, dim, index, value)


@composite(method=True, function=False)
def index_fill_(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """``index_fill`` into ``input`` itself.

    Example:
        >>> import mashal
        >>> mashal.zeros(2).index_fill_(0, mashal.tensor([0]), 3)
        tensor([3., 0.])
    """
    value = _number_or_tensor("index_fill_", value)
    if isinstance(value, Tensor):
        return input.index_copy_(dim, _nonnegative(input, dim, index), _fill_source(input, dim, index, value))
    return _index_fill_(input, dim, index, value)


@composite(method=True, out=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """``gather`` whose index is broadcast against ``input`` in other dimensions (no ``dim``: over the flattened one).

    Args: ``indices``: int64. Raises: RuntimeError if the numbers of dimensions differ. Gradient: as ``gather``.

    Example:
        >>> import mashal
        >>> x = mashal.tensor([[3, 1], [2, 4]])
        >>> mashal.take_along_dim(x, x.argsort(1), 1)
        tensor([[1, 3],
                [2, 4]])
    """
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    if input.dim() != indices.dim():
        raise RuntimeError(
            "take_along_dim: input and indices should have the same number of dimensions, but got "
            f"{input.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    dim = wrap_dim("take_along_dim", dim, input.dim())
    if input.dim() == 0:
        return input.gather(dim, indices)
    shape = list(broadcast_shapes(_without(input.shape, dim), _without(indices.shape, dim)))
    shape.insert(dim, input.shape[dim])
    source = input.expand(shape)
    shape[dim] = indices.shape[dim]
    return source.gather(dim, indices.expand(shape))


def _without(shape: Any, dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])
