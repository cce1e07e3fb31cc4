"""``_foreach_*``: one op over lists, as PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mashal
from mashal import _foreach

NAMES = [name for name in vars(_foreach) if name.startswith("_foreach_")]


def lists(t: Any) -> list[list[Any]]:
    t.manual_seed(0)
    return [[t.rand(3) * 0.9 + 0.1, t.rand(2, 2) * 0.9 + 0.1] for _ in range(3)]


def arguments(name: str, t: Any) -> list[tuple[Any, ...]]:
    a, b, c = lists(t)
    if name.startswith(("_foreach_addc", "_foreach_lerp")):
        out: list[tuple[Any, ...]] = [(a, b, c)]
        return [*out, (a, b, c, 0.5)] if "addc" in name else [*out, (a, b, 0.25)]
    binary = ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_min", "clamp_max")
    if name.removeprefix("_foreach_").rstrip("_") in binary:
        return [(a, b), (a, 2.0), (a, [1.0, 2.0])]
    return [(a, b)] if "copy" in name else [(a,)]


@pytest.mark.parametrize("name", NAMES)
def test_as_torchs(name: str) -> None:
    for ours, theirs in zip(arguments(name, mashal), arguments(name, torch), strict=True):
        got, wanted = getattr(mashal, name)(*ours), getattr(torch, name)(*theirs)
        if name.endswith("_"):
            assert got is None
            got, wanted = ours[0], theirs[0]
        for a, b in zip(got, wanted, strict=True):
            mashal.testing.assert_close(a, mashal.from_numpy(b.numpy()), rtol=1e-5, atol=1e-6)


def test_alpha_and_lengths() -> None:
    a, b, _ = lists(mashal)
    assert mashal.equal(mashal._foreach_add(a, b, alpha=2)[0], a[0] + 2 * b[0])
    with pytest.raises(RuntimeError, match="must have the same number of tensors"):
        mashal._foreach_add(a, b[:1])
    with pytest.raises(AttributeError):
        mashal._foreach_no_such_op  # noqa: B018
