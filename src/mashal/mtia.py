"""MTIA devices, where there are none: queries answer truthfully, all else raises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _absent

_ERROR = (AssertionError, "Torch not compiled with MTIA enabled.")
_NO_DEVICE = (RuntimeError, "mtia: there is no such device: mashal.mtia.is_available() is False.")
default_generators: tuple[Any, ...] = ()

_absent.fill(
    globals(),
    {
        "is_available": (False, "Whether such a device can be used: False."),
        "is_initialized": (False, "Whether the devices have been started: False."),
        "device_count": (0, "The number of devices: 0."),
        "is_bf16_supported": (True, "Whether such devices compute in bfloat16: True."),
        "memory_stats": ({}, "Counts of the memory allocator: none."),
        "memory_allocated": (0, "Bytes of device memory in use: 0."),
        "max_memory_allocated": (0, "The most bytes of device memory that were in use: 0."),
        "reset_peak_memory_stats": (None, "Forgets the greatest counts: there are none."),
        "record_memory_history": (None, "Keeps a record of allocations, if there is a device."),
        "seed": (None, "Seeds the current device, if there is one, from the operating system."),
        "seed_all": (None, "Seeds all devices, if there are any, from the operating system."),
        "get_rng_state_all": ([], "The states of all devices' generators: none."),
    },
    {
        **dict.fromkeys(("init", "initial_seed", "get_rng_state"), _ERROR),
        **dict.fromkeys(
            (
                "synchronize", "current_device", "current_stream", "default_stream", "get_device_capability",
                "get_device_properties", "snapshot", "empty_cache", "set_stream", "attach_out_of_memory_observer",
                "graph_pool_handle", "MTIAGraph",
            ),
            _NO_DEVICE,
        ),
    },
    ("Stream", "Event"),
)  # fmt: skip
device = _absent.block(__name__, "device", *_NO_DEVICE)
StreamContext = _absent.block(__name__, "StreamContext", *_NO_DEVICE)


def stream(stream: Any) -> Any:
    """Puts work of a block into a stream; None does nothing."""
    return StreamContext(stream)


def set_device(device: Any) -> None:
    """Makes a device the current one; negative numbers are ignored. Raises: RuntimeError, as none is here."""
    if not (isinstance(device, int) and device < 0):
        raise _NO_DEVICE[0](_NO_DEVICE[1])


def manual_seed(seed: int) -> None:
    """Seeds the current device, if there is one."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds all devices, if there are any."""
    int(seed)


def set_rng_state(new_state: Any, device: Any = "mtia") -> None:
    """Sets the state of a device's generator, if there is one."""


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Sets the states of the generators of all devices, if there are any."""
