"""Which tensors the kernels take that update many parameters in one call."""

from __future__ import annotations

from .. import Tensor, float32, float64


def fits(p: Tensor, *others: Tensor) -> bool:
    """Whether a parameter, with its gradient and moments, can go through a fused CPU kernel.

    Called for every parameter in every step, so it asks only for what may differ: gradients always have the dtype and
    device of their parameter, and the kernel itself refuses moments that do not.
    """
    dtype = p.dtype
    if (dtype is not float32 and dtype is not float64) or p.device.type != "cpu" or not p.is_contiguous():
        return False
    for other in others:  # noqa: SIM110 - `all` over a generator costs twice as much
        if not other.is_contiguous():
            return False
    return True
