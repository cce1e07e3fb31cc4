"""Queues of work and marks in them, for devices whose work is done when a call returns: the CPU."""

from __future__ import annotations

import time
from typing import Any

from . import _core


class _OnDevice:
    def __init__(self, device: Any = None) -> None:
        self.device = _core.device("cpu" if device is None else device)
        if self.device.type not in ("cpu", "meta"):
            raise RuntimeError(f"{type(self).__name__}: device {self.device} is not available here.")


class Event(_OnDevice):
    """A mark in a stream: done at once on the CPU."""

    __module__ = "mashal"

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        super().__init__(device)
        self._timing = enable_timing
        self._when: float | None = None

    def record(self, stream: Any = None) -> None:
        """Puts the mark here."""
        self._when = time.perf_counter()

    def query(self) -> bool:
        """Whether all work before the mark is done: True."""
        return True

    def wait(self, stream: Any = None) -> None:
        """Lets later work wait for the mark: it is done."""

    def synchronize(self) -> None:
        """Waits for the mark: it is done."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another.

        Raises:
            ValueError: one of the two was not made with ``enable_timing``, or not recorded.
        """
        if not (self._timing and end_event._timing) or self._when is None or end_event._when is None:
            raise ValueError("Event.elapsed_time: both events must have enable_timing=True and be recorded.")
        return (end_event._when - self._when) * 1000


class Stream(_OnDevice):
    """A queue of work: done in order on the CPU."""

    __module__ = "mashal"

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        super().__init__(device)
        self.stream_id = 0

    def query(self) -> bool:
        """Whether all work is done: True."""
        return True

    def synchronize(self) -> None:
        """Waits for all work: it is done."""

    def wait_event(self, event: Event) -> None:
        """Lets later work wait for a mark: it is done."""

    def wait_stream(self, stream: Any) -> None:
        """Lets later work wait for another queue: it is empty."""

    def record_event(self, event: Event | None = None) -> Event:
        """Puts a mark here; returns it."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""
