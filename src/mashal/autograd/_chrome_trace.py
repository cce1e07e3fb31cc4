"""Traces in Chrome's JSON format, with the fields that PyTorch's tools look for."""

from __future__ import annotations

import gzip
import json
import os
import socket
import uuid
from typing import Any

_CATEGORY = {0: "cpu_op", 1: "cpu_op", 7: "user_annotation"}


def _arguments(event: Any) -> dict[str, Any]:
    args: dict[str, Any] = {"External id": event.id, "Record function id": 0, "Ev Idx": event.id}
    if event.sequence_nr >= 0:
        args["Sequence number"] = event.sequence_nr
        args["Fwd thread id"] = 0 if event.fwd_thread is None else event.fwd_thread
    if event.input_shapes:
        args["Input Dims"] = event.input_shapes
        args["Input type"] = event.input_dtypes
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    if event.cpu_memory_usage:
        args["Bytes"] = event.cpu_memory_usage
    return args


def _flows(events: Any, pid: int, base_us: float) -> list[dict[str, Any]]:
    """Arrows from forward ops to their backward nodes."""
    forward = {e.sequence_nr: e for e in events if e.sequence_nr >= 0 and e.scope == 0}
    arrows = []
    for e in events:
        start = forward.get(e.sequence_nr)
        if e.fwd_thread is None or start is None or not e.name.startswith("autograd::engine"):
            continue
        common = {"pid": pid, "cat": "fwdbwd", "name": "fwdbwd", "id": e.sequence_nr}
        arrows.append({"ph": "s", "tid": start.thread, "ts": base_us + start.time_range.start, **common})
        arrows.append({"ph": "f", "tid": e.thread, "ts": base_us + e.time_range.start, "bp": "e", **common})
    return arrows


def write_trace(path: str, events: Any, base_ns: int, flags: dict[str, int], metadata: dict[str, Any]) -> None:
    """Writes events, whose times count from ``base_ns``, as one process of a trace."""
    pid = os.getpid()
    seconds = base_ns // 1_000_000_000
    base_us = (base_ns - seconds * 1_000_000_000) / 1000
    rows: list[dict[str, Any]] = []

    def describe(what: str, tid: int, **args: Any) -> None:
        rows.append({"ph": "M", "name": what, "ts": base_us, "pid": pid, "tid": tid, "args": args})

    describe("process_name", 0, name="python")
    describe("process_labels", 0, labels="CPU")
    describe("process_sort_index", 0, sort_index=pid)
    for tid in sorted({e.thread for e in events}):
        describe("thread_name", tid, name=f"thread {tid} (python)")
        describe("thread_sort_index", tid, sort_index=tid)
    rows.extend(
        {
            "ph": "X",
            "cat": _CATEGORY[e.scope],
            "name": e.trace_name,
            "pid": pid,
            "tid": e.thread,
            "ts": base_us + e.time_range.start,
            "dur": e.time_range.elapsed_us(),
            "args": _arguments(e),
        }
        for e in events
    )
    rows.extend(_flows(events, pid, base_us))
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [],
        **flags,
        "trace_id": uuid.uuid4().hex.upper(),
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        # Times in the trace are microseconds after this.
        "baseTimeNanoseconds": seconds * 1_000_000_000,
        **metadata,
        "traceEvents": rows,
        "traceName": path,
    }
    opener: Any = gzip.open if path.endswith(".gz") else open
    with opener(path, "wt", encoding="utf-8") as f:
        json.dump(trace, f)
