"""Profiles: what is recorded, tables laid out as PyTorch's, schedules, traces."""

from __future__ import annotations

import gzip
import json
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import mashal

BOTH = pytest.mark.parametrize("lib", [mashal, torch], ids=["mashal", "torch"])


def _step(lib: Any) -> None:
    x, w = lib.ones(4, 8), lib.ones(3, 8, requires_grad=True)
    with lib.profiler.record_function("forward pass"):
        y = lib.relu(lib.nn.functional.linear(x, w)).sum()
    y.backward()


def _profile(lib: Any, **options: Any) -> Any:
    with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], **options) as prof:
        _step(lib)
    return prof


@BOTH
def test_what_is_recorded(lib: Any) -> None:
    prof = _profile(lib, record_shapes=True)
    by_name = {e.name: e for e in prof.events()}
    linear, relu = by_name["aten::linear"], by_name["aten::relu"]
    assert linear.input_shapes[:2] == [[4, 8], [3, 8]]
    assert linear.cpu_parent is by_name["forward pass"]
    assert linear.cpu_parent.is_user_annotation
    assert 0 < linear.cpu_time_total <= by_name["forward pass"].cpu_time_total
    node = by_name["autograd::engine::evaluate_function: ReluBackward0"]
    assert node.sequence_nr == relu.sequence_nr >= 0
    assert node.cpu_children[0].name == "ReluBackward0"
    assert relu.time_range.start < node.time_range.start
    assert relu.thread == node.thread
    names = [a.key for a in prof.key_averages()]
    assert len(names) == len(set(names))


def test_nothing_is_recorded_outside() -> None:
    mashal.ones(1)
    prof = _profile(mashal)
    mashal.ones(1)
    assert not mashal._core.profiler_on()
    assert prof.events()[0].name == "aten::ones"
    assert sum(e.name == "aten::ones" for e in prof.events()) == 2


def test_self_times_add_up() -> None:
    prof = _profile(mashal)
    tops = sum(e.cpu_time_total for e in prof.events() if e.cpu_parent is None)
    assert prof.key_averages().self_cpu_time_total == pytest.approx(tops)
    total = prof.key_averages().total_average()
    assert (total.key, total.count) == ("Total", len(prof.events()))


@BOTH
def test_memory(lib: Any) -> None:
    with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], profile_memory=True) as prof:
        kept = lib.ones(1000, 1000)
    assert kept.numel() == 10**6
    event = next(e for e in prof.events() if e.name == "aten::ones")
    assert 4_000_000 <= event.cpu_memory_usage < 4_300_000


@BOTH
@pytest.mark.parametrize(
    "options", [{}, {"record_shapes": True}, {"profile_memory": True}, {"with_flops": True}], ids=str
)
def test_the_table_has_pytorchs_layout(lib: Any, options: dict[str, bool]) -> None:
    shapes = bool(options.get("record_shapes"))
    averages = _profile(lib, **options).key_averages(group_by_input_shape=shapes)
    table = averages.table(sort_by="cpu_time_total", row_limit=3)
    lines = table.split("\n")
    assert lines[0] == lines[2] == lines[6]
    assert set(lines[0]) == {"-", " "}
    headings = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
    headings += ["CPU Mem", "Self CPU Mem"] if options.get("profile_memory") else []
    headings += ["# of Calls"]
    headings += ["Input Shapes"] if shapes else []
    headings += ["Total FLOPs"] if options.get("with_flops") else []
    widths = [len(dashes) for dashes in lines[0].split()]
    assert widths[1:6] == [12] * 5
    starts = [sum(widths[:i]) + 2 * i for i in range(len(widths))]
    assert [lines[1][at : at + width].strip() for at, width in zip(starts, widths, strict=True)] == headings
    assert lines[7].startswith("Self CPU time total: ")
    assert lines[7].endswith("us") or lines[7].endswith("ms")


def test_options_of_the_table() -> None:
    averages = _profile(mashal, with_stack=True).key_averages(group_by_stack_n=2)
    table = averages.table(sort_by="count", header="my header", time_unit="ms", top_level_events_only=True)
    assert "my header" in table
    assert "This report only display top-level ops statistics" in table
    assert "Source Location" in table
    assert "test_profiler.py" in table
    assert "us" not in table.split("Self CPU time total")[1]
    assert len(averages.table(row_limit=2).split("aten::")) <= 3
    totals = [a.cpu_time_total for a in averages]
    rows = averages.table(sort_by="cpu_time_total").split("\n")[3:]
    assert rows[0].split()[0] == max(zip(totals, [a.key for a in averages], strict=True))[1].split()[0]


