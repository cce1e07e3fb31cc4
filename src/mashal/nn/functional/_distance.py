"""Distances and similarities."""

from __future__ import annotations

import mashal

from ... import Tensor

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """``|x1 - x2 + eps|_p`` along the last dimension of inputs that broadcast to each other."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`` along ``dim`` of inputs that broadcast to each other.

    Raises:
        RuntimeError: the inputs are not floating point.
    """
    if not (x1.is_floating_point() and x2.is_floating_point()):
        raise RuntimeError(
            f"cosine_similarity: expected floating point x1 and x2, got x1 {x1.dtype} and x2 {x2.dtype}. "
            "Convert them with .float()."
        )
    dtype = mashal.promote_types(x1.dtype, x2.dtype)
    x1, x2 = mashal.broadcast_tensors(x1.to(dtype), x2.to(dtype))
    n1 = x1.norm(2, dim, keepdim=True)
    n2 = x2.norm(2, dim, keepdim=True)
    # Below eps the divisor is a constant: it takes no part in the gradient.
    u1 = x1 / mashal.where(n1 < eps, mashal.full_like(n1, eps), n1)
    u2 = x2 / mashal.where(n2 < eps, mashal.full_like(n2, eps), n2)
    return (u1 * u2).sum(dim)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The distances of all pairs of rows of ``(N, M)``, in the order (0, 1), (0, 2), ..., (N - 2, N - 1)."""
    return mashal.pdist(input, p)
