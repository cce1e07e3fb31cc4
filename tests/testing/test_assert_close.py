"""assert_close: what passes, what is raised, and the messages, against PyTorch."""

import numpy as np
import pytest
import torch

import mashal

NAN, INF = float("nan"), float("inf")

CASES = [
    lambda f: (f.tensor([1.0, 2.0]), f.tensor([1.0, 3.0])),
    lambda f: (f.tensor([1.0, 2.0]), f.tensor([1.0, 2.000001])),
    lambda f: (1.0, 1.1), lambda f: (1.0, 1.0 + 1e-9), lambda f: (1, 2), lambda f: (1, 1), lambda f: (1, 1.0),
    lambda f: (0.0, 1.0), lambda f: (NAN, 1.0), lambda f: (INF, INF), lambda f: (INF, -INF),
    lambda f: (1 + 1j, 1 + 2j), lambda f: (True, False), lambda f: (True, True), lambda f: (None, None),
    lambda f: (None, 1), lambda f: ("a", "a"), lambda f: (f.tensor(1.0), f.tensor(2.0)), lambda f: (f.tensor(1.0), 1.0),
    lambda f: ([f.tensor(1.0), f.tensor(2.0)], [f.tensor(1.0), f.tensor(3.0)]),
    lambda f: ([f.tensor([1.0, 2.0])], [f.tensor([1.0, 3.0])]), lambda f: ((1, 2), [1, 2]), lambda f: ([1], [1, 2]),
    lambda f: ({"a": f.tensor(1.0)}, {"b": f.tensor(1.0)}), lambda f: ({"a": [1.0, 2.0]}, {"a": [1.0, 5.0]}),
    lambda f: ({"a": {"b": f.tensor(1.0)}}, {"a": {"b": f.tensor(2.0)}}),
    lambda f: (f.tensor([1.0]), f.tensor([1.0]).double()), lambda f: (f.tensor([1.0]), f.tensor([[1.0]])),
    lambda f: (f.tensor([1.0]), [1.0]), lambda f: (f.tensor([1, 2]), f.tensor([1, 4])),
    lambda f: (f.tensor([True]), f.tensor([False])), lambda f: (f.tensor([NAN]), f.tensor([NAN])),
    lambda f: (f.tensor([0.0, 1.0]), f.tensor([0.0, INF])), lambda f: (f.tensor([INF]), f.tensor([INF])),
    lambda f: (f.ones(0), f.ones(0)), lambda f: (f.ones(2, 2), f.ones(2, 2).t()),
    lambda f: (f.tensor([1 + 1j]), f.tensor([1 + 2j])), lambda f: (f.tensor([1.0]), f.ones(1, device="meta")),
    lambda f: (f.tensor([[1.0, 2.0], [3.0, 4.0]]), f.tensor([[1.0, 2.0], [3.0, 5.0]])),
    lambda f: (f.tensor([1.0]).half(), f.tensor([1.002]).half()),
    lambda f: (f.tensor([1.0]).bfloat16(), f.tensor([1.01]).bfloat16()),
    lambda f: (f.nn.Parameter(f.ones(1)), f.ones(1)), lambda f: (np.ones(2), np.ones(2)),
    lambda f: (np.ones(2), np.zeros(2)), lambda f: (np.ones(2), f.ones(2)), lambda f: (f.ones(2), f.ones(2) * 0),
]  # fmt: skip
OPTIONS = [
    {}, {"rtol": 0, "atol": 0.5}, {"rtol": 0.0, "atol": 0.0}, {"equal_nan": True}, {"check_dtype": False},
    {"check_device": False}, {"check_stride": True}, {"allow_subclasses": False}, {"rtol": 1.0}, {"msg": "text"},
    {"msg": lambda m: "before " + m},
]  # fmt: skip


def outcome(framework, case, options):
    try:
        return framework.testing.assert_close(*case(framework), **options)
    except ValueError as e:  # PyTorch adds which item was looked at first
        return type(e), str(e).split("\n")[0]
    except (AssertionError, TypeError) as e:
        return type(e), str(e).replace("torch.", "mashal.")


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_same_as_torch(number, options):
    ours, theirs = (outcome(f, CASES[number], options) for f in (mashal, torch))
    assert ours == theirs


def test_deprecated_name():
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="not close"):
        mashal.testing.assert_allclose(mashal.ones(2), [1.0, 2.0])
    with pytest.warns(FutureWarning):
        mashal.testing.assert_allclose(mashal.ones(2), [1.0, 1.00001])
