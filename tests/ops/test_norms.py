"""Normalisations, forward, backward and twice backward."""

import numpy as np
import pytest
import torch

import mashal
from tests.ops.compare import array, assert_close, check, check_raises


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "k"), [((4, 6), 1), ((3, 4, 5), 2), ((6,), 1), ((70, 300), 1), ((3, 2000), 1), ((0, 4), 1)]
)
def test_layer_norm(shape, k, dtype):
    x = array(*shape) * 2 + 1
    w, b = array(*shape[-k:], seed=3), array(*shape[-k:], seed=4)
    order = 2 if x.size < 100 and dtype == "float64" else 1
    tolerance = {"float16": 1e-2, "bfloat16": 6e-2}.get(dtype)

    def run(lib, x, *rest):
        return lib.layer_norm(x, shape[-k:], *rest)

    check(run, x, dtype=dtype, grad=order, tolerance=tolerance)
    check(run, x, w, dtype=dtype, grad=order, tolerance=tolerance)
    check(run, x, w, b, dtype=dtype, grad=order, tolerance=tolerance)
    if dtype == "float64":
        check(lambda lib, x: lib.native_layer_norm(x, shape[-k:], None, None, 1e-5), x, grad=0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("shape", "k"), [((4, 6), 1), ((3, 4, 5), 2), ((70, 300), 1)])
def test_rms_norm(shape, k, dtype):
    x, w = array(*shape), array(*shape[-k:], seed=3)
    order = 2 if x.size < 100 and dtype == "float64" else 1
    check(lambda lib, x: lib.rms_norm(x, shape[-k:]), x, dtype=dtype, grad=order)
    check(lambda lib, x, w: lib.rms_norm(x, shape[-k:], w, 1e-3), x, w, dtype=dtype, grad=order)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("shape", "groups"), [((2, 6), 3), ((2, 6, 5), 2), ((3, 4, 5, 6), 4), ((2, 8, 20, 20), 1)])
def test_group_norm(shape, groups, dtype):
    x, w, b = array(*shape) + 0.5, array(shape[1], seed=3), array(shape[1], seed=4)
    order = 2 if x.size < 100 and dtype == "float64" else 1
    check(lambda lib, x: lib.group_norm(x, groups), x, dtype=dtype, grad=order)
    check(lambda lib, x, w, b: lib.group_norm(x, groups, w, b), x, w, b, dtype=dtype, grad=order)


@pytest.mark.parametrize("layout", ["first", "last", "strided"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (4, 3, 5, 2), (8, 20, 14, 14), (2, 3, 4, 5, 2)])
def test_batch_norm(shape, training, layout):
    c = shape[1]
    x, w, b = array(*shape) * 2 + 1, array(c, seed=3), array(c, seed=4)
    if layout == "last" and len(shape) < 4:
        pytest.skip("channels-last has 4 or 5 dimensions")

    def laid_out(lib, x):
        if layout == "last":
            return x.contiguous(memory_format=lib.channels_last if x.dim() == 4 else lib.channels_last_3d)
        return x.transpose(0, 1).contiguous().transpose(0, 1) if layout == "strided" else x

    order = 2 if x.size < 200 else 1
    for dtype in ("float64", "float32"):

        def run(lib, x, *rest):
            mean, var = lib.zeros(c, dtype=x.dtype), lib.ones(c, dtype=x.dtype)
            weight, bias = rest or (None, None)
            out = lib.batch_norm(laid_out(lib, x), weight, bias, mean, var, training, 0.3, 1e-3, True)
            return out, mean, var

        check(run, x, dtype=dtype, grad=order if dtype == "float64" else 1)
        check(run, x, w, b, dtype=dtype, grad=order if dtype == "float64" else 1)
    if layout == "last":
        t = laid_out(mashal, mashal.tensor(x))
        out = mashal.batch_norm(t, None, None, None, None, True, 0.1, 1e-5, True)
        assert out.stride() == t.stride()


def test_batch_norm_of_half_input():
    x = array(6, 3, 4)
    for dtype in ("float16", "bfloat16"):

        def run(lib, x):
            w, b = lib.ones(3), lib.zeros(3)
            return lib.batch_norm(x, w, b, lib.zeros(3), lib.ones(3), True, 0.1, 1e-5, True)

        check(run, x, dtype=dtype, grad=1, tolerance=6e-2)


def test_instance_norm():
    x, w, b = array(3, 4, 6), array(4, seed=3), array(4, seed=4)

    def run(lib, x, w, b):
        mean, var = lib.zeros(4, dtype=x.dtype), lib.ones(4, dtype=x.dtype)
        return lib.instance_norm(x, w, b, mean, var, True, 0.3, 1e-5, True), mean, var

    check(run, x, w, b, grad=1)
    check(lambda lib, x: lib.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, True), x)


def test_large_mean():
    x = (np.random.default_rng(0).standard_normal((8, 512)) + 1000).astype("float32")
    exact = torch.nn.functional.layer_norm(torch.tensor(x, dtype=torch.float64), (512,))
    assert_close(mashal.layer_norm(mashal.tensor(x), (512,)).double(), exact, "float64", tolerance=2e-5)


def test_errors():
    x = array(2, 3, dtype="float32")
    check_raises(RuntimeError, lambda lib, x: lib.layer_norm(x, (4,)), x, match="normalized_shape")
    check_raises(RuntimeError, lambda lib, x: lib.layer_norm(x, (3,), lib.ones(4)), x, match="weight")
    check_raises(RuntimeError, lambda lib, x: lib.group_norm(x, 2), x, match="divisible")
    check_raises(
        RuntimeError,
        lambda lib, x: lib.batch_norm(x, lib.ones(4), None, None, None, True, 0.1, 1e-5, True),
        x,
        match="weight",
    )
