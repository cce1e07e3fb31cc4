"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op

Shape = Sequence[int]


def adjoint_matrix(t: Tensor) -> Tensor:
    """Transpose of the last two dimensions, conjugated if complex: what derivative rules of products need."""
    t = t.transpose(-2, -1)
    return t.conj() if t.is_complex() else t


def conjugate(t: Tensor) -> Tensor:
    """Complex conjugate; real tensors as they are."""
    return t.conj() if t.is_complex() else t


def _rows(t: Tensor) -> Tensor:
    """All but the last dimension as one."""
    count = 1
    for size in t.shape[:-1]:
        count *= size
    return t.reshape(count, t.shape[-1])


def _conjugate_number(x: Any) -> Any:
    return x.conjugate() if isinstance(x, complex) else x


def _scaled(t: Tensor, factor: Any) -> Tensor:
    return t if factor == 1 else t * _conjugate_number(factor)


@op("matmul(Tensor input, Tensor other) -> Tensor")
def matmul() -> None:
    """Matrix product over the last two dimensions; the dimensions before them are batches and broadcast.

    A 1-D ``input`` is a row, a 1-D ``other`` a column; that dimension does not appear in the result.

    Args:
        input: (..., m, k) or (k,).
        other: (..., k, n) or (k,), of the same dtype.

    Returns:
        (..., m, n), without m or n where the argument is 1-D; a copy.

    Raises:
        RuntimeError: if an argument is 0-d, inner sizes or dtypes differ, or batches do not broadcast.
    Gradient:
        ``g @ other^H`` and ``input^H @ g``, summed over broadcast batches.

    Example:
        >>> import mashal
        >>> mashal.matmul(mashal.tensor([[1.0, 2.0]]), mashal.tensor([3.0, 4.0]))
        tensor([11.])
    """


def _gradient_left(g: Tensor, input_shape: Shape, other: Tensor) -> Tensor:
    if other.dim() == 1:
        return conjugate(other) * (g if len(input_shape) == 1 else g.unsqueeze(-1))
    if len(input_shape) == 1:
        return (conjugate(other) @ g.unsqueeze(-1)).squeeze(-1)
    return g @ adjoint_matrix(other)


def _gradient_right(g: Tensor, input: Tensor, other_shape: Shape) -> Tensor:
    if input.dim() == 1:
        return conjugate(input) * g if len(other_shape) == 1 else conjugate(input).unsqueeze(-1) * g.unsqueeze(-2)
    if len(other_shape) <= 2:  # one matrix for all batches: sum over all rows in one product
        return adjoint_matrix(_rows(input)) @ (g.reshape(-1) if len(other_shape) == 1 else _rows(g))
    return adjoint_matrix(input) @ g


matmul.vjp(input=_gradient_left, other=_gradient_right)
_core.set_operator("matmul", matmul)


@op("mm(Tensor input, Tensor mat2) -> Tensor")
def mm() -> None:
    """Matrix product of two 2-D tensors, without broadcasting: (n, m) and (m, p) give (n, p).

    Raises:
        RuntimeError: if an argument is not 2-D, or inner sizes or dtypes differ.

    Example:
        >>> import mashal
        >>> mashal.mm(mashal.eye(2), mashal.ones(2, 1)).shape
        mashal.Size([2, 1])
    """


mm.vjp(input=lambda g, mat2: g @ adjoint_matrix(mat2), mat2=lambda g, input: adjoint_matrix(input) @ g)


@op("bmm(Tensor input, Tensor mat2) -> Tensor")
def bmm() -> None:
    """Product of each pair of matrices of two batches: (b, n, m) and (b, m, p) give (b, n, p).

    Raises:
        RuntimeError: if an argument is not 3-D, or batch sizes, inner sizes or dtypes differ.

    Example:
        >>> import mashal
        >>> mashal.bmm(mashal.ones(3, 2, 4), mashal.ones(3, 4, 1)).shape
        mashal.Size([3, 2, 1])
    """


bmm.vjp(input=lambda g, mat2: g @ adjoint_matrix(mat2), mat2=lambda g, input: adjoint_matrix(input) @ g)


@op("mv(Tensor input, Tensor vec) -> Tensor")
def mv() -> None:
    """Matrix times vector: (n, m) and (m,) give (n,).

    Raises:
        RuntimeError: if ``input`` is not 2-D, ``vec`` not 1-D, or sizes or dtypes differ.

    Example:
        >>> import mashal
        >>> mashal.mv(mashal.ones(2, 3), mashal.ones(3))
        tensor([3., 3.])
    """


mv.vjp(
    input=lambda g, vec: g.unsqueeze(-1) * conjugate(vec),
    vec=lambda g, input: adjoint_matrix(input) @ g,
)


@op("dot(Tensor input, Tensor other) -> Tensor")
def dot() -> None:
    """Sum of products of two 1-D tensors of equal length (no conjugation; see ``vdot``).

    Raises:
        RuntimeError: if an argument is not 1-D, or lengths or dtypes differ.

    Example:
        >>> import mashal
        >>> mashal.dot(mashal.tensor([2, 3]), mashal.tensor([2, 1]))
        tensor(7)
    """