@BOTH
def test_schedules(lib: Any) -> None:
    plan = lib.profiler.schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    assert "".join(str(plan(i).value) for i in range(12)) == "001230123000"
    plan = lib.profiler.schedule(skip_first=2, wait=3, warmup=1, active=1, skip_first_wait=1)
    assert "".join(str(plan(i).value) for i in range(10)) == "0013000130"
    for bad in ({"wait": -1, "warmup": 1, "active": 1}, {"wait": 1, "warmup": 1, "active": 0}):
        with pytest.raises(AssertionError, match="Invalid profiler schedule"):
            lib.profiler.schedule(**bad)
    with pytest.warns(UserWarning, match="warmup"):
        lib.profiler.schedule(wait=0, warmup=0, active=1)
    with pytest.raises(AssertionError):
        plan(-1)


def test_steps_follow_the_schedule() -> None:
    ready: list[Any] = []

    def note(prof: Any) -> None:
        counts = {a.key: a.count for a in prof.key_averages()}
        ready.append((prof.step_num, counts["ProfilerStep*"], counts["aten::relu"]))

    with mashal.profiler.profile(
        activities=[mashal.profiler.ProfilerActivity.CPU],
        schedule=mashal.profiler.schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=note,
    ) as prof:
        for _ in range(9):
            _step(mashal)
            prof.step()
    assert ready == [(4, 2, 2), (8, 2, 2)]


def test_a_chrome_trace_has_the_required_fields(tmp_path: Path) -> None:
    prof = _profile(mashal, record_shapes=True, with_stack=True, profile_memory=True)
    prof.add_metadata("who", "me")
    prof.add_metadata_json("numbers", "[1, 2]")
    plain, zipped = tmp_path / "trace.json", tmp_path / "trace.json.gz"
    prof.export_chrome_trace(str(plain))
    prof.export_chrome_trace(str(zipped))
    trace = json.loads(plain.read_text())
    assert json.loads(gzip.decompress(zipped.read_bytes()))["schemaVersion"] == 1
    assert (trace["who"], trace["numbers"], trace["displayTimeUnit"]) == ("me", [1, 2], "ms")
    events = trace["traceEvents"]
    required = {"M": {"name", "pid", "args"}, "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"}}
    required["s"] = required["f"] = {"name", "cat", "id", "pid", "tid", "ts"}
    for e in events:
        assert required[e["ph"]] <= e.keys()
        assert isinstance(e["pid"], int)
        if e["ph"] == "X":
            assert e["dur"] >= 0
            assert e["ts"] >= 0
    linear = next(e for e in events if e["name"] == "aten::linear")
    assert linear["args"]["Input Dims"][:2] == [[4, 8], [3, 8]]
    assert linear["cat"] == "cpu_op"
    assert next(e for e in events if e["name"] == "forward pass")["cat"] == "user_annotation"
    starts, ends = ([e["id"] for e in events if e["ph"] == phase] for phase in "sf")
    assert starts
    assert starts == ends


def test_the_same_kinds_of_events_as_pytorchs_trace(tmp_path: Path) -> None:
    kinds = []
    for lib in (mashal, torch):
        path = tmp_path / f"{lib.__name__}.json"
        _profile(lib, record_shapes=True).export_chrome_trace(str(path))
        trace = json.loads(path.read_text())
        step = [e for e in trace["traceEvents"] if e.get("name") in ("aten::linear", "aten::relu", "forward pass")]
        step.sort(key=lambda e: e["ts"])
        kinds.append(([(e["ph"], e["cat"], e["name"]) for e in step], trace["schemaVersion"]))
    assert kinds[0] == kinds[1]


def test_stacks(tmp_path: Path) -> None:
    prof = _profile(mashal, with_stack=True)
    linear = next(e for e in prof.events() if e.name == "aten::linear")
    assert any("test_profiler.py" in line and "_step" in line for line in linear.stack)
    backward = next(e for e in prof.events() if e.name == "ReluBackward0")
    assert backward.stack == next(e for e in prof.events() if e.name == "aten::relu").stack
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path))
    for line in path.read_text().splitlines():
        frames, weight = line.rsplit(" ", 1)
        assert ";" in frames
        assert int(weight) > 0
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(path), "nonsense")
    with pytest.raises(AssertionError, match="with_stack"):
        _profile(mashal).export_stacks(str(path))


