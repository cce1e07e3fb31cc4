"""The table of a profile, laid out as PyTorch's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_WIDTH = 12
_GAP = "  "
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def format_time(us: float, unit: str | None = None) -> str:
    """Microseconds as text, in the given or in a readable unit."""
    if unit not in _UNITS:
        unit = "s" if us >= 1e6 else "ms" if us >= 1e3 else "us"
    return f"{us / _UNITS[unit]:.3f}{unit}"


def format_share(us: float, total: float) -> str:
    """A part as per cent."""
    return f"{us * 100.0 / total:.2f}%" if total else "NaN"


def format_memory(nbytes: int) -> str:
    """Bytes as text."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


def _scale_flops(smallest: int) -> tuple[float, str]:
    prefix, scale = "", 1.0
    for following in "KMGTP":
        if smallest < 1000 / scale:
            break
        prefix, scale = following, scale / 1000
    return scale, f"{prefix}FLOPs"


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) < width - 3 else text[: width - 3] + "..."


def _cut_front(text: str, width: int) -> str:
    return text if len(text) <= width else ("..." + text[len(text) - width + 3 :] if width > 3 else text[-width:])


def _attribute(sort_by: str) -> str:
    for device in ("cuda", "xpu", "privateuse1"):
        sort_by = sort_by.replace(device, "device")
    return sort_by


def _longest(texts: Sequence[str], limit: int | None) -> int:
    width = max(map(len, texts)) + 4
    return width if limit is None else min(width, limit)


def build_table(
    events: Sequence[Any],
    *,
    sort_by: str | None,
    row_limit: int,
    max_src_column_width: int | None,
    max_name_column_width: int | None,
    max_shapes_column_width: int | None,
    header: str | None,
    profile_memory: bool,
    with_flops: bool,
    top_level_events_only: bool,
    time_unit: str | None,
) -> str:
    """The table of events or of averages; empty text for none."""
    if not events:
        return ""
    if sort_by is not None:
        attribute = _attribute(sort_by)
        events = sorted(events, key=lambda e: getattr(e, attribute), reverse=True)
    # (heading, width, text of an event)
    columns: list[tuple[str, int, Any]] = []
    total = sum(e.self_cpu_time_total for e in events)

    def time(attribute: str) -> Any:
        return lambda e: format_time(getattr(e, attribute), time_unit)

    name_width = _longest([e.key for e in events], max_name_column_width)
    columns += [
        ("Name", name_width, lambda e: _cut(e.key, max_name_column_width)),
        ("Self CPU %", _WIDTH, lambda e: format_share(e.self_cpu_time_total, total)),
        ("Self CPU", _WIDTH, time("self_cpu_time_total")),
        ("CPU total %", _WIDTH, lambda e: format_share(e.cpu_time_total, total)),
        ("CPU total", _WIDTH, time("cpu_time_total")),
        ("CPU time avg", _WIDTH, time("cpu_time")),
    ]
    if profile_memory:
        columns += [
            ("CPU Mem", _WIDTH, lambda e: format_memory(e.cpu_memory_usage)),
            ("Self CPU Mem", _WIDTH, lambda e: format_memory(e.self_cpu_memory_usage)),
        ]
    columns.append(("# of Calls", _WIDTH, lambda e: str(e.count)))
    if any(e.input_shapes for e in events):
        width = _longest([str(e.input_shapes) for e in events], max_shapes_column_width)
        columns.append(("Input Shapes", width, lambda e: str(e.input_shapes)[:width]))
    flops = [e.flops for e in events if e.flops > 0] if with_flops else []
    stacks = [line for e in events for line in e.stack]
    if stacks:
        source_width = _longest(stacks, max_src_column_width)
        columns.append(
            ("Source Location", source_width, lambda e: _cut_front(e.stack[0], source_width) if e.stack else "")
        )
    if flops:
        scale, name = _scale_flops(min(flops))
        columns.append((f"Total {name}", _WIDTH, lambda e: f"{e.flops * scale:8.3f}" if e.flops > 0 else "--"))

    def row(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if heading == "Source Location" else cell.rjust(width)
            for cell, (heading, width, _) in zip(cells, columns, strict=True)
        )
        return "".join(text + _GAP for text in padded)

    line_length = sum(width + len(_GAP) for _, width, _ in columns) - len(_GAP)
    rule = "".join("-" * width + _GAP for _, width, _ in columns)
    lines = []
    if header is not None:
        lines += ["=" * line_length, header]
    if top_level_events_only:
        lines += ["=" * line_length, "This report only display top-level ops statistics"]
    lines += [rule, row([heading for heading, _, _ in columns]), rule]
    source = next((i for i, column in enumerate(columns) if column[0] == "Source Location"), -1)
    shown = 0
    for e in events:
        if shown == row_limit:
            break
        if top_level_events_only and e.cpu_parent is not None:
            continue
        shown += 1
        lines.append(row([text(e) for _, _, text in columns]))
        if source >= 0:  # further callers below the first, and an empty line
            for entry in (*e.stack[1:], ""):
                cells = [""] * len(columns)
                cells[source] = _cut_front(entry, columns[source][1])
                lines.append(row(cells))
    lines += [rule, f"Self CPU time total: {format_time(total, time_unit)}"]
    return "\n".join(lines) + "\n"