dot.vjp(input=lambda g, other: conjugate(other) * g, other=lambda g, input: conjugate(input) * g)


@composite(method=True, out=True)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """``dot`` with the first argument conjugated.

    Example:
        >>> import mashal
        >>> mashal.vdot(mashal.tensor([2.0, 3.0]), mashal.tensor([2.0, 1.0]))
        tensor(7.)
    """
    return dot(conjugate(input), other)


@op("addmm(Tensor input, Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1) -> Tensor", inplace=True)
def addmm() -> None:
    """``beta * input + alpha * (mat1 @ mat2)``.

    Args:
        input: broadcast to (n, p). Not read if ``beta`` is 0, so that its NaN and inf do not spread.
        mat1, mat2: (n, m) and (m, p), of input's dtype.

    Raises:
        RuntimeError: if shapes or dtypes do not fit.

    Example:
        >>> import mashal
        >>> mashal.addmm(mashal.ones(2), mashal.ones(2, 3), mashal.ones(3, 2), beta=2)
        tensor([[5., 5.],
                [5., 5.]])
    """


addmm.vjp(
    input=lambda g, beta: _scaled(g, beta),
    mat1=lambda g, mat2, alpha: _scaled(g @ adjoint_matrix(mat2), alpha),
    mat2=lambda g, mat1, alpha: _scaled(adjoint_matrix(mat1) @ g, alpha),
)


@op("baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1) -> Tensor", inplace=True)
def baddbmm() -> None:
    """``beta * input + alpha * bmm(batch1, batch2)``.

    Args:
        input: broadcast to (b, n, p). Not read if ``beta`` is 0.
        batch1, batch2: (b, n, m) and (b, m, p), of input's dtype.

    Raises:
        RuntimeError: if shapes or dtypes do not fit.

    Example:
        >>> import mashal
        >>> mashal.baddbmm(mashal.zeros(1, 1, 1), mashal.ones(1, 1, 2), mashal.ones(1, 2, 1), alpha=3)
        tensor([[[6.]]])
    """


baddbmm.vjp(
    input=lambda g, beta: _scaled(g, beta),
    batch1=lambda g, batch2, alpha: _scaled(g @ adjoint_matrix(batch2), alpha),
    batch2=lambda g, batch1, alpha: _scaled(adjoint_matrix(batch1) @ g, alpha),
)


