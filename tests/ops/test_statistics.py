"""Variance, medians, quantiles, covariance, norms, distances."""

import numpy as np
import pytest
import torch

import mashal
from tests.ops.compare import array, check, check_raises


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # torch warns, we only give nan
@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("shape", [(4, 5), (3, 40, 70), (2, 9001), (9001, 2), (300, 300)])
def test_variance(name, shape):
    for offset in (0, 1000):
        x = array(*shape) + offset
        for dim in [None, 0, 1, (0, 1)]:
            for correction in (0, 1, 2):
                # Far from 0, elements near their mean keep fewer digits: their gradient shows it.
                tolerance = 1e-7 if offset else None
                run = lambda lib, t, d=dim, c=correction: getattr(t, name)(d, correction=c)  # noqa: E731
                check(run, x, grad=1, tolerance=tolerance)
    check(lambda lib, t: (getattr(t, name)(), getattr(t, name)(False), getattr(t, name)(0, False, True)), array(4, 5))
    check(lambda lib, t: getattr(lib, name + "_mean")(t, 1, keepdim=True), array(4, 5))


def test_variance_without_cancellation():
    x = (np.random.default_rng(0).standard_normal(100_000) + 1e4).astype("float32")
    exact = x.astype("float64").var(ddof=1)
    for t in (mashal.tensor(x), mashal.tensor(x).reshape(-1, 1).expand(-1, 20).contiguous()):
        assert abs(t.var(0).reshape(-1)[0].item() - exact) < 1e-6 * exact


def test_deviation_of_constants():
    check(lambda lib, t: t.std(1), np.ones((2, 3)), grad=1)
    assert mashal.ones(3, requires_grad=True).std().item() == 0


def test_one_element_is_nan():
    with pytest.warns(UserWarning, match="degrees of freedom"):
        torch.ones(1).var()
    assert np.isnan(mashal.ones(1).var().item())


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians(name):
    for shape in ((5,), (4, 6), (3, 5001), (20001,)):
        x = np.random.default_rng(1).permutation(int(np.prod(shape))).reshape(shape).astype("float64")
        check(lambda lib, t: getattr(t, name)(), x)
        for dim in range(len(shape)):
            check(lambda lib, t, d=dim: tuple(getattr(t, name)(d, True)), x)
        x.reshape(-1)[2] = np.nan
        check(lambda lib, t: getattr(t, name)(), x, grad=0)
        check(lambda lib, t: tuple(getattr(t, name)(-1)), x, grad=0)
    check(lambda lib, t: getattr(t, name)(0), np.array([5, 1, 2, 7]), grad=0)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles(name, interpolation):
    x = array(6, 7)
    for q in (0.0, 0.3, 1.0, np.array([0.1, 0.5, 0.77])):
        for dim in (None, 0, 1):
            for keepdim in (False, True):

                def run(lib, t, q=q, dim=dim, keepdim=keepdim):
                    point = q if isinstance(q, float) else lib.tensor(q)
                    return getattr(t, name)(point, dim, keepdim, interpolation=interpolation)

                check(run, x, grad=1)
    x[2, 3] = x[1] = np.nan
    check(lambda lib, t: getattr(t, name)(0.4, 1, interpolation=interpolation), x, grad=0)
    check_raises(RuntimeError, lambda lib, t: getattr(t, name)(1.5), x.astype("float32"))


def test_covariance():
    x = array(3, 20)
    check(lambda lib, t: (t.cov(), t.cov(correction=0), t.corrcoef(), t[0].cov(), t[0].corrcoef()), x, grad=1)
    f, a = np.arange(20), np.abs(array(20))
    check(lambda lib, t, f, a: (t.cov(fweights=f), t.cov(aweights=a), t.cov(fweights=f, aweights=a)), x, f, a, grad=1)


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, 4.5, float("inf"), float("-inf"), "fro"])
def test_norms(p):
    x = array(5, 6, 7)
    for dim in (None, 1, (0, 2)):
        check(lambda lib, t, d=dim: t.norm(p, d), x, grad={0: 0, 1: 1, float("inf"): 1, float("-inf"): 1}.get(p, 2))
    x[0, 0, :] = 0
    check(lambda lib, t: t.norm(p, -1), x, grad=0 if p in (0, 0.5, float("-inf")) else 1)
    if p not in ("fro", 0):
        check(lambda lib, t, u: lib.dist(t, u, p), array(4), array(4, seed=2), grad=1)


def test_norm_range():
    for scale in (1e200, 1e-200, 1e25):
        x = np.array([3.0, 4.0]) * scale
        assert abs(mashal.tensor(x).norm().item() / (5 * scale) - 1) < 1e-14
    assert mashal.tensor([3e30, 4e30]).norm().item() == pytest.approx(5e30)
    assert mashal.tensor([0.0, 0.0], dtype=mashal.float64).norm().item() == 0
    assert mashal.tensor([1.0, float("inf")], dtype=mashal.float64).norm().item() == float("inf")


def test_renorm():
    check(lambda lib, t: (t.renorm(2, 0, 1.5), t.renorm(1, 1, 2.0)), array(4, 5), grad=1)


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_distances(p):
    a, b = array(2, 4, 5), array(2, 6, 5, seed=4)
    check(lambda lib, t, u: lib.cdist(t, u, p), a, b, grad=1)
    check(lambda lib, t, u: lib.cdist(t[0], u, p), a, b, grad=1)
    check(lambda lib, t: lib.pdist(t[0], p), a, grad=1)
    check(lambda lib, t, u: lib.cdist(t, u, p), array(30, 5), array(40, 5, seed=4), grad=1)
