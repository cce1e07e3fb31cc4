"""Sums, products, extrema and truth over dimensions.

All reductions share these arguments: ``dim`` is an int or several (None or (): all), counted from either end; with
``keepdim`` the reduced dimensions stay with size 1. Float sums accumulate in double beyond blocks of 4096 elements and
half types in float; integer and bool sums and products give int64.
"""

from __future__ import annotations

from typing import Any

from .. import _core, return_types
from ._reduced import Dims, promoted_float, put_selected, reduced_count, restore_dims, spread_sum
from ._registry import composite, op, write_out
from .extrema import maximum, minimum
from .joining import cat

Tensor = _core.Tensor


# ---- sums ----


@op("sum(Tensor input, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
def sum() -> None:
    """The sum over dimensions.

    Args: ``input``: Tensor of any shape and dtype; ``dtype``: converted to it before summing.
    Returns: a Tensor of ``dtype``, else of the input's dtype, int64 for integers and bool. Nothing sums to 0.
    Raises: IndexError for a dimension out of range, RuntimeError for one given twice.
    Gradient: g, expanded.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1., 2.], [3., 4.]]).sum(0)
        tensor([4., 6.])
    """


sum.vjp(input=lambda g, input_shape, dim, keepdim: spread_sum(g, input_shape, dim, keepdim))


@op("nansum(Tensor input, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
def nansum() -> None:
    """The sum over dimensions, nan counting as 0.

    Gradient: g where the input is not nan.

    Example:
        >>> import mashal
        >>> mashal.tensor([1., float("nan")]).nansum()
        tensor(1.)
    """


nansum.vjp(input=lambda g, input, dim, keepdim: spread_sum(g, input.shape, dim, keepdim).masked_fill(input.isnan(), 0))


@op("mean(Tensor input, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
def mean() -> None:
    """The arithmetic mean over dimensions; nan over no elements.

    Args: ``input``: floating or complex Tensor, or any with a floating ``dtype``.
    Raises: RuntimeError for an integer result type. Gradient: g / n, expanded.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1., 2.], [3., 4.]]).mean(1, keepdim=True)
        tensor([[1.5000],
                [3.5000]])
    """


mean.vjp(
    input=lambda g, input_shape, dim, keepdim: spread_sum(
        g / (reduced_count(input_shape, dim) or 1), input_shape, dim, keepdim
    )
)


@composite(method=True, out=True)
def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not nan; nan if there are none.

    Example:
        >>> import mashal
        >>> mashal.tensor([1., float("nan"), 3.]).nanmean()
        tensor(2.)
    """
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"nanmean: expected input to have floating point or complex dtype but got {input.dtype}")
    return nansum(input, dim, keepdim, dtype=dtype) / input.isnan().logical_not().sum(dim, keepdim)


@op("prod(Tensor input, int? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
def prod() -> None:
    """The product over one dimension (None: all).

    Returns: a Tensor of ``dtype``, else of the input's dtype, int64 for integers and bool. No factors give 1.
    Gradient: the product of the other elements, also where some are 0.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1., 2.], [3., 4.]]).prod(1)
        tensor([ 2., 12.])
    """


@prod.vjp("input")
def _(g: Tensor, input: Tensor, out: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    if input.ndim == 0:
        return g
    g = restore_dims(g, input.ndim, dim, keepdim)
    if not bool((input == 0).any()):
        others = restore_dims(out, input.ndim, dim, keepdim) / input.to(out.dtype)
        return g * (others.conj() if others.is_complex() else others)
    # Products of what stands before and of what stands behind each element: no division by 0.
    x = input.to(out.dtype)
    if dim is None:
        x, dim = x.reshape(-1), 0
    ones = x.narrow(dim, 0, 1) * 0 + 1
    n = x.shape[dim]
    before = cat([ones, x.narrow(dim, 0, n - 1)], dim).cumprod(dim)
    behind = cat([ones, x.flip(dim).narrow(dim, 0, n - 1)], dim).cumprod(dim).flip(dim)
    others = (before * behind).reshape(input.shape)
    return g * (others.conj() if others.is_complex() else others)


# ---- extrema ----


@op("amax(Tensor input, int[1] dim=[], bool keepdim=False) -> Tensor")
def amax() -> None:
    """The largest element over dimensions; nan if there is one.

    Raises: IndexError where there is nothing to choose from. Gradient: shared evenly by equal largest elements.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1, 5], [7, 2]]).amax(1)
        tensor([5, 7])
    """


@op("amin(Tensor input, int[1] dim=[], bool keepdim=False) -> Tensor")
def amin() -> None:
    """The smallest element over dimensions; nan if there is one. Otherwise as :func:`amax`.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1, 5], [7, 2]]).amin()
        tensor(1)
    """


def _evenly(g: Tensor, input: Tensor, out: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    chosen = input == restore_dims(out, input.ndim, dim, keepdim)
    count = chosen.sum(dim, True)
    return chosen * (restore_dims(g, input.ndim, dim, keepdim) / count)


for _primitive in (amax, amin):
    _primitive.vjp(input=lambda g, input, out, dim, keepdim: _evenly(g, input, out, dim, keepdim))


@composite(method=True, out=True)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element along ``dim`` (None: of all), as a named tuple ``(min, max)``.

    Raises: RuntimeError where there is nothing to choose from. Gradient: as for :func:`amax`.

    Example:
        >>> import mashal
        >>> mashal.tensor([3, 1, 2]).aminmax().max
        tensor(3)
    """
    _need_elements("aminmax", input, dim)
    dims = () if dim is None else (dim,)
    return return_types.aminmax((amin(input, dims, keepdim), amax(input, dims, keepdim)))


def _need_elements(name: str, input: Tensor, dim: int | None) -> None:
    if dim is None and input.numel() == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )


