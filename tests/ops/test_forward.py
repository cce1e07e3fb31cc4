"""Values, types, shapes and strides of every record against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mashal
from tests.opdb import Record, Sample, T
from tests.ops._compare import assert_same, both, builtin_class, cases, functions

# torch deprecates some of what is compared.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("record", cases(reader="forward"))
def test_forward(record: Record) -> None:
    ours, theirs = functions(record)
    for dtype in record.dtypes:
        for i, sample in enumerate(record.samples):
            a, ka, b, kb = both(record, i, sample, dtype)
            expected = theirs(*b, **kb)
            where = f"{record.name} {dtype} sample {i}"
            assert_same(ours(*a, **ka), expected, record, where, strides=bool(record.strides))


def _relayout(value: Any, layout: str) -> Any:
    if isinstance(value, T):
        return value.with_layout(layout)
    if isinstance(value, (list, tuple)):
        return type(value)(_relayout(v, layout) for v in value)
    return value


@pytest.mark.parametrize("layout", ["transposed", "sliced", "expanded"])
@pytest.mark.parametrize("record", cases(reader="layouts"))
def test_layouts(record: Record, layout: str) -> None:
    if layout not in record.layouts:
        pytest.skip("not for this op")
    ours, theirs = functions(record)
    for i, sample in enumerate(record.samples):
        varied = Sample(_relayout(sample.args, layout), {k: _relayout(v, layout) for k, v in sample.kwargs.items()})
        a, ka, b, kb = both(record, i, varied, record.dtypes[0])
        try:
            expected = theirs(*b, **kb)
        except RuntimeError as e:
            with pytest.raises(builtin_class(e)):
                ours(*a, **ka)
            continue
        where = f"{record.name} {layout} sample {i}"
        assert_same(ours(*a, **ka), expected, record, where, strides=record.strides is True)


@pytest.mark.parametrize("record", cases(lambda r: r.meta, reader="meta"))
def test_meta(record: Record) -> None:
    """The shape rule alone gives the shapes, types and strides that the kernel gives."""
    ours, _ = functions(record)
    for i, sample in enumerate(record.samples):
        a, ka, _, _ = both(record, i, sample, record.dtypes[0])
        expected = ours(*a, **ka)
        got = ours(*_to_meta(a), **_to_meta(ka))
        for x, y in zip(_tensors(got), _tensors(expected), strict=True):
            assert x.is_meta
            assert (x.shape, x.dtype) == (y.shape, y.dtype), f"{record.name} sample {i}"


def _to_meta(value: Any) -> Any:
    if isinstance(value, mashal.Tensor):
        return value.to("meta")
    if isinstance(value, (list, tuple)):
        return type(value)(_to_meta(v) for v in value)
    if isinstance(value, dict):
        return {k: _to_meta(v) for k, v in value.items()}
    return value


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, mashal.Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


@pytest.mark.parametrize("record", cases(lambda r: r.inplace, reader="inplace"))
def test_inplace(record: Record) -> None:
    for i, sample in enumerate(record.samples):
        a, ka, b, kb = both(record, i, sample, record.dtypes[0])
        ours = getattr(a[0], record.name.split(".")[-1] + "_")
        theirs = getattr(b[0], record.name.split(".")[-1] + "_")
        try:
            expected = theirs(*b[1:], **kb)
        except RuntimeError as e:
            with pytest.raises(builtin_class(e)):
                ours(*a[1:], **ka)
            continue
        result = ours(*a[1:], **ka)
        assert result is a[0]
        assert a[0]._version > 0
        assert_same(a[0], expected, record, f"{record.name}_ sample {i}")


@pytest.mark.parametrize("record", cases(lambda r: r.out, reader="out"))
def test_out(record: Record) -> None:
    ours, theirs = functions(record)
    for i, sample in enumerate(record.samples):
        a, ka, b, kb = both(record, i, sample, record.dtypes[0])
        expected = theirs(*b, **kb)
        if not isinstance(expected, torch.Tensor):
            continue
        out = mashal.empty(tuple(expected.shape), dtype=getattr(mashal, str(expected.dtype).split(".")[1]))
        assert ours(*a, **ka, out=out) is out
        assert_same(out, expected, record, f"{record.name} out= sample {i}")
        # An input as the output is computed right.
        a, ka, b, kb = both(record, i, sample, record.dtypes[0])
        first = a[0]
        if isinstance(first, mashal.Tensor) and first.shape == tuple(expected.shape) and first.dtype == out.dtype:
            ours(*a, **ka, out=first)
            assert_same(first, expected, record, f"{record.name} out=input sample {i}")
