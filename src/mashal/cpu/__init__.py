"""The CPU as a device like any other: what device-independent programs ask of ``torch.<device>``."""

from __future__ import annotations

import contextlib
from typing import Any

from . import amp as amp


def is_available() -> bool:
    """Whether there is a CPU: True."""
    return True


def is_initialized() -> bool:
    """Whether it has been started: True."""
    return True


def device_count() -> int:
    """The number of CPU devices: 1."""
    return 1


def current_device() -> str:
    """The name of the device."""
    return "cpu"


def set_device(device: Any) -> None:
    """Does nothing: there is one device."""


def synchronize(device: Any = None) -> None:
    """Does nothing: an op has ended when its call returns."""


class Stream:
    """A stand-in: work on the CPU is done in order."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Does nothing."""

    def record_event(self) -> None:
        """Does nothing."""

    def wait_event(self, event: Any) -> None:
        """Does nothing."""


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    """The stream."""
    return _stream


def stream(stream: Any) -> contextlib.AbstractContextManager[Any]:
    """A region that changes nothing."""
    return contextlib.nullcontext(stream)


class StreamContext(contextlib.AbstractContextManager[Any]):
    """A region that changes nothing."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""


class Event:
    """A stand-in: all work before it is done."""

    def query(self) -> bool:
        """Whether it is done: True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Does nothing."""

    def synchronize(self) -> None:
        """Does nothing."""

    def wait(self, stream: Any = None) -> None:
        """Does nothing."""


def get_capabilities() -> dict[str, Any]:
    """What the processor can do, as far as kernels ask: its architecture and the instruction sets that they use."""
    import platform

    from .. import _core

    isa = _core.active_isa()
    return {"architecture": platform.machine(), "avx2": isa != "baseline", "avx512_f": isa == "avx512"}
