"""Norms of vectors and distances between them."""

from __future__ import annotations

from typing import Any

from .. import _core
from ._reduced import Dims, reduced_count, reduced_dims, restore_dims
from ._registry import composite, op
from .creation import triu_indices
from .views import broadcast_shapes

Tensor = _core.Tensor


@op("_vector_norm(Tensor input, float ord, int[1]? dim, bool keepdim) -> Tensor")
def _vector_norm() -> None:
    """The norm of any order over dimensions of a real floating input; see ``linalg_vector_norm``.

    Order 2 squares float32 in double, and scales float64 where squares would leave the range.

    Example:
        >>> import mashal
        >>> mashal._ops._vector_norm(mashal.tensor([3., 4.]), 2., None, False)
        tensor(5.)
    """


@_vector_norm.vjp("input")
def _(g: Tensor, input: Tensor, out: Tensor, ord: float, dim: Dims, keepdim: bool) -> Tensor:
    if ord == 0:
        return input * 0
    g, norm = (restore_dims(t, input.ndim, dim, keepdim) for t in (g, out))
    if ord == 1:
        return input.sgn() * g
    if ord == 2:  # 0 at the kink
        return input * (g / norm).masked_fill(norm == 0, 0)
    if abs(ord) == float("inf"):
        size = input.abs()
        chosen = size == norm
        return input.sgn() * (chosen * (g / chosen.sum(dim, True)))
    if ord < 2:
        slope = (input.abs() ** (ord - 1)).masked_fill(input == 0, 0) * input.sgn()
    else:
        slope = input * input.abs() ** (ord - 2)
    return slope * (g / norm ** (ord - 1)).masked_fill(norm == 0, 0)


@composite(namespace="nn", out=True)
def linalg_vector_norm(
    input: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """(sum |x|^ord)^(1/ord) over dimensions; ord inf: the largest, -inf: the smallest, 0: how many are not 0.

    Returns: real Tensor. Raises: RuntimeError for integers. Gradient: 0 at 0 for order 2, shared by ties for inf.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_vector_norm(mashal.tensor([3., 4.]), 1)
        tensor(7.)
    """
    if dtype is not None:
        input = input.to(dtype)
    if input.is_complex():
        input = input.abs()
    if not input.is_floating_point():
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype}"
        )
    if isinstance(dim, int):
        dim = (dim,)
    return _vector_norm(input, float(ord), dim, keepdim)