def _plus(op: str, input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    if input.dim() > product.dim() or any(
        a not in (1, b) for a, b in zip(reversed(input.shape), reversed(product.shape), strict=False)
    ):
        raise RuntimeError(
            f"{op}: input must broadcast to the product's shape {tuple(product.shape)}, got input "
            f"{tuple(input.shape)} {input.dtype}."
        )
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return product + (input if beta == 1 else input * beta)


@composite(method=True, inplace=True, out=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * sum_i batch1[i] @ batch2[i]``.

    Example:
        >>> import mashal
        >>> mashal.addbmm(mashal.zeros(1, 1), mashal.ones(2, 1, 3), mashal.ones(2, 3, 1))
        tensor([[6.]])
    """
    if batch1.dim() != 3 or batch2.dim() != 3 or batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            "addbmm: batch1 and batch2 must be 3-D and have the same batch size, got batch1 "
            f"{tuple(batch1.shape)} {batch1.dtype} and batch2 {tuple(batch2.shape)} {batch2.dtype}."
        )
    # The batches lie side by side in the inner dimension of one product.
    left = batch1.transpose(0, 1).reshape(batch1.shape[1], batch1.shape[0] * batch1.shape[2])
    return _plus("addbmm", input, mm(left, _rows(batch2)), beta, alpha)


@composite(method=True, inplace=True, out=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``.

    Example:
        >>> import mashal
        >>> mashal.addmv(mashal.ones(2), mashal.ones(2, 3), mashal.ones(3))
        tensor([4., 4.])
    """
    return _plus("addmv", input, mv(mat, vec), beta, alpha)


@composite(method=True, inplace=True, out=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``.

    Example:
        >>> import mashal
        >>> mashal.addr(mashal.zeros(2, 2), mashal.tensor([1.0, 2.0]), mashal.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
    """
    return _plus("addr", input, outer(vec1, vec2), beta, alpha)


@composite(method=True, out=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products ``input[i] * vec2[j]`` of two 1-D tensors.

    Example:
        >>> import mashal
        >>> mashal.outer(mashal.tensor([1, 2]), mashal.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
    """
    for name, t in (("input", input), ("vec2", vec2)):
        if t.dim() != 1:
            raise RuntimeError(f"outer: {name} must be 1-D, got {name} {tuple(t.shape)} {t.dtype}.")
    return input.unsqueeze(-1) * vec2


@composite(method=True, out=True)
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """Another name of ``outer``.

    Example:
        >>> import mashal
        >>> mashal.ger(mashal.tensor([1, 2]), mashal.tensor([3])).shape
        mashal.Size([2, 1])
    """
    return outer(input, vec2)


@op("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", namespace="nn")
def linear() -> None:
    """``input @ weight^T + bias`` over the last dimension of ``input``.

    Args:
        input: (..., in).
        weight: (out, in), or (in,) for a single output without a dimension of its own.
        bias: (out,) or anything that broadcasts to the result.

    Returns:
        (..., out).

    Raises:
        RuntimeError: if sizes or dtypes do not fit.

    Example:
        >>> import mashal
        >>> mashal._ops.linear(mashal.ones(2, 3), mashal.ones(4, 3), mashal.zeros(4)).shape
        mashal.Size([2, 4])
    """


def _linear_input(g: Tensor, weight: Tensor) -> Tensor:
    return g.unsqueeze(-1) * conjugate(weight) if weight.dim() == 1 else g @ conjugate(weight)


def _linear_weight(g: Tensor, input: Tensor, weight_shape: Shape) -> Tensor:
    if len(weight_shape) == 1:
        return adjoint_matrix(_rows(input)) @ g.reshape(-1)
    return _rows(g).transpose(0, 1) @ conjugate(_rows(input))


linear.vjp(input=_linear_input, weight=_linear_weight, bias=lambda g: g)


@composite(method=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dimensions: (..., k) and (*, k) give (..., *).

    Raises:
        RuntimeError: if the last sizes differ.

    Example:
        >>> import mashal
        >>> mashal.inner(mashal.tensor([1, 2]), mashal.tensor([[1, 0], [0, 1]]))
        tensor([1, 2])
    """
    if input.dim() == 0 or other.dim() == 0:
        return input * other
    if input.dim() == other.dim() == 1:
        return dot(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner: last sizes must be equal ({input.shape[-1]} vs {other.shape[-1]}), got input "
            f"{tuple(input.shape)} {input.dtype} and other {tuple(other.shape)} {other.dtype}."
        )
    return (input @ _rows(other).transpose(0, 1)).reshape(*input.shape[:-1], *other.shape[:-1])


@composite(method=True, out=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: blocks of ``other`` scaled by the elements of ``input``; missing dimensions count as 1.

    Example:
        >>> import mashal
        >>> mashal.kron(mashal.tensor([1, 2]), mashal.tensor([1, 1]))
        tensor([1, 1, 2, 2])
    """
    n = max(input.dim(), other.dim())
    a = [1] * (n - input.dim()) + list(input.shape)
    b = [1] * (n - other.dim()) + list(other.shape)
    left = input.reshape([s for size in a for s in (size, 1)])
    right = other.reshape([s for size in b for s in (1, size)])
    return (left * right).reshape([x * y for x, y in zip(a, b, strict=True)])


@composite()
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``y_o = input1^T weight[o] input2 + bias_o`` for the last dimensions; leading dimensions are equal.

    Args:
        input1, input2: (..., n1) and (..., n2).
        weight: (out, n1, n2).

    Raises:
        RuntimeError: if shapes do not fit.

    Example:
        >>> import mashal
        >>> mashal.bilinear(mashal.ones(5, 2), mashal.ones(5, 3), mashal.ones(4, 2, 3)).shape
        mashal.Size([5, 4])
    """
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            "bilinear: all sizes of input1 and input2 but the last must be equal, got input1 "
            f"{tuple(input1.shape)} and input2 {tuple(input2.shape)}."
        )
    if weight.dim() != 3 or input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise RuntimeError(
            "bilinear: weight must have shape (out, last size of input1, last size of input2), got weight "
            f"{tuple(weight.shape)}, input1 {tuple(input1.shape)} and input2 {tuple(input2.shape)}."
        )
    n_out, n1, n2 = weight.shape
    left = _rows(input1) @ weight.permute(1, 0, 2).reshape(n1, n_out * n2)
    result = (left.reshape(left.shape[0], n_out, n2) @ _rows(input2).unsqueeze(-1)).reshape(*input1.shape[:-1], n_out)
    return result if bias is None else result + bias


@composite()
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices, multiplied in the order that needs the fewest multiplications.

    Example:
        >>> import mashal
        >>> mashal.chain_matmul(mashal.ones(2, 3), mashal.ones(3, 4), mashal.ones(4, 1)).shape
        mashal.Size([2, 1])
    """
    for m in matrices:
        if m.dim() != 2:
            raise RuntimeError(f"chain_matmul: all matrices must be 2-D, got {tuple(m.shape)} {m.dtype}.")
    if not matrices:
        raise RuntimeError("chain_matmul: Expected one or more matrices")
    return multiply_chain(list(matrices))


def multiply_chain(matrices: list[Tensor]) -> Tensor:
    """Product of 2-D matrices by the classical dynamic program over split points (Cormen et al., section 15.2)."""
    n = len(matrices)
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return matrices[i]
        k = split[i][j]
        return product(i, k) @ product(k + 1, j)

    return product(0, n - 1)
