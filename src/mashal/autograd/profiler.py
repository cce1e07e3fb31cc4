"""Profiling: where the time and the memory of ops and of their backward go; :mod:`mashal.profiler` adds schedules."""

from __future__ import annotations

import functools
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from .. import _core
from . import profiler_util
from ._chrome_trace import write_trace
from .profiler_util import (  # noqa: F401 (PyTorch's programs look for them here)
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
    MemRecordsAcc,
)

_OWN_FILES = (__file__,)


class profile:
    """Records every op that this thread runs in a ``with`` block.

    Args:
        enabled: False records nothing.
        record_shapes: whether the shapes of inputs are kept.
        with_flops: whether floating-point operations are estimated, for products, sums and products by element.
        profile_memory: whether allocated and freed bytes are counted.
        with_stack: whether the callers' lines are kept.
        use_cuda, use_device: accepted; there is no device to profile, which a warning says.

    Raises:
        RuntimeError: if it is entered twice, or read before its end.

    Example:
        >>> import mashal
        >>> with mashal.autograd.profiler.profile() as prof:
        ...     _ = mashal.ones(2) + 1
        >>> [event.name for event in prof.function_events]
        ['aten::ones', 'aten::add']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = True,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        if enabled and (use_cuda or use_device == "cuda"):
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        self.enabled = enabled
        self.use_device: str | None = None
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.trace_id = "" if custom_trace_id_callback is None else custom_trace_id_callback()
        self.entered = False
        self._events: EventList | None = None
        self._base_ns = 0
        self.profiling_start_time_ns = 0
        self.profiling_end_time_ns = 0

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._start()
        return self

    def _start(self) -> None:
        self.entered = True
        self._base_ns = self.profiling_start_time_ns = time.time_ns()
        _core.profiler_start(self.record_shapes, self.profile_memory, self.with_stack)

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            self._stop()

    def _stop(self) -> None:
        records = _core.profiler_stop()
        self.profiling_end_time_ns = time.time_ns()
        events = profiler_util.build_events(
            records,
            self._base_ns,
            threading.get_native_id(),
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
            own_files=_OWN_FILES,
        )
        if self._events is not None and self.acc_events:
            self._events.extend(events)
        else:
            self._events = events

    def _results(self) -> EventList:
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    @property
    def function_events(self) -> EventList:
        """All events, in the order in which they began."""
        return self._results()

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else str(self._events)

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The events as text; see :meth:`EventList.table`."""
        return self._results().table(sort_by=sort_by, row_limit=row_limit, **options)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums over events of one name; see :meth:`EventList.key_averages`."""
        return self._results().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """The sum over all events."""
        return self._results().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return self._results().self_cpu_time_total

    def export_chrome_trace(self, path: str, metadata: dict[str, Any] | None = None) -> None:
        """Writes a trace that Perfetto and chrome://tracing load; compressed if ``path`` ends in ".gz"."""
        flags = {
            "with_flops": self.with_flops,
            "record_shapes": self.record_shapes,
            "profile_memory": self.profile_memory,
            "with_stack": self.with_stack,
        }
        write_trace(path, self._results(), self._base_ns, {k: 1 for k, on in flags.items() if on}, metadata or {})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes stacks and weights for flame graphs.

        Raises:
            AssertionError: without ``with_stack=True``.
        """
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._results().export_stacks(path, metric)


class record_function:
    """Names a range of code, as a context manager or a decorator: it shows in a profile as one event.

    Example:
        >>> import mashal
        >>> with mashal.autograd.profiler.profile() as prof:
        ...     with mashal.autograd.profiler.record_function("preparation"):
        ...         _ = mashal.ones(2)
        >>> prof.function_events[0].name
        'preparation'
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._ranges: list[int] = []

    def __enter__(self) -> record_function:
        self._ranges.append(_core.profiler_push(self.name))
        return self

    def __exit__(self, *exc: object) -> None:
        _core.profiler_pop(self._ranges.pop())

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return wrapped


class _External:
    """A region that another profiler would see, had this build its library."""

    _missing: Exception

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.entered = False

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        raise self._missing

    def __exit__(self, *exc: object) -> None:
        pass


class emit_nvtx(_External):
    """Would mark ops for NVIDIA's profilers; there is no CUDA here, so entering it raises.

    Raises:
        AssertionError: on entering, unless it is disabled.
    """

    _missing = AssertionError("Torch not compiled with CUDA enabled")


class emit_itt(_External):
    """Would mark ops for Intel's profilers, whose library this build does not have, so entering it raises.

    Raises:
        RuntimeError: on entering, unless it is disabled.
    """

    _missing = RuntimeError("ITT functions not installed: this build does not have Intel's library")


def load_nvprof(path: str) -> NoReturn:
    """Would read an nvprof database.

    Raises:
        NotImplementedError: always: nvprof belongs to CUDA toolkits that nothing here runs on.
    """
    raise NotImplementedError(f"load_nvprof: nvprof databases are not supported, got {path!r}. Use Nsight Systems.")


def parse_nvprof_trace(path: str) -> NoReturn:
    """Would read an nvprof database.

    Raises:
        NotImplementedError: always; see :func:`load_nvprof`.
    """
    load_nvprof(path)


class EnforceUnique:
    """Raises when it is shown a key a second time."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Takes note of a key. Raises: RuntimeError if it was seen before."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps of several requesters; the step of the program is the furthest of theirs."""

    _current_step = 0
    _step_dict: ClassVar[dict[str, int]] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Lets a requester begin at the present step."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forgets a requester; returns whether it was known."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """One more step of a requester; returns the program's."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The program's step."""
        return cls._current_step


def kineto_available() -> bool:
    """Whether profiles can be recorded: True."""
    return True
