"""The arithmetic of loss scaling on lists of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor


def _amp_foreach_non_finite_check_and_unscale_(grads: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiplies gradients by ``inv_scale`` in place; ``found_inf`` becomes 1 if one was infinite or NaN before."""
    for name, t in (("found_inf", found_inf), ("inv_scale", inv_scale)):
        if t.numel() != 1 or t.dtype is not _core.float32:
            raise RuntimeError(
                f"_amp_foreach_non_finite_check_and_unscale_: {name} must be a 1-element float32 tensor, got {name} "
                f"{tuple(t.shape)} {t.dtype}."
            )
    if not grads:
        return
    with _core.no_grad_guard():
        factor = inv_scale.item()
        for g in grads:
            if not g.isfinite().all().item():
                found_inf.fill_(1.0)
            if factor != 1.0:
                g.mul_(factor)


def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Any:
    """Adapts the scale ``self`` and the count of good iterations to whether one was bad; returns ``self``."""
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.fill_(0)
        return self
    successful = growth_tracker.item() + 1
    if successful == growth_interval:
        grown = self * scale_growth_factor
        if grown.isfinite().item():  # at the limit of float32 it stays
            self.copy_(grown)
        successful = 0
    growth_tracker.fill_(successful)
    return self
