"""Linear equations, inverses and determinants."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op
from .decompositions import (
    _named,
    _pivots_to_matrix,
    _singular_values,
    _solve_triangular,
    _svd,
    check_info,
    diagonal_matrix,
    linalg_eigh,
    unpack_factors,
)
from .matmul import adjoint_matrix as adjoint
from .matmul import conjugate

_SINGULAR = "The solver failed because the input matrix is singular."


# ---- solving ----


@op("_solve(Tensor A, Tensor B) -> (Tensor, Tensor)")
def _solve() -> None:
    """X with ``A X = B`` for square A of B's batch shape, and LAPACK's int32 codes."""


@_solve.vjp
def _(
    gs: tuple[Tensor, ...], A: Tensor, outs: tuple[Tensor, ...], needs: tuple[bool, ...]
) -> tuple[Tensor | None, Tensor | None]:
    g_b = _solve(adjoint(A), gs[0])[0]
    return -(g_b @ adjoint(outs[0])) if needs[0] else None, g_b


@op("_inverse(Tensor input) -> (Tensor, Tensor)")
def _inverse() -> None:
    """The inverse of square matrices, and LAPACK's int32 codes."""


@_inverse.vjp("input")
def _(gs: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Tensor:
    h = adjoint(outs[0])
    return -(h @ gs[0] @ h)


@op("_lu_solve(Tensor LU, Tensor pivots, Tensor B, bool adjoint) -> Tensor")
def _lu_solve() -> None:
    """X with ``A X = B`` (or ``A^H X = B``) from the factors of A, of equal batch shapes."""


@_lu_solve.vjp
def _lu_solve_gradient(
    g: Tensor, LU: Tensor, pivots: Tensor, adjoint: bool, out: Tensor, needs: tuple[bool, ...]
) -> tuple[Tensor | None, ...]:
    g_b = _lu_solve(LU, pivots, g, not adjoint)
    g_lu = None
    if needs[0]:
        g_a = -(out @ _h(g_b)) if adjoint else -(g_b @ _h(out))
        lower, upper = unpack_factors(LU)
        inner = _h(_pivots_to_matrix(pivots, LU.shape[-2], LU.dtype)) @ g_a
        g_lu = (inner @ _h(upper)).tril(-1) + (_h(lower) @ inner).triu()
    return g_lu, None, g_b


# The rule above has an argument of that name.
_h = adjoint


def _broadcast_batches(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    from .views import broadcast_shapes

    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.expand(*lead, *a.shape[-2:]), b.expand(*lead, *b.shape[-2:])


def _check_square(name: str, A: Tensor) -> None:
    if A.dim() < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )


def _check_dtypes(name: str, A: Tensor, B: Tensor) -> None:
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.{name}: Expected A and B to have the same dtype, but found A of type "
            f"{A.dtype} and B of type {B.dtype} instead"
        )


def _solve_any(name: str, A: Tensor, B: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    _check_square(name, A)
    _check_dtypes(name, A, B)
    # B is a batch of vectors if it is 1-D or has A's shape without the last dimension.
    vector = B.dim() == 1 or (B.dim() == A.dim() - 1 and B.shape == A.shape[:-1])
    if vector and not left:
        raise RuntimeError(f"linalg.{name}: Vector broadcasting of the left hand side is not supported for left=False.")
    if vector:
        B = B.unsqueeze(-1)
    if not left:
        A, B = A.transpose(-2, -1), B.transpose(-2, -1)
    if A.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({tuple(A.shape)} and {tuple(B.shape)})"
        )
    X, info = _solve(*_broadcast_batches(A, B))
    if not left:
        X = X.transpose(-2, -1)
    return X.squeeze(-1) if vector else X, info


@composite(namespace="linalg")
def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """``solve`` with LAPACK's codes (``result``, ``info``) instead of an exception."""
    X, info = _solve_any("solve_ex", A, B, left)
    if check_errors:
        check_info("solve", info, _SINGULAR)
    return _named("linalg_solve_ex", (X, info))


