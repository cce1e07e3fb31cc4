"""Runs a statement many times and measures it."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable
from typing import Any, NoReturn

from ... import _core
from ._measurement import Measurement, TaskSpec

timer = timeit.default_timer


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures a statement; by default with one thread, unlike the library itself.

    Args:
        stmt: the statement, as text.
        setup: runs before each measurement, in the same namespace.
        global_setup: for C++ only.
        timer: the clock, in seconds.
        globals: the namespace's names.
        label: names the statement in tables.
        sub_label: names its variant: a row.
        description: names the column.
        env: names the environment.
        num_threads: of kernels.
        language: "python"; C++ raises NotImplementedError.

    Example:
        >>> import mashal
        >>> from mashal.utils import benchmark
        >>> t = benchmark.Timer("x + 1", globals={"x": mashal.ones(8)})
        >>> t.timeit(10).number_per_run
        10
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("benchmark.Timer: mashal times Python only (yet), see docs/supported.md.")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`.")
        # Text of a nested block may be indented as a whole.
        stmt, setup = textwrap.dedent(stmt).strip("\n"), textwrap.dedent(setup).strip("\n")
        self._globals = dict(globals or {})
        self._clock = timer
        self._timer = timeit.Timer(stmt, setup, timer=timer, globals=self._globals)
        self._task_spec = TaskSpec(
            stmt=stmt,
            setup=setup,
            label=label,
            sub_label=sub_label,
            description=description,
            env=env,
            num_threads=num_threads,
        )

    def _timeit(self, number: int) -> float:
        # A clock that did not move cannot be divided by.
        return max(self._timer.timeit(number), 1e-9)

    def _threads(self) -> _Threads:
        return _Threads(self._task_spec.num_threads)

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One measurement of ``number`` runs, after some to warm up."""
        with self._threads():
            self._timeit(max(number // 100, 2))
            return self._measurement(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """As in PyTorch: not implemented. Use :meth:`blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> NoReturn:
        """As in PyTorch: not implemented. Use :meth:`blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """So many runs that the clock's own cost is a thousandth, and that a block is a thousandth of the time."""
        clock = min(timeit.repeat(self._clock, number=5, repeat=100)) / 5
        number = 1
        while True:
            spent = self._timeit(number)
            if (spent >= min_run_time / 1000 and clock / spent <= 1e-4) or spent > min_run_time:
                return number
            number *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Blocks of runs, of a size that makes the clock's cost negligible, until ``min_run_time`` seconds are over.

        ``callback`` is called with the size and the time of each block.
        """
        return self._loop(self._start(min_run_time), min_run_time, min_run_time, lambda times: True, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """As :meth:`blocked_autorange`, until the spread is below ``threshold`` of the median or the time is up."""
        number = self._start(min_run_time)

        def steady(times: list[float]) -> bool:
            return len(times) > 3 and self._measurement(number, times).meets_confidence(threshold=threshold)

        return self._loop(number, min_run_time, max_run_time, steady, callback)

    def _start(self, min_run_time: float) -> int:
        with self._threads():
            return self._block_size(min_run_time)

    def _loop(
        self,
        number: int,
        min_run_time: float,
        max_run_time: float,
        enough: Callable[[list[float]], bool],
        callback: Callable[[int, float], Any] | None,
    ) -> Measurement:
        times: list[float] = []
        total = 0.0
        with self._threads():
            while total < min_run_time or not (total >= max_run_time or enough(times)):
                spent = self._timeit(number)
                if callback is not None:
                    callback(number, spent)
                total += spent
                times.append(spent)
        return self._measurement(number, times)

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Counts instructions with Valgrind: not here (yet). Raises: NotImplementedError."""
        raise NotImplementedError("benchmark.Timer.collect_callgrind: not in mashal (yet), see docs/supported.md.")


class _Threads:
    """So many threads for a block."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        self._before = _core.get_num_threads()
        _core.set_num_threads(self._number)

    def __exit__(self, *exc: object) -> None:
        _core.set_num_threads(self._before)