@op("argmax(Tensor input, int? dim=None, bool keepdim=False) -> Tensor")
def argmax() -> None:
    """The position of the largest element along ``dim``; of the first, or of the first nan. None: in the flat input.

    Returns: int64 Tensor. Raises: IndexError where there is nothing to choose from.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 5, 5]).argmax()
        tensor(1)
    """


@op("argmin(Tensor input, int? dim=None, bool keepdim=False) -> Tensor")
def argmin() -> None:
    """The position of the smallest element; otherwise as :func:`argmax`.

    Example:
        >>> import mashal
        >>> mashal.tensor([[3, 1], [0, 2]]).argmin(1)
        tensor([1, 0])
    """


@op("_max_dim(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)")
def _max_dim() -> None:
    """Largest elements along a dimension and their positions; see ``max``.

    Example:
        >>> import mashal
        >>> mashal._ops._max_dim(mashal.tensor([1, 5]), 0)[1]
        tensor(1)
    """


@op("_min_dim(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)")
def _min_dim() -> None:
    """Smallest elements along a dimension and their positions; see ``min``.

    Example:
        >>> import mashal
        >>> mashal._ops._min_dim(mashal.tensor([1, 5]), 0)[1]
        tensor(0)
    """


for _primitive in (_max_dim, _min_dim):
    _primitive.vjp(
        input=lambda gs, input_shape, dim, keepdim, out1: put_selected(gs[0], input_shape, dim, keepdim, out1)
    )
_max_dim.returns(return_types.max)
_min_dim.returns(return_types.min)


def _extremum(name: str, whole: Any, along: Any, pairwise: Any) -> Any:
    def extremum(
        input: Tensor,
        dim: Any = None,
        keepdim: bool = False,
        *,
        other: Tensor | None = None,
        axis: int | None = None,
        keepdims: bool | None = None,
        out: Any = None,
    ) -> Any:
        if isinstance(dim, Tensor):
            dim, other = None, dim
        if other is not None:
            return pairwise(input, other) if out is None else pairwise(input, other, out=out)
        dim = axis if dim is None else dim
        if dim is None:
            _need_elements(name, input, None)
            return whole(input) if out is None else whole(input, out=out)
        keepdim = keepdim if keepdims is None else keepdims
        result = along(input, dim, keepdim)
        return result if out is None else write_out(name, out, result)

    word = {"max": "largest", "min": "smallest"}[name]
    extremum.__doc__ = f"""The {word} element of all, along a dimension, or of two tensors.

    ``{name}(input)``: the {word} element; gradient shared evenly by equal ones.
    ``{name}(input, dim, keepdim=False)``: a named tuple ``(values, indices)``, the first of equal elements; gradient to
    the chosen one. ``{name}(input, other)``: {name}imum, element by element. nan wins everywhere.
    Raises: RuntimeError for no elements, IndexError for a dimension out of range or without elements.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1, 5], [7, 2]]).{name}(1).indices
        tensor({"[1, 0]" if name == "max" else "[0, 1]"})
    """
    extremum.__name__ = name
    return composite(method=True)(extremum)


max = _extremum("max", amax, _max_dim, maximum)
min = _extremum("min", amin, _min_dim, minimum)


# ---- truth and counts ----


@op("any(Tensor input, int[1]? dim=None, bool keepdim=False) -> Tensor")
def any() -> None:
    """Whether some element over the dimensions is true (not 0); False over no elements.

    Returns: bool Tensor (uint8 for uint8, as PyTorch).

    Example:
        >>> import mashal
        >>> mashal.tensor([[0, 1], [0, 0]]).any(1)
        tensor([ True, False])
    """


@op("all(Tensor input, int[1]? dim=None, bool keepdim=False) -> Tensor")
def all() -> None:
    """Whether all elements over the dimensions are true (not 0); True over no elements.

    Returns: bool Tensor (uint8 for uint8, as PyTorch).

    Example:
        >>> import mashal
        >>> mashal.tensor([[0, 1], [1, 1]]).all(1)
        tensor([False,  True])
    """


@op("count_nonzero(Tensor input, int[1]? dim=None) -> Tensor")
def count_nonzero() -> None:
    """How many elements over the dimensions are not 0.

    Example:
        >>> import mashal
        >>> mashal.tensor([[0, 1], [2, 3]]).count_nonzero(0)
        tensor([1, 2])
    """


for _primitive in (argmax, argmin, any, all, count_nonzero):
    _primitive.nondifferentiable("integer or bool output")


# ---- log-sum-exp ----


@op("_logsumexp(Tensor input, int[1] dim, bool keepdim=False) -> Tensor")
def _logsumexp() -> None:
    """log(sum(exp(input))) of a floating input; see ``logsumexp``.

    Example:
        >>> import mashal
        >>> mashal._ops._logsumexp(mashal.zeros(2), 0)
        tensor(0.6931)
    """


@_logsumexp.vjp("input")
def _(g: Tensor, input: Tensor, out: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    # Where the result is infinite, exp(x - 0) is 0 or inf, as the limit of the softmax asks.
    top = restore_dims(out, input.ndim, dim, keepdim)
    return restore_dims(g, input.ndim, dim, keepdim) * (input - top.masked_fill(top.abs() == float("inf"), 0)).exp()


@composite(method=True, out=True)
def logsumexp(input: Tensor, dim: int | tuple[int, ...], keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) over dimensions, without overflow.

    Args: ``input``: real Tensor; integers become the default float type.
    Gradient: softmax times g.

    Example:
        >>> import mashal
        >>> mashal.tensor([1000., 1000.]).logsumexp(0)
        tensor(1000.6932)
    """
    return _logsumexp(promoted_float(input), dim, keepdim)
