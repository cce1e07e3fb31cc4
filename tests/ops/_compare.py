"""What the readers share: realising samples in both frameworks and comparing results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mashal
from tests.opdb import TOLERANCE, Record, Sample, load, realise, resolve, seed_of, tensors_in


def cases(select: Any = lambda r: True, reader: str = "") -> list[Any]:
    """Records as pytest parameters, with the record's strict xfails for this reader."""
    out = []
    for r in load():
        if not select(r):
            continue
        marks = [pytest.mark.xfail(reason=r.xfail[reader], strict=True)] if reader in r.xfail else []
        out.append(pytest.param(r, id=r.name, marks=marks))
    return out


def both(record: Record, index: int, sample: Sample, dtype: str, grad: bool = False) -> tuple[Any, Any, Any, Any]:
    """(args, kwargs) for mashal and for torch."""
    seed = seed_of(record, index)
    ours = realise(mashal, sample.args, dtype, seed, grad), realise(mashal, sample.kwargs, dtype, seed, grad)
    theirs = realise(torch, sample.args, dtype, seed, grad), realise(torch, sample.kwargs, dtype, seed, grad)
    return *ours, *theirs


def to_numpy(t: Any) -> np.ndarray:
    t = t.detach()
    if str(t.dtype).endswith("bfloat16"):
        t = t.float()
    # force: torch has lazy conjugates and zeros.
    return np.asarray(t.numpy(force=True) if isinstance(t, torch.Tensor) else t.numpy())


def dtype_name(t: Any) -> str:
    return str(t.dtype).split(".")[-1]


def _plain(value: Any) -> Any:
    """What is no tensor, without its framework: dtypes and sizes by name and as tuples."""
    if type(value).__name__ == "dtype":
        return str(value).split(".")[-1]
    return tuple(value) if type(value).__name__ == "Size" else value


def assert_same(
    ours: Any, theirs: Any, record: Record, where: str, tol: float | None = None, strides: bool = False
) -> None:
    """Values within the record's tolerance; types and shapes equal."""
    a, b = list(tensors_in(ours)), list(tensors_in(theirs))
    if not b:
        ours, theirs = _plain(ours), _plain(theirs)
        assert ours == theirs or (ours != ours and theirs != theirs), f"{where}: {ours!r} is not {theirs!r}"
        return
    assert len(a) == len(b), f"{where}: {len(a)} results instead of {len(b)}"
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        assert tuple(x.shape) == tuple(y.shape), (
            f"{where}: result {k} has shape {tuple(x.shape)}, torch's {tuple(y.shape)}"
        )
        assert dtype_name(x) == dtype_name(y), f"{where}: result {k} is {x.dtype}, torch's {y.dtype}"
        if strides and y.numel() > 0:
            assert tuple(x.stride()) == tuple(y.stride()), (
                f"{where}: result {k} has strides {x.stride()}, torch's {y.stride()}"
            )
        p, q = to_numpy(x), to_numpy(y)
        if record.exact or p.dtype.kind in "biu":
            assert np.array_equal(p, q, equal_nan=p.dtype.kind in "fc"), f"{where}: result {k} differs: {p} and {q}"
            continue
        limit = tol if tol is not None else record.tol.get(dtype_name(x), TOLERANCE[dtype_name(x)])
        wide = np.complex128 if p.dtype.kind == "c" else np.float64
        p, q = p.astype(wide), q.astype(wide)
        finite = np.isfinite(q)
        assert np.array_equal(np.isfinite(p), finite), f"{where}: result {k}: infinities or NaN differ: {p} and {q}"
        if p.dtype.kind == "f":
            assert np.array_equal(p[~finite], q[~finite], equal_nan=True), f"{where}: result {k}: {p} and {q}"
        error = np.abs(p[finite] - q[finite]) / np.maximum(1, np.abs(q[finite]))
        worst = error.max() if error.size else 0.0
        assert worst <= limit, f"{where}: result {k} is off by {worst:.3g} (allowed {limit:.3g})\nours {p}\ntorch {q}"


def builtin_class(error: BaseException) -> type[BaseException]:
    """The class that a program not written for one framework would catch."""
    return next(c for c in type(error).__mro__ if c.__module__ == "builtins")


def functions(record: Record) -> tuple[Any, Any]:
    return resolve(mashal, record.name), resolve(torch, record.name)
