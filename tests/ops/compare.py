"""Runs one function with mashal and with torch and compares results, gradients and second gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import mashal

# Relative to the largest element: both sides round, in different orders.
TOLERANCE = {
    "float64": 1e-10,
    "complex128": 1e-10,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 5e-3,
    "bfloat16": 3e-2,
}


def array(*shape: int, dtype: str = "float64", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed + sum(shape) + 7 * len(shape))
    if dtype.startswith("complex"):
        return np.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if "int" in dtype:
        return np.asarray(rng.integers(-5, 6, shape)).astype(dtype)
    return np.asarray(rng.standard_normal(shape)).astype(dtype)


def to_numpy(t: Any) -> np.ndarray:
    if "float16" in str(t.dtype):  # bfloat16 too: NumPy has no such type
        t = t.to(mashal.float32 if isinstance(t, mashal.Tensor) else torch.float32)
    return t.numpy(force=True) if isinstance(t, torch.Tensor) else t.detach().numpy()


def assert_close(ours: Any, theirs: Any, dtype: str, what: str = "result", tolerance: float | None = None) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape), f"{what}: shape {tuple(ours.shape)} vs {tuple(theirs.shape)}"
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], f"{what}: {ours.dtype} vs {theirs.dtype}"
    a, b = to_numpy(ours), to_numpy(theirs)
    if a.dtype.kind in "biu":
        assert np.array_equal(a, b), what
        return
    tolerance = TOLERANCE[dtype] if tolerance is None else tolerance
    finite = np.isfinite(b)
    scale = max(1.0, float(np.abs(b[finite]).max()) if finite.any() else 1.0)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def _tensors(lib: Any, arrays: Sequence[Any], dtype: str, grad: bool) -> list[Any]:
    out = []
    for a in arrays:
        if not isinstance(a, np.ndarray):
            out.append(a)
            continue
        t = lib.tensor(a)
        if a.dtype.kind in "fc":
            t = t.to(getattr(lib, dtype))
            if grad:
                t.requires_grad_()
        out.append(t)
    return out


def check(
    fn: Callable[..., Any],
    *arrays: Any,
    dtype: str = "float64",
    grad: int = 2,
    tolerance: float | None = None,
) -> None:
    """``fn(lib, *tensors)`` for both libraries; ``grad``: how many times to differentiate."""
    results = []
    for lib in (mashal, torch):
        inputs = _tensors(lib, arrays, dtype, grad > 0)
        outs = fn(lib, *inputs)
        outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
        stages = [outs]
        leaves = [t for t in inputs if getattr(t, "requires_grad", False)]
        now = [o for o in outs if o.requires_grad]
        for level in range(grad):
            if not now:
                break
            cotangents = []
            for i, o in enumerate(now):
                c = array(*o.shape, dtype="complex128" if o.is_complex() else "float64", seed=11 * i + level)
                cotangents.append(lib.tensor(c).to(o.dtype))
            grads = lib.autograd.grad(now, leaves, cotangents, create_graph=level + 1 < grad, allow_unused=True)
            stages.append([lib.zeros_like(t) if g is None else g for g, t in zip(grads, leaves, strict=True)])
            now = [g for g in grads if g is not None and g.requires_grad]
        results.append(stages)
    # Of linear functions torch sometimes has one derivative more, which is zero.
    for level, (ours, theirs) in enumerate(itertools.zip_longest(*results)):
        names = "result" if level == 0 else f"gradient of order {level}"
        if ours is None or theirs is None:
            assert all(not to_numpy(t).any() for t in ours or theirs), f"{names}: only one library has one"
            continue
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_close(a, b, dtype, f"{names} {i}", tolerance)


def check_raises(error: type[Exception], fn: Callable[..., Any], *arrays: Any, match: str = "") -> None:
    """Both libraries raise ``error``; ours says ``match``."""
    import pytest

    with pytest.raises(error):
        fn(torch, *_tensors(torch, arrays, "float32", False))
    with pytest.raises(error, match=match or None):
        fn(mashal, *_tensors(mashal, arrays, "float32", False))