@composite(namespace="linalg", out=True)
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with ``A X = B`` (or ``X A = B``).

    Args:
        A: (..., n, n).
        B: (..., n, k), or a batch of vectors: (n,) or A's shape without the last dimension.

    Raises:
        LinAlgError: if A is singular.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_solve(mashal.tensor([[2.0]]), mashal.tensor([[6.0]]))
        tensor([[3.]])
    """
    X, info = _solve_any("solve", A, B, left)
    check_info("solve", info, _SINGULAR)
    return X


@composite(namespace="linalg", out=True)
def linalg_solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with ``A X = B`` (or ``X A = B``) for triangular A; the other triangle is not read.

    Args:
        A: (..., n, n). B: (..., n, k). unitriangular: A's diagonal counts as ones.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_solve_triangular(mashal.tensor([[2.0]]), mashal.tensor([[6.0]]), upper=True)
        tensor([[3.]])
    """
    _check_square("solve_triangular", A)
    _check_dtypes("solve_triangular", A, B)
    if B.dim() < 2 or A.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({tuple(A.shape)} and {tuple(B.shape)})"
        )
    if left:
        return _solve_triangular(*_broadcast_batches(A, B), upper, unitriangular)
    X = _solve_triangular(*_broadcast_batches(A.transpose(-2, -1), B.transpose(-2, -1)), not upper, unitriangular)
    return X.transpose(-2, -1)


@composite(method=True)
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """Older form of ``linalg.solve_triangular``: returns the solution and a copy of A.

    Example:
        >>> import mashal
        >>> mashal.triangular_solve(mashal.tensor([[6.0]]), mashal.tensor([[2.0]])).solution
        tensor([[3.]])
    """
    matrix = A.transpose(-2, -1) if transpose else A
    X = linalg_solve_triangular(matrix, input, upper=upper != transpose, unitriangular=unitriangular)
    return _named("triangular_solve", (X, A.clone()))


@composite(namespace="linalg", out=True)
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with ``A X = B`` from ``lu_factor(A)``; ``adjoint``: with A^H; not ``left``: ``X A = B``.

    Example:
        >>> import mashal
        >>> LU, pivots = mashal._ops.linalg_lu_factor(mashal.tensor([[2.0]]))
        >>> mashal._ops.linalg_lu_solve(LU, pivots, mashal.tensor([[6.0]]))
        tensor([[3.]])
    """
    _check_square("lu_solve", LU)
    _check_dtypes("lu_solve", LU, B)
    if not left:
        return _h(linalg_lu_solve(LU, pivots, _h(B), adjoint=not adjoint))
    full, right = _broadcast_batches(LU, B)
    return _lu_solve(full, pivots.expand(*full.shape[:-1]), right, adjoint)


@composite(method=True, out=True)
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Older form of ``linalg.lu_solve``.

    Example:
        >>> import mashal
        >>> mashal.lu_solve(mashal.tensor([[6.0]]), *mashal._ops.linalg_lu_factor(mashal.tensor([[2.0]])))
        tensor([[3.]])
    """
    return linalg_lu_solve(LU_data, LU_pivots, input)


@composite(method=True, out=True)
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with ``A X = input`` from the Cholesky factor ``input2`` of A.

    Example:
        >>> import mashal
        >>> mashal.cholesky_solve(mashal.tensor([[8.0]]), mashal.tensor([[2.0]]))
        tensor([[2.]])
    """
    lower = adjoint(input2) if upper else input2
    half = linalg_solve_triangular(lower, input, upper=False)
    return linalg_solve_triangular(adjoint(lower), half, upper=True)


@composite(method=True, out=True)
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A from its Cholesky factor.

    Example:
        >>> import mashal
        >>> mashal.cholesky_inverse(mashal.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    _check_square("cholesky_inverse", input)
    return cholesky_solve(diagonal_matrix(input.new_ones(input.shape[:-1])), input, upper)


# ---- inverses ----


@composite(namespace="linalg")
def linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """``inv`` with LAPACK's codes (``inverse``, ``info``) instead of an exception."""
    inverse_, info = _inverse(A)
    if check_errors:
        check_info(
            "inv",
            info,
            "The diagonal element {code} is zero, the inversion could not be completed because the input "
            "matrix is singular.",
        )
    return _named("linalg_inv_ex", (inverse_, info))


@composite(namespace="linalg", out=True)
def linalg_inv(A: Tensor) -> Tensor:
    """The inverse of square matrices.

    Raises:
        LinAlgError: if a matrix is singular.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_inv(mashal.tensor([[2.0]]))
        tensor([[0.5000]])
    """
    _check_square("inv", A)
    return linalg_inv_ex(A, check_errors=True)[0]


