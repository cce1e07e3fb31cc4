"""Apple GPUs, where there are none: queries answer truthfully, all else raises."""

from __future__ import annotations

from . import _absent

_ERROR = (RuntimeError, "mps: Apple's Metal is not here: mashal.mps.is_available() is False.")

_absent.fill(
    globals(),
    {
        "is_available": (False, "Whether an Apple GPU can be used: False."),
        "device_count": (0, "The number of Apple GPUs: 0."),
    },
    dict.fromkeys(
        (
            "compile_shader", "load_metallib", "get_rng_state", "set_rng_state", "seed", "synchronize", "empty_cache",
            "set_per_process_memory_fraction", "current_allocated_memory", "driver_allocated_memory",
            "recommended_max_memory", "Event",
        ),
        _ERROR,
    ),
)  # fmt: skip


def manual_seed(seed: int) -> None:
    """Seeds the device, if there is one."""
    int(seed)
