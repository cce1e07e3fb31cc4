"""What a profiler recorded: single events, averages over events of one name, and lists of both that print as tables."""

from __future__ import annotations

import bisect
import enum
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ._profile_table import build_table, format_time


class DeviceType(enum.Enum):
    """Types of device, numbered as PyTorch numbers them."""

    CPU = 0
    CUDA = 1

    def __str__(self) -> str:
        return f"DeviceType.{self.name}"


class Interval:
    """A stretch of time, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A function that ran on a device."""

    name: str
    device: int
    duration: float


def _formatted(name: str) -> Any:
    return property(lambda self: format_time(getattr(self, name)))


class FormattedTimesMixin:
    """Times per call, and times as text."""

    count: int
    cpu_time_total: float
    device_time_total: float

    cpu_time_str = _formatted("cpu_time")
    device_time_str = _formatted("device_time")
    cpu_time_total_str = _formatted("cpu_time_total")
    device_time_total_str = _formatted("device_time_total")
    self_cpu_time_total_str = _formatted("self_cpu_time_total")
    self_device_time_total_str = _formatted("self_device_time_total")

    @property
    def cpu_time(self) -> float:
        """Microseconds on the CPU, per call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Microseconds on a device, per call."""
        return self.device_time_total / self.count if self.count else 0.0

    cuda_time = device_time


class FunctionEvent(FormattedTimesMixin):
    """One call of an op, one run of a backward node, or one range of the user's own."""

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        *,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        input_dtypes: Any = None,
        stack: list[str] | None = None,
        scope: int = 0,
        cpu_memory_usage: int = 0,
        sequence_nr: int = -1,
        is_user_annotation: bool = False,
        flops: int = 0,
    ) -> None:
        self.id = id
        self.name = name
        self.trace_name = name
        self.overload_name = ""
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.kernels: list[Kernel] = []
        self.input_shapes = [] if input_shapes is None else input_shapes
        self.input_dtypes = [] if input_dtypes is None else input_dtypes
        self.stack = [] if stack is None else stack
        self.scope = scope
        self.cpu_memory_usage = cpu_memory_usage
        self.sequence_nr = sequence_nr
        self.is_user_annotation = is_user_annotation
        self.flops = flops
        self.node_id = -1
        self.device_type = DeviceType.CPU
        self.device_index = 0
        self.device_resource_id = thread
        self.use_device: str | None = None
        self.is_async = False
        self.is_remote = False
        self.is_legacy = False
        self.is_python_function = False
        self.device_time_total = 0.0
        self.self_device_time_total = 0.0
        self.device_memory_usage = 0
        self.self_device_memory_usage = 0

    @property
    def key(self) -> str:
        """What events are grouped by."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds from begin to end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds outside the events within."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated minus bytes freed, outside the events within."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} device_type={self.device_type} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The sums over several events of one key."""

    _SUMMED = (
        "cpu_time_total",
        "device_time_total",
        "self_cpu_time_total",
        "self_device_time_total",
        "cpu_memory_usage",
        "device_memory_usage",
        "self_cpu_memory_usage",
        "self_device_memory_usage",
        "count",
        "flops",
    )
    _TAKEN = (
        "key",
        "node_id",
        "is_async",
        "is_remote",
        "cpu_parent",
        "cpu_children",
        "overload_name",
        "input_shapes",
        "stack",
        "scope",
        "device_type",
        "is_legacy",
        "use_device",
        "is_user_annotation",
    )

    def __init__(self) -> None:
        self.key: str | None = None
        for name in self._TAKEN:
            setattr(self, name, None)
        for name in self._SUMMED:
            setattr(self, name, 0)
        self.device_type = DeviceType.CPU
        self.node_id = -1

    def add(self, other: Any) -> FunctionEventAvg:
        """Takes an event, or another sum, in."""
        if self.key is None:
            for name in self._TAKEN:
                setattr(self, name, getattr(other, name))
        elif other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in self._SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_cuda_time={self.self_device_time_total_str} "
            f"cuda_time={self.device_time_str} input_shapes={self.input_shapes} "  # type: ignore[attr-defined]
            f"cpu_memory_usage={self.cpu_memory_usage} "  # type: ignore[attr-defined]
            f"cuda_memory_usage={self.device_memory_usage}>"  # type: ignore[attr-defined]
        )


