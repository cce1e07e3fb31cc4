"""Matrix factorisations over LAPACK, with their derivatives.

A is (..., m, n): one matrix or a batch. H means the conjugate transpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import return_types
from .._core import Tensor
from ._registry import composite, op
from .matmul import adjoint_matrix as adjoint

Ints = Sequence[int]


class LinAlgError(RuntimeError):
    """A matrix does not allow the operation: singular, or not positive definite."""


def check_info(name: str, info: Tensor, message: str) -> None:
    """Raises if LAPACK reported a failure (its code is 0 for success)."""
    if info.is_meta:
        return
    codes = info.reshape(-1).tolist()
    for i, code in enumerate(codes):
        if code != 0:
            where = f"(Batch element {i}): " if info.dim() > 0 else ""
            raise LinAlgError(f"linalg.{name}: {where}{message.format(code=code)}")


def _real_diagonal(t: Tensor) -> Tensor:
    d = t.diagonal(0, -2, -1)
    return _core_real(d) if t.is_complex() else d


def _core_real(t: Tensor) -> Tensor:
    from .views import real

    return real(t)


def _imaginary(t: Tensor) -> Tensor:
    from .views import imag

    return imag(t)


def diagonal_matrix(t: Tensor) -> Tensor:
    """(..., n) as the diagonal of (..., n, n)."""
    return t.diag_embed()


def like_input(g: Tensor, input: Tensor) -> Tensor:
    """The gradient of a real matrix is the real part."""
    return _core_real(g) if g.is_complex() and not input.is_complex() else g


# ---- Cholesky ----


@op("_cholesky(Tensor input, bool upper) -> (Tensor, Tensor)")
def _cholesky() -> None:
    """``A = L L^H`` with a lower triangular L, or ``A = U^H U``; only one triangle of A is read.

    Returns:
        the factor, and LAPACK's int32 codes: 0, or the order of the leading minor that is not positive definite.
    Gradient:
        ``1/2 L^-H P L^-1``, where P continues the lower triangle of ``L^H gL`` to a Hermitian matrix.
    Source:
        I. Murray, "Differentiation of the Cholesky decomposition" (2016).
    """


@_cholesky.vjp("input")
def _(gs: tuple[Tensor, ...], outs: tuple[Tensor, ...], upper: bool) -> Tensor:
    factor, g = (adjoint(outs[0]), adjoint(gs[0])) if upper else (outs[0], gs[0])
    p = adjoint(factor) @ g
    p = p.tril() + adjoint(p.tril(-1))
    left = _solve_triangular(adjoint(factor), p, True, False)
    return adjoint(_solve_triangular(adjoint(factor), adjoint(left), True, False)) * 0.5


@op("_solve_triangular(Tensor A, Tensor B, bool upper, bool unitriangular) -> Tensor")
def _solve_triangular() -> None:
    """X with ``A X = B`` for triangular A, of equal batch shapes; the other triangle is not read."""


@_solve_triangular.vjp
def _(
    g: Tensor, A: Tensor, upper: bool, unitriangular: bool, out: Tensor, needs: tuple[bool, ...]
) -> tuple[Tensor | None, Tensor | None]:
    g_b = _solve_triangular(adjoint(A), g, not upper, unitriangular)
    g_a = None
    if needs[0]:
        g_a = -(g_b @ adjoint(out))
        skip = 1 if unitriangular else 0
        g_a = g_a.triu(skip) if upper else g_a.tril(-skip)
    return g_a, g_b


# ---- LU ----


@op("_lu_factor(Tensor input) -> (Tensor, Tensor, Tensor)")
def _lu_factor() -> None:
    """``A = P L U`` with both factors in one matrix (L's unit diagonal is not stored), pivots and codes as LAPACK's."""


@op("_pivots_to_matrix(Tensor pivots, int size, dtype dtype) -> Tensor")
def _pivots_to_matrix() -> None:
    """The permutation matrix P of LAPACK's pivots (rows exchanged one after the other, counted from 1)."""


@_pivots_to_matrix.shape
def _(pivots: Any, size: int, dtype: Any) -> Any:
    return (*pivots.shape[:-1], size, size), dtype


@_pivots_to_matrix.cpu
def _(pivots: Tensor, size: int, dtype: Any) -> Tensor:
    import numpy as np

    rows = pivots.detach().numpy().reshape(-1, pivots.shape[-1]) - 1
    out = np.zeros((rows.shape[0], size, size), dtype=np.float64)
    for matrix, exchanges in zip(out, rows, strict=True):
        order = list(range(size))
        for i, j in enumerate(exchanges.tolist()):
            order[i], order[j] = order[j], order[i]
        matrix[order, range(size)] = 1.0
    return _core_from_numpy(out.reshape(*pivots.shape[:-1], size, size)).to(dtype)


def _core_from_numpy(a: Any) -> Any:
    from .._tensor import from_numpy

    return from_numpy(a)


_pivots_to_matrix.nondifferentiable("integer input")


def unpack_factors(lu: Tensor) -> tuple[Tensor, Tensor]:
    """L (m, k) with its unit diagonal, and U (k, n)."""
    m, n = lu.shape[-2:]
    k = min(m, n)
    lower = lu[..., :k].tril(-1) if n > k else lu.tril(-1)
    upper = lu[..., :k, :].triu() if m > k else lu.triu()
    unit = diagonal_matrix(lu.new_ones(k))
    if m > k:
        from .padding import constant_pad_nd

        unit = constant_pad_nd(unit, [0, 0, 0, m - k])
    return lower + unit, upper


def _lu_gradient(p: Tensor, lower: Tensor, upper: Tensor, g_lower: Tensor, g_upper: Tensor) -> Tensor:
    """Gradient by A of functions of L and U: through the leading square block, and through what hangs over it."""
    m, n = lower.shape[-2], upper.shape[-1]
    k = min(m, n)
    l1, u1 = lower[..., :k, :], upper[..., :k]
    gl1, gu1 = g_lower[..., :k, :], g_upper[..., :k]
    below = right = None
    if m > k:  # rows below: A2 = L2 U
        below = adjoint(_solve_triangular(u1, adjoint(g_lower[..., k:, :]), True, False))
        gu1 = gu1 - adjoint(lower[..., k:, :]) @ below
    if n > k:  # columns beside: A2 = L U2
        right = _solve_triangular(adjoint(l1), g_upper[..., k:], True, True)
        gl1 = gl1 - right @ adjoint(upper[..., k:])
    middle = (adjoint(l1) @ gl1).tril(-1) + (gu1 @ adjoint(u1)).triu()
    middle = _solve_triangular(adjoint(l1), middle, True, True)
    block = adjoint(_solve_triangular(u1, adjoint(middle), True, False))
    from .joining import cat

    if below is not None:
        block = cat([block, below], -2)
    if right is not None:
        block = cat([block, right], -1)
    return p @ block


@_lu_factor.vjp("input")
def _(gs: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Tensor:
    lower, upper = unpack_factors(outs[0])
    m, n = outs[0].shape[-2:]
    k = min(m, n)
    p = _pivots_to_matrix(outs[1], m, outs[0].dtype)
    return _lu_gradient(p, lower, upper, gs[0][..., :k].tril(-1), gs[0][..., :k, :].triu())


# ---- QR ----


@op("_qr(Tensor input, bool complete) -> (Tensor, Tensor)")
def _qr() -> None:
    """``A = Q R`` with orthonormal columns in Q and upper triangular R; ``complete``: Q is square.

    Gradient:
        for m >= n (reduced) or m <= n; A's leading columns must be linearly independent.
    Source:
        S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2012).
    """


@_qr.vjp("input")
def _(gs: tuple[Tensor, ...], outs: tuple[Tensor, ...], input_shape: Ints, complete: bool) -> Tensor:
    (q, r), (gq, gr) = outs, gs
    m, n = input_shape[-2:]
    if complete and m > n:
        raise RuntimeError(
            "linalg.qr: the complete decomposition is not differentiable when A has more rows than columns."
        )
    if m >= n:
        return _qr_gradient(q, r, gq, gr)
    # A = [X Y] and R = [U V]: V = Q^H Y, so that Y adds to the gradient of Q.
    u, v = r[..., :m], r[..., m:]
    y = q @ v
    g_x = _qr_gradient(q, u, gq + y @ adjoint(gr[..., m:]), gr[..., :m])
    from .joining import cat

    return cat([g_x, q @ gr[..., m:]], -1)


def _qr_gradient(q: Tensor, r: Tensor, gq: Tensor, gr: Tensor) -> Tensor:
    s = (gr @ adjoint(r) - adjoint(q) @ gq).triu()
    s = s + adjoint(s) - diagonal_matrix(_real_diagonal(s))
    total = gq + q @ s
    return adjoint(_solve_triangular(r, adjoint(total), True, False))


# ---- singular values ----


@op("_svd(Tensor input, bool full_matrices) -> (Tensor, Tensor, Tensor)")
def _svd() -> None:
    """``A = U diag(S) Vh`` with S descending.

    Gradient:
        finite for distinct singular values only; with ``full_matrices`` the columns that S does not reach must not
        matter.
    Source:
        J. Townsend, "Differentiating the singular value decomposition" (2016).
    """


@_svd.vjp("input")
def _(gs: tuple[Tensor, ...], outs: tuple[Tensor, ...], input: Tensor) -> Tensor:
    k = outs[1].shape[-1]
    u, s, v = outs[0][..., :k], outs[1], adjoint(outs[2][..., :k, :])
    gu, g_s, gv = gs[0][..., :k], gs[1], adjoint(gs[2][..., :k, :])
    squares = s * s
    gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1)
    gaps = gaps + diagonal_matrix(s.new_ones(k))
    from_u, from_v = adjoint(u) @ gu, adjoint(v) @ gv
    middle = (from_u - adjoint(from_u)) / gaps * s.unsqueeze(-2) + s.unsqueeze(-1) * ((from_v - adjoint(from_v)) / gaps)
    # The phases of a pair of vectors are LAPACK's choice; functions of interest do not depend on it.
    middle = middle - diagonal_matrix(middle.diagonal(0, -2, -1)) + diagonal_matrix(g_s)
    if input.is_complex():
        phase = (_imaginary(from_u.diagonal(0, -2, -1)) - _imaginary(from_v.diagonal(0, -2, -1))) / (2 * s)
        middle = middle + diagonal_matrix(phase * 1j)
    total = u @ middle.to(u.dtype) @ adjoint(v)
    if u.shape[-2] > k:
        total = total + ((gu - u @ from_u) / s.unsqueeze(-2)) @ adjoint(v)
    if v.shape[-2] > k:
        total = total + u @ adjoint((gv - v @ from_v) / s.unsqueeze(-2))
    return total


@op("_singular_values(Tensor input) -> Tensor")
def _singular_values() -> None:
    """The singular values alone, descending. Gradient: ``U diag(g) Vh``."""


@_singular_values.vjp("input")
def _(g: Tensor, input: Tensor) -> Tensor:
    u, _, vh = _svd(input, False)
    return (u * g.unsqueeze(-2)) @ vh


# ---- eigenvalues ----


@op("_eigh(Tensor input, bool lower) -> (Tensor, Tensor)")
def _eigh() -> None:
    """``A = V diag(w) V^H`` of a Hermitian matrix with w ascending; only one triangle of A is read.

    Gradient:
        finite for distinct eigenvalues only.
    """


@_eigh.vjp("input")
def _(gs: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Tensor:
    w, v = outs
    gaps = w.unsqueeze(-2) - w.unsqueeze(-1)
    gaps = gaps + diagonal_matrix(w.new_ones(w.shape[-1]))
    turn = adjoint(v) @ gs[1]  # only turning of the eigenvectors counts: the skew part
    middle = (turn - adjoint(turn)) * 0.5 / gaps
    middle = middle - diagonal_matrix(middle.diagonal(0, -2, -1)) + diagonal_matrix(gs[0]).to(v.dtype)
    return v @ middle @ adjoint(v)


@op("_eigh_values(Tensor input, bool lower) -> Tensor")
def _eigh_values() -> None:
    """The eigenvalues of a Hermitian matrix alone, ascending. Gradient: ``V diag(g) V^H``."""


@_eigh_values.vjp("input")
def _(g: Tensor, input: Tensor, lower: bool) -> Tensor:
    v = _eigh(input, lower)[1]
    return (v * g.unsqueeze(-2)) @ adjoint(v)


@op("_eig(Tensor input) -> (Tensor, Tensor)")
def _eig() -> None:
    """``A V = V diag(w)`` of a general matrix; results are complex, eigenvectors have norm 1.

    Gradient:
        finite for distinct eigenvalues only.
    Source:
        C. Boeddeker et al., "On the computation of complex-valued gradients" (2017).
    """


@_eig.vjp("input")
def _(gs: tuple[Tensor, ...], outs: tuple[Tensor, ...], input: Tensor) -> Tensor:
    from .solvers import _solve

    w, v = outs
    vh = adjoint(v)
    middle = vh @ gs[1]
    middle = middle - (vh @ v) * _core_real(middle.diagonal(0, -2, -1)).unsqueeze(-2)
    gaps = (w.unsqueeze(-2) - w.unsqueeze(-1)).conj() + diagonal_matrix(w.new_ones(w.shape[-1]))
    middle = middle / gaps
    middle = middle - diagonal_matrix(middle.diagonal(0, -2, -1)) + diagonal_matrix(gs[0])
    return like_input(_solve(vh, middle @ vh)[0], input)


# ---- PyTorch's names ----


def _named(kind: str, parts: tuple[Tensor, ...]) -> Any:
    return getattr(return_types, kind)(parts)


@composite(namespace="linalg")
def linalg_cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """``cholesky`` with LAPACK's codes (``L``, ``info``) instead of an exception.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_cholesky_ex(mashal.eye(2)).info
        tensor(0, dtype=mashal.int32)
    """
    factor, info = _cholesky(input, upper)
    if check_errors:
        _check_cholesky(info)
    return _named("linalg_cholesky_ex", (factor, info))


def _check_cholesky(info: Tensor) -> None:
    check_info(
        "cholesky",
        info,
        "The factorization could not be completed because the input is not positive-definite (the leading minor of "
        "order {code} is not positive-definite).",
    )


@composite(namespace="linalg", out=True)
def linalg_cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """L with ``A = L L^H`` (or U with ``A = U^H U``) of positive definite matrices; one triangle of A is read.

    Raises:
        LinAlgError: if A is not positive definite.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_cholesky(mashal.tensor([[4.0]]))
        tensor([[2.]])
    """
    factor, info = _cholesky(input, upper)
    _check_cholesky(info)
    return factor


@composite(method=True, out=True)
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Older name of ``linalg.cholesky``.

    Example:
        >>> import mashal
        >>> mashal.cholesky(mashal.tensor([[9.0]]))
        tensor([[3.]])
    """
    return linalg_cholesky(input, upper=upper)


@composite(namespace="linalg")
def linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """``lu_factor`` with LAPACK's codes (``LU``, ``pivots``, ``info``)."""
    _check_pivot("lu_factor", pivot)
    lu, pivots, info = _lu_factor(A)
    if check_errors:
        check_info(
            "lu_factor", info, "U[{code},{code}] is zero and using it on lu_solve would result in a division by zero."
        )
    return _named("linalg_lu_factor_ex", (lu, pivots, info))


def _check_pivot(name: str, pivot: bool) -> None:
    if not pivot:
        raise RuntimeError(f"linalg.{name}: LU without pivoting is not implemented on the CPU")


@composite(namespace="linalg")
def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """LU factors in one matrix, and LAPACK's pivots (int32): what ``lu_solve`` takes.

    Raises:
        LinAlgError: if U has a zero on its diagonal.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_lu_factor(mashal.eye(2)).pivots
        tensor([1, 2], dtype=mashal.int32)
    """
    lu, pivots, _ = linalg_lu_factor_ex(A, pivot=pivot, check_errors=True)
    return _named("linalg_lu_factor", (lu, pivots))


@composite(namespace="linalg")
def linalg_lu(A: Tensor, *, pivot: bool = True) -> Any:
    """``A = P L U``: permutation, unit lower triangular and upper triangular matrix.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_lu(mashal.tensor([[0.0, 1.0], [2.0, 3.0]])).U
        tensor([[2., 3.],
                [0., 1.]])
    """
    _check_pivot("lu", pivot)
    lu, pivots, _ = _lu_factor(A)
    return _named("linalg_lu", lu_unpack(lu, pivots))


@composite()
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U from what ``lu_factor`` returns; empty tensors for parts that are not wanted.

    Example:
        >>> import mashal
        >>> P, L, U = mashal.lu_unpack(*mashal._ops.linalg_lu_factor(mashal.eye(2)))
        >>> P
        tensor([[1., 0.],
                [0., 1.]])
    """
    empty = LU_data.new_empty((0,))
    lower, upper = unpack_factors(LU_data) if unpack_data else (empty, empty)
    p = _pivots_to_matrix(LU_pivots, LU_data.shape[-2], LU_data.dtype) if unpack_pivots else empty
    return _named("lu_unpack", (p, lower, upper))


@composite(namespace="linalg")
def linalg_qr(A: Tensor, mode: str = "reduced") -> Any:
    """``A = Q R``; mode ``reduced``, ``complete`` (square Q) or ``r`` (Q is empty, nothing can be differentiated).

    Raises:
        RuntimeError: for another mode.

    Example:
        >>> import mashal
        >>> Q, R = mashal._ops.linalg_qr(mashal.ones(3, 2))
        >>> Q.shape, R.shape
        (mashal.Size([3, 2]), mashal.Size([2, 2]))
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    q, r = _qr(A.detach() if mode == "r" else A, mode == "complete")
    return _named("linalg_qr", (A.new_empty((0,)) if mode == "r" else q, r))


@composite(method=True)
def qr(input: Tensor, some: bool = True) -> Any:
    """Older form of ``linalg.qr``.

    Example:
        >>> import mashal
        >>> mashal.qr(mashal.ones(3, 2), some=False).Q.shape
        mashal.Size([3, 3])
    """
    return _named("qr", _qr(input, not some))


@composite(namespace="linalg")
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """``A = U diag(S) Vh`` with descending singular values; ``driver`` is for CUDA.

    Raises:
        RuntimeError: if the algorithm does not converge.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_svd(mashal.eye(2)).S
        tensor([1., 1.])
    """
    _check_driver("svd", driver)
    return _named("linalg_svd", _svd(A, full_matrices))


def _check_driver(name: str, driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(f"linalg.{name}: keyword argument `driver=` is only supported on CUDA inputs")


@composite(namespace="linalg", out=True)
def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Singular values, descending.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_svdvals(mashal.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor([4., 3.])
    """
    _check_driver("svdvals", driver)
    return _singular_values(A)


@composite(method=True)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """Older form of ``linalg.svd``: returns V, not its conjugate transpose.

    Example:
        >>> import mashal
        >>> mashal.svd(mashal.eye(2)).V.shape
        mashal.Size([2, 2])
    """
    if compute_uv:
        u, s, vh = _svd(input, not some)
        return _named("svd", (u, s, adjoint(vh)))
    m, n = input.shape[-2:]
    lead = input.shape[:-2]
    return _named("svd", (input.new_zeros((*lead, m, m)), _singular_values(input), input.new_zeros((*lead, n, n))))


def _is_lower(name: str, side: str) -> bool:
    if side.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {side}")
    return side.upper() == "L"


@composite(namespace="linalg")
def linalg_eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending, real) and eigenvectors of Hermitian matrices, reading one triangle.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_eigh(mashal.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
        tensor([1., 2.])
    """
    return _named("linalg_eigh", _eigh(A, _is_lower("eigh", UPLO)))


@composite(namespace="linalg", out=True)
def linalg_eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of Hermitian matrices, ascending.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_eigvalsh(mashal.tensor([[2.0, 0.0], [0.0, 1.0]]))
        tensor([1., 2.])
    """
    return _eigh_values(A, _is_lower("eigvalsh", UPLO))


@composite(namespace="linalg")
def linalg_eig(A: Tensor) -> Any:
    """Eigenvalues and eigenvectors of square matrices, complex, in no particular order.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_eig(mashal.eye(2)).eigenvalues
        tensor([1.+0.j, 1.+0.j])
    """
    return _named("linalg_eig", _eig(A))


@composite(namespace="linalg", out=True)
def linalg_eigvals(A: Tensor) -> Tensor:
    """Eigenvalues of square matrices, complex.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_eigvals(mashal.eye(2))
        tensor([1.+0.j, 1.+0.j])
    """
    return _eig(A)[0]


@composite(namespace="linalg", out=True)
def linalg_householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of ``H_1 H_2 ... H_k`` with ``H_i = I - tau_i v_i v_i^H``; v_i is column i of A below its
    diagonal, with 1 on it.

    Args:
        A: (..., m, n), m >= n.
        tau: (..., k), k <= n.

    Example:
        >>> import mashal
        >>> mashal._ops.linalg_householder_product(mashal.zeros(2, 1), mashal.zeros(1))
        tensor([[1.],
                [0.]])
    """
    m, n = A.shape[-2:]
    if m < n or tau.shape[-1] > n:
        raise RuntimeError(
            f"linalg.householder_product: input must have at least as many rows as columns, and tau at most as many "
            f"entries as columns, got input {tuple(A.shape)} {A.dtype} and tau {tuple(tau.shape)} {tau.dtype}."
        )
    from .padding import constant_pad_nd

    result = constant_pad_nd(diagonal_matrix(A.new_ones((*A.shape[:-2], n))), [0, 0, 0, m - n])
    for i in range(tau.shape[-1] - 1, -1, -1):
        v = constant_pad_nd(A[..., i + 1 :, i], [1, 0], 1.0)
        v = constant_pad_nd(v, [i, 0]).unsqueeze(-1)
        result = result - tau[..., i, None, None] * (v @ (adjoint(v) @ result))
    return result


@composite(method=True)
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """Older name of ``linalg.householder_product``.

    Example:
        >>> import mashal
        >>> mashal.orgqr(mashal.zeros(2, 1), mashal.zeros(1)).shape
        mashal.Size([2, 1])
    """
    return linalg_householder_product(input, tau)
