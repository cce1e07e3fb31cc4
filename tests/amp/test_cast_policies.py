"""What autocast casts: the type of every op's result, op by op, as in PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from tests import opdb

import mashal

# PyTorch composes `pinv` of products, which autocast rounds; of half matrices it takes `det` of empty ones only.
DIFFERENT = {"linalg.pinv", "linalg.det"}
RECORDS = [r for r in opdb.load() if "float32" in r.dtypes and r.name not in DIFFERENT]


def _dtypes(out: Any) -> list[str]:
    return [str(t.dtype).split(".")[-1] for t in opdb.tensors_in(out)]


def _outcome(lib: Any, record: opdb.Record, index: int, given: str, low: str) -> list[str] | str:
    sample, seed = record.samples[index], opdb.seed_of(record, index)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = opdb.realise(lib, sample.args, given, seed)
        kwargs = opdb.realise(lib, sample.kwargs, given, seed)
        with lib.autocast("cpu", dtype=getattr(lib, low)):
            try:
                return _dtypes(opdb.resolve(lib, record.name)(*args, **kwargs))
            except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError) as e:
                return f"{type(e).__name__}: {e}"


@pytest.mark.parametrize("low", ["bfloat16", "float16"])
@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.name)
def test_types_of_results(record: opdb.Record, low: str) -> None:
    # One type's policies are the other's: of float16 a sample is enough.
    samples = range(len(record.samples) if low == "bfloat16" else 1)
    for given in ("float32", low):
        for index in samples:
            theirs = _outcome(torch, record, index, given, low)
            if isinstance(theirs, str) or "complex32" in theirs:
                continue  # PyTorch refuses, or has a type that mashal has not: there is nothing to agree with
            ours = _outcome(mashal, record, index, given, low)
            assert ours == theirs, f"sample {index} of {given}"
