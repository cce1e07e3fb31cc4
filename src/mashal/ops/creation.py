"""Tensors made from numbers and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op


def _placed(result: Tensor, layout: Any, requires_grad: bool) -> Tensor:
    """The keywords that say nothing about elements: layout (only strided exists) and requires_grad."""
    if layout is not None and str(layout).rpartition(".")[2] != "strided":
        raise NotImplementedError(f"only the layout mashal.strided is implemented, got layout {layout}")
    return result.requires_grad_() if requires_grad else result


def _with_keywords(primitive: Any) -> Callable[..., Tensor]:
    """PyTorch's other keywords of factory functions, taken off before the primitive is called again."""

    def call(*args: Any, **kwargs: Any) -> Tensor:
        known = {k: kwargs.pop(k) for k in ("layout", "pin_memory", "requires_grad", "names") if k in kwargs}
        if not known:
            given = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
            schema = primitive.__doc__.partition("\n")[0]
            raise TypeError(
                f"{primitive.__name__}() received an invalid combination of arguments - got ({given}), "
                f"but expected {schema}"
            )
        if known.get("names") is not None:
            raise NotImplementedError(f"{primitive.__name__}: named tensors are not implemented")
        return _placed(primitive(*args, **kwargs), known.get("layout"), bool(known.get("requires_grad")))

    return call


def _constant(primitive: Any) -> None:
    primitive.overloaded(_with_keywords(primitive))
    primitive.nondifferentiable("the result does not depend on the values of any tensor")


@op("zeros(int[*] size, *, dtype? dtype=None, device? device=None) -> Tensor", method=False)
def zeros() -> None:
    """A tensor of zeros.

    Args: ``size``: ints or one sequence of them; ``dtype``: default ``mashal.get_default_dtype()``; ``device``;
    ``requires_grad``, ``layout`` and ``pin_memory`` as in PyTorch.
    Raises: RuntimeError for a negative size. Gradient: none, nothing to differentiate.

    Example:
        >>> import mashal
        >>> mashal.zeros(2, 2)
        tensor([[0., 0.],
                [0., 0.]])
    """


@op("ones(int[*] size, *, dtype? dtype=None, device? device=None) -> Tensor", method=False)
def ones() -> None:
    """A tensor of ones; arguments as ``zeros``.

    Example:
        >>> import mashal
        >>> mashal.ones(2, dtype=mashal.int64)
        tensor([1, 1])
    """


@op(
    "empty(int[*] size, *, dtype? dtype=None, device? device=None, memory_format? memory_format=None) -> Tensor",
    method=False,
)
def empty() -> None:
    """A tensor with unspecified contents; arguments as ``zeros``, and ``memory_format``.

    Example:
        >>> import mashal
        >>> mashal.empty(2, 3).shape
        mashal.Size([2, 3])
    """


@op("full(int[] size, Number fill_value, *, dtype? dtype=None, device? device=None) -> Tensor", method=False)
def full() -> None:
    """A tensor with ``fill_value`` everywhere.

    Args: ``size``: sequence of ints; ``fill_value``: number; ``dtype``: default that of the number (bool, int64, the
    default floating type or its complex); others as ``zeros``.

    Example:
        >>> import mashal
        >>> mashal.full((2,), 7)
        tensor([7, 7])
    """


@op("empty_strided(int[] size, int[] stride, *, dtype? dtype=None, device? device=None) -> Tensor", method=False)
def empty_strided() -> None:
    """A tensor with unspecified contents and the given strides (in elements).

    Raises: RuntimeError for negative strides or lists of different length.

    Example:
        >>> import mashal
        >>> mashal.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """


_LIKE = "dtype? dtype=None, device? device=None, memory_format? memory_format=None) -> Tensor"


@op(f"zeros_like(Tensor input, *, {_LIKE}", method=False)
def zeros_like() -> None:
    """Zeros in the shape, dtype, device and layout of ``input``, each of which a keyword can change.

    Example:
        >>> import mashal
        >>> mashal.zeros_like(mashal.ones(2))
        tensor([0., 0.])
    """


@op(f"ones_like(Tensor input, *, {_LIKE}", method=False)
def ones_like() -> None:
    """Ones in the shape, dtype, device and layout of ``input``, each of which a keyword can change.

    Example:
        >>> import mashal
        >>> mashal.ones_like(mashal.zeros(2))
        tensor([1., 1.])
    """


