"""Pooling, interpolation, padding, sliding blocks and grid sampling against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mashal

from .compare import array, assert_close, check, check_raises

F = "nn.functional"


def call(name, *args, **kwargs):
    """A function that calls ``torch.nn.functional``'s or our function of that name."""
    from mashal.nn import functional as ours

    def fn(lib, *tensors):
        module = torch.nn.functional if lib is torch else ours
        return getattr(module, name)(*tensors, *args, **kwargs)

    return fn


SHAPES = {1: (2, 3, 11), 2: (2, 3, 11, 9), 3: (2, 2, 7, 6, 8)}
MAX_CASES = [
    (1, (3,), {}),
    (1, (3, 2, 1), {"ceil_mode": True}),
    (2, (2,), {}),
    (2, (3, 2, 1), {}),
    (2, ((3, 2), (2, 1), (1, 1)), {"ceil_mode": True}),
    (2, (3, 1, 1, 2), {}),
    (2, (2, 3), {"ceil_mode": True}),
    (3, (2,), {}),
    (3, (3, (2, 1, 2), 1), {"ceil_mode": True}),
]


@pytest.mark.parametrize("case", MAX_CASES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_max_pool(case, dtype):
    n, args, kwargs = case
    fn = call(f"max_pool{n}d", *args, **kwargs, return_indices=True)
    check(fn, array(*SHAPES[n]), dtype=dtype)
    check(fn, array(*SHAPES[n][1:]), dtype=dtype, grad=1)


@pytest.mark.parametrize("case", [c for c in MAX_CASES if c[0] == 2], ids=str)
def test_max_pool_channels_last(case):
    _, args, kwargs = case
    fn = call("max_pool2d", *args, **kwargs, return_indices=True)
    check(lambda lib, x: fn(lib, x.contiguous(memory_format=lib.channels_last)), array(*SHAPES[2]))


def test_max_pool_special_values():
    x = np.full((1, 1, 4, 4), -np.inf)
    x[0, 0, 0, 1] = np.nan
    x[0, 0, 3, 2] = 1.0
    check(call("max_pool2d", 2, return_indices=True), x, grad=0)
    check(call("max_pool2d", 2, return_indices=True), np.zeros((1, 1, 4, 4)), grad=1)
    check(call("max_pool2d", 2, return_indices=True), array(1, 1, 6, 6, dtype="int64"), grad=0)


AVG_CASES = [
    (1, (3,), {}),
    (1, (3, 2, 1), {"ceil_mode": True, "count_include_pad": False}),
    (2, (2,), {}),
    (2, (3, 2, 1), {}),
    (2, ((3, 2), (2, 1), (1, 1)), {"ceil_mode": True}),
    (2, (3, 2, 1), {"count_include_pad": False, "ceil_mode": True}),
    (2, (3, 2, 1), {"divisor_override": 5}),
    (3, (2,), {}),
    (3, (3, (2, 1, 2), 1), {"ceil_mode": True, "count_include_pad": False}),
]


@pytest.mark.parametrize("case", AVG_CASES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_avg_pool(case, dtype):
    n, args, kwargs = case
    if n == 3 and dtype == "bfloat16":
        pytest.skip("not in torch")
    check(call(f"avg_pool{n}d", *args, **kwargs), array(*SHAPES[n]), dtype=dtype)
    if n == 2:
        fn = call("avg_pool2d", *args, **kwargs)
        check(lambda lib, x: fn(lib, x.contiguous(memory_format=lib.channels_last)), array(*SHAPES[2]), dtype=dtype)


@pytest.mark.parametrize(
    ("n", "size"), [(1, 4), (1, 1), (2, 1), (2, (5, 3)), (2, (11, 9)), (2, (13, 20)), (3, (2, 3, 5))]
)
def test_adaptive(n, size):
    check(call(f"adaptive_avg_pool{n}d", size), array(*SHAPES[n]))
    check(call(f"adaptive_max_pool{n}d", size, return_indices=True), array(*SHAPES[n]))
    check(call(f"adaptive_avg_pool{n}d", size), array(*SHAPES[n][1:]), dtype="float32")


def test_max_unpool():
    def fn(lib, x):
        module = torch.nn.functional if lib is torch else __import__("mashal.nn.functional", fromlist=["x"])
        y, i = module.max_pool2d(x, 2, 2, return_indices=True)
        return module.max_unpool2d(y, i, 2, 2)

    check(fn, array(2, 3, 8, 6))
    indices = mashal.tensor(np.array([[[0, 5], [2, 7]]]))
    ours = mashal._ops.max_unpool2d(mashal.ones(1, 2, 2, dtype=mashal.float64), indices, (4, 2))
    theirs = torch._C._nn.max_unpool2d(torch.ones(1, 2, 2, dtype=torch.float64), torch.tensor(indices.numpy()), (4, 2))
    assert_close(ours, theirs, "float64")
    with pytest.raises(RuntimeError, match="invalid max index"):
        mashal._ops.max_unpool2d(mashal.ones(1, 2, 2), indices, (2, 2))


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_max_pool(n):
    shape = (2, 3, 9, 11, 10)[: n + 2]
    samples = np.random.default_rng(0).random((2, 3, n))
    size = (4, 5, 3)[:n]
    kernel = (2, 3, 2)[:n]
    name = f"fractional_max_pool{n}d"

    def fn(lib, x):
        s = lib.tensor(samples).to(x.dtype)
        op = getattr(torch._C._nn if lib is torch else mashal._ops, name)
        return op(x, kernel, size, s)

    check(fn, array(*shape))


INTERPOLATE = [
    ((2, 3, 7), {"size": 12, "mode": "linear"}),
    ((2, 3, 7), {"size": 3, "mode": "nearest"}),
    ((2, 3, 7), {"scale_factor": 1.7, "mode": "linear", "align_corners": True}),
    ((2, 3, 6, 7), {"size": (9, 13), "mode": "bilinear"}),
    ((2, 3, 6, 7), {"size": (4, 3), "mode": "bilinear", "align_corners": True}),
    ((2, 3, 6, 7), {"scale_factor": 2, "mode": "nearest"}),
    ((2, 3, 6, 7), {"scale_factor": (2.5, 0.6), "mode": "nearest"}),
    ((2, 3, 6, 7), {"scale_factor": (2.5, 0.6), "mode": "nearest-exact"}),
    ((2, 3, 6, 7), {"scale_factor": (1.3, 0.6), "mode": "bilinear", "recompute_scale_factor": True}),
    ((2, 3, 6, 7), {"size": (9, 13), "mode": "bicubic"}),
    ((2, 3, 6, 7), {"size": (9, 5), "mode": "bicubic", "align_corners": True}),
    ((2, 3, 6, 7), {"size": (6, 7), "mode": "bilinear"}),
    ((2, 3, 16, 17), {"size": (5, 23), "mode": "bilinear", "antialias": True}),
    ((2, 3, 16, 17), {"size": (5, 23), "mode": "bicubic", "antialias": True}),
    ((2, 3, 16, 17), {"scale_factor": 0.4, "mode": "bicubic", "antialias": True}),
    ((2, 3, 6, 7), {"size": (4, 3), "mode": "area"}),
    ((1, 2, 3, 4, 5), {"size": (5, 3, 8), "mode": "trilinear"}),
    ((1, 2, 3, 4, 5), {"scale_factor": 2.0, "mode": "nearest"}),
    ((1, 2, 3, 4, 5), {"scale_factor": 1.6, "mode": "trilinear", "align_corners": True}),
]


@pytest.mark.parametrize("case", INTERPOLATE, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_interpolate(case, dtype):
    shape, kwargs = case
    if kwargs.get("antialias") and dtype == "bfloat16":
        pytest.skip("not in torch")
    fn = call("interpolate", **kwargs)
    check(fn, array(*shape), dtype=dtype)
    if len(shape) == 4:
        check(lambda lib, x: fn(lib, x.contiguous(memory_format=lib.channels_last)), array(*shape), dtype=dtype, grad=1)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_interpolate_bytes(mode):
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 8, 8)).astype("uint8")
    ours = call("interpolate", size=(13, 5), mode=mode)(mashal, mashal.tensor(x)).numpy().astype(int)
    theirs = call("interpolate", size=(13, 5), mode=mode)(torch, torch.tensor(x)).numpy().astype(int)
    # torch rounds weights to 16 bits.
    assert np.abs(ours - theirs).max() <= (0 if mode == "nearest" else 1)


PADS = [
    ((2, 3, 5), (2, 1)),
    ((2, 3, 5, 6), (2, 1, 0, 3)),
    ((2, 3, 5, 6), (-1, 2, 1, -2)),
    ((3, 5, 6), (1, 1, 2, 2)),
    ((1, 2, 4, 5, 6), (1, 2, 3, 0, 1, 1)),
]


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize(("shape", "pad"), PADS)
def test_pad(mode, shape, pad):
    check(call("pad", pad, mode), array(*shape))
    op = (lambda lib, x: mashal._ops.pad(x, pad, mode)) if mode != "constant" else call("pad", pad, mode, 2.5)
    check(
        lambda lib, x: (
            call("pad", pad, mode, *([2.5] if mode == "constant" else []))(lib, x) if lib is torch else op(lib, x)
        ),
        array(*shape),
    )
    check(
        lambda lib, x: call("pad", pad, mode)(lib, x) if lib is torch else mashal._ops.pad(x, pad, mode),
        array(*shape),
        dtype="bfloat16",
    )


@pytest.mark.parametrize(
    ("name", "shape", "args"),
    [
        ("max_pool2d", (3, 3), (2,)),
        ("max_pool2d", (1, 1, 4, 4), (2, 2, 2)),
        ("max_pool2d", (1, 1, 1, 1), (3,)),
        ("avg_pool2d", (1, 1, 4, 4), (2, 2, 2)),
        ("pad", (1, 1, 3), ((3, 0), "reflect")),
        ("pad", (1, 1, 3), ((4, 0), "circular")),
    ],
)
def test_errors(name, shape, args):
    check_raises(RuntimeError, call(name, *args), array(*shape))


@pytest.mark.parametrize("args", [(3,), (2, 1, 1, 2), ((2, 3), (1, 2), (1, 0), (2, 1))])
def test_unfold_fold(args):
    check(call("unfold", *args), array(2, 3, 7, 8))
    check(call("unfold", *args), array(2, 3, 7, 8), dtype="float32", grad=1)

    def back(lib, x):
        return call("fold", (7, 8), *args)(lib, call("unfold", *args)(lib, x))

    check(back, array(2, 3, 7, 8))
    check(back, array(2, 3, 7, 8), dtype="bfloat16", grad=1)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_grid_sample(mode, padding, align):
    fn = call("grid_sample", mode, padding, align)
    x = array(2, 3, 5, 6)
    grid = array(2, 4, 7, 2) * 1.3
    check(fn, x, grid, grad=1)
    check(fn, x, grid, dtype="float32", grad=1, tolerance=2e-4)
    if mode != "bicubic":
        check(fn, array(1, 2, 4, 5, 6), array(1, 2, 3, 4, 3) * 1.3, grad=1)


def test_affine_grid():
    check(call("affine_grid", (2, 3, 4, 5), False), array(2, 2, 3))
    check(call("affine_grid", (2, 3, 4, 5), True), array(2, 2, 3))
    check(call("affine_grid", (1, 3, 2, 4, 5), False), array(1, 3, 4))


def test_shuffles():
    check(call("pixel_shuffle", 2), array(2, 8, 3, 4))
    check(call("pixel_unshuffle", 2), array(2, 2, 6, 4))
    check(call("channel_shuffle", 2), array(2, 6, 3), grad=0)
