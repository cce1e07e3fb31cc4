"""What was timed and how long it took."""

from __future__ import annotations

import dataclasses
import math
import statistics
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Any

_MAX_SIGNIFICANT_FIGURES = 4
_CLOCK = 25e-9  # seconds below which two times cannot be told apart
_IQR_WARN = 0.1
_UNITS = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time in seconds is between 1 and 1000, and its length in seconds."""
    for name, scale in reversed(_UNITS):
        if t >= scale:
            return name, scale
    return _UNITS[0]


def unit_to_english(u: str) -> str:
    """The unit's name."""
    return {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number with ``n`` significant digits."""
    if x == 0:
        return 0.0
    return round(x, n - 1 - math.floor(math.log10(abs(x))))


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What is timed."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The labels, or the statement if it is short."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The preparation, as text to show."""
        if self.setup == "pass" or not self.setup:
            return ""
        if "\n" in self.setup:
            return f"setup:\n{textwrap.indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """All of it, as text to show."""
        parts = [self.title, self.description or "", self.setup_str()]
        text = "\n".join(part for part in parts if part)
        return f"{text}\n" if "\n" in self.setup_str() else text


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """The times that a :class:`Timer` found. Times are seconds for one run."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__ or name in ("title", "setup_str"):
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'")

    @cached_property
    def times(self) -> list[float]:
        """The times, each the mean of a block of runs."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median."""
        self._need_times()
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean."""
        self._need_times()
        return statistics.fmean(self.times)

    def _quantile(self, q: float) -> float:
        ordered = sorted(self.times)
        place = q * (len(ordered) - 1)
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    @property
    def iqr(self) -> float:
        """The distance of the first and third quartile."""
        self._need_times()
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median can be trusted: those above its confidence interval, at most four."""
        self._need_times()
        n = len(self.times)
        middle = sorted(self.times)[n // 4 : math.ceil(3 * n / 4)] or self.times
        interval = max(1.645 * statistics.pstdev(middle) / math.sqrt(len(middle)), _CLOCK)
        digits = math.floor(math.log10(self.median / interval)) if self.median > 0 else 1
        return min(max(digits, 1), _MAX_SIGNIFICANT_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary so much that something disturbed them."""
        return len(self.times) > 1 and self.iqr / self.median > _IQR_WARN

    def meets_confidence(self, threshold: float = _IQR_WARN) -> bool:
        """Whether the spread is below a share of the median."""
        return self.iqr / self.median < threshold

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def _need_times(self) -> None:
        if not self.times:
            raise ValueError("Measurement: there are no times.")

    def __repr__(self) -> str:
        lines = [object.__repr__(self), self.task_spec.summarize()]
        unit, scale = select_unit(self.median)
        n = len(self.times)
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        if n == 1:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        else:
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            if n >= 4:
                quartiles = f"{self._quantile(0.25) / scale:.2f} to {self._quantile(0.75) / scale:.2f}"
                lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({quartiles})")
        per = "per measurement, " if n > 1 else ", "
        lines.append(f"  {n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs {per}{threads}")
        if self.has_warnings:
            lines.append(
                f"  WARNING: Interquartile range is {100 * self.iqr / self.median:.1f}% of the median measurement."
            )
            lines.append("           This suggests significant environmental influence.")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with all times; the number of runs is that of the first."""
        groups: defaultdict[TaskSpec, list[Measurement]] = defaultdict(list)
        for m in measurements:
            groups[m.task_spec].append(m)
        return [
            Measurement(
                group[0].number_per_run,
                [t * group[0].number_per_run for m in group for t in m.times],
                spec,
                group[0].metadata,
            )
            for spec, group in groups.items()
        ]