@composite(method=True, out=True)
def norm(
    input: Tensor, p: float | str | None = "fro", dim: Dims = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm of order ``p`` over dimensions. "fro": as order 2; "nuc": the sum of singular values.

    Example:
        >>> import mashal
        >>> mashal.tensor([[3., 4.]]).norm()
        tensor(5.)
    """
    if p == "nuc":
        from .linalg import matrix_norm

        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm: p must be a number, 'fro' or 'nuc', got {p!r}")
    return linalg_vector_norm(input, 2 if p is None or isinstance(p, str) else p, dim, keepdim, dtype=dtype)


@composite(method=True)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The norm of order ``p`` of ``input - other``.

    Example:
        >>> import mashal
        >>> mashal.dist(mashal.tensor([0., 0.]), mashal.tensor([3., 4.]))
        tensor(5.)
    """
    return linalg_vector_norm(input - other, p)


@composite(method=True, out=True, inplace=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Slices along ``dim`` scaled down where their norm of order ``p`` exceeds ``maxnorm``.

    Example:
        >>> import mashal
        >>> mashal.tensor([[3., 4.], [0., 1.]]).renorm(2, 0, 1)
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p {p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    kept = reduced_dims(dim, input.ndim)[0]
    size = linalg_vector_norm(input, p, [d for d in range(input.ndim) if d != kept], True)
    scale = (maxnorm / (size + 1e-7)).masked_fill(size <= maxnorm, 1.0)
    return input * scale.to(input.dtype)


# ---- distances of all pairs ----


@op("_cdist(Tensor x1, Tensor x2, float p, bool by_product) -> Tensor")
def _cdist() -> None:
    """Distances of the rows of (B, P, M) and (B, R, M); see ``cdist``.

    Example:
        >>> import mashal
        >>> mashal._ops._cdist(mashal.zeros(1, 1, 2), mashal.ones(1, 1, 2), 1., False)
        tensor([[[2.]]])
    """


@op("_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor distances) -> Tensor")
def _cdist_backward() -> None:
    """The gradient of cdist in ``x1``; 0 where two rows are equal.

    Example:
        >>> import mashal
        >>> a, b = mashal.zeros(1, 1, 2), mashal.ones(1, 1, 2)
        >>> mashal._ops._cdist_backward(mashal.ones(1, 1, 1), a, b, 1., mashal.full((1, 1, 1), 2.))
        tensor([[[-1., -1.]]])
    """


_cdist.vjp(
    x1=lambda g, x1, x2, p, out: _cdist_backward(g, x1, x2, p, out),
    x2=lambda g, x1, x2, p, out: _cdist_backward(g.mT, x2, x1, p, out.mT),
)
_cdist_backward.nondifferentiable("second derivatives of distances are not implemented")

_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": True,
    "donot_use_mm_for_euclid_dist": False,
}


@composite()
def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The distances of order ``p`` of every row of ``x1`` to every row of ``x2``.

    Args: ``x1``: ``(*, P, M)``; ``x2``: ``(*, R, M)``; ``compute_mode``: whether order 2 may use a matrix product (it
    does for more than 25 rows), which is fast and less accurate for close rows.
    Returns: ``(*, P, R)``. Raises: RuntimeError for ill-fitting shapes or negative p. Gradient: 0 between equal rows.

    Example:
        >>> import mashal
        >>> mashal.cdist(mashal.tensor([[0., 0.]]), mashal.tensor([[3., 4.], [0., 1.]]))
        tensor([[5., 1.]])
    """
    if x1.ndim < 2 or x2.ndim < 2:
        raise RuntimeError(f"cdist only supports at least 2D tensors, got x1 {x1.ndim}D and x2 {x2.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    mode = compute_mode or "use_mm_for_euclid_dist_if_necessary"
    if mode not in _MODES:
        raise ValueError(f"{mode} is not a valid value for compute_mode")
    rows1, rows2, width = x1.shape[-2], x2.shape[-2], x1.shape[-1]
    by_product = _MODES[mode]
    if by_product is None:
        by_product = rows1 > 25 or rows2 > 25
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    count = reduced_count(batch, None)
    flat1 = x1.expand(*batch, rows1, width).reshape(count, rows1, width)
    flat2 = x2.expand(*batch, rows2, width).reshape(count, rows2, width)
    return _cdist(flat1, flat2, float(p), p == 2 and by_product).reshape(*batch, rows1, rows2)


@composite()
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The distances of all pairs of rows of ``(N, M)``, in the order (0, 1), (0, 2), ..., (N - 2, N - 1).

    Example:
        >>> import mashal
        >>> mashal.pdist(mashal.tensor([[0.], [1.], [3.]]))
        tensor([1., 3., 2.])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    n = input.shape[0]
    row, column = triu_indices(n, n, 1, device=input.device)
    x = input.unsqueeze(0)
    return _cdist(x, x, float(p), False)[0, row, column]


# ---- distances and similarities of pairs ----


@composite()
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """``|x1 - x2 + eps|_p`` along the last dimension of inputs that broadcast to each other.

    Example:
        >>> import mashal
        >>> mashal.pairwise_distance(mashal.tensor([[3., 0.]]), mashal.tensor([[0., 4.]]))
        tensor([5.])
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


@composite()
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`` along ``dim`` of inputs that broadcast to each other.

    Raises: RuntimeError if an input is not floating point. Gradient: below ``eps`` the divisor is a constant.

    Example:
        >>> import mashal
        >>> mashal.cosine_similarity(mashal.tensor([[1., 0.]]), mashal.tensor([[2., 0.]]))
        tensor([1.])
    """
    if not (x1.is_floating_point() and x2.is_floating_point()):
        raise RuntimeError(
            f"cosine_similarity: expected floating point x1 and x2, got x1 {x1.dtype} and x2 {x2.dtype}. "
            "Convert them with .float()."
        )
    dtype = _core.promote_types(x1.dtype, x2.dtype)
    shape = broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = x1.to(dtype).expand(shape), x2.to(dtype).expand(shape)
    n1 = x1.norm(2, dim, keepdim=True)
    n2 = x2.norm(2, dim, keepdim=True)
    u1 = x1 / n1.masked_fill(n1 < eps, eps)
    u2 = x2 / n2.masked_fill(n2 < eps, eps)
    return (u1 * u2).sum(dim)
