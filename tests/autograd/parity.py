"""Runs one small program on mashal and on torch and compares what it returns, tensor by tensor, or what it raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mashal

Program = Callable[[Any], Any]


def is_tensor(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, mashal.Tensor))


def plain(value: Any, history: bool) -> Any:
    """A description without a framework: tensors become (shape, dtype, values[, requires_grad, is_leaf])."""
    if is_tensor(value):
        parts = [tuple(value.shape), str(value.dtype).split(".")[-1], np.asarray(value.detach().numpy()).copy()]
        return [*parts, value.requires_grad, value.is_leaf] if history else parts
    if isinstance(value, dict):
        return {k: plain(v, history) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, history) for v in value]
    return value


def outcome(program: Program, framework: Any, history: bool) -> Any:
    try:
        return plain(program(framework), history)
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, AttributeError) as error:
        # Subclasses count as what a program would catch.
        kind = next(
            k
            for k in (NotImplementedError, RuntimeError, ValueError, TypeError, IndexError, AttributeError)
            if isinstance(error, k)
        )
        return f"raises {kind.__name__}", str(error)


def same(a: Any, b: Any, tol: float) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.shape == b.shape and np.allclose(a, b, rtol=tol, atol=tol, equal_nan=True)
    if isinstance(a, list) or isinstance(b, list):
        return (
            isinstance(a, list)
            and isinstance(b, list)
            and len(a) == len(b)
            and all(same(x, y, tol) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k], tol) for k in a)
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=tol, atol=tol, equal_nan=True))
    return type(a) is type(b) and a == b


def raised(result: Any) -> bool:
    return (
        isinstance(result, tuple)
        and len(result) == 2
        and isinstance(result[0], str)
        and result[0].startswith("raises ")
    )


def agree(program: Program, *, history: bool = True, tol: float = 1e-6) -> Any:
    """Asserts that both frameworks come to the same end; returns mashal's."""
    expected = outcome(program, torch, history)
    got = outcome(program, mashal, history)
    if raised(expected) or raised(got):
        agreed = raised(expected) and raised(got) and expected[0] == got[0]
    else:
        agreed = same(got, expected, tol)
    assert agreed, f"torch: {expected}\nmashal: {got}"
    return got


def programs(namespace: dict[str, Any], *helpers: str) -> list[Program]:
    """The functions of a test module that are programs: all but tests and the named helpers."""
    module = namespace["__name__"]
    return [
        f
        for name, f in namespace.items()
        if callable(f)
        and getattr(f, "__module__", "") == module
        and not name.startswith("test_")
        and name not in helpers
    ]
