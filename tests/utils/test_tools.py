"""benchmark, collect_env, cpp_extension, swap_tensors, make_tensor, helpers of _utils, __config__."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import mashal
from mashal.utils import benchmark


def spec(lib, **changes):
    return lib.TaskSpec(**{"stmt": "x + y", "setup": "pass", **changes})


@pytest.mark.parametrize(
    ("times", "changes"),
    [
        ([1e-3], {}),
        ([1e-3, 1.1e-3, 1.2e-3], {"setup": "a = 1\nb = 2", "num_threads": 2}),
        ([1e-3, 5e-3, 9e-3, 2e-3], {"label": "L", "sub_label": "S", "description": "D"}),
        ([2.0] * 5, {"setup": "a = 1"}),
        ([1e-8, 2e-8], {"stmt": "a\nb"}),
    ],
)
def test_measurement(times, changes):
    import torch.utils.benchmark as theirs

    got = benchmark.Measurement(10, times, spec(benchmark, **changes))
    want = theirs.Measurement(10, times, spec(theirs, **changes))
    for name in (
        "median",
        "mean",
        "iqr",
        "significant_figures",
        "has_warnings",
        "title",
        "as_row_name",
        "env",
        "times",
    ):
        assert getattr(got, name) == pytest.approx(getattr(want, name)), name
    assert got.meets_confidence() == want.meets_confidence()
    ours, others = repr(got).splitlines()[1:], repr(want).splitlines()[1:]
    assert [line for line in ours if line] == [line for line in others if line]
    merged = benchmark.Measurement.merge([got, got])
    assert len(merged) == 1
    assert len(merged[0].times) == 2 * len(times)


def test_timer():
    x = mashal.ones(3)
    calls = []
    t = benchmark.Timer("f(x)", "n = 1", globals={"x": x, "f": calls.append}, label="L", num_threads=1)
    m = t.timeit(10)
    assert m.number_per_run == 10
    assert len(calls) == 12
    assert m.median > 0
    blocks = []
    m = t.blocked_autorange(lambda n, s: blocks.append(n), min_run_time=0.01)
    assert len(set(blocks)) == 1
    assert len(m.times) == len(blocks)
    assert t.adaptive_autorange(0.9, min_run_time=0.001, max_run_time=0.02).times
    assert mashal.get_num_threads() >= 1
    benchmark.Timer("\n    if True:\n        pass\n").timeit(2)
    with pytest.raises(NotImplementedError):
        benchmark.Timer("1", language="c++")
    with pytest.raises(NotImplementedError):
        t.collect_callgrind()
    with pytest.raises(ValueError, match="str"):
        benchmark.Timer(abs)


def test_compare(capsys):
    cells = [(1e-5, "s1", "d1", 1), (2e-5, "s1", "d2", 1), (1e-3, "s2 long", "d1", 1), (1.23456e-4, "s2 long", "d2", 4)]
    results = [
        benchmark.Measurement(
            1, [t], spec(benchmark, label="L", sub_label=row, description=column, num_threads=threads)
        )
        for t, row, column, threads in cells
    ]
    table = benchmark.Compare(results)
    table.print()
    lines = [" ".join(line.replace("|", " | ").split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == [
        "| d1 | d2",
        "1 threads: " + lines[2].split()[-1],
        "s1 | 10.0 | 20.0",
        "s2 long | 1000.0 |",
        "4 threads: " + lines[5].split()[-1],
        "s2 long | | 123.5",
        "",
        "Times are in microseconds (us).",
        "",
    ]
    table.trim_significant_figures()
    table.colorize()
    table.highlight_warnings()
    assert "\033[92m\033[1m" in str(table)
    table.colorize(rowwise=True)
    table.extend_results([benchmark.Measurement(1, [1.0], spec(benchmark, label="M"))])
    assert str(table).count("Times are in") == 2
    with pytest.raises(ValueError, match="instance of `Measurement`"):
        benchmark.Compare([1])


def test_collect_env():
    out = subprocess.run(
        [sys.executable, "-m", "mashal.utils.collect_env"], capture_output=True, text=True, check=True
    ).stdout
    assert f"Torch version: {mashal.__version__}" in out
    assert "numpy==" in out
    from mashal.utils import collect_env

    assert collect_env.run("echo x") == (0, "x", "")
    assert collect_env.run(["no_such_command"])[0] == 127
    assert collect_env.run_and_parse_first_match(collect_env.run, ["echo", "a 12"], r"a (\d+)") == "12"
    assert "CPU capability usage" in mashal.__config__.show()
    assert "get_num_threads()" in mashal.__config__.parallel_info()


def test_cpp_extension():
    from mashal.utils import cpp_extension

    assert cpp_extension.CUDA_HOME is None
    for make in (
        cpp_extension.CppExtension,
        cpp_extension.CUDAExtension,
        cpp_extension.load,
        cpp_extension.load_inline,
    ):
        with pytest.raises(RuntimeError, match=r"cpp_extension\.\w+: extensions are written against PyTorch's C\+\+"):
            make("name", ["file.cpp"])
    assert cpp_extension.BuildExtension.with_options(no_python_abi_suffix=True) is cpp_extension.BuildExtension


def test_swap_tensors():
    class Special(mashal.Tensor):
        pass

    a = mashal.nn.Parameter(mashal.zeros(2))
    b = mashal.ones(3, dtype=mashal.float64)
    a.note = "a"
    a.grad = mashal.full((2,), 5.0)
    storage = a.data_ptr()
    mashal.utils.swap_tensors(a, b)
    assert (a.shape, a.dtype, a.requires_grad, a.grad) == ((3,), mashal.float64, False, None)
    assert (b.tolist(), b.requires_grad, b.grad.tolist(), b.note) == ([0, 0], True, [5, 5], "a")
    assert type(b) is mashal.nn.Parameter
    assert type(a) is mashal.Tensor
    assert b.data_ptr() == storage
    import weakref

    ref = weakref.ref(a)
    with pytest.raises(RuntimeError, match="no weak reference may name t1"):
        mashal.utils.swap_tensors(a, b)
    assert ref() is a
    with pytest.raises(RuntimeError, match="must be a leaf"):
        mashal.utils.swap_tensors(b * 2, mashal.ones(1))


@pytest.mark.parametrize(
    "name",
    ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool", "complex64"],
)
@pytest.mark.parametrize("options", [{}, {"low": -2, "high": 3}, {"low": 0, "high": 1, "exclude_zero": True}])
def test_make_tensor(name, options):
    if name in ("uint8", "bool") and options.get("low") == -2:
        options = {"low": 0, "high": 2}
    results = []
    for lib in (mashal, torch):
        lib.manual_seed(3)
        results.append(lib.testing.make_tensor((3, 4), dtype=getattr(lib, name), device="cpu", **options))
    ours, theirs = results
    assert ours.tolist() == theirs.tolist()


def test_make_tensor_forms():
    make = mashal.testing.make_tensor
    assert make(2, 3, dtype=mashal.float32, device="cpu").shape == (2, 3)
    assert not make((2, 3), dtype=mashal.float32, device="cpu", noncontiguous=True).is_contiguous()
    assert make(1, 2, 3, 4, dtype=mashal.float32, device="cpu", memory_format=mashal.channels_last).is_contiguous(
        memory_format=mashal.channels_last
    )
    assert make(2, dtype=mashal.float32, device="cpu", requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="requires_grad"):
        make(2, dtype=mashal.int64, device="cpu", requires_grad=True)
    with pytest.raises(ValueError, match="must be less than"):
        make(2, dtype=mashal.float32, device="cpu", low=3, high=1)
    with pytest.raises(ValueError, match="NaN"):
        make(2, dtype=mashal.float32, device="cpu", low=float("nan"))


def test_flattened_tensors():
    u = mashal._utils
    tensors = [mashal.ones(2, 3), mashal.arange(4.0)]
    flat = u._flatten_dense_tensors(tensors)
    back = u._unflatten_dense_tensors(flat, tensors)
    assert all(mashal.equal(a, b) for a, b in zip(back, tensors, strict=True))
    assert [len(group) for group in u._take_tensors([*tensors, mashal.ones(1, dtype=mashal.int8)], 30)] == [1, 1, 1]
    mixed = [mashal.ones(1), mashal.ones(1, dtype=mashal.int8), mashal.zeros(1)]
    assert u._reorder_tensors_as([mixed[0], mixed[2], mixed[1]], mixed) == tuple(mixed)
    assert u._get_device_index("cuda:1") == 1
    assert u._get_device_index(None, optional=True) == -1
    with pytest.raises(ValueError, match="non cpu device"):
        u._get_device_index("cpu")
    assert u._rebuild_tensor_v2 is not None
    assert u.ExceptionWrapper is not None
    with pytest.raises(AttributeError, match=r"'torch\._utils' has no attribute 'no_such'"):
        _ = u.no_such


def test_backend_names():
    with pytest.raises(RuntimeError, match="it is taken"):
        mashal.utils.rename_privateuse1_backend("cuda")
    with pytest.raises(RuntimeError, match="no device extensions"):
        mashal.utils.generate_methods_for_privateuse1_backend()
    from mashal.utils import deterministic

    assert deterministic.fill_uninitialized_memory is True
    deterministic.fill_uninitialized_memory = False
    assert deterministic.fill_uninitialized_memory is False
    deterministic.fill_uninitialized_memory = True
