"""Initial values against torch's, for the same seed."""

import math

import pytest
import torch
from nn_helpers import assert_close, assert_same_outcome, convert, outcome, seed

import mashal
from mashal.nn import init

SHAPES = [(3, 5), (5, 3), (4, 3, 3, 3), (40, 30)]

CASES = [
    *[
        (name, shape, kwargs)
        for shape in SHAPES
        for name, kwargs in [
            ("uniform_", {}),
            ("uniform_", {"a": -2.0, "b": 0.5}),
            ("normal_", {"mean": 1.0, "std": 0.1}),
            ("trunc_normal_", {}),
            ("trunc_normal_", {"mean": 0.3, "std": 0.5, "a": -0.2, "b": 0.6}),
            ("trunc_normal_", {"a": -1.0, "b": 0.2}),
            ("trunc_normal_", {"a": 2.5, "b": 4.0}),
            ("constant_", {"val": 0.3}),
            ("ones_", {}),
            ("zeros_", {}),
            ("xavier_uniform_", {"gain": 1.5}),
            ("xavier_normal_", {}),
            ("kaiming_uniform_", {"a": 0.2}),
            ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}),
            ("kaiming_normal_", {"nonlinearity": "selu"}),
            ("orthogonal_", {"gain": 2.0}),
        ]
    ],
    ("trunc_normal_", (3,), {"mean": 9.0}),
    ("eye_", (3, 5), {}),
    ("eye_", (3,), {}),
    ("dirac_", (4, 3, 3), {}),
    ("dirac_", (4, 3, 3, 2), {"groups": 2}),
    ("dirac_", (4, 3, 3, 2, 1), {}),
    ("dirac_", (4, 3), {}),
    ("dirac_", (5, 3, 3), {"groups": 2}),
    ("sparse_", (10, 4), {"sparsity": 0.3}),
    ("sparse_", (10,), {"sparsity": 0.3}),
    ("xavier_uniform_", (3,), {}),
    ("kaiming_uniform_", (3,), {}),
    ("kaiming_uniform_", (0, 3), {}),
    ("kaiming_normal_", (0, 3), {}),
    ("kaiming_uniform_", (3, 3), {"mode": "x"}),
    ("kaiming_uniform_", (3, 3), {"nonlinearity": "x"}),
    ("orthogonal_", (3,), {}),
    ("orthogonal_", (0, 3), {}),
    *[(name, (4, 4), {}) for name in ("uniform", "normal", "eye", "xavier_uniform", "xavier_normal")],
    *[(name, (4, 4), {}) for name in ("kaiming_uniform", "kaiming_normal", "orthogonal")],
    ("constant", (4, 4), {"val": 1.0}),
    ("dirac", (4, 4, 1), {}),
    ("sparse", (4, 4), {"sparsity": 0.5}),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{name}-{shape}-{kw}" for name, shape, kw in CASES])
def test_values(case):
    name, shape, kwargs = case

    def run(module, tensor):
        seed(13)
        result = getattr(module, name)(tensor, **kwargs)
        assert result is tensor
        return result

    # QR may be another library's: the last bits of an orthogonal matrix may differ.
    exact = {"rtol": 0, "atol": 0} if "orthogonal" not in name else {"rtol": 1e-5, "atol": 1e-6}
    assert_same_outcome(
        lambda: run(init, mashal.zeros(shape)), lambda: run(torch.nn.init, torch.zeros(shape)), closeness=exact
    )


@pytest.mark.parametrize("name", ["uniform_", "normal_", "trunc_normal_", "xavier_uniform_", "kaiming_normal_"])
def test_generator(name):
    ours = getattr(init, name)(mashal.empty(3, 4), generator=mashal.Generator().manual_seed(4))
    theirs = getattr(torch.nn.init, name)(torch.empty(3, 4), generator=torch.Generator().manual_seed(4))
    assert_close(ours, theirs, rtol=0, atol=0)


def test_no_gradient_and_no_history():
    p = mashal.nn.Parameter(mashal.zeros(3, 3))
    assert init.kaiming_uniform_(p) is p
    assert p.requires_grad
    assert p.is_leaf
    assert p.grad_fn is None


GAINS = [("linear",), ("conv3d",), ("sigmoid",), ("tanh",), ("relu",), ("leaky_relu",), ("leaky_relu", 0.3), ("selu",)]


@pytest.mark.parametrize("args", [*GAINS, ("leaky_relu", "x"), ("leaky_relu", True), ("unknown",)], ids=str)
def test_gain(args):
    ours, theirs = outcome(lambda: init.calculate_gain(*args)), outcome(lambda: torch.nn.init.calculate_gain(*args))
    assert ours == theirs


def test_orthogonal_matrices_are_orthogonal():
    w = init.orthogonal_(mashal.empty(4, 9))
    assert mashal.allclose(w @ w.t(), mashal.eye(4), atol=1e-6)
    assert math.isclose(init.orthogonal_(mashal.empty(1, 1)).abs().item(), 1.0, rel_tol=1e-6)


def test_values_of_a_converted_tensor():
    w = torch.zeros(3, 3)
    assert_close(init.eye_(convert(w)), torch.nn.init.eye_(w))
