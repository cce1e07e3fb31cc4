"""Intel GPUs, where there are none: queries answer truthfully, all else raises what PyTorch's CPU build does."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from . import _absent

_ERROR = (AssertionError, "Torch not compiled with XPU enabled")
default_generators: tuple[Any, ...] = ()

_absent.fill(
    globals(),
    {
        "is_available": (False, "Whether an Intel GPU can be used: False."),
        "device_count": (0, "The number of Intel GPUs: 0."),
        "is_initialized": (False, "Whether the devices have been started: False."),
        "is_bf16_supported": (False, "Whether the device computes in bfloat16: False without a device."),
        "is_tf32_supported": (False, "Whether the device computes in TF32: False without a device."),
        "is_current_stream_capturing": (False, "Whether a graph is being captured: False without a device."),
        "get_arch_list": ([], "The architectures that kernels were compiled for: none."),
        "get_gencode_flags": ("", "The compiler flags of these architectures: none."),
        "empty_cache": (None, "Returns cached device memory to the system: there is none."),
        "memory_allocated": (0, "Bytes of device memory in use: 0."),
        "max_memory_allocated": (0, "The most bytes of device memory that were in use: 0."),
        "memory_reserved": (0, "Bytes of device memory that are held: 0."),
        "max_memory_reserved": (0, "The most bytes of device memory that were held: 0."),
        "memory_stats": (OrderedDict(), "Counts of the memory allocator: none."),
        "memory_stats_as_nested_dict": ({}, "Counts of the memory allocator: none."),
        "memory_snapshot": ([], "The blocks of the memory allocator: none."),
        "reset_peak_memory_stats": (None, "Forgets the greatest counts: there are none."),
        "reset_accumulated_memory_stats": (None, "Forgets the sums of counts: there are none."),
        "seed": (None, "Seeds the current device, if there is one, from the operating system."),
        "seed_all": (None, "Seeds all devices, if there are any, from the operating system."),
        "get_rng_state_all": ([], "The states of all devices' generators: none."),
    },
    dict.fromkeys(
        (
            "init", "current_device", "get_device_name", "get_device_capability", "get_device_properties",
            "can_device_access_peer", "synchronize", "current_stream", "get_stream_from_external", "mem_get_info",
            "get_per_process_memory_fraction", "set_per_process_memory_fraction", "initial_seed", "get_rng_state",
        ),
        _ERROR,
    ),
    ("Stream", "Event", "XPUGraph", "MemPool"),
)  # fmt: skip
device = _absent.block(__name__, "device", *_ERROR)
StreamContext = _absent.block(__name__, "StreamContext", *_ERROR)


class device_of(device):  # type: ignore[misc, valid-type]
    """The device of a tensor, for a block; does nothing for tensors elsewhere."""

    def __init__(self, obj: Any) -> None:
        super().__init__(-1)


def stream(stream: Any) -> Any:
    """Puts work of a block into a stream; None does nothing."""
    return StreamContext(stream)


def set_stream(stream: Any) -> None:
    """Makes a stream the current one; None does nothing. Raises: AssertionError, as no device is here."""
    if stream is not None:
        raise _ERROR[0](_ERROR[1])


def set_device(device: Any) -> None:
    """Makes a device the current one; negative numbers are ignored. Raises: AssertionError, as none is here."""
    if not (isinstance(device, int) and device < 0):
        raise _ERROR[0](_ERROR[1])


def manual_seed(seed: int) -> None:
    """Seeds the current device, if there is one."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds all devices, if there are any."""
    int(seed)


def set_rng_state(new_state: Any, device: Any = "xpu") -> None:
    """Sets the state of a device's generator, if there is one."""


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Sets the states of the generators of all devices, if there are any."""
