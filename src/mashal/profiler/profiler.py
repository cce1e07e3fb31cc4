"""``torch.profiler.profile``: a profile that follows a schedule of steps."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd import profiler as prof
from ..autograd.profiler_util import EventList

PROFILER_STEP_NAME = "ProfilerStep"


class ProfilerActivity(enum.Enum):
    """What can be profiled."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a schedule says to do at a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled here: the CPU."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A schedule of cycles: ``wait`` steps of nothing, ``warmup`` steps thrown away, ``active`` steps recorded.

    Args:
        repeat: number of cycles; 0: without end.
        skip_first: steps before the first cycle.
        skip_first_wait: not 0: the first cycle does not wait.

    Raises:
        AssertionError: for a negative number, or no active step.

    Example:
        >>> import mashal
        >>> plan = mashal.profiler.schedule(wait=1, warmup=1, active=1)
        >>> [plan(step).name for step in range(4)]
        ['NONE', 'WARMUP', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        if repeat and step >= repeat * cycle:
            return ProfilerAction.NONE
        within = step % cycle
        if within < wait:
            return ProfilerAction.NONE
        if within < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if within == cycle - 1 else ProfilerAction.RECORD

    return action


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[Any], None]:
    """An ``on_trace_ready`` that writes each trace into a folder, where TensorBoard's profiler plug-in finds it.

    Raises:
        RuntimeError: when called, if the folder cannot be made.
    """

    def handler(p: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as e:
            raise RuntimeError("Can't create directory: " + dir_name) from e
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        p.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))

    return handler


def _activities(given: Iterable[Any]) -> set[ProfilerActivity]:
    found: set[ProfilerActivity] = set()
    for item in given:
        keys = [item] if isinstance(item, ProfilerActivity) else item
        if not isinstance(keys, (list, dict)):
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        for key in keys:
            if key in found:
                raise ValueError(f"Activity {key} specified more than once")
            found.add(key)
    return found


