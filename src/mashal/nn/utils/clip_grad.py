"""Bounds on gradients: on their norm taken together, or on each of their elements."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable
from typing import Any

import mashal

from ... import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _as_list(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _check_bound(op: str, name: str, bound: float) -> None:
    """A negative bound would turn the gradients round without a word."""
    if not float(bound) >= 0:
        raise ValueError(f"{op}: {name} must be at least 0, got {name} {float(bound)}.")


def _grads(parameters: list[Tensor]) -> list[Tensor]:
    return [p.grad.detach() for p in parameters if p.grad is not None]


def _without_recording(fn: Any) -> Any:
    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        with mashal.no_grad():
            return fn(*args, **kwargs)

    return call


@_without_recording
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors taken together as one vector.

    Args:
        norm_type: the order; ``inf`` for the greatest absolute value.
        foreach: accepted for PyTorch's sake; there is one implementation.

    Raises:
        RuntimeError: with ``error_if_nonfinite``, if the norm is nan or infinite.
    """
    order = float(norm_type)
    norms = [mashal.linalg.vector_norm(t, order) for t in _as_list(tensors)]
    if not norms:
        return mashal.tensor(0.0)
    total = mashal.linalg.vector_norm(mashal.stack([n.to(norms[0].dtype) for n in norms]), order)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@_without_recording
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales the gradients by ``max_norm / (total_norm + 1e-6)`` in place, where that is less than 1."""
    _check_bound("clip_grads_with_norm_", "max_norm", max_norm)
    coefficient = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for g in _grads(_as_list(parameters)):
        g.mul_(coefficient.to(g.dtype))


@_without_recording
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients in place so that their norm, taken together, is at most ``max_norm``.

    Returns:
        the norm before, in the gradients' type: infinite if that type cannot hold it.

    Raises:
        RuntimeError: with ``error_if_nonfinite``, if the norm is nan or infinite.
        ValueError: ``max_norm`` is negative.

    Note:
        finite gradients keep their direction even if their norm is beyond their type; PyTorch makes them 0.

    Example:
        >>> import mashal
        >>> p = mashal.zeros(2, requires_grad=True)
        >>> p.grad = mashal.tensor([3.0, 4.0])
        >>> mashal.nn.utils.clip_grad_norm_([p], 1.0)
        tensor(5.)
        >>> p.grad
        tensor([0.6000, 0.8000])
    """
    _check_bound("clip_grad_norm_", "max_norm", max_norm)
    parameters = _as_list(parameters)
    grads = _grads(parameters)
    total = get_total_norm(grads, norm_type, error_if_nonfinite)
    if bool(total.isinf()) and all(bool(g.isfinite().all()) for g in grads):
        # Beyond the type of the gradients: divided by the greatest of them first, their norm is small.
        greatest = max(float(g.abs().max()) for g in grads if g.numel())
        scaled = get_total_norm([g.to(mashal.float64) / greatest for g in grads], norm_type)
        for g in grads:
            g.copy_(g.to(mashal.float64) / greatest * (float(max_norm) / scaled).clamp(max=greatest))
        return total
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated: the old name of :func:`clip_grad_norm_`."""
    warnings.warn(
        "`nn.utils.clip_grad_norm` is now deprecated in favor of `nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@_without_recording
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Cuts every element of the gradients to ``[-clip_value, clip_value]`` in place.

    Raises: ValueError for a negative bound.
    """
    _check_bound("clip_grad_value_", "clip_value", clip_value)
    bound = float(clip_value)
    for g in _grads(_as_list(parameters)):
        g.clamp_(-bound, bound)


# PyTorch's internal names of the two halves, which trainers import.
_clip_grads_with_norm_ = clip_grads_with_norm_
_get_total_norm = get_total_norm