class EventList(list):  # type: ignore[type-arg]
    """A list of events that prints as a table, and can be grouped, summed up and exported."""

    def __init__(self, events: Iterable[Any] = (), *, profile_memory: bool = False, with_flops: bool = False) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text.

        Args:
            sort_by: an attribute by which to sort, largest first: "cpu_time", "cpu_time_total", "self_cpu_time_total",
                "cpu_memory_usage", "self_cpu_memory_usage", "count".
            row_limit: how many rows; -1 for all.
            top_level_events_only: leaves events inside others out.
            time_unit: "s", "ms" or "us" for all times; None: what is readable.
        """
        return build_table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums over events of one name, and if wished of the same input shapes or of the same callers."""
        sums: dict[Any, FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            sums[event.key, event.is_user_annotation, shapes, *event.stack[:group_by_stack_n]].add(event)
        averages = EventList(sums.values(), profile_memory=self._profile_memory, with_flops=self._with_flops)
        for average in averages:
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
        return averages

    def total_average(self) -> FunctionEventAvg:
        """The sum over all events."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
            total.key = None
        total.key = "Total"
        return total

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as a trace that chrome://tracing and Perfetto load."""
        trace = [
            {
                "name": event.trace_name,
                "ph": "X",
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "tid": event.thread,
                "pid": "CPU functions",
                "args": {},
            }
            for event in self
        ]
        with open(path, "w", encoding="utf-8") as f:
            json.dump(trace, f)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What :meth:`export_stacks` can weigh by."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path: str, metric: str) -> None:
        """Writes a line "caller;...;callee weight" per event that has a stack: what flame graphs are drawn from.

        Raises:
            ValueError: for a metric that is not supported.
        """
        supported = self.supported_export_stacks_metrics()
        if metric not in supported:
            raise ValueError(f"metric should be one of: {supported}")
        attribute = metric if metric == "self_cpu_time_total" else "self_device_time_total"
        separators = str.maketrans(" ;\t\n", "____")
        with open(path, "w", encoding="utf-8") as f:
            for event in self:
                weight = int(getattr(event, attribute))
                if event.stack and weight > 0:
                    f.write(";".join(entry.translate(separators) for entry in reversed(event.stack)) + f" {weight}\n")


class MemRecordsAcc:
    """Finds records, of which each begins with something that has ``start_ns()``, by interval of time."""

    def __init__(self, mem_records: list[Any]) -> None:
        self._records = sorted(mem_records, key=lambda r: r[0].start_ns())
        self._starts = [r[0].start_ns() for r in self._records]

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[Any]:
        """The records that begin in the interval."""
        first, last = bisect.bisect_left(self._starts, start_ns), bisect.bisect_right(self._starts, end_ns)
        yield from self._records[first:last]


# ---- from what the core recorded ----

_KIND_USER, _KIND_BACKWARD = 2, 1


def _product(sizes: Iterable[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def _matrix_flops(first: int) -> Callable[[list[list[int]]], int]:
    def count(shapes: list[list[int]]) -> int:
        left, right = shapes[first], shapes[first + 1]
        return 2 * _product(left) * right[-1] if left and right else 0

    return count


def _linear_flops(shapes: list[list[int]]) -> int:
    return 2 * _product(shapes[0]) * shapes[1][0] if shapes[0] and len(shapes[1]) == 2 else 0


def _pointwise_flops(shapes: list[list[int]]) -> int:
    return _product(shapes[0]) if shapes[0] else 0


# Operations that multiply or add: an estimate from the shapes, as PyTorch's.
_FLOPS: dict[str, Callable[[list[list[int]]], int]] = {
    "aten::mm": _matrix_flops(0),
    "aten::bmm": _matrix_flops(0),
    "aten::matmul": _matrix_flops(0),
    "aten::addmm": _matrix_flops(1),
    "aten::baddbmm": _matrix_flops(1),
    "aten::linear": _linear_flops,
    "aten::add": _pointwise_flops,
    "aten::mul": _pointwise_flops,
}


def _stack_lines(frames: Any, skip: tuple[str, ...]) -> list[str]:
    lines = [f"{code.co_filename}({line}): {code.co_name}" for code, line in frames]
    while lines and lines[0].startswith(skip):
        lines.pop(0)
    return lines


def build_events(
    records: list[Any], base_ns: int, thread: int, *, profile_memory: bool, with_flops: bool, own_files: tuple[str, ...]
) -> EventList:
    """Events out of the core's records; times count from ``base_ns``."""
    events = EventList(profile_memory=profile_memory, with_flops=with_flops)
    forward_stacks: dict[int, list[str]] = {}
    for i, (name, kind, parent, start, end, memory, sequence, shapes, dtypes, frames) in enumerate(records):
        event = FunctionEvent(
            i,
            name,
            thread,
            (start - base_ns) / 1000,
            (end - base_ns) / 1000,
            fwd_thread=thread if kind == _KIND_BACKWARD else None,
            input_shapes=shapes,
            input_dtypes=dtypes,
            scope=(0, 1, 7)[kind],
            cpu_memory_usage=memory if profile_memory else 0,
            sequence_nr=sequence or -1,
            is_user_annotation=kind == _KIND_USER,
        )
        if name.startswith("ProfilerStep#"):
            event.name = "ProfilerStep*"
        if with_flops and shapes and name in _FLOPS:
            event.flops = _FLOPS[name](shapes)
        if frames:
            event.stack = _stack_lines(frames, own_files)
            if sequence:
                forward_stacks.setdefault(sequence, event.stack)
        if parent >= 0:
            event.cpu_parent = events[parent]
            events[parent].cpu_children.append(event)
            if events[parent].scope == 1 and kind != _KIND_BACKWARD:
                event.scope = 1
        events.append(event)
    # What backward does is shown where its forward op was called.
    for event in events:
        if event.scope != 1:
            continue
        own = forward_stacks.get(event.sequence_nr) if event.sequence_nr >= 0 else None
        event.stack = own or (event.cpu_parent.stack if event.cpu_parent is not None else [])
    return events
