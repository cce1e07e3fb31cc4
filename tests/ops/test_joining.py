"""Joining, rearranging, grids: values, gradients and second gradients against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mashal

from .compare import array, check, check_raises

A, B, X = array(2, 3), array(2, 3, seed=1), array(3, 4, 5)
CASES: dict[str, tuple[Any, ...]] = {}
for _d in (0, 1, -1):
    CASES[f"cat {_d}"] = (lambda t, a, b, d=_d: t.cat([a, b], d), A, B)
for _d in (0, 1, 2, -1, -3):
    CASES[f"stack {_d}"] = (lambda t, a, b, d=_d: t.stack([a, b], d), A, B)
for _f in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
    for _s in ((), (3,), (2, 3), (2, 3, 2)):
        CASES[f"{_f} {_s}"] = (lambda t, a, b, f=_f: getattr(t, f)([a, b]), array(*_s), array(*_s, seed=1))
for _d in (0, 1, -1, (0, 2), (0, 1, 2), ()):
    CASES[f"flip {_d}"] = (lambda t, x, d=_d: x.flip(d), X)
for _s, _d in ((1, 0), (-2, 1), (7, 2), ((1, 2), (0, 2)), (3, ()), ((1, 1), (0, 0)), (0, 0)):
    CASES[f"roll {_s} {_d}"] = (lambda t, x, s=_s, d=_d: x.roll(s, d), X)
for _k in range(-1, 5):
    CASES[f"rot90 {_k}"] = (lambda t, x, k=_k: x.rot90(k, (2, 1)), X)
for _r in ((2, 1, 1), (1, 2, 3), (2, 1, 1, 1), (0, 1, 1), (1, 1, 1)):
    CASES[f"repeat {_r}"] = (lambda t, x, r=_r: x.repeat(*r), X)
for _r in ((2,), (2, 1, 3), (2, 1, 1, 1), ()):
    CASES[f"tile {_r}"] = (lambda t, x, r=_r: x.tile(r), X)
for _d in (0, 1, -1, None):
    CASES[f"repeat_interleave {_d}"] = (lambda t, x, d=_d: x.repeat_interleave(2, d), X)
CASES |= {
    "cat of one": (lambda t, a: t.cat([a]), A),
    "cat transposed": (lambda t, a, b: t.cat([a.t(), b.t()], 1), A, B),
    "cat legacy empty": (lambda t, a, e: t.cat([e, a], 1), A, array(0)),
    "cat empty": (lambda t, a, e: t.cat([e, a], 0), A, array(0, 3)),
    "concat": (lambda t, a: t.concat([a, a], dim=1), A),
    "concatenate": (lambda t, a: t.concatenate([a, a], axis=1), A),
    "fliplr": (lambda t, x: t.fliplr(x), X),
    "flipud": (lambda t, x: t.flipud(x), X),
    "flip transposed": (lambda t, x: x.transpose(0, 2).flip(1), X),
    "repeat_interleave counts": (lambda t, x: x.repeat_interleave(t.tensor([0, 2, 1]), 0), X),
    "repeat_interleave one count": (lambda t, x: x.repeat_interleave(t.tensor([2]), 1), X),
    "repeat_interleave size": (lambda t, x: x.repeat_interleave(t.tensor([0, 2, 1]), 0, output_size=3), X),
    "meshgrid": (lambda t, a, b: t.meshgrid(a, b, indexing="ij"), array(2), array(3)),
    "meshgrid xy": (lambda t, a, b, c: t.meshgrid([a, b, c], indexing="xy"), array(2), array(3), array(2, seed=1)),
    "cartesian_prod": (lambda t, a, b: t.cartesian_prod(a, b), array(2), array(3)),
    "cartesian_prod one": (lambda t, a: t.cartesian_prod(a), array(2)),
    "combinations": (lambda t, a: t.combinations(a), array(4)),
    "combinations repeated": (lambda t, a: t.combinations(a, 3, True), array(3)),
    "combinations none": (lambda t, a: t.combinations(a, 4), array(3)),
    "combinations 0": (lambda t, a: t.combinations(a, 0), array(3)),
    "block_diag": (lambda t, a, b, c: t.block_diag(a, b, c), array(2, 3), array(3), array()),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    check(*CASES[name])


def test_cat_promotes_and_keeps_channels_last() -> None:
    x = mashal.cat([mashal.arange(3, dtype=mashal.int32), mashal.ones(2, dtype=mashal.float16)])
    assert x.dtype == mashal.float16
    y = mashal.zeros(2, 3, 4, 5).contiguous(memory_format=mashal.channels_last)
    assert mashal.cat([y, y], 1).is_contiguous(memory_format=mashal.channels_last)


@pytest.mark.parametrize("width", [1, 2, 4, 7, 100])
def test_cat_of_rows_of_every_width(width: int) -> None:
    values = [np.arange(50 * w, dtype=np.int16).reshape(50, w) for w in (width, 1, 3)]
    ours = mashal.cat([mashal.tensor(v) for v in values], 1)
    np.testing.assert_array_equal(ours.numpy(), np.concatenate(values, 1))


def test_out() -> None:
    for lib in (mashal, torch):
        for f in (lib.cat, lib.stack, lib.hstack, lib.vstack):
            out = lib.empty(0)
            assert f([lib.ones(2), lib.zeros(2)], out=out) is out
            assert out.numel() == 4


def test_errors() -> None:
    check_raises(
        RuntimeError, lambda t, a, b: t.cat([a, b]), array(2, 3), array(2, 2), match="match except in dimension"
    )
    check_raises(RuntimeError, lambda t, a, b: t.cat([a, b]), array(2, 3), array(3), match="number of dimensions")
    check_raises(RuntimeError, lambda t, a: t.cat([a]), array(), match="zero-dimensional")
    check_raises(ValueError, lambda t: t.cat([]), match="non-empty")
    check_raises(RuntimeError, lambda t: t.stack([]), match="non-empty")
    check_raises(RuntimeError, lambda t, a, b: t.stack([a, b]), array(2), array(3), match="equal size")
    check_raises(IndexError, lambda t, a: t.stack([a], 2), array(2), match="out of range")
    check_raises(RuntimeError, lambda t, x: x.flip((0, 0)), X, match="multiple times")
    check_raises(IndexError, lambda t, x: x.flip(5), X)
    check_raises(RuntimeError, lambda t, x: x.roll((1, 2), (0,)), X, match="align")
    check_raises(RuntimeError, lambda t, x: x.roll((), ()), X)
    check_raises(IndexError, lambda t, x: x.roll(1, 0), array())
    check_raises(RuntimeError, lambda t, x: x.rot90(1, (1, 1)), X, match="different")
    check_raises(RuntimeError, lambda t, x: x.repeat(2, 2), X, match="smaller")
    check_raises(RuntimeError, lambda t, x: x.repeat(2, -1, 1), X, match="negative")
    check_raises(RuntimeError, lambda t, x: x.repeat_interleave(t.tensor([1, -2, 1]), 0), X, match="negative")
    check_raises(RuntimeError, lambda t, x: x.repeat_interleave(t.tensor([1, 2]), 0), X, match="same size")
    check_raises(RuntimeError, lambda t, a: t.block_diag(a), array(2, 2, 2))
