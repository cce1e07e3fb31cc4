"""Running sums, products and extrema along a dimension; differences and integrals of samples."""

from __future__ import annotations

from typing import Any

from .. import _core, return_types
from .._dtype_info import finfo
from ._dims import wrap_dim
from ._reduced import promoted_float
from ._registry import composite, op
from .creation import eye
from .extrema import where
from .joining import cat

Tensor = _core.Tensor


def _reversed_cumsum(t: Tensor, dim: int) -> Tensor:
    return t.flip(dim).cumsum(dim).flip(dim)


@op("cumsum(Tensor input, int dim, *, dtype? dtype=None) -> Tensor", inplace=True)
def cumsum() -> None:
    """Running sums along ``dim``; float32 and half types accumulate in double.

    Args: ``input``: Tensor of any dtype; ``dtype``: converted to it first (integers and bool give int64 otherwise).
    Gradient: running sums of g from the end.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 2, 3]).cumsum(0)
        tensor([1, 3, 6])
    """


cumsum.vjp(input=lambda g, dim: _reversed_cumsum(g, dim) if g.ndim else g)


@op("cumprod(Tensor input, int dim, *, dtype? dtype=None) -> Tensor", inplace=True)
def cumprod() -> None:
    """Running products along ``dim``; float32 and half types accumulate in double.

    Gradient: exact also where elements are 0.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 2, 3]).cumprod(0)
        tensor([1, 2, 6])
    """


@cumprod.vjp("input")
def _(g: Tensor, input: Tensor, out: Tensor, dim: int) -> Tensor:
    x = input.to(out.dtype)
    if x.ndim == 0:
        return g
    if x.is_complex():
        x, out = x.conj(), out.conj()
    zeros = x == 0
    if not bool(zeros.any()):
        return _reversed_cumsum(g * out, dim) / x
    if _core.is_grad_enabled():
        # To be differentiated again: every product written out, since the short cut below takes zeros for constants.
        return _cumprod_products(g, x, dim)
    # Before the first zero: as usual. At it: products that leave it out, up to the next zero. Behind it: nothing.
    count = zeros.cumsum(dim)
    first = zeros & (count == 1)
    without = x.masked_fill(first, 1).cumprod(dim)
    before = _reversed_cumsum((g * out).masked_fill(count > 0, 0), dim) / x.masked_fill(zeros, 1)
    at = _reversed_cumsum((g * without).masked_fill(count != 1, 0), dim)
    return where(count == 0, before, at.masked_fill(first.logical_not(), 0))


def _cumprod_products(g: Tensor, x: Tensor, dim: int) -> Tensor:
    """``sum_{k >= i} g_k prod_{j <= k, j != i} x_j`` for every i, at quadratic cost."""
    x, g = x.movedim(dim, -1), g.movedim(dim, -1)
    n = x.shape[-1]
    own = eye(n, dtype=_core.bool, device=x.device)
    without = x.unsqueeze(-2).expand(*x.shape[:-1], n, n).masked_fill(own, 1).cumprod(-1)
    terms = (g.unsqueeze(-2) * without).triu()
    return terms.sum(-1).movedim(-1, dim)


@op("cummax(Tensor input, int dim) -> (Tensor, Tensor)")
def cummax() -> None:
    """Running maxima along ``dim`` and their positions (the last of equals), as ``(values, indices)``; nan stays.

    Gradient: to the chosen elements.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 3, 2]).cummax(0).values
        tensor([1, 3, 3])
    """


@op("cummin(Tensor input, int dim) -> (Tensor, Tensor)")
def cummin() -> None:
    """Running minima along ``dim`` and their positions; otherwise as :func:`cummax`.

    Example:
        >>> import mashal
        >>> mashal.tensor([3, 1, 2]).cummin(0).indices
        tensor([0, 1, 1])
    """


for _primitive, _type in ((cummax, return_types.cummax), (cummin, return_types.cummin)):
    _primitive.vjp(
        input=lambda gs, input_shape, dim, out1: (
            gs[0].new_zeros(input_shape).scatter_add(dim, out1, gs[0]) if len(input_shape) else gs[0]
        )
    )
    _primitive.returns(_type)


