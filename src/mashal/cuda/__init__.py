"""CUDA where there is none: queries answer truthfully, all else raises what PyTorch's CPU build does."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NoReturn

from .. import _absent as _absent_devices
from .. import _core, _missing
from .._core import Tensor
from .._legacy_types import CUDA_TYPES as _TYPES
from .._legacy_types import OutOfMemoryError as OutOfMemoryError

ByteTensor = _TYPES["ByteTensor"]
CharTensor = _TYPES["CharTensor"]
ShortTensor = _TYPES["ShortTensor"]
IntTensor = _TYPES["IntTensor"]
LongTensor = _TYPES["LongTensor"]
HalfTensor = _TYPES["HalfTensor"]
BFloat16Tensor = _TYPES["BFloat16Tensor"]
FloatTensor = _TYPES["FloatTensor"]
DoubleTensor = _TYPES["DoubleTensor"]
BoolTensor = _TYPES["BoolTensor"]

has_half = True
default_generators: tuple[Any, ...] = ()


def _absent() -> NoReturn:
    raise AssertionError("Torch not compiled with CUDA enabled")


# ---- what there is ----


def is_available() -> bool:
    """Whether a CUDA device can be used: False.

    Example:
        >>> import mashal
        >>> mashal.cuda.is_available()
        False
    """
    return False


def device_count() -> int:
    """The number of CUDA devices: 0."""
    return 0


def is_initialized() -> bool:
    """Whether CUDA has been started: False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device computes in bfloat16: False without a device."""
    return False


def is_tf32_supported() -> bool:
    """Whether the device computes in TF32: False without a device."""
    return False


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured: False without a device."""
    return False


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for: none."""
    return []


def get_gencode_flags() -> str:
    """The compiler flags of these architectures: none."""
    return ""


def init() -> None:
    """Starts CUDA.

    Raises:
        AssertionError: there is no CUDA here.
    """
    _absent()


# ---- devices ----


def current_device() -> int:
    """The number of the current device. Raises: AssertionError without CUDA."""
    _absent()


def _index(device: Any) -> int:
    """The number of a device that is named by a number, a text or a device; -1: none, or the current one."""
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    device = _core.device(device)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return -1 if device.index is None else device.index


def set_device(device: Any) -> None:
    """Makes a device the current one; negative numbers are ignored. Raises: AssertionError without CUDA."""
    if _index(device) >= 0:
        _absent()


def get_device_name(device: Any = None) -> str:
    """The name of a device. Raises: AssertionError without CUDA."""
    _absent()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device. Raises: AssertionError without CUDA."""
    _absent()


def get_device_properties(device: Any = None) -> Any:
    """The properties of a device. Raises: AssertionError without CUDA."""
    _absent()


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one device reads the memory of another. Raises: AssertionError without CUDA."""
    _absent()


def synchronize(device: Any = None) -> None:
    """Waits for all work of a device. Raises: AssertionError without CUDA."""
    _absent()


def ipc_collect() -> None:
    """Frees memory that other processes have given back. Raises: AssertionError without CUDA."""
    _absent()


def cudart() -> Any:
    """The CUDA runtime library. Raises: AssertionError without CUDA."""
    _absent()


class device:
    """Makes a device the current one for a block; None and negative numbers do nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""


class device_of(device):
    """The device of a tensor, for a block; does nothing for tensors elsewhere."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


# ---- streams ----


class Stream:
    """A queue of work of a device. Raises: RuntimeError without CUDA."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"torch.cuda.{type(self).__name__} requires CUDA support")


class ExternalStream(Stream):
    """A stream made by another library. Raises: RuntimeError without CUDA."""


