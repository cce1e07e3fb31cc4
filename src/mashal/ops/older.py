"""Functions that PyTorch keeps for programs of its early versions, or for its own layers."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite
from .decompositions import linalg_cholesky, linalg_eigh, linalg_lu_factor_ex
from .linalg import linalg_matrix_norm
from .solvers import linalg_solve_triangular

_REDUCTIONS = ("none", "mean", "sum")


def _functional(name: str, *args: Any, reduction: Any, **kwargs: Any) -> Tensor:
    from ..nn import functional

    word = _REDUCTIONS[reduction] if isinstance(reduction, int) else reduction
    return getattr(functional, name)(*args, reduction=word, **kwargs)


@composite()
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """``nn.functional.cosine_embedding_loss``; reduction 0: none, 1: mean, 2: sum."""
    return _functional("cosine_embedding_loss", input1, input2, target, margin=margin, reduction=reduction)


@composite()
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Tensor:
    """``nn.functional.hinge_embedding_loss``; reduction 0: none, 1: mean, 2: sum."""
    return _functional("hinge_embedding_loss", input, target, margin=margin, reduction=reduction)


@composite()
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """``nn.functional.margin_ranking_loss``; reduction 0: none, 1: mean, 2: sum."""
    return _functional("margin_ranking_loss", input1, input2, target, margin=margin, reduction=reduction)


@composite()
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """``nn.functional.poisson_nll_loss``; reduction 0: none, 1: mean, 2: sum."""
    return _functional("poisson_nll_loss", input, target, log_input=log_input, full=full, eps=eps, reduction=reduction)


@composite()
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    """``nn.functional.triplet_margin_loss``; reduction 0: none, 1: mean, 2: sum."""
    return _functional(
        "triplet_margin_loss", anchor, positive, negative, margin=margin, p=p, eps=eps, swap=swap, reduction=reduction
    )


@composite()
def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """``nn.functional.affine_grid``."""
    from ..nn.functional import affine_grid

    return affine_grid(theta, size, align_corners)


@composite(method=False)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """1-d convolution of ``(time, batch, channels in)`` with ``(width, channels in, channels out)``."""
    from ..nn.functional import conv1d

    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


# ---- linear algebra ----


def _removed(name: str, instead: str, method: bool = True) -> None:
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{name}: this function was deprecated since version 1.9 and is now removed. Use {instead}.")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Removed from PyTorch: raises RuntimeError. Use {instead}."
    composite(method=method)(call)


_removed("eig", "torch.linalg.eig")
_removed("symeig", "torch.linalg.eigh")
_removed("solve", "torch.linalg.solve")
_removed("lstsq", "torch.linalg.lstsq")
_removed("matrix_rank", "torch.linalg.matrix_rank", method=False)


@composite(namespace="linalg", out=True)
def linalg_matmul(input: Tensor, other: Tensor) -> Tensor:
    """``matmul``."""
    return input @ other


@composite(method=True)
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """``linalg.lu_factor`` (``get_infos``: with LAPACK's codes).

    Example:
        >>> import mashal
        >>> mashal.lu(mashal.tensor([[2.0]]))[0]
        tensor([[2.]])
    """
    factors, pivots, info = linalg_lu_factor_ex(A, pivot=pivot)
    if get_infos:
        return factors, pivots, info
    if bool((info != 0).any()):
        raise RuntimeError("lu: a matrix is singular: its factor U has a zero on the diagonal.")
    return factors, pivots


@composite()
def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares, over all dimensions or ``dim``."""
    squares = input.abs().square() if input.is_complex() else input.square()
    return (squares.sum() if dim is None or dim == [] else squares.sum(dim, keepdim=keepdim)).sqrt()


@composite()
def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of singular values of matrices."""
    return linalg_matrix_norm(input, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim)


@composite()
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Norms over all dimensions but ``dim`` (-1: over all), which stay with size 1."""
    if dim == -1:
        return v.norm(pow)
    shape = [1] * v.dim()
    shape[dim] = v.shape[dim]
    return v.transpose(0, dim).reshape(v.shape[dim], -1).norm(pow, 1).reshape(shape)


@composite(method=True, out=True)
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """``Q @ other`` for Q as :func:`geqrf` leaves it: a product of reflections.

    Args:
        input: ``(..., m, k)``, the reflections below its diagonal. tau: ``(..., k)``.
        left: else ``other @ Q``. transpose: with the adjoint of Q.

    Example:
        >>> import mashal
        >>> mashal.ormqr(mashal.zeros(2, 1), mashal.zeros(1), mashal.eye(2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    m, k = input.shape[-2], tau.shape[-1]
    if other.shape[-2 if left else -1] != m:
        raise RuntimeError(
            f"ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], got input "
            f"{tuple(input.shape)} and other {tuple(other.shape)}"
        )
    from .matmul import conjugate

    one = input.new_ones(())
    place = _core_arange(m)
    # Q = H1 ... Hk. What stands nearest to `other` is applied first.
    forward = left == transpose
    for i in range(k) if forward else range(k - 1, -1, -1):
        column = input[..., :, i]
        v = column.where(place > i, (place == i).to(input.dtype) * one).unsqueeze(-1)
        t = tau[..., i, None, None]
        factor = conjugate(t) if transpose else t
        vh = conjugate(v).transpose(-2, -1)
        other = other - factor * (v @ (vh @ other)) if left else other - factor * ((other @ v) @ vh)
    return other


def _core_arange(n: int) -> Tensor:
    from .creation import arange

    return arange(n)


@composite()
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> Any:
    """The ``k`` largest (or smallest) eigenvalues of ``A x = w B x`` and their vectors.

    Solved directly: what steers the iteration of PyTorch has no effect.

    Example:
        >>> import mashal
        >>> mashal.lobpcg(mashal.diag(mashal.tensor([1.0, 5.0, 3.0])), k=1)[0]
        tensor([5.])
    """
    if getattr(A, "_is_coalesced", None) is not None:
        A = A.to_dense()
    if B is not None and getattr(B, "_is_coalesced", None) is not None:
        B = B.to_dense()
    count = k if k is not None else n if n is not None else X.shape[-1] if X is not None else 1
    if A.shape[-1] != A.shape[-2] or count > A.shape[-1]:
        raise ValueError(f"lobpcg: A must be square with at least k rows, got A {tuple(A.shape)} and k {count}")
    if B is None:
        values, vectors = linalg_eigh(A)
    else:
        lower = linalg_cholesky(B)
        half = linalg_solve_triangular(lower, A, upper=False)
        inner = linalg_solve_triangular(lower, half.mT, upper=False)
        values, vectors = linalg_eigh((inner + inner.mT) / 2)
        vectors = linalg_solve_triangular(lower.mT, vectors, upper=True)
    if largest is None or largest:
        return values[..., -count:].flip(-1), vectors[..., -count:].flip(-1)
    return values[..., :count], vectors[..., :count]


# ---- tensors ----


@composite()
def detach_(input: Tensor) -> Tensor:
    """``Tensor.detach_``."""
    return input.detach_()


@composite()
def get_device(input: Tensor) -> int:
    """The number of the device, -1 for the CPU."""
    return input.get_device()


@composite()
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return input.is_inference()


@composite(method=True)
def is_distributed(input: Tensor) -> bool:
    """False: tensors are on one device."""
    return False


@composite()
def from_file(
    filename: str,
    shared: bool = False,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """The first ``size`` elements of a file, mapped to memory; ``shared``: writes change the file."""
    import numpy as np

    kind = np.dtype(repr(dtype or _core.get_default_dtype()).split(".")[1])
    if size == 0:
        return _core.empty((0,), None, dtype or _core.get_default_dtype(), None)
    if size < 0:
        raise RuntimeError(f"from_file: size must not be negative, got {size}.")
    try:
        if shared:
            with open(filename, "ab") as f:
                f.truncate(max(f.tell(), size * kind.itemsize))  # a file that is too short grows
        return _core.from_buffer(np.memmap(filename, kind, "r+" if shared else "c", shape=(size,)))
    except (OSError, ValueError) as e:
        raise RuntimeError(f"from_file: unable to map file <{filename}> of {size} elements: {e}") from e


@composite(function=False, method=True)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What ``load_state_dict`` puts in place of this parameter: a tensor with ``other``'s values.

    Override it, by ``__torch_function__``, to convert between kinds of tensors.
    """
    if assign:
        return other.detach()
    return self.detach().copy_(other).detach() if self.requires_grad else self.copy_(other).detach()


@composite(function=False, method=True)
def chalf(self: Tensor, memory_format: Any = None) -> Tensor:
    """Raises: complex numbers of half precision do not exist here."""
    raise NotImplementedError("chalf: complex32 is not implemented. Use .cfloat().")


@composite(function=False, method=True)
def const_data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    return self.data_ptr()


@composite(function=False, method=True)
def has_names(self: Tensor) -> bool:
    """False: dimensions have no names."""
    return False


@composite(function=False, method=True)
def record_stream(self: Tensor, stream: Any) -> None:
    """Nothing: memory of the CPU has no streams."""


@composite(function=False, method=True)
def to_padded_tensor(self: Tensor, padding: float, output_size: Any = None) -> Tensor:
    """Raises NotImplementedError: it is for nested tensors."""
    raise NotImplementedError("to_padded_tensor: expected a nested tensor, got a strided one.")