def test_tensorboard_handler(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "log"
    handler = mashal.profiler.tensorboard_trace_handler(str(folder), "w", use_gzip=True)
    with mashal.profiler.profile(on_trace_ready=handler):
        _step(mashal)
    (file,) = folder.iterdir()
    assert file.name.startswith("w.")
    assert file.name.endswith(".pt.trace.json.gz")


@BOTH
def test_the_older_profiler(lib: Any) -> None:
    with lib.autograd.profiler.profile() as prof:
        _step(lib)
    assert "aten::relu" in prof.table()
    assert prof.total_average().count == len(prof.function_events)
    with lib.autograd.profiler.profile(enabled=False) as nothing:
        _step(lib)
    assert nothing is None
    entered = lib.autograd.profiler.profile()
    with entered, pytest.raises(RuntimeError, match="not reentrant"):
        entered.__enter__()


@BOTH
def test_record_function_decorates(lib: Any) -> None:
    @lib.profiler.record_function("named")
    def work(x: Any) -> Any:
        return x + 1

    with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU]) as prof:
        work(lib.ones(1))
        work(lib.ones(1))
    assert {a.key: a.count for a in prof.key_averages()}["named"] == 2


@BOTH
def test_nvtx_and_itt_are_missing(lib: Any) -> None:
    with pytest.raises(AssertionError, match="CUDA"), lib.autograd.profiler.emit_nvtx():
        pass
    with lib.autograd.profiler.emit_nvtx(enabled=False):
        pass
    seen = lib.autograd.profiler.EnforceUnique()
    seen.see("a", 1)
    with pytest.raises(RuntimeError, match="duplicate"):
        seen.see("a", 1)


def test_an_error_leaves_a_usable_profile() -> None:
    with pytest.raises(RuntimeError), mashal.profiler.profile() as prof:
        mashal.ones(2) + mashal.ones(3)
    assert [e.name for e in prof.events()] == ["aten::ones", "aten::ones", "aten::add"]
    with mashal.profiler.profile():
        pass


def test_two_at_once_are_refused_and_threads_are_apart() -> None:
    with mashal.profiler.profile() as prof:
        with pytest.raises(RuntimeError, match="already enabled"):
            mashal.profiler.profile().start()
        thread = threading.Thread(target=lambda: mashal.ones(1).exp())
        thread.start()
        thread.join()
    assert not list(prof.events())


def test_custom_functions_and_hooks_are_seen() -> None:
    class Double(mashal.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = mashal.ones(1, requires_grad=True)
    with mashal.profiler.profile() as prof:
        Double.apply(x).backward()
    names = [e.name for e in prof.events()]
    assert "DoubleBackward" in names
    assert "torch::autograd::AccumulateGrad" in names


def test_execution_trace(tmp_path: Path) -> None:
    path = tmp_path / "et.json"
    observer = mashal.profiler.ExecutionTraceObserver().register_callback(str(path))
    with mashal.profiler.profile(record_shapes=True, execution_trace_observer=observer):
        _step(mashal)
    nodes = json.loads(path.read_text())["nodes"]
    assert "aten::linear" in [n["name"] for n in nodes]


@BOTH
def test_activities(lib: Any) -> None:
    assert lib.profiler.ProfilerActivity.CPU in lib.profiler.supported_activities()
    assert lib.profiler.kineto_available()
    with pytest.raises(AssertionError, match="No valid profiler activities"):
        lib.profiler.profile(activities=[])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with lib.autograd.profiler.profile(use_cuda=True):
            pass


@BOTH
def test_loading_and_optimizing_are_named(lib: Any) -> None:
    model = lib.nn.Linear(2, 2)
    optimizer = lib.optim.AdamW(model.parameters())
    loader = lib.utils.data.DataLoader(lib.utils.data.TensorDataset(lib.ones(4, 2)), batch_size=2)
    with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU]) as prof:
        for (x,) in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    counts = {a.key: a.count for a in prof.key_averages() if a.is_user_annotation}
    assert counts == {
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": 3,
        "Optimizer.zero_grad#AdamW.zero_grad": 2,
        "Optimizer.step#AdamW.step": 2,
    }
