"""Index tensors, masks, searching, embedding: values, gradients and second gradients against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mashal
from mashal import _ops

from .compare import array, check, check_raises

RNG = np.random.default_rng(5)
X = array(3, 4, 5)
MASK = X > 0


def ints(high: int, *shape: int) -> np.ndarray:
    return RNG.integers(0, high, shape)


def distinct(size: int, count: int, dim: int, *shape: int) -> np.ndarray:
    """Indices below ``size`` of a shape with ``count`` entries along ``dim``, none twice in a column."""
    columns = np.stack([RNG.permutation(size)[:count] for _ in range(int(np.prod(shape)))])
    return np.ascontiguousarray(np.moveaxis(columns.reshape(*shape, count), -1, dim))


def written(f: Callable[..., Any]) -> Callable[..., Any]:
    """Writes into a copy."""

    def run(t: Any, x: Any, *args: Any) -> Any:
        y = x.clone()
        f(y, *args)
        return y

    return run


CASES: dict[str, tuple[Any, ...]] = {}
for _d, _i in ((0, ints(3, 2, 4, 5)), (1, ints(4, 3, 2, 5)), (2, ints(5, 3, 4, 7)), (-1, ints(5, 2, 2, 3))):
    _s = array(*_i.shape)
    CASES[f"gather {_d}"] = (lambda t, x, i, d=_d: x.gather(d, i), X, _i)
    CASES[f"scatter number {_d}"] = (lambda t, x, i, d=_d: x.scatter(d, i, 2.5), X, _i)
    CASES[f"scatter_ number {_d}"] = (lambda t, x, i, d=_d: x.clone().scatter_(d, i, value=3), X, _i)
    CASES[f"scatter_add {_d}"] = (lambda t, x, i, s, d=_d: x.scatter_add(d, i, s), X, _i, _s)
    CASES[f"scatter_add_ {_d}"] = (lambda t, x, i, s, d=_d: x.clone().scatter_add_(d, i, s), X, _i, _s)
    for _r in ("sum", "prod", "mean", "amax", "amin"):
        for _self in (True, False):
            CASES[f"scatter_reduce {_d} {_r} {_self}"] = (
                lambda t, x, i, s, d=_d, r=_r, w=_self: x.scatter_reduce(d, i, s, r, include_self=w), X, _i, _s,
            )  # fmt: skip
for _d, _n, _rest in ((0, 3, (4, 5)), (1, 4, (3, 5)), (-1, 5, (3, 4))):
    _i = distinct(_n, 2, _d, *_rest)
    _s = array(*_i.shape)
    CASES[f"scatter {_d}"] = (lambda t, x, i, s, d=_d: x.scatter(d, i, s), X, _i, _s)
    CASES[f"scatter_ {_d}"] = (lambda t, x, i, s, d=_d: x.clone().scatter_(d, i, s), X, _i, _s)
    _one, _source = RNG.permutation(_n)[:2], array(*_i.shape, seed=3)
    for _f in ("index_add", "index_copy"):
        CASES[f"{_f} {_d}"] = (lambda t, x, i, s, d=_d, f=_f: getattr(x, f)(d, i, s), X, _one, _source)
        CASES[f"{_f}_ {_d}"] = (lambda t, x, i, s, d=_d, f=_f: getattr(x.clone(), f + "_")(d, i, s), X, _one, _source)
    CASES[f"index_add alpha {_d}"] = (lambda t, x, i, s, d=_d: x.index_add(d, i, s, alpha=2.5), X, _one, _source)
    CASES[f"index_fill {_d}"] = (lambda t, x, i, d=_d: x.index_fill(d, i, 2.5), X, _one)
    CASES[f"index_fill_ {_d}"] = (lambda t, x, i, d=_d: x.clone().index_fill_(d, i - 1, 2.5), X, _one)
    CASES[f"index_fill tensor {_d}"] = (lambda t, x, i, v, d=_d: x.index_fill(d, i, v), X, _one, array())
    CASES[f"index_select {_d}"] = (lambda t, x, i, d=_d: x.index_select(d, i), X, ints(_n, 6))
    CASES[f"index_select strided {_d}"] = (
        lambda t, x, i, d=_d: x.permute(1, 2, 0).index_select(d, i), X, ints(3, 6),
    )  # fmt: skip
    for _r in ("prod", "mean", "amax", "amin"):
        CASES[f"index_reduce {_d} {_r}"] = (
            lambda t, x, i, s, d=_d, r=_r: x.detach().index_reduce(d, i, s.detach(), r), X, _one, _source,
        )  # fmt: skip
I, J = ints(3, 6), ints(4, 6)
_READS: dict[str, Callable[..., Any]] = {
    "i": lambda x, i, j: x[i], "2-d": lambda x, i, j: x[i.view(2, 3)], "middle": lambda x, i, j: x[:, j],
    "last": lambda x, i, j: x[..., j], "pair": lambda x, i, j: x[i, j], "separated": lambda x, i, j: x[i, :, j],
    "broadcast": lambda x, i, j: x[i.view(6, 1), j.view(1, 6)], "negative": lambda x, i, j: x[i - 3],
    "after a slice": lambda x, i, j: x[1:, j], "None": lambda x, i, j: x[None, i], "int first": lambda x, i, j: x[0, j],
    "int last": lambda x, i, j: x[i, 1], "int before a slice": lambda x, i, j: x[1, :, j],
    "None between": lambda x, i, j: x[i, None, j], "lists": lambda x, i, j: x[[0, 2], [1, 3]],
    "0-d": lambda x, i, j: x[i[0]], "transposed": lambda x, i, j: x.transpose(0, 2)[:, j],
    "strided": lambda x, i, j: x[:, ::2][i % 2], "all": lambda x, i, j: x[i, j, j],
    "twice": lambda x, i, j: x[:, j, j],
}  # fmt: skip
for _name, _read in _READS.items():
    CASES[f"x[...] {_name}"] = (lambda t, x, i, j, f=_read: f(x, i, j), X, I, J)
_MASKED: dict[str, Callable[..., Any]] = {
    "whole": lambda x, m: x[m], "leading": lambda x, m: x[m[:, :, 0]], "trailing": lambda x, m: x[:, m[0]],
    "with int": lambda x, m: x[m[:, :, 0], 2], "with list": lambda x, m: x[m[:, :, 0], [1]],
    "vector": lambda x, m: x[m[:, 0, 0], 0], "True": lambda x, m: x[True], "False": lambda x, m: x[False],
    "select": lambda x, m: x.masked_select(m), "select broadcast": lambda x, m: x[0].masked_select(m),
    "select column": lambda x, m: x.masked_select(m[0, :, :1]), "fill": lambda x, m: x.masked_fill(m, 1.5),
    "fill broadcast": lambda x, m: x.masked_fill(m[0], float("-inf")), "fill up": lambda x, m: x[0].masked_fill(m, 2),
    "fill_": lambda x, m: x.clone().masked_fill_(m[:, :1], 2),
    "fill transposed": lambda x, m: x.transpose(0, 2).masked_fill(m.transpose(0, 2), 2),
}  # fmt: skip
for _name, _read in _MASKED.items():
    CASES[f"mask {_name}"] = (lambda t, x, m, f=_read: f(x, m), X, MASK)
N = int(MASK.sum())
CASES |= {
    "mask fill tensor": (lambda t, x, m, v: x.masked_fill(m, v), X, MASK, array()),
    "mask fill_ tensor": (lambda t, x, m, v: x.clone().masked_fill_(m, v), X, MASK, array()),
    "masked_scatter": (lambda t, x, m, s: x.masked_scatter(m, s), X, MASK, array(80)),
    "masked_scatter_": (lambda t, x, m, s: x.clone().masked_scatter_(m, s), X, MASK, array(8, 10)),
    "scatter reduce add": (lambda t, x, i: x.detach().scatter(0, i, 2.0, reduce="add"), X, ints(3, 2, 4, 5)),
    "scatter larger src": (
        lambda t, x, i, s: x.detach().scatter_add(0, i, s.detach()),
        X,
        ints(3, 2, 3, 4),
        array(3, 4, 5, seed=2),
    ),
    "gather vector": (lambda t, x, i: x.gather(0, i), array(10), ints(10, 20)),
    "gather 0-d": (lambda t, x: x.gather(0, t.tensor(0)), array()),
    "gather nothing": (lambda t, x: x.gather(0, t.zeros(0, dtype=t.int64)), array(3, 4)),
    "gather column": (lambda t, x, i: x.gather(1, i), array(40, 7), ints(7, 40, 1)),
    "gather int32": (lambda t, x, i: x.gather(0, i.int()), array(10), ints(10, 20)),
    "index_select 0-d index": (lambda t, x: x.index_select(0, t.tensor(1)), X),
    "index_select nothing": (lambda t, x: x.index_select(1, t.zeros(0, dtype=t.int64)), X),
    "index_select many": (lambda t, x, i: x.index_select(0, i), array(40, 70), ints(40, 1000)),
    "index_add many": (lambda t, x, i, s: x.index_add(0, i, s), array(40, 70), ints(40, 1000), array(1000, 70)),
    "take_along_dim": (lambda t, x, i: t.take_along_dim(x, i, 0), X, ints(3, 2, 1, 5)),
    "take_along_dim flat": (lambda t, x, i: t.take_along_dim(x, i), X, ints(60, 7)),
    "take": (lambda t, x, i: x.take(i - 30), X, ints(60, 3, 4)),
    "put": (lambda t, x, i, v: x.put(i, v, True), X, ints(60, 100), array(100)),
    "put_": (lambda t, x, i, v: x.clone().put_(i, v), X, RNG.permutation(60)[:4].reshape(2, 2), array(4)),
    "put transposed": (lambda t, x, i, v: x.transpose(0, 1).put(i, v, True), X, ints(60, 10), array(10)),
    "index_put accumulate": (lambda t, x, i, v: x.index_put((i,), v, True), X, I, array(6, 4, 5)),
    "index_put pair": (lambda t, x, i, j, v: x.index_put((i, j), v, accumulate=True), X, I, J, array(5)),
    "set number": (written(lambda y, i: y.__setitem__(i, 2.5)), X, I),
    "set rows": (written(lambda y, i, v: y.__setitem__(i, v)), X, np.array([2, 0]), array(2, 4, 5)),
    "set broadcast": (written(lambda y, i, v: y.__setitem__(i, v)), X, np.array([2, 0]), array(5)),
    "set leading ones": (written(lambda y, i, v: y.__setitem__(i, v)), X, np.array([2, 0]), array(1, 1, 2, 4, 5)),
    "set middle": (written(lambda y, i, v: y.__setitem__((slice(None), i), v)), X, np.array([1, 3]), array(3, 2, 5)),
    "set separated": (written(lambda y, i, v: y.__setitem__((i, slice(None), i), v)), X, np.array([1, 2]), array(2, 4)),
    "set mask": (written(lambda y, m: y.__setitem__(m, -1)), X, MASK),
    "set mask values": (written(lambda y, m, v: y.__setitem__(m, v)), X, MASK, array(N)),
    "set mask and int": (written(lambda y, m, v: y.__setitem__((m, 2), v)), X, MASK[:, :, 0], array(1)),
    "set slice": (written(lambda y, v: y.__setitem__(slice(1, 3), v)), X, array(2, 4, 5)),
    "set int": (written(lambda y, v: y.__setitem__(0, v)), X, array(4, 5)),
    "tril": (lambda t, x: (x.tril(), x.tril(-2), x.tril(5), x.transpose(0, 1).tril(1)), X),
    "triu": (lambda t, x: (x.triu(), x.triu(-2), x.triu(5), x.transpose(0, 1).triu(1)), X),
    "tril_": (lambda t, x: x.clone().tril_(1), X),
    "diag_embed": (lambda t, x: (t.diag_embed(x), t.diag_embed(x, 2), t.diag_embed(x, -1, 0, 2)), X),
    "diag of a vector": (lambda t, x: (x.diag(), x.diag(1), x.diag(-2)), array(4)),
    "diag of a matrix": (lambda t, x: (x.diag(), x.diag(1), x.diag(-2), x.diag(9)), array(3, 5)),
    "diagflat": (lambda t, x: t.diagflat(x, 1), array(2, 2)),
    "embedding": (lambda t, w, i: t.embedding(w, i), array(10, 6), ints(10, 3, 4)),
    "embedding padding": (lambda t, w, i: t.embedding(w, i, 2), array(10, 6), ints(10, 30)),
    "embedding 0-d": (lambda t, w: t.embedding(w, t.tensor(3)), array(10, 6)),
    "embedding wide": (lambda t, w, i: t.embedding(w, i), array(50, 128), ints(50, 1000)),
}
OFFSETS, BAG = np.array([0, 3, 3, 7]), ints(10, 12)
PAD = int(BAG[1])
for _m in (0, 1, 2):
    CASES[f"embedding_bag {_m}"] = (
        lambda t, w, i, o, m=_m: t.embedding_bag(w, i, o, mode=m)[0],
        array(10, 6),
        BAG,
        OFFSETS,
    )
    CASES[f"embedding_bag padding {_m}"] = (
        lambda t, w, i, o, m=_m: t.embedding_bag(w, i, o, False, m, False, None, False, PAD)[0],
        array(10, 6), BAG, OFFSETS,
    )  # fmt: skip
CASES["embedding_bag weights"] = (
    lambda t, w, i, o, p: t.embedding_bag(w, i, o, per_sample_weights=p)[0], array(10, 6), BAG, OFFSETS, array(12),
)  # fmt: skip
# PyTorch has no second derivative of these.
ONCE = ("embedding_bag", "index_reduce")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_values_and_gradients(name: str) -> None:
    fn, *arrays = CASES[name]
    check(fn, *arrays, grad=1 if name.startswith(ONCE) else 2)


def test_scaled_gradient_of_embedding() -> None:
    index = ints(10, 30)
    check(lambda t, w, i: t.embedding(w, i, -1, True), array(10, 6), index, grad=1)


INTEGER: dict[str, tuple[Any, ...]] = {
    "nonzero": (lambda t, m: (t.nonzero(m), t.argwhere(m), *m.nonzero(as_tuple=True)), MASK),
    "nonzero of many": (lambda t, m: t.nonzero(m), array(300, 400) > 1),
    "nonzero of floats": (lambda t, x: t.nonzero(x.detach()), np.array([[0.0, 1.5], [0.0, 0.0]])),
    "nonzero 0-d": (lambda t: (t.nonzero(t.tensor(1)), t.nonzero(t.tensor(0)), *t.tensor(1).nonzero(as_tuple=True)),),
    "searchsorted": (
        lambda t, s, v: [t.searchsorted(s, v, right=r, out_int32=r) for r in (True, False)],
        np.arange(9) // 2, ints(6, 20),
    ),
    "searchsorted rows": (lambda t, s, v: t.searchsorted(s, v), np.sort(ints(9, 3, 7), 1), ints(9, 3, 4)),
    "searchsorted number": (lambda t, s: t.searchsorted(s, 3, side="right"), np.arange(6)),
    "searchsorted sorter": (
        lambda t, s, o: t.searchsorted(s, t.tensor([2, 0, 4]), sorter=o),
        np.array([3, 1, 2]), np.array([1, 2, 0]),
    ),
    "searchsorted nan": (lambda t: t.searchsorted(t.tensor([1.0, 2.0, float("nan")]), t.tensor([float("nan"), 1.5])),),
    "searchsorted mixed": (lambda t, s: t.searchsorted(s.detach(), t.tensor([1])), np.arange(4.0)),
    "bucketize": (
        lambda t, v, b: (t.bucketize(v, b), t.bucketize(v, b, right=True)),
        ints(9, 3, 4), np.array([1, 3, 5]),
    ),
    "bincount": (lambda t, x: (t.bincount(x), x.bincount(minlength=10)), ints(7, 30)),
    "bincount weights": (lambda t, x, w: t.bincount(x, w.detach(), 9), ints(7, 30), array(30)),
    "bincount nothing": (lambda t: t.bincount(t.zeros(0, dtype=t.int64), minlength=2),),
    "histc": (lambda t, x: (x.detach().histc(10), x.detach().histc(bins=7, min=-1, max=1)), array(1000)),
    "unique": (lambda t, x: t.unique(x, return_inverse=True, return_counts=True), ints(5, 4, 6)),
    "unique far apart": (lambda t, x: t.unique(x, return_inverse=True, return_counts=True), ints(9, 40) * 10**15 - 5),
    "unique bool": (lambda t, x: t.unique(x, return_inverse=True), MASK),
    "unique floats": (
        lambda t, x: t.unique(x.detach(), return_inverse=True, return_counts=True),
        np.round(array(50), 1),
    ),
    "unique special": (
        lambda t: t.unique(t.tensor([2.0, float("nan"), -0.0, 0.0, -float("inf"), float("nan")]), return_counts=True),
    ),
    "unique nothing": (lambda t: t.unique(t.zeros(0), return_inverse=True, return_counts=True),),
    "unique dim": (
        lambda t, x: [r for d in (0, 1, -1) for r in t.unique(x, dim=d, return_inverse=True, return_counts=True)],
        ints(2, 4, 3, 2),
    ),
    "unique_consecutive": (
        lambda t, x: t.unique_consecutive(x, return_inverse=True, return_counts=True),
        ints(2, 4, 6),
    ),
    "unique_consecutive dim": (
        lambda t, x: x.unique_consecutive(dim=1, return_inverse=True, return_counts=True),
        ints(2, 2, 6),
    ),
    "scatter_reduce ints": (
        lambda t, x, i, s: [x.scatter_reduce(0, i, s, r) for r in ("sum", "prod", "mean", "amax", "amin")],
        ints(9, 3, 4) - 4, ints(3, 5, 4), ints(9, 5, 4) - 4,
    ),
    "repeat_interleave": (lambda t, r: t.repeat_interleave(r), np.array([0, 2, 1])),
    "index with uint8": (lambda t, x: x[t.tensor([1, 0, 1], dtype=t.uint8)], ints(9, 3, 2)),
    "index with int32": (lambda t, x: x[t.tensor([0, 2], dtype=t.int32)], ints(9, 3, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGER)
@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
def test_integer_results(name: str) -> None:
    check(*INTEGER[name], grad=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_accumulate_in_float(dtype: str) -> None:
    index = mashal.zeros(4096, dtype=mashal.int64)
    ones = mashal.ones(4096, dtype=getattr(mashal, dtype))
    zero = mashal.zeros(1, dtype=getattr(mashal, dtype))
    assert zero.index_add(0, index, ones).item() == 4096
    assert zero.scatter_add(0, index, ones).item() == 4096
    assert zero.index_put((index,), ones, accumulate=True).item() == 4096
    assert _ops._embedding_backward(ones.unsqueeze(1), index, 1, -1, False).item() == 4096


def test_one_hot() -> None:
    index = ints(5, 3, 4)
    ours = _ops.one_hot(mashal.tensor(index), 7)
    np.testing.assert_array_equal(ours.numpy(), np.eye(7, dtype=np.int64)[index])
    with pytest.raises(RuntimeError, match="smaller"):
        _ops.one_hot(mashal.tensor([3]), 2)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, float("inf")])
def test_embedding_renorm(p: float) -> None:
    w, i = array(10, 6), np.array([1, 1, 3])
    ours = mashal.embedding_renorm_(mashal.tensor(w), mashal.tensor(i), 1.0, p)
    theirs = torch.embedding_renorm_(torch.tensor(w), torch.tensor(i), 1.0, p)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


def test_out_of_range_says_index_dimension_and_size() -> None:
    x = mashal.zeros(3, 4)
    five = mashal.tensor([5])
    wide = mashal.full((1, 4), 5)
    for call in (
        lambda: x[five], lambda: x.index_select(0, five), lambda: x.gather(0, wide), lambda: x.scatter(0, wide, 1.0),
        lambda: x.scatter_add(0, wide, mashal.ones(1, 4)), lambda: x.index_add(0, five, mashal.ones(1, 4)),
        lambda: x.index_copy(0, five, mashal.ones(1, 4)), lambda: x.index_fill(0, five, 1.0),
        lambda: mashal.embedding(x, five),
    ):  # fmt: skip
        with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 3"):
            call()


def test_errors() -> None:
    check_raises(RuntimeError, lambda t, x: x.gather(0, t.zeros(2)), array(3), match="int64")
    check_raises(
        RuntimeError, lambda t, x: x.gather(0, t.zeros(3, 5, dtype=t.int64)), array(3, 4), match="Size does not match"
    )
    check_raises(
        RuntimeError, lambda t, x, i: x.gather(0, i), array(3, 4), ints(3, 2), match="same number of dimensions"
    )
    check_raises(
        RuntimeError, lambda t, x: x.scatter(0, t.tensor([0]), 1.0, reduce="x"), array(3), match="add or multiply"
    )
    check_raises(RuntimeError, lambda t, x: x.scatter_reduce(0, t.tensor([0]), x, "x"), array(3), match="amax")
    check_raises(IndexError, lambda t, x: x.index_select(0, t.zeros(1, 1, dtype=t.int64)), X, match="vector")
    check_raises(RuntimeError, lambda t, x: x.index_add(0, t.tensor([0, 1]), x), X, match="Number of indices")
    check_raises(IndexError, lambda t, x: x[t.tensor([0.0])], X, match="long, int, byte or bool")
    check_raises(IndexError, lambda t, x: x[t.tensor([True, False])], X, match="shape of the mask")
    check_raises(IndexError, lambda t, x: x[t.tensor([0, 1]), t.tensor([0, 1, 2])], X, match="broadcast")
    check_raises(IndexError, lambda t, x: x[[0], [0], [0], [0]], X, match="too many indices")
    check_raises(RuntimeError, lambda t, x: x.index_put((t.tensor([0]),), t.ones(7)), X, match="cannot be broadcast")
    check_raises(RuntimeError, lambda t, x: x.index_put((t.tensor([0]),), t.tensor(1)), X, match="dtypes match")
    check_raises(RuntimeError, lambda t, x: x.masked_fill(t.ones(5, dtype=t.uint8), 1), X, match="mask")
    check_raises(RuntimeError, lambda t, x: x.masked_fill(x > 0, t.ones(1)), X, match="0-dim")
    check_raises(RuntimeError, lambda t, x: x.masked_scatter(x == x, t.ones(2)), X, match="at least as many")
    check_raises(RuntimeError, lambda t, x: x.tril(), array(3), match="2 dimensions")
    check_raises(RuntimeError, lambda t: t.bincount(t.tensor([-1])), match="non-negative")
    check_raises(NotImplementedError, lambda t, x: t.bincount(x), array(3))
    check_raises(NotImplementedError, lambda t: t.histc(t.arange(3)))
    check_raises(
        RuntimeError, lambda t, x: t.searchsorted(x, 0.5, side="left", right=True), array(3), match="opposites"
    )
