"""``torch.cpu.amp.autocast``: the older name of ``torch.amp.autocast("cpu")``."""

from __future__ import annotations

import warnings
from typing import Any

from ... import _core
from ...amp import autocast_mode


class autocast(autocast_mode.autocast):
    """``mashal.amp.autocast("cpu", ...)``. Deprecated."""

    def __init__(self, enabled: bool = True, dtype: Any = _core.bfloat16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
