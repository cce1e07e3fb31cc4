"""Powers, norms and other functions of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core, return_types
from .._core import Tensor
from ._registry import composite, op
from .decompositions import _singular_values, diagonal_matrix, linalg_eigvalsh
from .matmul import conjugate, multiply_chain
from .solvers import _check_square, _core_eps, _cutoff, _inverse, linalg_inv, linalg_solve

Dims = int | Sequence[int] | None

# ---- raw factorisation ----


@op("geqrf(Tensor input) -> (Tensor, Tensor)")
def geqrf() -> None:
    """A QR factorisation as LAPACK leaves it: R on and above the diagonal, reflections below it, and their factors tau.

    ``linalg.householder_product`` of the two is Q; see also ``linalg.qr``.

    Args: input: (..., m, n), floating.
    Returns: a (..., m, n), tau (..., min(m, n)).

    Example:
        >>> import mashal
        >>> a, tau = mashal.geqrf(mashal.eye(2))
        >>> mashal.linalg.householder_product(a, tau) @ a.triu()
        tensor([[1., 0.],
                [0., 1.]])
    """


@geqrf.shape
def _(input: Any) -> Any:
    if len(input.shape) < 2:
        raise RuntimeError(f"geqrf: input must have at least 2 dimensions, got input {tuple(input.shape)}.")
    m, n = input.shape[-2:]
    return [(input.shape, input.dtype), ((*input.shape[:-2], min(m, n)), input.dtype)]


@geqrf.cpu
def _(input: Tensor) -> tuple[Tensor, Tensor]:
    import numpy as np

    packed, tau = np.linalg.qr(input.detach().numpy(), mode="raw")  # LAPACK's geqrf; the matrices are transposed
    from .._tensor import from_numpy

    return from_numpy(np.ascontiguousarray(packed.swapaxes(-2, -1))), from_numpy(np.ascontiguousarray(tau))


geqrf.returns(return_types.geqrf)
geqrf.nondifferentiable("PyTorch has no derivative either; linalg.qr has one")


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
    if input.numel() == 0 or input.is_meta:
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
