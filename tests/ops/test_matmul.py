"""Products of matrices and vectors against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mashal

from .compare import array, check, check_raises

MATMUL_SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((1, 5, 2, 3), (6, 1, 3, 4)),
    ((4, 5, 2, 3), (3, 7)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((5, 0, 3), (5, 3, 2)),
    ((40, 50), (50, 60)),
    ((3, 70, 50), (3, 50, 20)),
]


@pytest.mark.parametrize(("a", "b"), MATMUL_SHAPES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_matmul(a, b, dtype):
    check(lambda lib, x, y: lib.matmul(x, y), array(*a, dtype=dtype), array(*b, dtype=dtype, seed=1), dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "complex64"])
def test_matmul_dtypes(dtype):
    source = "complex64" if dtype == "complex64" else "float32"
    for shape in [(17, 33, 9), (130, 65, 70), (1, 200, 300), (300, 200, 1), (64, 64, 64)]:
        m, k, n = shape
        x, y = array(m, k, dtype=source), array(k, n, dtype=source, seed=3)
        check(lambda lib, x, y: x @ y, x, y, dtype=dtype, grad=1)
        check(lambda lib, x, y: x @ y.mT, x, np.ascontiguousarray(y.T), dtype=dtype, grad=1)
        check(lambda lib, x, y: x.mT @ y, np.ascontiguousarray(x.T), y, dtype=dtype, grad=1)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
def test_matmul_integers(dtype):
    x, y = array(9, 200, dtype="int64").astype(dtype), array(200, 13, dtype="int64").astype(dtype)
    check(lambda lib, x, y: x @ y, x, y, grad=0)
    check(lambda lib, x, y: x @ y.t(), x, np.ascontiguousarray(y.T), grad=0)
    check(lambda lib, x, y: lib.dot(x, y), x[0], y[:, 0].copy(), grad=0)


def test_strided_operands():
    x = array(6, 8, 10)
    check(lambda lib, x: x[::2, ::2, ::2] @ x[1::2, ::2, 1:6].mT, x)
    check(lambda lib, x: x.transpose(0, 2) @ x[:, 0], array(8, 6, 10))
    check(lambda lib, x, y: x.expand(3, 4, 5) @ y, array(1, 5), array(5, 2))
    check(lambda lib, x, y: x.permute(1, 0, 2) @ y, array(3, 4, 5), array(5, 2))
    check(lambda lib, x: lib.dot(x.flip(0), x[::1]), array(7))


def test_mm_bmm_mv_dot():
    check(lambda lib, x, y: lib.mm(x, y), array(3, 4), array(4, 5))
    check(lambda lib, x, y: lib.bmm(x, y), array(2, 3, 4), array(2, 4, 5))
    check(lambda lib, x, y: lib.mv(x, y), array(3, 4), array(4))
    check(lambda lib, x, y: lib.dot(x, y), array(4), array(4, seed=1))
    z = [array(4, dtype="complex128", seed=s) for s in (0, 1)]
    check(lambda lib, x, y: lib.vdot(x, y), *z, dtype="complex128")
    check(lambda lib, x, y: lib.dot(x, y), *z, dtype="complex128")
    check(lambda lib, x, y: lib.outer(x, y), array(4), array(5))


@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (0, 2), (0.5, -1.5)])
def test_add_products(beta, alpha):
    kw = {"beta": beta, "alpha": alpha}
    check(lambda lib, i, x, y: lib.addmm(i, x, y, **kw), array(5), array(3, 4), array(4, 5))
    check(lambda lib, i, x, y: lib.addmm(i, x, y, **kw), array(3, 5), array(3, 4), array(4, 5))
    check(lambda lib, i, x, y: lib.baddbmm(i, x, y, **kw), array(2, 1, 5), array(2, 3, 4), array(2, 4, 5))
    check(lambda lib, i, x, y: lib.addbmm(i, x, y, **kw), array(3, 5), array(2, 3, 4), array(2, 4, 5))
    check(lambda lib, i, x, y: lib.addmv(i, x, y, **kw), array(3), array(3, 4), array(4))
    check(lambda lib, i, x, y: lib.addr(i, x, y, **kw), array(3, 4), array(3), array(4))
    for dtype in ("float32", "bfloat16"):
        check(lambda lib, i, x, y: lib.addmm(i, x, y, **kw), array(5), array(3, 4), array(4, 5), dtype=dtype, grad=1)


def test_addmm_ignores_input_when_beta_is_zero():
    bad = np.full((3, 5), np.nan)
    check(lambda lib, i, x, y: lib.addmm(i, x, y, beta=0), bad, array(3, 4), array(4, 5), grad=0)


def test_in_place_and_out():
    def run(lib, i, x, y):
        i = i.clone()
        i.addmm_(x, y, beta=2)
        out = lib.empty(0, dtype=i.dtype)
        lib.mm(x, y, out=out)
        lib.matmul(out, y.t(), out=x)
        return i, out, x

    check(run, array(3, 5), array(3, 4), array(4, 5), grad=0)


def test_linear():
    from mashal import _ops

    def linear(lib, *args):
        return lib.nn.functional.linear(*args) if lib.__name__ == "torch" else _ops.linear(*args)

    check(linear, array(2, 3, 4), array(5, 4), array(5))
    check(linear, array(4), array(5, 4), array(5))
    check(linear, array(2, 4), array(5, 4), None)
    check(linear, array(2, 4), array(4), None)
    check(linear, array(64, 40), array(50, 40), array(50), dtype="bfloat16", grad=1)


def test_other_products():
    check(lambda lib, x, y: lib.inner(x, y), array(2, 3), array(4, 3))
    check(lambda lib, x, y: lib.kron(x, y), array(2, 3), array(4, 2, 2))
    # torch's own chain_matmul is deprecated.
    check(
        lambda lib, x, y, z: lib.chain_matmul(x, y, z) if lib is not torch else lib.linalg.multi_dot([x, y, z]),
        array(10, 3),
        array(3, 20),
        array(20, 2),
    )
    check(
        lambda lib, a, b, w, c: lib.nn.functional.bilinear(a, b, w, c),
        array(5, 2),
        array(5, 3),
        array(4, 2, 3),
        array(4),
    )


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ji,jk->ki", (3, 2), (3, 4)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("ij->", (3, 2)),
    ("ij->ji", (3, 2)),
    ("i,j->ij", (3,), (2,)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (6, 2, 3, 4), (2, 4, 5)),
    ("...ij,jk", (2, 3, 4), (4, 5)),
    ("bi,ij,bj->b", (2, 3), (3, 4), (2, 4)),
    ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("iij,jk->ik", (3, 3, 2), (2, 4)),
    ("ab,cd->acbd", (2, 3), (4, 5)),
    ("i...->...", (3, 2, 2)),
    ("a...b,b...->a...", (2, 3, 4), (4, 3)),
    ("ij,ij->ij", (2, 3), (1, 3)),
    ("ij,ij->i", (2, 3), (2, 1)),
    ("abc,cd,de->abe", (2, 3, 4), (4, 5), (5, 2)),
    ("zA,Ab->zb", (2, 3), (3, 2)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("...,...->...", (2, 3), (3,)),
    (",i->i", (), (3,)),
]


@pytest.mark.parametrize("case", EQUATIONS, ids=lambda c: c[0])
def test_einsum(case):
    equation, *shapes = case
    check(lambda lib, *xs: lib.einsum(equation, *xs), *(array(*s, seed=i) for i, s in enumerate(shapes)))


def test_einsum_lists():
    check(lambda lib, x, y: lib.einsum(x, [0, 1], y, [1, 2], [2, 0]), array(2, 3), array(3, 4))
    check(lambda lib, x, y: lib.einsum(x, [..., 0, 1], y, [..., 1, 2]), array(5, 2, 3), array(5, 3, 4))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk", [(2, 3)]),
        ("ij", [(2,)]),
        ("i1->i", [(2, 3)]),
        ("ij->iz", [(2, 3)]),
        ("ij->ii", [(2, 3)]),
        ("ii", [(2, 3)]),
        ("ij,jk", [(2, 3), (4, 5)]),
        ("i..j", [(2, 3)]),
    ],
)
def test_einsum_errors(equation, shapes):
    check_raises(RuntimeError, lambda lib, *xs: lib.einsum(equation, *xs), *(array(*s) for s in shapes), match="einsum")


def test_tensordot():
    check(lambda lib, x, y: lib.tensordot(x, y), array(2, 3, 4), array(3, 4, 5))
    check(lambda lib, x, y: lib.tensordot(x, y, 0), array(2), array(3))
    check(lambda lib, x, y: lib.tensordot(x, y, ([1, 2], [0, 2])), array(2, 3, 4), array(3, 5, 4))
    check(lambda lib, x, y: lib.tensordot(x, y, ([-1], [0])), array(2, 3, 4), array(4, 5))


@pytest.mark.parametrize(
    ("fn", "shapes"),
    [
        (lambda lib, x, y: x @ y, [(2, 3), (4, 5)]),
        (lambda lib, x, y: x @ y, [(2, 3), (4,)]),
        (lambda lib, x, y: lib.mm(x, y), [(2, 3, 4), (4, 5)]),
        (lambda lib, x, y: lib.bmm(x, y), [(2, 3, 4), (3, 4, 5)]),
        (lambda lib, x, y: lib.dot(x, y), [(2,), (3,)]),
        (lambda lib, x, y: lib.mv(x, y), [(2, 3), (2,)]),
        (lambda lib, x, y: lib.addmm(x, y, y), [(2, 3), (2, 3)]),
        (lambda lib, x, y: x @ y.double(), [(2, 3), (3, 4)]),
        (lambda lib, x, y: x @ y, [(2, 3, 4), (5, 4, 3)]),
        (lambda lib, x, y: x @ y, [(), (3,)]),
    ],
)
def test_errors(fn, shapes):
    check_raises(RuntimeError, fn, *(array(*s) for s in shapes))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 7), (7,)])
def test_half_bias_is_added_before_rounding(dtype: str, shape: tuple[int, ...]) -> None:
    x, w = (
        mashal.tensor(array(*shape)).to(getattr(mashal, dtype)),
        mashal.tensor(array(6, 7)).to(getattr(mashal, dtype)),
    )
    b = mashal.tensor(array(6)).to(getattr(mashal, dtype))
    exact = (x.double() @ w.double().t() + b.double()).to(getattr(mashal, dtype))
    out = mashal.nn.functional.linear(x, w, b)
    assert out.dtype == exact.dtype
    # Sums in float32 may fall on the other side of a tie, but never further.
    assert (out.double() - exact.double()).abs().max() <= mashal.finfo(out.dtype).eps * exact.double().abs().max()
