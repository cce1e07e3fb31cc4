"""Linear algebra against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mashal

from .compare import array, check, check_raises

DTYPES = ["float64", "complex128"]
BATCHES = [(), (3,), (2, 2)]


def well(batch, n, dtype, seed=0):
    """Well-conditioned square matrices."""
    return array(*batch, n, n, dtype=dtype, seed=seed) + 3 * np.eye(n)


def hermitian(batch, n, dtype):
    a = array(*batch, n, n, dtype=dtype)
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.diag(np.arange(1.0, n + 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_solve_inverse_determinant(batch, dtype):
    a, b = well(batch, 4, dtype), array(*batch, 4, 3, dtype=dtype)
    check(lambda lib, a, b: lib.linalg.solve(a, b), a, b, dtype=dtype)
    check(lambda lib, a, b: lib.linalg.solve(a, b.mT, left=False), a, b, dtype=dtype)
    check(lambda lib, a: lib.linalg.inv(a), a, dtype=dtype)
    check(lambda lib, a: lib.linalg.det(a), a, dtype=dtype)
    check(lambda lib, a: tuple(lib.linalg.slogdet(a)), a, dtype=dtype)
    check(lambda lib, a, b: lib.linalg.solve(a, b), a, array(4, 2, dtype=dtype), dtype=dtype)
    check(lambda lib, a, b: lib.linalg.solve(a, b), a, array(*batch, 4, dtype=dtype), dtype=dtype)


def test_logdet_and_errors():
    a = well((3,), 3, "float64")
    check(lambda lib, a: lib.logdet(a @ a.mT), a)
    check(lambda lib, a: lib.logdet(a), -np.eye(3), grad=0)
    singular = np.ones((2, 2))
    check_raises(RuntimeError, lambda lib, a: lib.linalg.inv(a), singular, match="singular")
    check_raises(RuntimeError, lambda lib, a: lib.linalg.solve(a, a), singular, match="singular")
    check_raises(RuntimeError, lambda lib, a: lib.linalg.cholesky(a), -singular, match="positive-definite")
    check_raises(RuntimeError, lambda lib, a: lib.linalg.inv(a), np.ones((2, 3)), match="square")
    with pytest.raises(mashal.linalg.LinAlgError):
        mashal.linalg.inv(mashal.zeros(2, 2))
    # Of rank n - 1: the gradient is the matrix of cofactors (torch says zeros).
    x = mashal.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    mashal.linalg.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[4.0, -2.0], [-2.0, 1.0]], atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_cholesky_and_triangular(batch, dtype):
    a, b = hermitian(batch, 4, dtype), array(*batch, 4, 3, dtype=dtype)
    check(lambda lib, a: lib.linalg.cholesky(a), a, dtype=dtype)
    check(lambda lib, a: lib.linalg.cholesky(a, upper=True), a, dtype=dtype)
    check(lambda lib, a, b: lib.cholesky_solve(b, lib.linalg.cholesky(a)), a, b, dtype=dtype)
    check(lambda lib, a: lib.cholesky_inverse(lib.linalg.cholesky(a)), a, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3), (2, 3, 4)])
def test_lu_and_qr(shape, dtype):
    a = array(*shape, dtype=dtype)
    check(lambda lib, a: tuple(lib.linalg.lu(a)), a, dtype=dtype, grad=1)
    check(lambda lib, a: tuple(lib.linalg.lu_factor(a)), a, dtype=dtype, grad=1)
    check(lambda lib, a: tuple(lib.linalg.qr(a)), a, dtype=dtype, tolerance=1e-8)
    check(lambda lib, a: tuple(lib.linalg.qr(a, mode="complete")), a, dtype=dtype, grad=0)
    check(lambda lib, a: tuple(lib.linalg.qr(a, mode="r")), a, dtype=dtype, grad=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular(upper, unit, batch, dtype):
    t, b = well(batch, 4, dtype), array(*batch, 4, 3, dtype=dtype)
    kw = {"upper": upper, "unitriangular": unit}
    check(lambda lib, t, b: lib.linalg.solve_triangular(t, b, **kw), t, b, dtype=dtype)
    check(lambda lib, t, b: lib.linalg.solve_triangular(t, b.mT, left=False, **kw), t, b, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("adjoint", [False, True])
def test_lu_solve(adjoint, dtype):
    a, b = well((2,), 4, dtype), array(2, 4, 3, dtype=dtype)

    def fn(lib, a, b):
        factors = lib.linalg.lu_factor(a)
        right = lib.linalg.lu_solve(*factors, b.mT, left=False, adjoint=adjoint)
        return lib.linalg.lu_solve(*factors, b, adjoint=adjoint), right

    check(fn, a, b, dtype=dtype, grad=1)


# Vectors are unique up to a phase; what is compared does not depend on it.
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
def test_svd(shape, dtype):
    a = array(*shape, dtype=dtype)
    check(lambda lib, a: lib.linalg.svdvals(a), a, dtype=dtype, tolerance=1e-8)

    def parts(lib, a):
        u, s, vh = lib.linalg.svd(a, full_matrices=False)
        return s, u.abs(), vh.abs(), (u * s.exp().unsqueeze(-2).to(u.dtype)) @ vh

    check(parts, a, dtype=dtype, tolerance=1e-7)
    check(lambda lib, a: [t.abs() for t in lib.linalg.svd(a)][:2], a, dtype=dtype, grad=0)
    check(lambda lib, a: lib.linalg.pinv(a), a, dtype=dtype, tolerance=1e-8)
    check(lambda lib, a: lib.linalg.matrix_rank(a), a, dtype=dtype, grad=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_eigenvalues(batch, dtype):
    h = hermitian(batch, 4, dtype)
    check(lambda lib, a: lib.linalg.eigvalsh(a), h, dtype=dtype, tolerance=1e-8)
    check(lambda lib, a: lib.linalg.eigvalsh(a, UPLO="U"), h, dtype=dtype, grad=0)

    def parts(lib, a):
        w, v = lib.linalg.eigh(a)
        return w, v.abs()

    check(parts, h, dtype=dtype, tolerance=1e-7)

    def general(lib, a):
        w, v = lib.linalg.eig(a)
        return w, v.abs()

    check(general, well(batch, 4, dtype), dtype=dtype, grad=1, tolerance=1e-8)
    check(lambda lib, a: lib.linalg.eigvals(a), well(batch, 4, dtype), dtype=dtype, grad=1, tolerance=1e-8)
    check(lambda lib, a: lib.linalg.pinv(a, hermitian=True), h, dtype=dtype, grad=1, tolerance=1e-8)


@pytest.mark.parametrize("n", [-2, 0, 1, 2, 5])
def test_powers(n):
    check(lambda lib, a: lib.linalg.matrix_power(a, n), well((2,), 3, "float64"))


@pytest.mark.parametrize("scale", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
def test_exponential(scale, dtype):
    a = array(2, 4, 4, dtype="complex128" if dtype == "complex128" else "float64") * scale / 4
    check(lambda lib, a: lib.linalg.matrix_exp(a), a, dtype=dtype, tolerance=2e-4 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")])
def test_norms(ord):
    a = array(2, 4, 3)
    check(lambda lib, a: lib.linalg.matrix_norm(a, ord), a, tolerance=1e-8)
    check(lambda lib, a: lib.linalg.matrix_norm(a, ord, dim=(0, 2), keepdim=True), a, grad=1)
    check(lambda lib, a: lib.linalg.norm(a[0], ord), a, grad=1)
    # torch's own cond cannot be differentiated for all orders.
    check(lambda lib, a: lib.linalg.cond(a, ord), well((2,), 3, "float64"), grad=0)


def test_other():
    check(lambda lib, a: lib.linalg.norm(a), array(2, 3))
    check(lambda lib, a: lib.linalg.norm(a, 3), array(4))
    check(lambda lib, a, b: lib.linalg.cross(a, b), array(4, 3), array(1, 3))
    check(
        lambda lib, a, b: lib.linalg.vecdot(a, b),
        array(4, 3, dtype="complex128"),
        array(3, dtype="complex128"),
        dtype="complex128",
    )
    check(lambda lib, *m: lib.linalg.multi_dot(m), array(3), array(3, 5), array(5, 2), array(2))
    check(lambda lib, a: lib.linalg.tensorinv(a), well((), 4, "float64").reshape(2, 2, 4))
    check(lambda lib, a, b: lib.linalg.tensorsolve(a, b), well((), 4, "float64").reshape(2, 2, 4), array(2, 2))
    check(lambda lib, x: lib.linalg.vander(x, N=4), array(2, 3))
    check(lambda lib, a, b: tuple(lib.linalg.lstsq(a, b))[:3], array(5, 3), array(5, 2), grad=0)
    check(lambda lib, a, b: lib.linalg.lstsq(a, b).solution, array(5, 3), array(5, 2), grad=1, tolerance=1e-8)
    check(lambda lib, a, t: lib.linalg.householder_product(a, t), array(5, 3), array(3), grad=1)


def test_large_and_float32():
    a = array(250, 250) + 20 * np.eye(250)
    for dtype in ("float32", "float64"):
        check(lambda lib, a: lib.linalg.inv(a), a, dtype=dtype, grad=0, tolerance=1e-4 if dtype == "float32" else None)
        check(lambda lib, a: lib.linalg.svdvals(a), a, dtype=dtype, grad=0)


def test_empty():
    for shape in [(0, 0), (0, 3, 3), (2, 0, 0)]:
        a = np.zeros(shape)
        check(lambda lib, a: (lib.linalg.inv(a), lib.linalg.det(a), lib.linalg.cholesky(a)), a, grad=0)


def test_column_major_results():
    a = mashal.tensor(well((), 4, "float64"))
    t = torch.tensor(well((), 4, "float64"))
    assert mashal.linalg.qr(a).Q.stride() == torch.linalg.qr(t).Q.stride()
