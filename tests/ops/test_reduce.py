"""Sums, products, extrema, truth: against torch, over every kind of memory layout."""

import numpy as np
import pytest
import torch

import mashal
from tests.ops.compare import array, assert_close, check, check_raises

DIMS = [None, 0, 1, 2, -1, (0, 2), (1, 2), (0, 1), (0, 1, 2)]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "bool"]


def layouts(lib, x):
    """The same values in several memory layouts."""
    return [
        x,
        x.permute(2, 0, 1),
        x.permute(1, 2, 0),
        x[:, ::2],
        x[..., 1:4],
        x[..., ::2],
        x[:1].expand(3, *x.shape[1:]),
    ]


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "nansum", "logsumexp"])
@pytest.mark.parametrize("keepdim", [False, True])
def test_layouts(name, keepdim):
    x = array(4, 6, 70, dtype="float32")
    for k in range(7):
        for dim in DIMS:
            if dim is None and name in ("amax", "amin", "logsumexp"):
                dim = (0, 1, 2)

            def run(lib, t, k=k, dim=dim):
                v = layouts(lib, t)[k]
                return (
                    getattr(v, name)(dim, keepdim) if dim is not None else getattr(v, name)(dim=None, keepdim=keepdim)
                )

            check(run, x, dtype="float32", grad=1)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "any", "count_nonzero", "argmax", "max"])
@pytest.mark.parametrize("shape", [(3, 50000), (50000, 3), (300, 401), (7, 300, 41), (100001,), (2, 3, 20011)])
def test_large(name, shape):
    x = (array(*shape, dtype="float32") * 0.01 + (1 if name == "prod" else 0)).astype("float32")
    for dim in range(len(shape)):

        def run(lib, t, dim=dim):
            return getattr(t, name)(dim)

        if name == "prod":
            check(run, x, dtype="float32", grad=0, tolerance=2e-4)
        else:
            check(run, x, dtype="float32", grad=0)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "count_nonzero", "amax", "amin", "argmax", "argmin"])
def test_integers(name, dtype):
    for shape in ((3, 4, 5), (2, 300, 2), (9000,)):
        x = np.abs(array(*shape, dtype="int64")).astype(dtype)
        if dtype == "bool" and name.startswith("arg"):
            continue
        for dim in range(len(shape)):
            check(lambda lib, t, dim=dim: getattr(t, name)(dim), x, grad=0)
        if name not in ("amax", "amin"):
            check(lambda lib, t: getattr(t, name)(), x, grad=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "logsumexp", "prod", "var", "std", "norm"])
def test_float_types(name, dtype):
    for shape in ((3, 4, 5), (2, 300, 2), (2, 9000)):
        x = array(*shape)
        for dim in (0, 1, -1):
            check(lambda lib, t, dim=dim: getattr(t, name)(dim=dim), x, dtype=dtype, grad=1 if name != "prod" else 0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex(dtype):
    x = array(3, 4, 50, dtype=dtype)
    for name in ("sum", "mean", "prod"):
        for dim in (0, 1, 2):
            check(lambda lib, t, dim=dim, name=name: getattr(t, name)(dim), x, dtype=dtype, grad=1)
    check(lambda lib, t: (t.var(1), t.std(1), t.norm(dim=1)), x, dtype=dtype, grad=0)


def test_accuracy_of_long_sums():
    x = np.random.default_rng(0).random(10_000_000, dtype=np.float32)
    exact = x.astype(np.float64).sum()
    for value in (
        mashal.tensor(x).sum(),
        mashal.tensor(x).reshape(10, -1).sum(1).sum(),
        mashal.tensor(x).reshape(-1, 10).sum(0).sum(),
    ):
        assert abs(value.item() - exact) / exact < 1e-7
    assert mashal.ones(20_000_000).sum().item() == 2e7
    assert mashal.ones(5000, dtype=mashal.float16).sum().item() == 5000


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "float64", "bool", "complex64"])
def test_dtype_argument(dtype):
    x = array(4, 5, dtype="float32")
    for source in (x, x.astype("int32"), x.astype(bool)):
        check(lambda lib, t: t.sum(0, dtype=getattr(lib, dtype)), source, dtype="float32", grad=0, tolerance=1e-3)


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_ties_share_the_gradient(name):
    x = np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]])
    check(lambda lib, t: getattr(t, name)(1), x)
    check(lambda lib, t: getattr(t, name)(), x)
    check(lambda lib, t: getattr(t, name[1:])(), x)
    check(lambda lib, t: getattr(t, name[1:])(1)[0], x)


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremum_forms(name):
    x, y = array(4, 5), array(4, 5, seed=3)
    check(lambda lib, t: getattr(lib, name)(t), x)
    check(lambda lib, t: tuple(getattr(lib, name)(t, 1)), x)
    check(lambda lib, t: tuple(getattr(lib, name)(t, dim=0, keepdim=True)), x)
    check(lambda lib, t, u: getattr(lib, name)(t, u), x, y)
    r = getattr(mashal, name)(mashal.tensor(x), 1)
    assert r.values.shape == r.indices.shape == (4,)
    out = (mashal.empty(0, dtype=mashal.float64), mashal.empty(0, dtype=mashal.int64))
    getattr(mashal, name)(mashal.tensor(x), 1, out=out)
    assert_close(out[0], getattr(torch.tensor(x), name)(1)[0], "float64")


