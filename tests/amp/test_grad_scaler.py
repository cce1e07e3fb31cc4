"""Loss scaling, step by step as PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch

import mashal

BOTH = pytest.mark.parametrize("lib", [mashal, torch], ids=["mashal", "torch"])


def _history(lib: Any, optimizer: str, **options: Any) -> list[Any]:
    w = lib.nn.Parameter(lib.tensor([1.0, 2.0, -3.0]))
    opt = getattr(lib.optim, optimizer)([w], lr=0.125)
    scaler = lib.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, **options)
    seen: list[Any] = []
    for bad in (None, None, "inf", "nan", None, None, None):
        opt.zero_grad()
        loss = (w * w).sum() * (float(bad) if bad else 1.0)
        scaler.scale(loss).backward()
        scaler.unscale_(opt) if bad == "nan" else None
        result = scaler.step(opt)
        scaler.update()
        seen.append((result, w.tolist(), scaler.get_scale(), scaler.state_dict()))
    return seen


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
@pytest.mark.parametrize("options", [{}, {"growth_factor": 3.0, "backoff_factor": 0.25}, {"enabled": False}], ids=str)
def test_histories_are_equal(optimizer: str, options: dict[str, Any]) -> None:
    ours, theirs = (_history(lib, optimizer, **options) for lib in (mashal, torch))
    for (r1, w1, s1, d1), (r2, w2, s2, d2) in zip(ours, theirs, strict=True):
        assert (r1, s1, d1) == (r2, s2, d2)
        assert w1 == pytest.approx(w2, rel=1e-6, nan_ok=True)


@BOTH
def test_order_of_calls(lib: Any) -> None:
    w = lib.nn.Parameter(lib.ones(1))
    opt = lib.optim.SGD([w], lr=0.1)
    scaler = lib.amp.GradScaler("cpu")
    with pytest.raises(AssertionError, match="_scale is None"):
        scaler.step(opt)
    scaler.scale(w.sum()).backward()
    scaler.unscale_(opt)
    assert w.grad.item() == 1.0
    with pytest.raises(RuntimeError, match="unscale_\\(\\) has already been called"):
        scaler.unscale_(opt)
    scaler.step(opt)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(opt)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(opt)
    scaler.update()
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.update()
    with pytest.raises(RuntimeError, match="Closure"):
        scaler.step(opt, closure=lambda: None)
    with pytest.raises(AssertionError):
        lib.amp.GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError):
        lib.amp.GradScaler("cpu", backoff_factor=1.0)


@BOTH
def test_containers_and_new_scales(lib: Any) -> None:
    scaler = lib.amp.GradScaler("cpu", init_scale=4.0)
    a, (b,) = scaler.scale((lib.tensor(1.0), [lib.tensor(2.0)]))
    assert (a.item(), b.item()) == (4.0, 8.0)
    scaler.update(2.0)
    assert scaler.get_scale() == 2.0
    scaler.update(lib.tensor(16.0))
    assert scaler.get_scale() == 16.0
    with pytest.raises(AssertionError):
        scaler.update(lib.ones(2))
    with pytest.raises(ValueError, match="iterable of Tensors"):
        scaler.scale(3)


@BOTH
def test_half_gradients_are_refused(lib: Any) -> None:
    w = lib.nn.Parameter(lib.ones(1, dtype=lib.float16))
    opt = lib.optim.SGD([w], lr=0.1)
    scaler = lib.amp.GradScaler("cpu")
    scaler.scale(w.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(opt)


@BOTH
def test_state_travels(lib: Any) -> None:
    scaler = lib.amp.GradScaler("cpu", init_scale=4.0, growth_interval=7)
    scaler.scale(lib.ones(1))
    scaler.update(32.0)
    other = lib.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    again = pickle.loads(pickle.dumps(scaler)) if lib is torch else copy.copy(scaler)
    assert again.state_dict() == scaler.state_dict()
    with pytest.raises(RuntimeError, match="empty"):
        other.load_state_dict({})


@BOTH
def test_the_arithmetic(lib: Any) -> None:
    found, grads = lib.zeros(()), [lib.tensor([2.0, 4.0]), lib.tensor([8.0])]
    lib._amp_foreach_non_finite_check_and_unscale_(grads, found, lib.tensor(0.5))
    assert (found.item(), grads[0].tolist(), grads[1].tolist()) == (0.0, [1.0, 2.0], [4.0])
    lib._amp_foreach_non_finite_check_and_unscale_([lib.tensor([float("inf")])], found, lib.tensor(0.5))
    assert found.item() == 1.0
    scale, tracker = lib.tensor(8.0), lib.tensor(1, dtype=lib.int32)
    lib._amp_update_scale_(scale, tracker, lib.tensor(0.0), 2.0, 0.5, 2)
    assert (scale.item(), tracker.item()) == (16.0, 0)
    lib._amp_update_scale_(scale, tracker, lib.tensor(1.0), 2.0, 0.5, 2)
    assert (scale.item(), tracker.item()) == (8.0, 0)
