"""Singular values and principal components of low rank, by random projections (Halko, Martinsson and Tropp, 2009)."""

from __future__ import annotations

from typing import Any

from ._core import Tensor


def _basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """Orthonormal columns that nearly span the columns of A - M."""
    import mashal

    def times(B: Tensor, R: Tensor, shift: Tensor | None) -> Tensor:
        product = B @ R
        return product if shift is None else product - shift @ R

    R = mashal.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = mashal.linalg.qr(times(A, R, M)).Q
    for _ in range(niter):
        Q = mashal.linalg.qr(times(A.mH, Q, None if M is None else M.mH)).Q
        Q = mashal.linalg.qr(times(A, Q, M)).Q
    return Q


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> Any:
    """``U, S, V`` with ``A - M`` close to ``U @ diag(S) @ V.mH``, of rank ``q``.

    Args:
        A: (*, m, n).
        q: the rank, a little more than the one wanted.
        niter: how often the random projection is refined.
        M: (*, m, n) what to subtract first, or something that broadcasts to it.

    Returns:
        (*, m, q), (*, q), (*, n, q).

    Example:
        >>> import mashal
        >>> A = mashal.ones(4, 3) * 2
        >>> U, S, V = mashal.svd_lowrank(A, q=1)
        >>> mashal.allclose(U @ mashal.diag(S) @ V.mH, A)
        True
    """
    import mashal

    rank, rounds = 6 if q is None else q, 2 if niter is None else niter
    wide = A.shape[-2] < A.shape[-1]
    if M is not None:
        M = M.broadcast_to(A.shape)
    if wide:
        A, M = A.mH, None if M is None else M.mH
    Q = _basis(A, rank, rounds, M)
    B = Q.mH @ A if M is None else Q.mH @ (A - M)
    U, S, Vh = mashal.linalg.svd(B, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """The principal components of the rows of A: :func:`svd_lowrank` after subtracting the mean of each column.

    Args:
        A: (*, m, n).
        q: the rank, default ``min(6, m, n)``.
        center: subtract the means.
        niter: how often the random projection is refined.

    Raises:
        ValueError: q is not in [0, min(m, n)], or niter is negative.

    Example:
        >>> import mashal
        >>> U, S, V = mashal.pca_lowrank(mashal.eye(4), q=2)
        >>> V.shape
        mashal.Size([4, 2])
    """
    m, n = A.shape[-2:]
    rank = min(6, m, n) if q is None else q
    if not 0 <= rank <= min(m, n):
        raise ValueError(f"q(={rank}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not A.dtype.is_floating_point:
        raise ValueError(f"pca_lowrank: A must be floating-point, got {A.dtype}. Use float().")
    centered = A - A.mean(-2, keepdim=True) if center else A
    return svd_lowrank(centered, rank, niter)
