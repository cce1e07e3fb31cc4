"""Tables of measurements."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any

from ._measurement import Measurement, select_unit, trim_sigfig, unit_to_english

# Fastest bold green, the slow yellow and red, in steps of the ratio to the fastest.
_COLORS = (
    (1.10, "\033[92m\033[1m"),
    (1.25, "\033[92m"),
    (2.0, ""),
    (10.0, "\033[93m"),
    (float("inf"), "\033[91m\033[1m"),
)
_END = "\033[0m"


class Colorize(enum.Enum):
    """Which times are compared by colour."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _unique(items: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(items))


class Compare:
    """Tables of measurements: one for each label, a row for each ``sub_label``, a column for each ``description``."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = False
        self._colorize = Colorize.NONE
        self._warn = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds measurements."""
        results = list(results)
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Shows only digits that can be trusted."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colours times by their ratio to the fastest of their column, or row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Marks times that vary much."""
        self._warn = True

    def print(self) -> None:
        """Prints the tables."""
        print(self)

    def __str__(self) -> str:
        results = Measurement.merge(self._results)
        labels = _unique(r.label for r in results)
        return "\n".join(self._table(label, [r for r in results if r.label == label]) for label in labels)

    def _table(self, label: str | None, results: list[Measurement]) -> str:
        columns = _unique(r.description for r in results)
        envs = _unique(r.env for r in results)
        rows = sorted(
            _unique((r.num_threads, r.env, r.as_row_name) for r in results),
            key=lambda row: (row[0], envs.index(row[1])),
        )
        cells: dict[tuple[Any, ...], Measurement] = {
            (r.num_threads, r.env, r.as_row_name, r.description): r for r in results
        }
        unit, scale = select_unit(min(r.median for r in results))
        digits = max(self._digits(r, scale) for r in results)
        names = [name if len(envs) == 1 else f"({env}) {name}" for _, env, name in rows]
        width = max(map(len, names)) + 6
        heads = [str(c or "") for c in columns]
        texts = {
            (row, column): self._text(cells.get((*row, column)), scale, digits) for row in rows for column in columns
        }
        widths = [
            max(len(head) + 2, *(len(texts[row, column]) for row in rows))
            for head, column in zip(heads, columns, strict=True)
        ]
        line = " " * (width + 2) + "".join(f"|  {head:^{w}}  " for head, w in zip(heads, widths, strict=True)).rstrip()
        total = max(len(line), width + 2 + sum(w + 5 for w in widths))
        title = f" {label or ''} " if label else ""
        out = [f"[{title:-^{total - 2}}]", line]
        threads = None
        for row, name in zip(rows, names, strict=True):
            if row[0] != threads:
                threads = row[0]
                out.append(f"{threads} threads: ".ljust(total, "-"))
            shown = [
                self._painted(texts[row, column].rjust(w), row, column, rows, columns, cells)
                for column, w in zip(columns, widths, strict=True)
            ]
            out.append(f"      {name}".ljust(width + 2) + "".join(f"|  {text}  " for text in shown).rstrip())
        out.extend(["", f"Times are in {unit_to_english(unit)}s ({unit})."])
        if self._warn and any(r.has_warnings for r in results):
            out.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join(out) + "\n"

    def _digits(self, result: Measurement, scale: float) -> int:
        """Digits after the point."""
        if not self._trim:
            return 1
        value = trim_sigfig(result.median / scale, result.significant_figures)
        whole = len(str(int(value))) if value >= 1 else 0
        return min(max(result.significant_figures - whole, 0), 1)

    def _text(self, result: Measurement | None, scale: float, digits: int) -> str:
        if result is None:
            return ""
        value = result.median / scale
        if self._trim:
            value = trim_sigfig(value, result.significant_figures)
        text = f"{value:.{digits}f}"
        if self._warn and result.has_warnings:
            text = f"(! {100 * result.iqr / result.median:.0f}%) {text}"
        return text

    def _painted(
        self,
        text: str,
        row: tuple[Any, ...],
        column: Any,
        rows: Sequence[tuple[Any, ...]],
        columns: Sequence[Any],
        cells: dict[tuple[Any, ...], Measurement],
    ) -> str:
        here = cells.get((*row, column))
        if here is None or self._colorize is Colorize.NONE:
            return text
        if self._colorize is Colorize.ROWWISE:
            others = [cells.get((*row, c)) for c in columns]
        else:
            others = [cells.get((*r, column)) for r in rows]
        best = min(o.median for o in others if o is not None)
        color = next(c for bound, c in _COLORS if here.median <= best * bound)
        return f"{color}{text}{_END}" if color else text