@op(f"empty_like(Tensor input, *, {_LIKE}", method=False)
def empty_like() -> None:
    """Unspecified contents in the shape, dtype, device and layout of ``input``, each of which a keyword can change.

    Example:
        >>> import mashal
        >>> mashal.empty_like(mashal.zeros(2, 3)).shape
        mashal.Size([2, 3])
    """


@op(f"full_like(Tensor input, Number fill_value, *, {_LIKE}", method=False)
def full_like() -> None:
    """``fill_value`` everywhere, in the shape, dtype, device and layout of ``input``.

    Example:
        >>> import mashal
        >>> mashal.full_like(mashal.zeros(2), 3)
        tensor([3., 3.])
    """


@op("new_zeros(Tensor input, int[*] size, *, dtype? dtype=None, device? device=None) -> Tensor", function=False)
def new_zeros() -> None:
    """Zeros of another size, by default with the dtype and device of ``input``.

    Example:
        >>> import mashal
        >>> mashal.ones(1).new_zeros(2)
        tensor([0., 0.])
    """


@op("new_ones(Tensor input, int[*] size, *, dtype? dtype=None, device? device=None) -> Tensor", function=False)
def new_ones() -> None:
    """Ones of another size, by default with the dtype and device of ``input``.

    Example:
        >>> import mashal
        >>> mashal.zeros(1).new_ones(2)
        tensor([1., 1.])
    """


@op("new_empty(Tensor input, int[*] size, *, dtype? dtype=None, device? device=None) -> Tensor", function=False)
def new_empty() -> None:
    """Unspecified contents of another size, by default with the dtype and device of ``input``.

    Example:
        >>> import mashal
        >>> mashal.zeros(1).new_empty(2, 2).shape
        mashal.Size([2, 2])
    """


@op(
    "new_full(Tensor input, int[] size, Number fill_value, *, dtype? dtype=None, device? device=None) -> Tensor",
    function=False,
)
def new_full() -> None:
    """``fill_value`` in another size, by default with the dtype and device of ``input``.

    Example:
        >>> import mashal
        >>> mashal.zeros(1).new_full((2,), 5)
        tensor([5., 5.])
    """


@op(
    "new_empty_strided(Tensor input, int[] size, int[] stride, *, dtype? dtype=None, device? device=None) -> Tensor",
    function=False,
)
def new_empty_strided() -> None:
    """Unspecified contents with the given strides, by default with the dtype and device of ``input``.

    Example:
        >>> import mashal
        >>> mashal.zeros(1).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """


@op("_arange(Number start, Number end, Number step, *, dtype? dtype=None, device? device=None) -> Tensor")
def _arange() -> None:
    """``start, start + step, ...`` up to but without ``end``; see ``arange``.

    Example:
        >>> import mashal
        >>> mashal._ops._arange(0, 3, 1)
        tensor([0, 1, 2])
    """


@op("linspace(Number start, Number end, int steps, *, dtype? dtype=None, device? device=None) -> Tensor", method=False)
def linspace() -> None:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included.

    Each half counts from its own end, so that both ends are exact. Returns: 1-d Tensor of ``dtype`` (default: the
    default floating type). Raises: RuntimeError for negative ``steps``.

    Example:
        >>> import mashal
        >>> mashal.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """


@op(
    "logspace(Number start, Number end, int steps, float base=10.0, *, dtype? dtype=None, device? device=None)"
    " -> Tensor",
    method=False,
)
def logspace() -> None:
    """``base`` to the power of ``steps`` evenly spaced numbers from ``start`` to ``end``.

    Returns: 1-d Tensor of ``dtype`` (default: the default floating type). Raises: RuntimeError for negative
    ``steps``.

    Example:
        >>> import mashal
        >>> mashal.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """


@op("_eye(int n, int m, *, dtype? dtype=None, device? device=None) -> Tensor")
def _eye() -> None:
    """Ones where row and column number agree; see ``eye``.

    Example:
        >>> import mashal
        >>> mashal._ops._eye(1, 2)
        tensor([[1., 0.]])
    """


@op("_triangle_indices(int row, int col, int offset, bool upper, *, dtype? dtype=None, device? device=None) -> Tensor")
def _triangle_indices() -> None:
    """Row and column numbers of a triangle; see ``tril_indices`` and ``triu_indices``.

    Example:
        >>> import mashal
        >>> mashal._ops._triangle_indices(2, 2, 0, True)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """


for _primitive in (
    zeros, ones, empty, full, empty_strided, zeros_like, ones_like, empty_like, full_like,
    new_zeros, new_ones, new_empty, new_full, new_empty_strided, linspace, logspace,
):  # fmt: skip
    _constant(_primitive)
for _primitive in (_arange, _eye, _triangle_indices):
    _primitive.nondifferentiable("the result does not depend on the values of any tensor")


@composite()
def arange(
    *bounds: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` (default 0) up to, without, ``end``: ``arange([start,] end[, step])``.

    The result has ``ceil((end - start) / step)`` elements, ``start + i * step``. ``dtype``: int64 if all arguments
    are ints, else the default floating type.
    Raises: RuntimeError for a zero step or a step away from ``end``.

    Example:
        >>> import mashal
        >>> mashal.arange(1, 8, 3)
        tensor([1, 4, 7])
    """
    values = list(bounds)
    if len(values) > 3 or (not values and end is None):
        raise TypeError("arange() takes end, or start and end, or start, end and step")
    if len(values) == 1 and end is None:
        end = values.pop()
    for value, name in zip(values, ("start", "end", "step"), strict=False):
        if name == "start":
            start = value
        elif name == "end":
            end = value
        else:
            step = value
    result = _arange(
        0 if start is None else start, end, 1 if step is None else step, dtype=dtype, device=device, out=out
    )
    return _placed(result, layout, requires_grad)


