"""Copies, casts, fills: values and layouts against PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import mashal

from .compare import array, check, check_raises

DTYPES = ("bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128").split()


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize(("source", "target"), list(itertools.product(DTYPES, DTYPES)))
def test_every_cast_dense_and_transposed(source: str, target: str) -> None:
    # Negative numbers to unsigned ones are left out: the result is undefined.
    low = 0 if "uint8" in (source, target) else -6
    values = np.arange(low, low + 12).reshape(3, 4) * 1.5
    for swap in (False, True):
        found = []
        for lib in (mashal, torch):
            x = lib.tensor(values).to(getattr(lib, source))
            x = x.transpose(0, 1) if swap else x
            found.append(x.to(getattr(lib, target)))
        ours, theirs = found
        assert ours.tolist() == theirs.tolist()
        assert ours.stride() == theirs.stride()


@pytest.mark.parametrize("shape", [(300, 500), (7, 33, 65), (64, 64), (129, 257), (2, 3, 40, 50), (3, 1, 5), (1000,)])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_transposed_copies_of_every_item_size(shape: tuple[int, ...], dtype: str) -> None:
    values = (np.arange(np.prod(shape)) % 251).reshape(shape).astype(dtype)
    x = mashal.tensor(values).transpose(0, -1).contiguous()
    assert x.is_contiguous()
    np.testing.assert_array_equal(x.numpy(), values.swapaxes(0, -1))


def test_clone_keeps_the_layout_of_dense_tensors() -> None:
    for make in (
        lambda t: t.zeros(2, 3, 4, 5).permute(3, 0, 2, 1),
        lambda t: t.zeros(2, 3, 4, 5)[:, ::2],
        lambda t: t.zeros(2, 1, 4).expand(2, 3, 4),
        lambda t: t.zeros(2, 3, 4, 5).transpose(1, 3)[::2],
    ):
        assert make(mashal).clone().stride() == make(torch).clone().stride()
    x = mashal.zeros(2, 3, 4, 5)
    assert x.clone(memory_format=mashal.channels_last).stride() == (60, 1, 15, 3)
    assert x.contiguous() is x
    assert x.contiguous(memory_format=mashal.channels_last).is_contiguous(memory_format=mashal.channels_last)


CASES: dict[str, tuple[Any, ...]] = {
    "clone": (lambda t, x: x.clone(), array(2, 3)),
    "copy_ broadcast": (lambda t, x: t.zeros(2, 3, 4, dtype=t.float64).copy_(x), array(3, 1)),
    "copy_ into a view": (lambda t, x, y: _written(x, lambda v: v[1:].copy_(y)), array(3, 2), array(2)),
    "fill_": (lambda t, x: _written(x, lambda v: v[:, 1].fill_(2.5)), array(3, 4)),
    "fill_ tensor": (lambda t, x, v: x.clone().fill_(v), array(3), array()),
    "fill": (lambda t, x: t.fill(x, 3.0), array(3)),
    "zero_": (lambda t, x: _written(x, lambda v: v[0].zero_()), array(3, 4)),
    "contiguous": (lambda t, x: x.t().contiguous(), array(3, 4)),
}


def _written(x: Any, write: Any) -> Any:
    y = x.clone()
    write(y)
    return y


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    check(*CASES[name])


def test_overlapping_copies_go_through_a_temporary() -> None:
    x = mashal.arange(10)
    x[1:].copy_(x[:-1])
    assert x.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    y = mashal.arange(9).view(3, 3)
    y.copy_(y.t())
    assert y.tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_errors() -> None:
    check_raises(RuntimeError, lambda t, x: t.zeros(2).copy_(x), array(3), match="broadcast")
    check_raises(RuntimeError, lambda t: t.zeros(2).fill_(1j))
    check_raises(RuntimeError, lambda t: t.zeros(2).fill_(t.ones(2)), match="0-dim")
    check_raises(RuntimeError, lambda t, x: x.expand(3, 3).copy_(x), array(3, 1), match="single memory location")
