"""What distributions share: broadcasting of parameters, probabilities and logits, cached properties."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import mashal

from .. import Tensor, overrides

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060
_EPS = {dtype: mashal.finfo(dtype).eps for dtype in (mashal.float16, mashal.bfloat16, mashal.float32, mashal.float64)}


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape; numbers take the type of the first tensor.

    Raises:
        ValueError: for anything that is neither a number nor like a tensor.
    """
    first = None
    for value in values:
        if isinstance(value, Tensor):
            first = value if first is None else first
        elif not isinstance(value, Number) and not overrides.is_tensor_like(value):
            raise ValueError(
                "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                f"__torch_function__, got {type(value).__name__}."
            )
    if first is None:
        dtype, device = mashal.get_default_dtype(), None
    else:
        dtype, device = first.dtype, first.device
        shape = first.shape
        if all(isinstance(v, Tensor) and v.shape == shape for v in values):
            return values
    tensors = [v if overrides.is_tensor_like(v) else mashal.tensor(v, dtype=dtype, device=device) for v in values]
    return tuple(mashal.broadcast_tensors(*tensors))


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return mashal.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last ``dim`` dimensions."""
    if dim == 0:
        return value
    return value.sum(-1) if dim == 1 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logits: log odds if ``is_binary``, else log probabilities up to a constant."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """``probs`` kept away from 0 and 1 by the precision of its type."""
    eps = _EPS.get(probs.dtype)
    if eps is None:
        eps = mashal.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of :func:`logits_to_probs`, finite at 0 and 1."""
    inner = clamp_probs(probs)
    return inner.log() - (-inner).log1p() if is_binary else inner.log()


class lazy_property:
    """A property that is computed once for each object, with gradients recorded, and then is a plain attribute."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.__name__ = wrapped.__name__

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return self
        if mashal.is_grad_enabled():
            value = self.wrapped(instance)
        else:
            with mashal.enable_grad():
                value = self.wrapped(instance)
        setattr(instance, self.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries of ``(..., n, n)`` on and below diagonal ``diag``, row by row, as ``(..., k)``.

    Raises:
        ValueError: if ``diag`` lies outside of the matrix.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = mashal.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of :func:`tril_matrix_to_vec`, with zeros elsewhere.

    Raises:
        ValueError: if no square matrix has that many entries there.
    """
    # n(n+1)/2 entries for diag = 0; a lower diagonal means a larger matrix.
    length = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if abs(round(n) - n) > 1e-6:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular "
            "part of a square D x D matrix."
        )
    size = round(n)
    mat = vec.new_zeros((*vec.shape[:-1], size, size))
    rows, columns = mashal.tril_indices(size, size, diag)
    mat[..., rows, columns] = vec
    return mat
