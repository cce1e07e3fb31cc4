"""Whatever accelerator there is, under one name: none."""

from __future__ import annotations

from typing import Any

from . import _absent

_ERROR = (RuntimeError, "Cannot access accelerator device when none is available.")

_absent.fill(
    globals(),
    {
        "is_available": (False, "Whether there is an accelerator: False."),
        "device_count": (0, "The number of its devices: 0."),
    },
    dict.fromkeys(
        (
            "Graph", "current_device_idx", "current_device_index", "get_device_capability", "current_stream",
            "empty_cache", "empty_host_cache", "get_memory_info", "max_memory_allocated", "max_memory_reserved",
            "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
            "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize",
        ),
        _ERROR,
    ),
)  # fmt: skip
device_index = _absent.block(__name__, "device_index", *_ERROR)


def current_accelerator(check_available: bool = False) -> Any:
    """The accelerator's device: None."""
    return None
