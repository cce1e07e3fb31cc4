"""Running sums, products, extrema; differences; integrals."""

import numpy as np
import pytest
import torch

import mashal
from tests.ops.compare import array, assert_close, check, check_raises


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
@pytest.mark.parametrize("shape", [(5,), (17,), (3, 4, 5), (300, 2), (2, 300), (70, 9, 80)])
def test_scans(name, shape):
    x = array(*shape) * 0.5 + (1 if name == "cumprod" else 0)
    for dim in range(-1, len(shape)):
        check(lambda lib, t, d=dim: getattr(t, name)(d), x, grad=2 if x.size < 100 else 0)
        check(lambda lib, t, d=dim: getattr(t.transpose(0, -1), name)(d), x, grad=0)
    for dtype in ("float32", "float16", "bfloat16"):
        check(
            lambda lib, t: getattr(t, name)(-1), x, dtype=dtype, grad=0, tolerance=3e-2 if dtype != "float32" else None
        )


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_integer_scans(name, dtype):
    x = np.abs(array(4, 9, dtype="int64") % 4).astype(dtype)
    for dim in (0, 1):
        check(lambda lib, t, d=dim: getattr(t, name)(d), x, grad=0)
    if name in ("cumsum", "cumprod"):
        check(lambda lib, t: getattr(t, name)(0, dtype=lib.int16), x, grad=0)


def test_complex_scans():
    x = array(3, 9, dtype="complex128")
    check(lambda lib, t: (t.cumsum(1), t.cumprod(0)), x, dtype="complex128", grad=1)


def test_cumsum_accumulates_in_double():
    n = (1 << 24) + 9
    assert mashal.ones(n).cumsum(0)[-1].item() == torch.ones(n).cumsum(0)[-1].item()
    x = array(100_000, dtype="float32")
    assert_close(mashal.tensor(x).cumsum(0), torch.tensor(x).cumsum(0), "float32", tolerance=1e-7)
    y = mashal.tensor([0.0, *[1e200] * 20], dtype=mashal.float64)
    assert y.cumprod(0).sum().item() == 0


def test_cumprod_gradient_with_zeros():
    for zeros in ((), (1,), (1, 3), (0, 1, 2), (4,)):
        x = array(2, 5)
        x.reshape(-1)[list(zeros)] = 0
        check(lambda lib, t: t.cumprod(1), x, grad=1)


def test_in_place_and_out():
    x = array(4, 5)
    check(lambda lib, t: (t * 1).cumsum_(1), x, grad=1)
    check(lambda lib, t: (t * 1).cumprod_(0), x, grad=1)
    out = mashal.empty(0, dtype=mashal.float64)
    mashal.cumsum(mashal.tensor(x), 0, out=out)
    assert_close(out, torch.tensor(x).cumsum(0), "float64")


def test_logcumsumexp_infinities():
    inf = np.inf
    x = np.array([[-inf, -inf, 0.0, 1.0], [0.0, inf, 1.0, -inf], [-inf, 5.0, -inf, 1e4]])
    check(lambda lib, t: t.logcumsumexp(1), x, grad=0)


def test_ties_and_nan_positions():
    x = np.array([1.0, 3.0, 3.0, 2.0, 3.0, np.nan, 5.0])
    check(lambda lib, t: (*t.cummax(0), *t.cummin(0)), x, grad=0)


def test_scalars_and_errors():
    check(lambda lib, t: (t.cumsum(0), t.cumprod(0), t.logcumsumexp(0), *t.cummax(0)), np.array(2.0))
    check_raises(IndexError, lambda lib, t: t.cumsum(2), array(2, 3))
    check(lambda lib, t: (t.cumsum(0), t.cumprod(1), *t.cummax(1)), np.zeros((0, 3)), grad=0)


def test_diff_and_trapezoid():
    x, y = array(4, 6), array(6)
    check(lambda lib, t: (t.diff(), t.diff(2, 0), t.diff(prepend=t[:, :2]), t.diff(append=t, n=3)), x)
    check(lambda lib, t: t > 0, x, grad=0)
    check(lambda lib, t: (t > 0).diff(dim=1), x, grad=0)
    check(lambda lib, t: (lib.trapezoid(t), lib.trapz(t, dx=2.0, dim=0), lib.cumulative_trapezoid(t)), x)
    check(lambda lib, t, u: (lib.trapezoid(t, u), lib.cumulative_trapezoid(t, t * 2, dim=0)), x, y)
