"""cuDNN: absent. The switches keep what programs set, for devices to come."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from ._flags import held

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN can be used: False."""
    return False


def version() -> int | None:
    """The version of cuDNN: None."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN takes a tensor: False."""
    return False


def flags(
    enabled: bool | None = False,
    benchmark: bool | None = False,
    benchmark_limit: int | None = 10,
    deterministic: bool | None = False,
    allow_tf32: bool | None = True,
) -> AbstractContextManager[None]:
    """The switches for a block; None leaves one as it is."""
    return held(
        sys.modules[__name__],
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
    )
