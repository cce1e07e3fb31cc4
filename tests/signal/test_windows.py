"""torch.signal.windows against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import mashal

torch = pytest.importorskip("torch")
OURS, THEIRS = mashal.signal.windows, torch.signal.windows
OPTIONS = {
    "exponential": [{}, {"tau": 2.5}, {"center": 1.0, "sym": False}],
    "gaussian": [{}, {"std": 2.5}],
    "kaiser": [{}, {"beta": 3.0}],
    "general_cosine": [{"a": [0.4, 0.3, 0.2, 0.1]}],
    "general_hamming": [{}, {"alpha": 0.6}],
}


@pytest.mark.parametrize("name", THEIRS.__all__)
def test_window(name):
    for extra in OPTIONS.get(name, [{}]):
        for sym in (True, False):
            for m in (0, 1, 2, 3, 8, 51):
                for dtype in ("float32", "float64"):
                    kwargs = {"sym": sym, **extra}
                    a = getattr(OURS, name)(m, dtype=getattr(mashal, dtype), **kwargs)
                    b = getattr(THEIRS, name)(m, dtype=getattr(torch, dtype), **kwargs)
                    assert tuple(a.shape) == tuple(b.shape)
                    tolerance = 1e-6 if dtype == "float32" else 1e-13
                    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda w, t: w.hann(-1),
        lambda w, t: w.hann(4, dtype=t.float16),
        lambda w, t: w.exponential(4, center=1.0),
        lambda w, t: w.exponential(4, tau=0.0),
        lambda w, t: w.gaussian(4, std=-1.0),
        lambda w, t: w.kaiser(4, beta=-1.0),
        lambda w, t: w.general_cosine(4, a=[]),
        lambda w, t: w.general_cosine(4, a=3),
    ],
)
def test_errors(wrong):
    with pytest.raises((ValueError, TypeError)) as expected:
        wrong(THEIRS, torch)
    with pytest.raises(expected.type) as found:
        wrong(OURS, mashal)
    # PyTorch names the general window that hann is made of.
    text = str(expected.value).replace("general_cosine requires", "hann requires").replace("general_cosine e", "hann e")
    assert str(found.value).replace("mashal", "torch") == text


def test_requires_grad():
    assert OURS.cosine(4, requires_grad=True).requires_grad