@composite(method=True, out=True)
def inverse(input: Tensor) -> Tensor:
    """Another name of ``linalg.inv``.

    Example:
        >>> import mashal
        >>> mashal.inverse(mashal.tensor([[4.0]]))
        tensor([[0.2500]])
    """
    return linalg_inv(input)


@op("_pinv(Tensor input, Tensor cutoff, bool hermitian) -> Tensor")
def _pinv() -> None:
    """The Moore-Penrose inverse; singular values up to ``cutoff`` (one each matrix) count as 0.

    Gradient:
        defined where the rank is locally constant.
    Source:
        G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
        variables separate" (1973).
    """


@_pinv.shape
def _(input: Any, cutoff: Any, hermitian: bool) -> Any:
    return (*input.shape[:-2], input.shape[-1], input.shape[-2]), input.dtype


@_pinv.cpu
def _(input: Tensor, cutoff: Tensor, hermitian: bool) -> Tensor:
    if hermitian:
        w, v = linalg_eigh(input)
        small = w.abs() <= cutoff.unsqueeze(-1)
        return (v * (1.0 / w).masked_fill(small, 0.0).unsqueeze(-2)) @ adjoint(v)
    u, s, vh = _svd(input, False)
    small = s <= cutoff.unsqueeze(-1)
    return (adjoint(vh) * (1.0 / s).masked_fill(small, 0.0).unsqueeze(-2)) @ adjoint(u)


_pinv.constant("cutoff")


