"""``torch.cuda.amp``'s regions and decorators: the older names of those of ``torch.amp`` with "cuda"."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ... import _core
from ...amp import autocast_mode


def _deprecated(name: str, new: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{new}` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(autocast_mode.autocast):
    """``mashal.amp.autocast("cuda", ...)``. Deprecated; disabled, with a warning, where there is no CUDA."""

    def __init__(self, enabled: bool = True, dtype: Any = _core.float16, cache_enabled: bool = True) -> None:
        _deprecated("autocast", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: Any = None) -> Any:
    """``mashal.amp.custom_fwd(..., device_type="cuda")``. Deprecated."""
    _deprecated("custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """``mashal.amp.custom_bwd(..., device_type="cuda")``. Deprecated."""
    _deprecated("custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")
