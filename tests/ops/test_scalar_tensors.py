"""Tensors without dimensions where numbers are expected, as programs pass them."""

import pytest
import torch

import mashal

CASES = {
    "clamp max": lambda t, x: t.clamp(x, 0, t.tensor(1.5)),
    "clamp min": lambda t, x: t.clamp(x, t.tensor(1.5), 2),
    "clamp method": lambda t, x: x.clamp(min=0, max=t.tensor(2)),
    "clamp in place": lambda t, x: x.clone().clamp_(0, t.tensor(1.5)),
    "clip": lambda t, x: t.clip(x, 0, t.tensor(1.5)),
    "clamp widened": lambda t, x: t.clamp(x.long(), 0, t.tensor(1.5)),
    "roll": lambda t, x: t.roll(x, t.tensor(1)),
    "roll dims": lambda t, x: t.roll(x, t.tensor(2), t.tensor(0)),
    "alpha": lambda t, x: t.add(x, x, alpha=t.tensor(1.5)),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x, t.tensor(0.5)),
}


@pytest.mark.parametrize("case", CASES)
def test_as_a_number(case):
    ours, theirs = (CASES[case](t, t.tensor([-1.0, 2.0, 3.0])) for t in (mashal, torch))
    assert ours.tolist() == theirs.tolist()
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]


@pytest.mark.parametrize("bound", [lambda t: t.tensor([1.0]), lambda t: t.tensor(1.0, requires_grad=True)])
def test_clamp_between_a_number_and_a_tensor_proper(bound):
    for t in (mashal, torch):
        with pytest.raises(TypeError):
            t.clamp(t.ones(3), 0, bound(t))
