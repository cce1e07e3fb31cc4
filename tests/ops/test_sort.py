"""Sorting and selection."""

import numpy as np
import pytest
import torch

import mashal
from tests.ops.compare import array, assert_close, check, check_raises

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 7, 60, 300, 1000, 5000, 200_000])
def test_stable_sort(n, dtype, descending):
    x = array(n) * (3 if n % 2 else 300)
    x = (x > 0) if dtype == "bool" else np.abs(x).astype(dtype) if dtype == "uint8" else x.astype(dtype)
    if dtype.startswith("float") and n > 5:
        x[[1, 4]] = np.nan
        x[[2, 3]] = 0.0, -0.0
        x[5 % n] = -np.inf
    check(lambda lib, t: tuple(t.sort(stable=True, descending=descending)), x, dtype=dtype, grad=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_sort(dtype):
    check(lambda lib, t: tuple(t.sort(dim=0, stable=True)), array(300, 3), dtype=dtype, grad=0)


def test_dimensions_and_gradient():
    x = array(4, 5, 6)
    for dim in (0, 1, 2, -1):
        check(lambda lib, t, d=dim: tuple(t.sort(d)), x)
        check(lambda lib, t, d=dim: tuple(t.permute(2, 0, 1).sort(d, True)), x)
        check(lambda lib, t, d=dim: (t.argsort(d), lib.argsort(t, d, True), t.msort()), x, grad=0)
        check(lambda lib, t, d=dim: tuple(t.topk(3, d)), x)
        check(lambda lib, t, d=dim: tuple(t.kthvalue(2, d)), x)
    check(lambda lib, t: (*t.sort(), *t.topk(1), *t.kthvalue(1), *t.mode()), np.array(3.0), grad=0)
    assert mashal.tensor([2, 1]).sort().indices.tolist() == [1, 0]


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(
    ("n", "k"), [(10, 0), (10, 10), (1000, 5), (10000, 1), (10000, 300), (50000, 20), (5000, 2600)]
)
def test_topk(n, k, largest):
    x = np.random.default_rng(0).permutation(n).astype("float32")
    check(lambda lib, t: tuple(t.topk(k, largest=largest)), x, dtype="float32", grad=0)
    check(lambda lib, t: tuple(t.topk(k, largest=largest)), x.astype("int64"), grad=0)
    ours = mashal.tensor(x).topk(k, largest=largest, sorted=False).values
    assert_close(ours.sort().values, torch.tensor(x).topk(k, largest=largest).values.sort().values, "float32")


def test_topk_with_nan():
    x = array(5000, dtype="float32")
    x[[7, 4000]] = np.nan
    check(lambda lib, t: t.topk(5).values, x, dtype="float32", grad=0)
    check(lambda lib, t: t.topk(5, largest=False).values, x, dtype="float32", grad=0)


def test_kthvalue_large():
    x = np.random.default_rng(0).permutation(20000).astype("float32")
    for k in (1, 7777, 20000):
        check(lambda lib, t, k=k: tuple(t.kthvalue(k)), x, dtype="float32", grad=0)


def test_mode():
    for shape in ((15,), (5, 12), (5, 400)):
        x = array(*shape, dtype="int64")
        check(lambda lib, t: t.mode()[0], x, grad=0)
        check(lambda lib, t: t.mode(0, True)[0], x, grad=0)
        values, indices = mashal.tensor(x).mode()
        assert_close(mashal.tensor(x).gather(-1, indices.unsqueeze(-1)).squeeze(-1), values, "int64")
    check(lambda lib, t: tuple(t.mode()), array(15, dtype="int64"), grad=0)
    check(lambda lib, t: t.mode(1)[0], array(4, 9))


def test_errors():
    check_raises(RuntimeError, lambda lib, t: t.topk(4), array(3), match="out of range")
    check_raises(RuntimeError, lambda lib, t: t.kthvalue(0), array(3), match="out of range")
    check_raises(IndexError, lambda lib, t: t.sort(1), array(3))
