"""Gradients of first and second order of every differentiable record, in float64, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mashal
from tests.opdb import Record, tensors_in
from tests.ops._compare import assert_same, both, cases, functions

# torch deprecates some of what is compared.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def _cotangents(framework: Any, outs: list[Any], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    result = []
    for o in outs:
        data = rng.uniform(-1, 1, tuple(o.shape))
        if "complex" in str(o.dtype):
            data = data + 1j * rng.uniform(-1, 1, tuple(o.shape))
        t = (
            framework.from_numpy(np.ascontiguousarray(data))
            if data.ndim
            else framework.tensor(data.item(), dtype=o.dtype)
        )
        result.append(t.to(o.dtype))
    return result


def _gradients(framework: Any, fn: Any, args: Any, kwargs: Any, second: bool) -> tuple[list[Any], list[Any]]:
    inputs = [t for t in tensors_in((args, kwargs)) if t.requires_grad]
    outs = [o for o in tensors_in(fn(*args, **kwargs)) if o.requires_grad]
    cotangents = _cotangents(framework, outs, 1)
    if second:
        for c in cotangents:
            c.requires_grad_()
    first = framework.autograd.grad(outs, inputs, cotangents, create_graph=second, allow_unused=True)
    if not second:
        return list(first), []
    live = [g for g in first if g is not None and g.requires_grad]
    if not live:
        return list(first), []
    twice = framework.autograd.grad(live, [*inputs, *cotangents], _cotangents(framework, live, 2), allow_unused=True)
    return list(first), list(twice)


def _zero_for_none(grads: list[Any], framework: Any, like: list[Any]) -> list[Any]:
    return [
        framework.zeros(tuple(b.shape), dtype=getattr(framework, str(b.dtype).split(".")[1])) if g is None else g
        for g, b in zip(grads, like, strict=True)
    ]


@pytest.mark.parametrize("record", cases(lambda r: r.grad, reader="grad"))
def test_grad(record: Record) -> None:
    ours, theirs = functions(record)
    real = not all(d.startswith("complex") for d in record.dtypes)
    dtypes = [*(["float64"] if real else []), *(["complex128"] if "complex128" in record.dtypes else [])]
    for dtype in dtypes:
        for i, sample in enumerate(record.samples):
            a, ka, b, kb = both(record, i, sample, dtype, grad=True)
            if not any(t.requires_grad for t in tensors_in((b, kb))):
                continue
            where = f"{record.name} {dtype} sample {i}"
            expected, expected2 = _gradients(torch, theirs, b, kb, record.second)
            got, got2 = _gradients(mashal, ours, a, ka, record.second)
            assert len(got) == len(expected), where
            _compare(got, expected, record, f"gradient of {where}")
            if record.second and (got2 or expected2):
                if not got2 or not expected2:
                    live = [g for g in (got2 or expected2) if g is not None]
                    assert all(float(g.abs().max()) == 0 for g in live if g.numel()), (
                        f"second gradient of {where}: one side has none"
                    )
                else:
                    _compare(got2, expected2, record, f"second gradient of {where}")


def _compare(got: list[Any], expected: list[Any], record: Record, where: str) -> None:
    for k, (x, y) in enumerate(zip(got, expected, strict=True)):
        if x is None or y is None:
            for g in (x, y):
                assert g is None or g.numel() == 0 or float(g.abs().max()) == 0, (
                    f"{where}: input {k} has a gradient on one side only: {g}"
                )
            continue
        # Sums in another order: float64 gradients agree to a few hundred units in the last place.
        assert_same(x, y, record, f"{where}, input {k}", tol=max(1e-10, 10 * record.tol.get("float64", 0)))
