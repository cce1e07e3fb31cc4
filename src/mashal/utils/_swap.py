"""Exchanging what two tensors are."""

from __future__ import annotations

import weakref
from typing import Any

from .._core import Tensor


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Makes each of the two the other: data, gradient, class and attributes change places; names keep their objects.

    Raises:
        RuntimeError: if a weak reference to one exists (it would then name the other), or one has a gradient function.

    Example:
        >>> import mashal
        >>> a, b = mashal.zeros(2), mashal.ones(3)
        >>> mashal.utils.swap_tensors(a, b)
        >>> a
        tensor([1., 1., 1.])
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if not isinstance(t, Tensor):
            raise TypeError(f"swap_tensors: {name} must be a Tensor, not {type(t).__name__}")
        if weakref.getweakrefs(t):
            raise RuntimeError(f"swap_tensors: no weak reference may name {name}, got {tuple(t.shape)} {t.dtype}.")
        if not t.is_leaf:
            raise RuntimeError(f"swap_tensors: {name} must be a leaf, got {tuple(t.shape)} {t.dtype}. Use detach().")
    old: dict[str, Any] = {"grad": t1.grad, "requires_grad": t1.requires_grad, "data": t1.detach()}
    classes = type(t1), type(t2)
    attributes = dict(t1.__dict__), dict(t2.__dict__)
    _become(t1, t2.detach(), t2.requires_grad, t2.grad, attributes[1])
    _become(t2, old["data"], old["requires_grad"], old["grad"], attributes[0])
    if classes[0] is not classes[1]:
        t1.__class__, t2.__class__ = classes[1], classes[0]


def _become(t: Tensor, data: Tensor, requires_grad: bool, grad: Tensor | None, attributes: dict[str, Any]) -> None:
    t.grad = None
    t.requires_grad_(False)
    t.data = data
    if requires_grad:
        t.requires_grad_()
    t.grad = grad
    t.__dict__.clear()
    t.__dict__.update(attributes)
