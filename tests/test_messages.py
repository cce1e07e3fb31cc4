"""The usual mistakes: the message names the operation, says what it requires, and shows both shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import mashal

A, B = "(2, 3)", "(4, 5)"

# Operation as the message must name it, the mistake (on tensors of shapes (2, 3) and (4, 5)), what else must be said.
SHAPES: list[tuple[str, Callable[[Any, Any, Any], Any], tuple[str, ...]]] = [
    ("add", lambda t, a, b: a + b, (A, B, "(2)", "(4)")),
    ("add", lambda t, a, b: a.add_(b), (A, B)),
    ("where", lambda t, a, b: t.where(a > 0, a, b), (A, B)),
    ("matmul", lambda t, a, b: a @ b, (A, B, "3 vs 4", "input", "other")),
    ("mm", lambda t, a, b: t.mm(a, b), (A, B, "3 vs 4", "mat2")),
    ("addmm", lambda t, a, b: t.addmm(a, a, b), (A, B, "3 vs 4", "mat1")),
    ("linear", lambda t, a, b: t.nn.functional.linear(a, b), (A, B, "3 vs 5", "weight")),
    ("reshape", lambda t, a, b: a.reshape(4, 5), (A, B, "6")),
    ("view", lambda t, a, b: a.view(4, 5), (A, B, "6")),
    ("expand", lambda t, a, b: a.expand(4, 5), (A, B)),
    ("permute", lambda t, a, b: a.permute(0, 0), (A, "(0, 0)")),
    ("permute", lambda t, a, b: a.permute(0, 1, 2), (A, "(0, 1, 2)")),
    ("cat", lambda t, a, b: t.cat([a, b]), (A, B, "dimension 0", "size 3", "size 5", "tensor number 1")),
    ("cat", lambda t, a, b: t.cat([a, b], 1), (A, B, "dimension 1", "size 2", "size 4")),
    ("stack", lambda t, a, b: t.stack([a, b]), (A, B)),
    ("sum", lambda t, a, b: a.sum(7), ("[-2, 1]", "7")),
    ("max", lambda t, a, b: a.max(7), ("[-2, 1]", "7")),
    ("softmax", lambda t, a, b: t.softmax(a, 7), ("[-2, 1]", "7")),
    ("transpose", lambda t, a, b: a.transpose(0, 7), ("[-2, 1]", "7")),
    ("index", lambda t, a, b: a[5], (A, "index 5", "dimension 0", "size 2")),
    ("index", lambda t, a, b: a[0, -4], (A, "index -4", "dimension 1", "size 3")),
    ("index", lambda t, a, b: a[..., 5], (A, "index 5", "dimension 1", "size 3")),
    ("index", lambda t, a, b: a[0, 0, 0], (A, "too many indices", "3")),
    ("index", lambda t, a, b: a[t.tensor([5])], ("index 5", "dimension 0", "size 2")),
    ("select", lambda t, a, b: a.select(1, 5), (A, "index 5", "dimension 1", "size 3")),
    ("gather", lambda t, a, b: a.gather(0, t.tensor([[9]])), ("index 9", "dimension 0", "size 2")),
    ("narrow", lambda t, a, b: a.narrow(0, 1, 5), (A, "start (1)", "length (5)")),
]


@pytest.mark.parametrize(("name", "mistake", "parts"), SHAPES, ids=[f"{i}-{m[0]}" for i, m in enumerate(SHAPES)])
def test_shapes_are_shown(name: str, mistake: Callable[[Any, Any, Any], Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(Exception) as expected:
        mistake(torch, torch.ones(2, 3), torch.ones(4, 5))
    with pytest.raises(expected.type) as got:
        mistake(mashal, mashal.ones(2, 3), mashal.ones(4, 5))
    message = str(got.value)
    assert message.startswith(f"{name}: ")
    assert [p for p in parts if p not in message] == [], message


def test_memory_that_does_not_exist() -> None:
    with pytest.raises(RuntimeError, match=str(4 << 50)):
        mashal.ones(1 << 30, 1 << 20)