class Event:
    """A mark in a stream. Raises: RuntimeError without CUDA."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"Tried to instantiate dummy base class {type(self).__name__}")


class CUDAGraph(Event):
    """A recorded sequence of kernels. Raises: RuntimeError without CUDA."""


def stream(stream: Stream | None) -> Any:
    """Puts work of a block into a stream; None does nothing."""
    if stream is not None:
        _absent()
    return contextlib.nullcontext()


def set_stream(stream: Stream | None) -> None:
    """Makes a stream the current one; None does nothing. Raises: AssertionError without CUDA."""
    if stream is not None:
        _absent()


def current_stream(device: Any = None) -> Stream:
    """The current stream. Raises: AssertionError without CUDA."""
    _absent()


def default_stream(device: Any = None) -> Stream:
    """The default stream. Raises: AssertionError without CUDA."""
    _absent()


# ---- memory: nothing is in use ----


def empty_cache() -> None:
    """Returns cached device memory to the system: there is none."""


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory in use: 0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of device memory that were in use: 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Bytes of device memory that are held: 0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes of device memory that were held: 0."""
    return 0


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """Counts of the memory allocator: none."""
    return OrderedDict()


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of these counts. Raises: AssertionError without CUDA."""
    _absent()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a device. Raises: AssertionError without CUDA."""
    _absent()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Forgets the greatest counts: there are none."""


def reset_max_memory_allocated(device: Any = None) -> None:
    """The older name of :func:`reset_peak_memory_stats`."""


def reset_max_memory_cached(device: Any = None) -> None:
    """The older name of :func:`reset_peak_memory_stats`."""


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Forgets the sums of counts: there are none."""


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Bounds the device memory of this process. Raises: AssertionError without CUDA."""
    _absent()


# ---- random numbers: seeds of no device ----


def manual_seed(seed: int) -> None:
    """Seeds the current device, if there is one."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds all devices, if there are any."""
    int(seed)


def seed() -> None:
    """Seeds the current device, if there is one, from the operating system."""


def seed_all() -> None:
    """Seeds all devices, if there are any, from the operating system."""


def initial_seed() -> int:
    """The seed of the current device. Raises: AssertionError without CUDA."""
    _absent()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a device's generator. Raises: AssertionError without CUDA."""
    _absent()


def get_rng_state_all() -> list[Tensor]:
    """The states of all devices' generators: none."""
    return []


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Sets the state of a device's generator, if there is one."""


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Sets the states of the generators of all devices. Raises: AssertionError if there are states, but no CUDA."""
    if list(new_states):
        _absent()


# ---- what else programs name ----

_absent_devices.fill(
    globals(),
    {
        "host_memory_stats": (OrderedDict(), "Counts of the allocator of pinned memory: none."),
        "host_memory_stats_as_nested_dict": ({}, "Counts of the allocator of pinned memory: none."),
        "memory_stats_as_nested_dict": ({}, "Counts of the memory allocator: none."),
        "memory_snapshot": ([], "The blocks of the memory allocator: none."),
        "reset_peak_host_memory_stats": (None, "Forgets the greatest counts: there are none."),
        "reset_accumulated_host_memory_stats": (None, "Forgets the sums of counts: there are none."),
        "list_gpu_processes": ("", "The processes that use a device: none."),
        "_is_in_bad_fork": (False, "Whether CUDA was started before this process was forked: False."),
    },
    dict.fromkeys(
        (
            "set_sync_debug_mode", "get_sync_debug_mode", "graph_pool_handle", "current_blas_handle",
            "current_solver_handle",
            "caching_allocator_alloc", "caching_allocator_delete", "caching_allocator_enable", "get_allocator_backend",
            "change_current_allocator", "get_per_process_memory_fraction", "get_stream_from_external", "utilization",
            "memory_usage", "temperature", "power_draw", "clock_rate", "device_memory_used", "make_graphed_callables",
            "use_mem_pool", "check_error", "_sleep", "_lazy_init",
        ),
        (AssertionError, "Torch not compiled with CUDA enabled"),
    ),
    ("graph", "MemPool", "CUDAPluggableAllocator", "GreenContext"),
)  # fmt: skip
StreamContext = _absent_devices.block(__name__, "StreamContext", AssertionError, "Torch not compiled with CUDA enabled")


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Keeps a call for the start of CUDA, which does not come."""


__getattr__ = _missing.hook(__name__, ("amp", "memory", "nvtx", "random"))
