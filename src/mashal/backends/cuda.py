"""CUDA libraries: absent. The switches keep what programs set, for devices to come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from .. import _settings


class _Matmul:
    """Switches of matrix products."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 products may use TF32; the same switch as ``set_float32_matmul_precision``."""
        return _settings.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        _settings.set_float32_matmul_precision("high" if value else "highest")


matmul = _Matmul()
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Whether CUDA is compiled in: False."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether attention may use flash kernels."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Lets attention use flash kernels, or not."""
    _sdp["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may use memory-efficient kernels."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Lets attention use memory-efficient kernels, or not."""
    _sdp["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention may be composed of matrix products."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Lets attention be composed of matrix products, or not."""
    _sdp["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether attention may use cuDNN."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Lets attention use cuDNN, or not."""
    _sdp["cudnn"] = bool(enabled)


@contextmanager
def _sdp_kernel(**values: bool) -> Iterator[None]:
    before = dict(_sdp)
    _sdp.update(values)
    try:
        yield
    finally:
        _sdp.update(before)


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> AbstractContextManager[None]:
    """The kernels that attention on CUDA devices may use, for a block."""
    return _sdp_kernel(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)


def preferred_linalg_library(backend: Any = None) -> Any:
    """The library for linear algebra on CUDA devices. Raises: RuntimeError for any but "default"."""
    if backend not in (None, "default"):
        raise RuntimeError(f"preferred_linalg_library: no CUDA library is available, got {backend!r}")
    return "default"


def preferred_blas_library(backend: Any = None) -> Any:
    """The library for products on CUDA devices. Raises: RuntimeError for any but "default"."""
    if backend not in (None, "default"):
        raise RuntimeError(f"preferred_blas_library: no CUDA library is available, got {backend!r}")
    return "default"


_reduction = {"math": False}


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether composed attention may add in half types."""
    return _reduction["math"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Lets composed attention add in half types, or not."""
    _reduction["math"] = bool(enabled)


def is_flash_attention_available() -> bool:
    """Whether flash kernels for CUDA are compiled in: False."""
    return False


def is_ck_sdpa_available() -> bool:
    """Whether AMD's attention kernels are compiled in: False."""
    return False


class SDPAParams:
    """The arguments of an attention call, to ask whether a kernel takes them."""

    def __init__(
        self, query: Any, key: Any, value: Any, attn_mask: Any, dropout: float, is_causal: bool, enable_gqa: bool
    ) -> None:
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether flash kernels for CUDA take these arguments: False."""
    return False


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether memory-efficient kernels for CUDA take these arguments: False."""
    return False


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether cuDNN takes these arguments: False."""
    return False