@_pinv.vjp("input")
def _(g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    gh, oh = adjoint(g), adjoint(out)
    if input.shape[-2] <= input.shape[-1]:
        k = gh @ out
        ko = k @ oh
        return -adjoint(out @ k) + ko - (input @ out) @ ko + (oh @ out) @ (gh - k @ input)
    k = out @ gh
    ok = oh @ k
    return -adjoint(k @ out) + (gh - input @ k) @ out @ oh + ok - (ok @ out) @ input


def _cutoff(A: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    """max(atol, rtol * largest singular value), one for each matrix."""
    if rtol is None:
        known = atol is not None and (isinstance(atol, Tensor) or atol > 0)
        rtol = 0.0 if known else max(A.shape[-2:]) * _core_eps(A)
    largest = _largest(A.detach(), hermitian)
    limit = largest * rtol
    if atol is None:
        return limit
    return limit.maximum(atol) if isinstance(atol, Tensor) else limit.clamp(min=float(atol))


def _core_eps(A: Tensor) -> float:
    from .._dtype_info import finfo

    return finfo(A.dtype).eps


def _largest(A: Tensor, hermitian: bool) -> Tensor:
    if hermitian:
        from .decompositions import linalg_eigvalsh

        return linalg_eigvalsh(A).abs().amax(-1)
    return _singular_values(A).amax(-1)


@composite(namespace="linalg", out=True)
def linalg_pinv(A: Tensor, rcond: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The Moore-Penrose inverse.

    Args:
        atol, rtol: singular values up to ``max(atol, rtol * largest)`` count as 0; default rtol ``max(m, n) * eps``.
        hermitian: A is Hermitian (only its lower triangle is read).

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_pinv(mashal.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
    """
    rtol = rcond if rtol is None else rtol
    if A.numel() == 0:
        return A.new_zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]))
    return _pinv(A, _cutoff(A, atol, rtol, hermitian), hermitian)


@composite(method=True)
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Older form of ``linalg.pinv``.

    Example:
        >>> import mashal
        >>> mashal.pinverse(mashal.tensor([[2.0]]))
        tensor([[0.5000]])
    """
    return linalg_pinv(input, rtol=rcond)


@composite(namespace="linalg")
def linalg_lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """X that minimises ``|A X - B|``, of least norm where several do.

    Args:
        A: (..., m, n). B: (..., m, k) or (..., m).
        driver: ``gelsy``, ``gelsd``, ``gelss`` or ``gels``; all use the singular value decomposition here.

    Returns:
        solution; residuals (sums of squares; empty for ``gelsy`` or unless m > n and the rank is full); rank (empty
        for ``gels``); singular values (empty for ``gels`` and ``gelsy``).

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_lstsq(mashal.tensor([[1.0], [1.0]]), mashal.tensor([[1.0], [3.0]])).solution.round()
        tensor([[2.]])
    """
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver}"
        )
    vector = B.dim() == A.dim() - 1 or (B.dim() == A.dim() and A.dim() > 2 and B.shape == A.shape[:-1])
    right = B.unsqueeze(-1) if vector else B
    m, n = A.shape[-2:]
    rtol = _core_eps(A) * max(m, n) if rcond is None else rcond
    X = linalg_pinv(A, rtol=rtol) @ right
    singular = _singular_values(A.detach())
    rank = (singular > singular.amax(-1, True) * rtol).sum(-1)
    residuals = A.new_empty((0,))
    if driver != "gelsy" and m > n and bool((rank == n).all()):
        error = (A @ X - right).abs()
        residuals = (error * error).sum(-2)
    none = A.new_empty((0,), dtype=_core.int64)
    values = singular if driver in ("gelsd", "gelss") else singular.new_empty((0,))
    parts = (X.squeeze(-1) if vector else X, residuals, none if driver == "gels" else rank, values)
    return _named("linalg_lstsq", parts)


# ---- determinants ----


@op("_det(Tensor input) -> Tensor")
def _det() -> None:
    """Determinants of square matrices, by LU.

    Gradient:
        the conjugated cofactors: ``det A^-H``, or for singular matrices from the singular value decomposition.
    """


@_det.vjp("input")
def _(g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    g = g[..., None, None]
    if bool((out == 0).any()):
        return g * _conjugate_cofactors(input)
    scale = conjugate(out)[..., None, None]
    return g * scale * adjoint(_inverse(input)[0])


def _conjugate_cofactors(A: Tensor) -> Tensor:
    """conj(det(U) det(Vh)) U diag(products of all other singular values) Vh: needs no inverse."""
    from .joining import cat

    u, s, vh = _svd(A, False)
    ones = s.new_ones((*s.shape[:-1], 1))
    before = cat([ones, s[..., :-1]], -1).cumprod(-1)
    after = cat([ones, s.flip(-1)[..., :-1]], -1).cumprod(-1).flip(-1)
    sign = conjugate(_det(u) * _det(vh))[..., None, None]
    return sign * ((u * (before * after).unsqueeze(-2)) @ vh)


@op("_slogdet(Tensor input) -> (Tensor, Tensor)")
def _slogdet() -> None:
    """Sign (0, or of modulus 1) and logarithm of the modulus of determinants."""


@_slogdet.vjp("input")
def _(gs: tuple[Tensor, ...], input: Tensor, outs: tuple[Tensor, ...]) -> Tensor:
    factor = gs[1]
    if input.is_complex():
        from .views import imag

        factor = factor + imag(gs[0] * outs[0].conj()) * 1j
    return factor[..., None, None] * adjoint(_inverse(input)[0])


@composite(namespace="linalg", out=True)
def linalg_det(A: Tensor) -> Tensor:
    """Determinants of square matrices.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_det(mashal.tensor([[2.0, 0.0], [0.0, 3.0]]))
        tensor(6.)
    """
    _check_square("det", A)
    return _det(A)


@composite(method=True)
def det(input: Tensor) -> Tensor:
    """Another name of ``linalg.det``.

    Example:
        >>> import mashal
        >>> mashal.det(mashal.eye(3))
        tensor(1.)
    """
    return linalg_det(input)


@composite(namespace="linalg")
def linalg_slogdet(A: Tensor) -> Any:
    """Sign and logarithm of the absolute value of determinants (``sign``, ``logabsdet``).

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_slogdet(mashal.eye(2)).logabsdet
        tensor(0.)
    """
    _check_square("slogdet", A)
    return _named("linalg_slogdet", _slogdet(A))


@composite(method=True)
def slogdet(input: Tensor) -> Any:
    """Another name of ``linalg.slogdet``.

    Example:
        >>> import mashal
        >>> mashal.slogdet(mashal.eye(2)).sign
        tensor(1.)
    """
    _check_square("slogdet", input)
    return _named("slogdet", _slogdet(input))


@composite(method=True)
def logdet(input: Tensor) -> Tensor:
    """Logarithm of determinants: nan for negative ones, -inf for 0.

    Example:
        >>> import mashal
        >>> mashal.logdet(mashal.eye(2))
        tensor(0.)
    """
    _check_square("logdet", input)
    sign, log = _slogdet(input)
    if input.is_complex():
        return sign.log() + log
    return log.masked_fill(sign == -1, math.nan)
