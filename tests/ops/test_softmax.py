"""softmax, log_softmax, nll_loss, cross entropy."""

import numpy as np
import pytest
import torch

import mashal
from tests.ops.compare import array, assert_close, check, check_raises

F = torch.nn.functional


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", [(3,), (4, 10), (3, 4, 5), (2, 300), (300, 2), (2, 1000, 3), (5, 4099)])
def test_softmax(name, shape):
    x = array(*shape) * 3
    for dim in range(len(shape)):
        check(lambda lib, t, d=dim: getattr(t, name)(d), x, grad=2 if x.size < 1000 else 1)
        check(lambda lib, t, d=dim: getattr(lib, name)(t, d), x, dtype="float32", grad=1)
        check(lambda lib, t, d=dim: getattr(t.transpose(0, -1), name)(d), x, dtype="float32", grad=1)
    for dtype in ("float16", "bfloat16"):
        check(lambda lib, t: getattr(t, name)(-1), x, dtype=dtype, grad=0)
        check(lambda lib, t: getattr(t, name)(0), x, dtype=dtype, grad=0)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_special_values(name):
    inf = np.inf
    x = np.array([[0.0, inf, 1.0], [-inf, -inf, -inf], [-inf, 1.0, 2.0], [np.nan, 0.0, 1.0], [1e30, -1e30, 1e30]])
    check(lambda lib, t: getattr(t, name)(1), x, grad=0)
    check(lambda lib, t: getattr(t.t(), name)(0), x, grad=0)


def test_dtype_argument_and_errors():
    check(lambda lib, t: t.softmax(0, dtype=lib.float64), array(5, dtype="float32"), grad=0)
    check(lambda lib, t: lib.log_softmax(t, 0, dtype=lib.float32), np.arange(5), dtype="float32", grad=0)
    check(lambda lib, t: t.softmax(1), np.zeros((0, 3)), grad=0)
    check(lambda lib, t: t.softmax(0), np.array(2.0))
    check_raises(IndexError, lambda lib, t: t.softmax(2), array(2, 3))
    check_raises(RuntimeError, lambda lib, t: t.softmax(0), np.arange(3), match="not implemented")


def functions(lib):
    return lib.nn.functional


SHAPES = [((7,), ()), ((4, 7), (4,)), ((2, 7, 3), (2, 3)), ((2, 7, 3, 2), (2, 3, 2)), ((64, 1000), (64,))]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
@pytest.mark.parametrize(("shape", "target_shape"), SHAPES)
def test_class_losses(shape, target_shape, name, reduction):
    x = array(*shape) * 2
    classes = shape[0] if len(shape) == 1 else shape[1]
    t = np.random.default_rng(0).integers(0, classes, target_shape)
    w = np.abs(array(classes, seed=5)) + 0.1
    order = 2 if x.size < 1000 else 1
    for options in ({}, {"ignore_index": 3}, {"ignore_index": 3, "weight": w}):
        for smoothing in (0.0, 0.2) if name == "cross_entropy" else (0.0,):

            def run(lib, x, t, options=options, smoothing=smoothing):
                given = dict(options)
                if "weight" in given:
                    given["weight"] = lib.tensor(given["weight"]).to(x.dtype)
                if smoothing:
                    given["label_smoothing"] = smoothing
                return getattr(functions(lib), name)(x, t, reduction=reduction, **given)

            check(run, x, t, grad=order)
            check(run, x, t, dtype="float32", grad=1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_cross_entropy(dtype):
    x, t = array(6, 50), np.arange(6)
    check(lambda lib, x, t: functions(lib).cross_entropy(x, t), x, t, dtype=dtype, grad=1)


def test_soft_targets():
    x, q = array(4, 5), np.abs(array(4, 5, seed=2))
    check(lambda lib, x, q: functions(lib).cross_entropy(x, q, label_smoothing=0.1), x, q)


def test_class_loss_errors():
    x = array(3, 5, dtype="float32")
    for name in ("nll_loss", "cross_entropy"):

        def run(lib, x, t, name=name):
            return getattr(functions(lib), name)(x, t)

        check_raises(IndexError, run, x, np.array([0, 1, 5]), match="out of bounds")
        check_raises(ValueError, run, x, np.array([0, 1, 2, 3]), match="batch_size")
        check_raises(RuntimeError, run, x, np.array([[0], [1], [2]]))
    nothing = functions(mashal).cross_entropy(mashal.zeros(2, 3), mashal.tensor([-100, -100]))
    assert_close(nothing, F.cross_entropy(torch.zeros(2, 3), torch.tensor([-100, -100])), "float32")
