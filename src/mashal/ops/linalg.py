"""Solvers, inverses, determinants, norms and functions of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from .matmul import conjugate, multiply_chain

Dims = int | Sequence[int] | None

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


# ---- powers and exponentials ----


@composite(namespace="linalg", out=True)
def linalg_matrix_power(A: Tensor, n: int) -> Tensor:
    """A multiplied with itself n times; of its inverse for negative n.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_matrix_power(mashal.tensor([[2.0]]), 3)
        tensor([[8.]])
    """
    _check_square("matrix_power", A)
    if n == 0:
        identity = diagonal_matrix(A.new_ones(A.shape[-1]))
        return identity.expand(A.shape).clone()
    if n < 0:
        A, n = linalg_inv(A), -n
    result: Any = None
    while True:
        if n & 1:
            result = A if result is None else result @ A
        n >>= 1
        if n == 0:
            return result.clone() if result is A else result
        A = A @ A


@composite(method=True, out=True)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Another name of ``linalg.matrix_power``.

    Example:
        >>> import mashal
        >>> mashal.matrix_power(mashal.tensor([[2.0]]), 2)
        tensor([[4.]])
    """
    return linalg_matrix_power(input, n)


@composite(method=True)
def matrix_exp(input: Tensor) -> Tensor:
    """``sum_k A^k / k!``, by halving A until its norm is below 1/2, a Taylor polynomial, and squaring.

    Source:
        C. Moler and C. Van Loan, "Nineteen dubious ways to compute the exponential of a matrix" (2003), method 3.

    Example:
        >>> import mashal
        >>> mashal.matrix_exp(mashal.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    _check_square("matrix_exp", input)
    if input.numel() == 0:
        return input.clone()
    size = float(input.detach().abs().sum(-1).amax())
    halvings = max(0, math.ceil(math.log2(size / 0.5))) if 0 < size < math.inf else 0
    A = input * 2.0**-halvings
    identity = diagonal_matrix(input.new_ones(input.shape[-1]))
    # (1/2)^k / k! is below float64's resolution at k = 13; float32 needs 8 terms.
    terms = 14 if _core_eps(input) < 1e-10 else 8
    result = identity + A / terms
    for k in range(terms - 1, 0, -1):
        result = identity + (A @ result) / k
    for _ in range(halvings):
        result = result @ result
    return result


@composite(namespace="linalg")
def linalg_matrix_exp(A: Tensor) -> Tensor:
    """See ``matrix_exp``."""
    return matrix_exp(A)


@composite(namespace="linalg", out=True)
def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices in the cheapest order; the first and the last may be vectors.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_multi_dot([mashal.ones(2), mashal.ones(2, 3), mashal.ones(3)])
        tensor(6.)
    """
    if len(tensors) < 2:
        raise RuntimeError(f"linalg.multi_dot: expected at least 2 tensors, got {len(tensors)}")
    matrices = list(tensors)
    row, column = matrices[0].dim() == 1, matrices[-1].dim() == 1
    if row:
        matrices[0] = matrices[0].unsqueeze(0)
    if column:
        matrices[-1] = matrices[-1].unsqueeze(-1)
    for i, t in enumerate(matrices):
        if t.dim() != 2:
            raise RuntimeError(
                f"linalg.multi_dot: tensor {i} must be 2D (1D for the first and the last), got {t.dim()}D"
            )
    out = multiply_chain(matrices)
    out = out.squeeze(0) if row else out
    return out.squeeze(-1) if column else out


# ---- norms and ranks ----


def _last_two(A: Tensor, dim: Any) -> tuple[Tensor, tuple[int, int]]:
    dims = tuple(d + A.dim() if d < 0 else d for d in dim)
    if len(dims) != 2 or dims[0] == dims[1]:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple of different dimensions, got {tuple(dim)}")
    return A.movedim(dims, (-2, -1)), dims


