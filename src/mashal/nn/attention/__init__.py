"""What attention is computed with, and masks that are more than tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from ...backends import cuda

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]

# Accepted for programs that set it; there is nothing to warn of.
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """Implementations of ``scaled_dot_product_attention``. The CPU has one, whatever is chosen."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_SWITCHES = {
    SDPBackend.MATH: (cuda.math_sdp_enabled, cuda.enable_math_sdp),
    SDPBackend.FLASH_ATTENTION: (cuda.flash_sdp_enabled, cuda.enable_flash_sdp),
    SDPBackend.EFFICIENT_ATTENTION: (cuda.mem_efficient_sdp_enabled, cuda.enable_mem_efficient_sdp),
    SDPBackend.CUDNN_ATTENTION: (cuda.cudnn_sdp_enabled, cuda.enable_cudnn_sdp),
}


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Within it, ``scaled_dot_product_attention`` on a GPU uses one of the given backends.

    Args:
        backends: an :class:`SDPBackend` or a list of them.
        set_priority: prefer them in the given order.

    Raises: AssertionError for anything else.

    Example:
        >>> import mashal
        >>> with mashal.nn.attention.sdpa_kernel(mashal.nn.attention.SDPBackend.MATH):
        ...     mashal.backends.cuda.flash_sdp_enabled()
        False
    """
    if isinstance(backends, SDPBackend):
        backends = [backends]
    if not isinstance(backends, list) or not all(isinstance(b, SDPBackend) for b in backends):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    before = {backend: enabled() for backend, (enabled, _) in _SWITCHES.items()}
    try:
        for backend, (_, enable) in _SWITCHES.items():
            enable(backend in backends)
        yield
    finally:
        for backend, (_, enable) in _SWITCHES.items():
            enable(before[backend])