@op("_logcumsumexp(Tensor input, int dim) -> Tensor")
def _logcumsumexp() -> None:
    """Running log(sum(exp(x))) of a floating input; see ``logcumsumexp``.

    Example:
        >>> import mashal
        >>> mashal._ops._logcumsumexp(mashal.zeros(2), 0)
        tensor([0.0000, 0.6931])
    """


@_logcumsumexp.vjp("input")
def _(g: Tensor, input: Tensor, out: Tensor, dim: int) -> Tensor:
    if input.ndim == 0:
        return g

    # sum over i >= j of g_i exp(x_j - y_i), in logarithms of the positive and of the negative part of g. What a part
    # lacks is a finite logarithm: -inf would meet an infinite y.
    lowest = finfo(g.dtype).min

    def part(g: Tensor) -> Tensor:
        used = (g > 0) | g.isnan()
        logs = where(used, where(used, g, 1).log(), lowest) - out
        return (_logcumsumexp(logs.flip(dim), dim).flip(dim) + input).exp()

    return part(g) - part(-g)


@composite(method=True, out=True)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Running log(sum(exp(x))) along ``dim``, without overflow. Integers become the default float type.

    Example:
        >>> import mashal
        >>> mashal.tensor([1000., 1000.]).logcumsumexp(0)
        tensor([1000.0000, 1000.6932])
    """
    return _logcumsumexp(promoted_float(input), dim)


@composite(method=True, out=True)
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The n-th differences of neighbours along ``dim``; for bool, whether they differ.

    Args: ``prepend``, ``append``: joined to the input first. Raises: RuntimeError for a 0-d input or negative ``n``.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 3, 6]).diff()
        tensor([2, 3])
    """
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [t for t in (prepend, input, append) if t is not None]
    x = cat(parts, dim) if len(parts) > 1 else input
    if n == 0:
        return x.clone()
    for _ in range(n):
        size = x.shape[dim]
        if size == 0:
            break
        ahead, behind = x.narrow(dim, 1, size - 1), x.narrow(dim, 0, size - 1)
        x = ahead.logical_xor(behind) if x.dtype == _core.bool else ahead - behind
    return x


def _steps(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Any:
    """Distances between samples: a number, or a Tensor that broadcasts with neighbouring pairs of ``y``."""
    if x is None:
        return 1 if dx is None else dx
    if dx is not None:
        raise TypeError(f"{name}: x and dx exclude each other")
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(
                f"{name}: there must be one x value for each sample point, got {x.shape[0]} and {y.shape[dim]}"
            )
        shape = [1] * y.ndim
        shape[dim] = -1
        return diff(x).reshape(shape)
    return diff(x, dim=dim)


def _pairs(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    dim = wrap_dim(name, dim, y.ndim)
    n = y.shape[dim]
    step = _steps(name, y, x, dx, dim)
    if n == 0:
        return y.narrow(dim, 0, 0) * 1.0
    return (y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1)) * step / 2


@composite()
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral of samples ``y`` along ``dim`` by the trapezoidal rule.

    Args: ``x``: where the samples were taken, 1-d or shaped like ``y``; ``dx``: their distance (1 unless given).

    Example:
        >>> import mashal
        >>> mashal.trapezoid(mashal.tensor([1., 2., 3.]))
        tensor(4.)
    """
    return _pairs("trapezoid", y, x, dx, dim).sum(dim)


@composite()
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Another name of :func:`trapezoid`.

    Example:
        >>> import mashal
        >>> mashal.trapz(mashal.tensor([1., 2., 3.]), dx=2.)
        tensor(8.)
    """
    return trapezoid(y, x, dx=dx, dim=dim)


@composite()
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Running integrals by the trapezoidal rule; see :func:`trapezoid`. One element fewer than ``y``.

    Example:
        >>> import mashal
        >>> mashal.cumulative_trapezoid(mashal.tensor([1., 2., 3.]))
        tensor([1.5000, 4.0000])
    """
    return _pairs("cumulative_trapezoid", y, x, dx, dim).cumsum(dim)
