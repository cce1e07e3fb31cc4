"""Variance and its kin, medians, quantiles, covariance."""

from __future__ import annotations

from typing import Any

from .. import _core, return_types
from ._dims import wrap_dim
from ._reduced import Dims, put_selected, reduced_count, restore_dims
from ._registry import composite, op

Tensor = _core.Tensor


# ---- variance ----


@op("_var(Tensor input, int[1]? dim, float correction, bool keepdim, bool root) -> (Tensor, Tensor)")
def _var() -> None:
    """Variance (``root``: standard deviation) and mean over dimensions of a real floating input, in one pass.

    Blocks of 4096 elements are centred on their own mean, then joined in double: no cancellation for any offset.

    Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.

    Example:
        >>> import mashal
        >>> mashal._ops._var(mashal.tensor([1., 3.]), None, 1., False, False)[0]
        tensor(2.)
    """


@_var.vjp("input")
def _(gs: Any, input: Tensor, outs: Any, dim: Dims, correction: float, keepdim: bool, root: bool) -> Tensor:
    g, g_mean = gs
    n = reduced_count(input.shape, dim)
    if root:
        # The slope of sqrt at 0 is infinite, that of what it is taken of is 0: the limit along any line is 0.
        g = (g / (outs[0] * 2)).masked_fill(outs[0] == 0, 0)
    g, g_mean, mean = (restore_dims(t, input.ndim, dim, keepdim) for t in (g, g_mean, outs[1]))
    slope = 2 / (n - correction) if n > correction else float("inf")
    return g * slope * (input - mean) + g_mean / (n or 1)


def _parse(name: str, input: Tensor, dim: Any, unbiased: Any, correction: Any) -> tuple[Dims, float]:
    # var(x, False) and var(x, 0, False) are PyTorch's older signatures: a bool is `unbiased`.
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"{name} only support floating point and complex dtypes, got input {input.dtype}")
    if unbiased is not None:
        if correction is not None:
            raise TypeError(f"{name}: unbiased and correction exclude each other")
        correction = 1 if unbiased else 0
    return dim, 1.0 if correction is None else float(correction)


def _moments(name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any, root: bool) -> Any:
    dim, correction = _parse(name, input, dim, unbiased, correction)
    if not input.is_complex():
        return _var(input, dim, correction, keepdim, root)
    from .complex import complex

    (real, real_mean), (imag, imag_mean) = (_var(t, dim, correction, keepdim, False) for t in (input.real, input.imag))
    total = real + imag
    return total.sqrt() if root else total, complex(real_mean, imag_mean)


_ARGS = """Args: ``dim``: int, several, or None for all; ``correction``: the divisor is n - correction (1 unless given);
    ``unbiased``: older name of correction 1 (True) or 0 (False).
    Returns: real Tensor{s} of the input's precision; nan where the divisor is 0. Raises: RuntimeError for integers.
    Gradient: 0 for the deviation of equal elements.
"""