class _KinetoProfile:
    """A profile that is started and stopped by hand."""

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = supported_activities() if activities is None else _activities(activities)
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.execution_trace_observer = execution_trace_observer
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.use_device: str | None = None
        self.profiler: prof.profile | None = None
        self.preset_metadata: dict[str, str] = {}
        self._metadata: dict[str, Any] = {}

    def start(self) -> None:
        """Begins to record."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """Ends recording."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """Makes ready; nothing is recorded yet."""
        if self.profiler is None or not self.acc_events:
            self.profiler = prof.profile(
                record_shapes=self.record_shapes,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_flops=self.with_flops,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
                post_processing_timeout_s=self.post_processing_timeout_s,
            )

    def _prepared(self, purpose: str) -> prof.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    def start_trace(self) -> None:
        """Records from now on."""
        self._prepared("starting trace")._start()
        for key, value in self.preset_metadata.items():
            self.add_metadata_json(key, value)

    def stop_trace(self) -> None:
        """Records no more."""
        self._prepared("stopping trace")._stop()
        if self.execution_trace_observer:
            self.execution_trace_observer.write(self.events())

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Writes the trace; compressed if ``path`` ends in ".gz". See https://ui.perfetto.dev."""
        self._prepared("exporting chrome trace").export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes stacks and weights for flame graphs; needs ``with_stack=True``."""
        self._prepared("exporting stacks").export_stacks(path, metric)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums over events of one name; their ``table()`` is what one prints."""
        profiler = self._prepared("getting key averages")
        return profiler.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def events(self) -> EventList:
        """All events, in the order in which they began."""
        return self._prepared("accessing events").function_events

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds a JSON value, given as text, to the trace."""
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Adds a JSON value to every trace that is started from now on."""
        self.preset_metadata[key] = value

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Accepted; all ops of the CPU are recorded."""


class profile(_KinetoProfile):
    """Records ops in a ``with`` block, in the steps that a schedule picks.

    Args:
        activities: what to profile; all that is supported by default.
        schedule: a function of the step number, see :func:`schedule`; without one everything is recorded.
        on_trace_ready: called with this object when the steps of a cycle have been recorded.
        record_shapes, profile_memory, with_stack, with_flops: see :class:`mashal.autograd.profiler.profile`.

    Raises:
        AssertionError: if there is nothing to profile.

    Example:
        >>> import mashal
        >>> with mashal.profiler.profile(record_shapes=True) as prof:
        ...     _ = mashal.ones(2, 3) @ mashal.ones(3, 2)
        >>> prof.key_averages(group_by_input_shape=True)[-1].input_shapes
        [[2, 3], [3, 2]]
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
        )
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.step_rec_fn: prof.record_function | None = None
        prof.KinetoStepTracker.init_step_count(PROFILER_STEP_NAME)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        prof.KinetoStepTracker.erase_step_count(PROFILER_STEP_NAME)
        if self.execution_trace_observer:
            self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """Begins with step 0, if it has not begun."""
        self._begin(self.current_action)
        self._open_step()

    def stop(self) -> None:
        """Ends the last step; what is being recorded is ready."""
        self._close_step()
        before = self.current_action
        if before is ProfilerAction.WARMUP:
            self.start_trace()
            self.stop_trace()
        elif before is not ProfilerAction.NONE:
            self.stop_trace()
            self._trace_ready()

    def step(self) -> None:
        """Ends a step, and begins the next."""
        self._close_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        self._open_step()

    def _begin(self, action: ProfilerAction) -> None:
        if action is not ProfilerAction.NONE:
            self.prepare_trace()
        if action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self.start_trace()

    def _change(self, before: ProfilerAction, after: ProfilerAction) -> None:
        recording = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if before is ProfilerAction.NONE:
            self._begin(after)
        elif before is ProfilerAction.WARMUP:
            if after in recording:
                self.start_trace()
            elif after is ProfilerAction.NONE:
                warnings.warn("Incorrect schedule: WARMUP followed by NONE", stacklevel=3)
        elif before is ProfilerAction.RECORD:
            if after not in recording:
                warnings.warn(f"Incorrect schedule: RECORD followed by {after.name}", stacklevel=3)
                self.stop_trace()
        else:  # a cycle is complete
            self.stop_trace()
            self._trace_ready()
            self._begin(after)

    def _open_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = prof.record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _close_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _trace_ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Sets what names the traces of the following cycles."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The name of the present trace."""
        return None if self.profiler is None else self.profiler.trace_id


class ExecutionTraceObserver:
    """Writes the ops of a profile, with their inputs' shapes and types, into a JSON file."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._running = False
        self._profile: prof.profile | None = None

    def register_callback(self, output_file_path: str) -> ExecutionTraceObserver:
        """Says where to write."""
        self._path = output_file_path
        return self

    def unregister_callback(self) -> None:
        """Ends the observation, and forgets where to write."""
        self.stop()
        self._path = None

    def is_registered(self) -> bool:
        """Whether there is a file to write to."""
        return self._path is not None

    def is_running(self) -> bool:
        """Whether ops are being observed."""
        return self._running

    def get_output_file_path(self) -> str | None:
        """The file, if there is one."""
        return self._path

    def start(self) -> None:
        """Begins to observe by itself, without a profile that it was given to."""
        if self._path is None or self._running:
            return
        self._running = True
        self._profile = prof.profile(record_shapes=True)
        self._profile._start()

    def stop(self) -> None:
        """Ends the observation, and writes the file."""
        if not self._running:
            return
        self._running = False
        observed, self._profile = self._profile, None
        if observed is not None:
            observed._stop()
            self.write(observed.function_events)

    def write(self, events: EventList) -> None:
        """Writes the file, if one is registered."""
        if self._path is None:
            return
        nodes = [
            {
                "id": e.id + 1,
                "name": e.name,
                "ctrl_deps": 0 if e.cpu_parent is None else e.cpu_parent.id + 1,
                "inputs": {"shapes": e.input_shapes, "types": e.input_dtypes},
            }
            for e in events
        ]
        with open(self._path, "w", encoding="utf-8") as f:
            json.dump({"schema": "1.1.1-chakra.0.0.4", "pid": os.getpid(), "nodes": nodes}, f)

    def cleanup(self) -> None:
        """Ends the observation."""
        self.unregister_callback()