@composite(namespace="linalg", out=True)
def linalg_matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Norms of matrices: ``fro``, ``nuc`` (sum of singular values), 2 and -2 (largest and smallest of them), 1 and -1
    (of the absolute column sums), inf and -inf (of the row sums).

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_matrix_norm(mashal.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(5.)
    """
    if A.dim() < 2:
        raise RuntimeError(
            f"linalg.matrix_norm: The input tensor A must have at least 2 dimensions, got {tuple(A.shape)}."
        )
    if dtype is not None:
        A = A.to(dtype)
    if ord == "fro":
        from .distance import linalg_vector_norm

        return linalg_vector_norm(A, 2, tuple(dim), keepdim)
    moved, dims = _last_two(A, dim)
    if ord == "nuc":
        result = _singular_values(moved).sum(-1)
    elif ord in (2, -2):
        values = _singular_values(moved)
        result = values.amax(-1) if ord > 0 else values.amin(-1)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = moved.abs().sum(-2 if abs(ord) == 1 else -1)
        result = sums.amax(-1) if ord > 0 else sums.amin(-1)
    else:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if keepdim:
        for d in sorted(dims):
            result = result.unsqueeze(d)
    return result


def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """``linalg_matrix_norm`` under the name that ``norm`` looks for."""
    return linalg_matrix_norm(A, ord, dim, keepdim, dtype=dtype)


@composite(namespace="linalg", out=True)
def linalg_norm(A: Tensor, ord: Any = None, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """A vector norm or, for two dimensions with an order (or text), a matrix norm; without an order the 2-norm of all.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_norm(mashal.tensor([3.0, 4.0]))
        tensor(5.)
    """
    from .distance import linalg_vector_norm

    dims = (dim,) if isinstance(dim, int) else dim
    if ord is None:
        return linalg_vector_norm(A, 2, dims, keepdim, dtype=dtype)
    if (dims is not None and len(dims) == 2) or (dims is None and A.dim() == 2):
        return linalg_matrix_norm(A, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: order {ord!r} is for matrices, got A {tuple(A.shape)} and dim {dim}.")
    return linalg_vector_norm(A, ord, dims, keepdim, dtype=dtype)


@composite(namespace="linalg", out=True)
def linalg_matrix_rank(
    A: Tensor, tol: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Tensor:
    """The number of singular values above ``max(atol, rtol * largest)``; default rtol ``max(m, n) * eps``.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_matrix_rank(mashal.ones(2, 2))
        tensor(1)
    """
    atol = tol if atol is None else atol
    if A.numel() == 0:
        return A.new_zeros(A.shape[:-2], dtype=_core.int64)
    limit = _cutoff(A, atol, 0.0 if tol is not None else rtol, hermitian)
    if hermitian:
        from .decompositions import linalg_eigvalsh

        values = linalg_eigvalsh(A).abs()
    else:
        values = _singular_values(A)
    return (values > limit.unsqueeze(-1)).sum(-1)


@composite(namespace="linalg", out=True)
def linalg_cond(A: Tensor, p: Any = None) -> Tensor:
    """Condition numbers: ratio of the extreme singular values, or ``norm(A, p) * norm(inv(A), p)``.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_cond(mashal.tensor([[4.0, 0.0], [0.0, 2.0]]))
        tensor(2.)
    """
    if p is None or p in (2, -2):
        values = _singular_values(A)
        top, low = values[..., 0], values[..., -1]
        return low / top if p == -2 else top / low
    _check_square("cond", A)
    inverse_, info = _inverse(A)
    result = linalg_matrix_norm(A, p) * linalg_matrix_norm(inverse_, p)
    return result.masked_fill(info != 0, math.inf)


# ---- products of vectors, tensor equations ----


@composite(namespace="linalg", out=True)
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross products of vectors with three elements along ``dim``; other dimensions broadcast.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_cross(mashal.tensor([1, 0, 0]), mashal.tensor([0, 1, 0]))
        tensor([0, 0, 1])
    """
    if input.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    # a_{i+1} b_{i+2} - a_{i+2} b_{i+1}, counted around.
    return input.roll(-1, dim) * other.roll(-2, dim) - input.roll(-2, dim) * other.roll(-1, dim)


@composite(method=True, out=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """``linalg.cross`` along ``dim``; default: the first dimension of size 3.

    Example:
        >>> import mashal
        >>> mashal.cross(mashal.tensor([1, 0, 0]), mashal.tensor([0, 1, 0]), 0)
        tensor([0, 0, 1])
    """
    if dim is None:
        dim = next((i for i, size in enumerate(input.shape) if size == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)


@composite(namespace="linalg", out=True)
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Sums of ``conj(x) * y`` along ``dim``.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_vecdot(mashal.ones(2, 3), mashal.ones(3))
        tensor([3., 3.])
    """
    return (conjugate(x) * y).sum(dim)


@composite(namespace="linalg", out=True)
def linalg_tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of A as a map from its last dimensions to its first ``ind``.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_tensorinv(mashal.eye(4).reshape(2, 2, 4)).shape
        mashal.Size([4, 2, 2])
    """
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = A.shape[:ind], A.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(last)} != {math.prod(first)}"
        )
    return linalg_inv(A.reshape(math.prod(first), math.prod(last))).reshape(*last, *first)


@composite(namespace="linalg", out=True)
def linalg_tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with ``tensordot(A, X, X.dim()) = B``; ``dims`` of A are moved to its end first.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_tensorsolve(mashal.eye(4).reshape(2, 2, 4), mashal.ones(2, 2))
        tensor([1., 1., 1., 1.])
    """
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.dim() - len(dims), A.dim())))
    shape = A.shape[B.dim() :]
    return linalg_solve(A.reshape(B.numel(), math.prod(shape)), B.reshape(-1)).reshape(shape)


@composite(namespace="linalg")
def linalg_vander(x: Tensor, N: int | None = None) -> Tensor:
    """Powers 0 to N - 1 of x along a new last dimension; default N: the last size of x.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_vander(mashal.tensor([2, 3]), N=3)
        tensor([[1, 2, 4],
                [1, 3, 9]])
    """
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    from .joining import cat

    repeated = x.unsqueeze(-1).expand(*x.shape, count - 1)
    ones = x.new_ones((*x.shape, 1))
    return cat([ones, repeated.cumprod(-1)], -1)


@composite(namespace="linalg")
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""
    return A.diagonal(offset, dim1, dim2)