@composite(method=True, out=True)
def var(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The variance over dimensions: the sum of squared deviations from the mean, over n - correction.

    {args}

    Example:
        >>> import mashal
        >>> mashal.tensor([1., 2., 3., 4.]).var()
        tensor(1.6667)
    """
    return _moments("var", input, dim, unbiased, keepdim, correction, False)[0]


@composite(method=True, out=True)
def std(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The standard deviation over dimensions: the root of :func:`var`.

    {args}

    Example:
        >>> import mashal
        >>> mashal.tensor([1., 2., 3., 4.]).std()
        tensor(1.2910)
    """
    return _moments("std", input, dim, unbiased, keepdim, correction, True)[0]


@composite()
def var_mean(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """Variance and mean over dimensions, as a tuple.

    {args}

    Example:
        >>> import mashal
        >>> mashal.var_mean(mashal.tensor([1., 3.]))
        (tensor(2.), tensor(2.))
    """
    return tuple(_moments("var_mean", input, dim, unbiased, keepdim, correction, False))


@composite()
def std_mean(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over dimensions, as a tuple.

    {args}

    Example:
        >>> import mashal
        >>> mashal.std_mean(mashal.tensor([1., 3.]), correction=0)
        (tensor(1.), tensor(2.))
    """
    return tuple(_moments("std_mean", input, dim, unbiased, keepdim, correction, True))


for _function in (var, std, var_mean, std_mean):
    _function.__doc__ = (_function.__doc__ or "").replace(
        "{args}", _ARGS.replace("{s}", "s" if "_" in _function.__name__ else "")
    )


@composite(method=True)
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance of variables (rows) over observations (columns).

    Args: ``input``: ``(V, N)`` or ``(N,)``; ``fweights``: int64 ``(N,)``, how often each counts; ``aweights``:
    floating ``(N,)``, how much it weighs. Returns: ``(V, V)``, or a 0-d Tensor for one variable.
    Raises: RuntimeError for more than 2 dimensions or ill-fitting weights.

    Example:
        >>> import mashal
        >>> mashal.tensor([[0., 1., 2.], [2., 1., 0.]]).cov()
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got {input.ndim} dimensions")
    x = input.reshape(1, -1) if input.ndim < 2 else input
    n = x.shape[1]
    weight: Tensor | None = None
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if w.ndim > 1 or w.numel() != n:
            raise RuntimeError(
                f"cov(): expected {name} to have {n} elements, one for each observation, got {w.numel()}"
            )
        if not w.is_meta and bool((w < 0).any()):
            raise RuntimeError(f"cov(): {name} cannot be negative")
        if w.is_floating_point() == (name == "fweights"):
            raise RuntimeError(f"cov(): {name} has the wrong dtype: got {w.dtype}")
        weight = w if weight is None else weight * w
    total: Any = n if weight is None else weight.sum()
    if weight is not None and not weight.is_meta and bool(total == 0):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x if weight is None else x * weight).sum(1, keepdim=True) / total
    if correction and weight is not None and aweights is not None:
        norm = total - correction * (weight * aweights).sum() / total
    else:
        norm = total - correction
    centred = x - mean
    other = centred if weight is None else centred * weight
    return (centred @ other.mT.conj() / (norm.clamp(min=0) if isinstance(norm, Tensor) else max(norm, 0))).squeeze()


@composite(method=True)
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables (rows) over observations (columns): ``cov`` of scaled variables.

    Example:
        >>> import mashal
        >>> mashal.tensor([[0., 1., 2.], [2., 1., 0.]]).corrcoef()
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got {input.ndim} dimensions"
        )
    c = cov(input)
    if c.ndim == 0:
        return c / c
    deviation = c.diagonal().real.sqrt() if c.is_complex() else c.diagonal().sqrt()
    c = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if c.is_complex():
        from .complex import complex

        return complex(c.real.clip(-1, 1), c.imag.clip(-1, 1))
    return c.clip(-1, 1)


# ---- medians ----


@op("_median(Tensor input, int dim, bool keepdim, bool ignore_nan) -> (Tensor, Tensor)")
def _median() -> None:
    """The lower median along a dimension and its position; see ``median``.

    Example:
        >>> import mashal
        >>> mashal._ops._median(mashal.tensor([3., 1., 2.]), 0, False, False)[1]
        tensor(2)
    """


_median.vjp(input=lambda gs, input_shape, dim, keepdim, out1: put_selected(gs[0], input_shape, dim, keepdim, out1))


def _median_of(ignore_nan: bool, result_type: Any, input: Tensor, dim: int | None, keepdim: bool) -> Any:
    if dim is not None:
        return result_type(_median(input, dim, keepdim, ignore_nan))
    if input.numel() == 0:
        if not input.is_floating_point():
            raise RuntimeError(f"median: an empty input has no median of type {input.dtype}")
        return input.new_full((), float("nan"))
    return _median(input.reshape(-1), 0, False, ignore_nan)[0]


@composite(method=True, out=True)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle element in order, the lower of two; nan if there is one.

    Returns: with ``dim`` a named tuple ``(values, indices)``, else a 0-d Tensor. Gradient: to the chosen element.

    Example:
        >>> import mashal
        >>> mashal.tensor([4, 1, 3, 2]).median()
        tensor(2)
    """
    return _median_of(False, return_types.median, input, dim, keepdim)


@composite(method=True, out=True)
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The :func:`median` of the elements that are not nan.

    Example:
        >>> import mashal
        >>> mashal.tensor([4., float("nan"), 3.]).nanmedian()
        tensor(3.)
    """
    return _median_of(True, return_types.nanmedian, input, dim, keepdim)


# ---- quantiles ----

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Tensor:
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of {', '.join(_INTERPOLATIONS)}, but got {interpolation}"
        )
    if input.dtype not in (_core.float32, _core.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = input.new_full((), q)
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype != input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if not q.is_meta and bool(((q < 0) | (q > 1)).any()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    ndim = input.ndim
    if dim is None:
        rows, shape = input.reshape(-1), (1,) * ndim if keepdim else ()
    else:
        dim = wrap_dim(name, dim, ndim)
        rows = input.unsqueeze(0) if ndim == 0 else input.movedim(dim, -1)
        kept = list(input.shape)
        if ndim:
            kept[dim : dim + 1] = [1] if keepdim else []
        shape = tuple(kept)
    ordered = rows.sort(-1)[0]
    n = ordered.shape[-1]
    points = q.reshape(-1)
    if ignore_nan:
        valid = ordered.isnan().logical_not().sum(-1, keepdim=True)
        ranks = (points * (valid - 1)).clamp(min=0)
    else:
        # A nan sorts last; picking the last element of its row makes the result nan.
        ranks = (points * (n - 1)).expand(*ordered.shape[:-1], points.shape[0])
        ranks = ranks.masked_fill(ordered.isnan().any(-1, keepdim=True), n - 1)
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.floor()
    values = ordered.gather(-1, below.long())
    if interpolation in ("linear", "midpoint"):
        above = ordered.gather(-1, ranks.ceil().long())
        values = values.lerp(above, ranks.new_full((), 0.5) if interpolation == "midpoint" else ranks - below)
    if q.ndim == 0:
        return values.squeeze(-1).reshape(shape)
    return values.movedim(-1, 0).reshape(points.shape[0], *shape)


@composite(method=True, out=True)
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The q-quantiles along ``dim`` (None: of all elements); nan for rows with a nan.

    Args: ``input``: float32 or float64; ``q``: float or 1-d Tensor in [0, 1]; ``interpolation``: between the two
    neighbouring elements: linear, lower, higher, midpoint or nearest.
    Returns: Tensor whose first dimension, for a 1-d ``q``, runs over its values. Gradient: to the neighbours used.

    Example:
        >>> import mashal
        >>> mashal.tensor([0., 1., 2., 3.]).quantile(0.5)
        tensor(1.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(method=True, out=True)
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The :func:`quantile` of the elements that are not nan.

    Example:
        >>> import mashal
        >>> mashal.tensor([0., float("nan"), 1.]).nanquantile(0.5)
        tensor(0.5000)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)
