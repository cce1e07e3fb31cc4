"""In-place activations: the result is the argument, and its gradient is that of the plain form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mashal

_CASES: list[tuple[str, tuple[Any, ...]]] = [
    ("relu", ()),
    ("relu6", ()),
    ("hardtanh", (-1.0, 2.0)),
    ("elu", (0.7,)),
    ("selu", ()),
    ("celu", (0.5,)),
    ("leaky_relu", (0.2,)),
    ("hardswish", ()),
    ("silu", ()),
    ("mish", ()),
    ("threshold", (0.3, 2.0)),
    ("rrelu", (0.1, 0.3, False)),
]


@pytest.mark.parametrize(("name", "args"), _CASES, ids=[c[0] for c in _CASES])
def test_inplace_activation(name: str, args: tuple[Any, ...]) -> None:
    values = np.linspace(-7, 7, 57)
    results = []
    for framework in (mashal, torch):
        x = framework.tensor(values.tolist(), dtype=framework.float64, requires_grad=True)
        y = x * 1
        assert getattr(framework.nn.functional, name)(y, *args, inplace=True) is y
        (y * y).sum().backward()
        results.append((y.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