@pytest.mark.parametrize("shape", [(9,), (200,), (9000,), (3, 5000), (5000, 3), (40, 300)])
@pytest.mark.parametrize("name", ["amax", "amin", "argmax", "argmin", "max", "min", "cummax", "cummin"])
def test_nan_wins(name, shape):
    x = array(*shape, dtype="float32")
    x.reshape(-1)[[x.size // 3, x.size - 2]] = np.nan
    for dim in range(len(shape)):
        check(lambda lib, t, dim=dim: getattr(t, name)(dim), x, dtype="float32", grad=0)
    if not name.startswith("cum"):
        check(lambda lib, t: getattr(t, name)(), x, dtype="float32", grad=0)


def test_first_of_equals():
    x = np.zeros((3, 5000), dtype="float32")
    x[:, [70, 4500]] = 1
    check(lambda lib, t: (t.argmax(1), t.argmin(1), t.t().contiguous().argmax(0), t.argmax()), x, grad=0)


def test_empty():
    x = np.zeros((0, 3), dtype="float32")
    check(lambda lib, t: (t.sum(), t.sum(0), t.sum(1), t.prod(), t.mean(0), t.any(0), t.all(), t.amax(1)), x, grad=0)
    check(lambda lib, t: (t.count_nonzero(), t.logsumexp(0), t.nansum()), x, grad=0)
    check_raises(IndexError, lambda lib, t: t.amax(0), x, match="non-zero size")
    check_raises(IndexError, lambda lib, t: t.argmax(0), x)
    check_raises(RuntimeError, lambda lib, t: t.max(), x)


def test_scalars():
    x = np.array(2.5)
    check(lambda lib, t: (t.sum(), t.sum(0), t.mean(-1), t.prod(0), t.amax(0), t.max(0)[0], t.logsumexp(0)), x)
    check(lambda lib, t: (t.argmax(), t.argmax(0), t.any(), t.max(0)[1], t.count_nonzero()), x, grad=0)


def test_prod_gradient_with_zeros():
    for zeros in ((), (1,), (1, 3), (0, 1, 2)):
        x = array(3, 4)
        x.reshape(-1)[list(zeros)] = 0
        check(lambda lib, t: t.prod(1), x)
        check(lambda lib, t: t.prod(), x)


def test_nan_sums():
    x = array(4, 5)
    x[1, 2] = x[3] = np.nan
    check(lambda lib, t: (t.nansum(), t.nansum(1), t.nanmean(), t.nanmean(0, True)), x, grad=1)


def test_logsumexp_infinities():
    inf = np.inf
    x = np.array([[0.0, inf, 1.0], [-inf, -inf, -inf], [-inf, 1.0, 2.0], [inf, -inf, 0.0], [1e4, 1e4, -1e4]])
    check(lambda lib, t: t.logsumexp(1), x, grad=0)
    check(lambda lib, t: t.t().logsumexp(0), x, grad=0)
    check(lambda lib, t: lib.logsumexp(t, 0), np.arange(5), dtype="float32", grad=0)


def test_errors():
    x = array(2, 3)
    check_raises(IndexError, lambda lib, t: t.sum(2), x, match="out of range")
    check_raises(RuntimeError, lambda lib, t: t.sum((0, 0)), x, match="distinct")
    check_raises(RuntimeError, lambda lib, t: t.mean(), np.arange(3), match="could not infer output dtype")
    check_raises(RuntimeError, lambda lib, t: t.argmax(), x > 0, match="bool")
    with pytest.raises(RuntimeError, match="not implemented"):
        mashal.tensor(x.astype("complex128")).amax()


def test_out_and_axis():
    x = array(4, 5)
    check(lambda lib, t: (t.sum(axis=1, keepdims=True), t.max(axis=0)[0], t.std(axis=0)), x, grad=0)
    out = mashal.empty(5, dtype=mashal.float64)
    assert mashal.sum(mashal.tensor(x), 0, out=out) is out
    assert_close(out, torch.tensor(x).sum(0), "float64")