@composite(name="range")
def range_(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``start, start + step, ...`` with ``end`` included; deprecated in favour of ``arange``.

    Returns: 1-d Tensor with ``floor((end - start) / step) + 1`` elements.

    Example:
        >>> import mashal
        >>> mashal.range(1, 3)
        tensor([1., 2., 3.])
    """
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("range: step must be nonzero")
    count = int((end - start) / step) + 1
    dtype = dtype or (out.dtype if out is not None else _core.get_default_dtype())
    # Half a step beyond the last number, where there are halves: the count is then safe from rounding.
    stop = start + (count - 0.5 if dtype.is_floating_point else count) * step
    result = _arange(start, stop, step, dtype=dtype, device=device, out=out)
    return _placed(result, layout, requires_grad)


@composite()
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """An ``n x m`` matrix (``m`` defaults to ``n``) with ones on the diagonal and zeros elsewhere.

    Raises: RuntimeError for negative sizes.

    Example:
        >>> import mashal
        >>> mashal.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    return _placed(_eye(n, n if m is None else m, dtype=dtype, device=device, out=out), layout, requires_grad)


@composite()
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """Row and column numbers of the lower triangle of a ``row x col`` matrix, in row-major order.

    ``offset``: the diagonal that bounds the triangle. Returns: int64 (or int32) Tensor of shape ``(2, n)``.

    Example:
        >>> import mashal
        >>> mashal.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    return _placed(_triangle_indices(row, col, offset, False, dtype=dtype, device=device), layout, False)


@composite()
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """Row and column numbers of the upper triangle of a ``row x col`` matrix, in row-major order.

    ``offset``: the diagonal that bounds the triangle. Returns: int64 (or int32) Tensor of shape ``(2, n)``.

    Example:
        >>> import mashal
        >>> mashal.triu_indices(2, 2)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """
    return _placed(_triangle_indices(row, col, offset, True, dtype=dtype, device=device), layout, False)


@composite(out=True)
def vander(x: Tensor, N: int | None = None, *, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix of a vector: column j holds the j-th powers, highest first unless ``increasing``.

    Args: ``x``: 1-d Tensor; ``N``: number of columns, default ``len(x)``. Returns: ``(len(x), N)``.
    Gradient: that of the powers.

    Example:
        >>> import mashal
        >>> mashal.vander(mashal.tensor([1, 2, 3]), N=3)
        tensor([[1, 1, 1],
                [4, 2, 1],
                [9, 3, 1]])
    """
    if x.dim() != 1:
        raise RuntimeError(f"vander: x must be a one-dimensional tensor, got x {tuple(x.shape)}")
    columns = x.shape[0] if N is None else N
    if columns < 0:
        raise RuntimeError(f"vander: N must be non-negative, got N {columns}")
    result = x.unsqueeze(-1).expand(x.shape[0], columns)
    if columns > 0:
        result = result.clone(memory_format=_core.contiguous_format)
        result[:, 0] = 1
        result = result.cumprod(1)
    return result if increasing else result.flip(1)


@composite()
def scalar_tensor(s: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of the default floating type, whatever the number's.

    Example:
        >>> import mashal
        >>> mashal.scalar_tensor(3)
        tensor(3.)
    """
    out = full((), s, dtype=dtype or _core.get_default_dtype(), device=device)
    return out.requires_grad_() if requires_grad else out
