"""Mistakes a newcomer makes: the class that torch raises, and a message that says what to do instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mashal

# What the call is, the mistake, what the message must say.
MISTAKES: list[tuple[str, Callable[[Any], Any], str]] = [
    ("number of a vector", lambda t: float(t.ones(3)), "one element tensors.*3 elements"),
    ("int of nothing", lambda t: int(t.ones(0)), "one element tensors.*0 elements"),
    ("item of a vector", lambda t: t.ones(2, 3).item(), "item: .*6 elements"),
    ("minus on a mask", lambda t: -t.tensor([True]), r"neg: not implemented for 'Bool'.*`~`"),
    ("difference of masks", lambda t: t.tensor([True]) - t.tensor([True]), r"sub: not implemented for 'Bool'.*`\^`"),
    ("bits of floats", lambda t: t.ones(2) & t.ones(2), r"bitwise_and: not implemented for 'Float'.*\.bool\(\)"),
    ("size of a float", lambda t: t.zeros(2.5), r"zeros\(\).*got \(float\), but expected zeros\(int"),
    ("dtype of NumPy", lambda t: t.ones(2, dtype=np.float32), r"ones\(\).*dtype=type\), but expected ones\(.*dtype\?"),
    (
        "gradient of what was not used",
        lambda t: t.autograd.grad(
            (x := t.ones(2, requires_grad=True)).sum(), [x, t.ones(3, requires_grad=True)], allow_unused=False
        ),
        r"at index 1 of inputs, of shape \(3,\).*allow_unused=True",
    ),
]


@pytest.mark.parametrize(("mistake", "says"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_mistake(mistake: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(Exception) as expected:
        mistake(torch)
    kind = next(c for c in type(expected.value).__mro__ if c.__module__ == "builtins")
    with pytest.raises(kind) as got:
        mistake(mashal)
    assert re.search(says, str(got.value), re.DOTALL), str(got.value)


def test_parameter_of_a_list() -> None:
    with pytest.raises(TypeError, match=r"Parameter: data must be a Tensor, got list. Use torch.tensor\(data\)."):
        mashal.nn.Parameter([1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("lib", [torch, mashal], ids=["torch", "mashal"])
def test_grad_of_a_result_warns(lib: Any) -> None:
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None  # no warning: warnings are errors
    assert x.grad is None
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]
