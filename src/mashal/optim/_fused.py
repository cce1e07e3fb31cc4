"""Which tensors the kernels take that update many parameters in one call."""

from __future__ import annotations

from .. import Tensor, float32, float64

_DTYPES = (float32, float64)


def fits(p: Tensor, other: Tensor) -> bool:
    """Whether a parameter and a tensor beside it (gradient, moment) can go through a fused CPU kernel."""
    dtype = p.dtype
    return (
        dtype in _DTYPES
        and other.dtype == dtype
        and p.is_contiguous()
        and other.is_contiguous()
        and p.device.type == "cpu"
        and other.device.type == "cpu"
    )
