"""Products large enough for the packed loops, against float64; and weights that `linear` keeps packed."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import mashal


def matrix(rows: int, cols: int, trans: bool, seed: int) -> mashal.Tensor:
    """(rows, cols), stored transposed if asked, cut out of a larger matrix so that rows do not touch."""
    shape = (cols, rows) if trans else (rows, cols)
    values = np.random.default_rng(seed).standard_normal((shape[0], shape[1] + 3)).astype(np.float32)
    t = mashal.tensor(values)[:, : shape[1]]
    return t.t() if trans else t


def check_product(m: int, k: int, n: int, trans_a: bool, trans_b: bool) -> None:
    a, b = matrix(m, k, trans_a, 1), matrix(k, n, trans_b, 2)
    wanted = a.numpy().astype(np.float64) @ b.numpy().astype(np.float64)
    # Errors of float32 sums of k terms of size 1: about sqrt(k) roundings.
    tolerance = 4e-7 * (k + 16)
    np.testing.assert_allclose((a @ b).numpy(), wanted, rtol=0, atol=tolerance)
    c = matrix(m, n, False, 3).contiguous()
    got = mashal.addmm(c, a, b, beta=0.5, alpha=-2)
    np.testing.assert_allclose(got.numpy(), 0.5 * c.numpy() - 2 * wanted, rtol=0, atol=2 * tolerance)


# Around the heights and widths of tiles, blocks of k, and the sizes from which each kind of product takes these loops.
SIZES = [(512, 256, 256), (513, 257, 259), (16, 128, 128), (29, 385, 193), (300, 800, 1000), (1030, 129, 2049)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("trans_a", "trans_b"), list(itertools.product([False, True], repeat=2)))
def test_products(size: tuple[int, int, int], trans_a: bool, trans_b: bool) -> None:
    check_product(*size, trans_a, trans_b)


@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_kept_weights_with_other_instruction_sets(isa: str) -> None:
    code = "from tests.ops.test_large_products import check_kept; check_kept()"
    env = {**os.environ, "MASHAL_ISA": isa}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def check_kept() -> None:
    for m, k, n in [(8, 256, 200), (13, 500, 130), (128, 770, 321), (512, 401, 96)]:
        x, w, bias = matrix(m, k, False, 1), matrix(n, k, False, 2), matrix(1, n, False, 3)[0].contiguous()
        exact = x.numpy().astype(np.float64) @ w.numpy().astype(np.float64).T
        with mashal.no_grad():
            for add in (None, bias):
                wanted = exact if add is None else exact + add.numpy()
                for _ in range(3):  # seen, packed, and used again
                    got = mashal.nn.functional.linear(x, w, add)
                    np.testing.assert_allclose(got.numpy(), wanted, rtol=0, atol=4e-7 * (k + 16))


def test_kept_weights() -> None:
    check_kept()


def linear(x: mashal.Tensor, w: mashal.Tensor) -> mashal.Tensor:
    """The third call with an unchanged weight: the second packs it, if it may."""
    for _ in range(2):
        mashal.nn.functional.linear(x, w)
    return mashal.nn.functional.linear(x, w)


def test_writing_to_a_kept_weight_is_seen() -> None:
    x, w = mashal.ones(16, 256), mashal.ones(256, 256)
    with mashal.no_grad():
        assert linear(x, w)[0, 0] == 256
        w.mul_(2)
        assert linear(x, w)[0, 0] == 512
        w[0].zero_()
        assert linear(x, w)[0, :2].tolist() == [0, 512]
        w.numpy()[1] = 3  # from here on others may write unseen
        assert linear(x, w)[0, :2].tolist() == [0, 768]
        w.numpy()[1] = 4
        assert linear(x, w)[0, 1] == 1024


def test_two_weights_of_one_storage() -> None:
    x, both = mashal.ones(16, 256), mashal.arange(512.0).view(2, 256, 1).expand(2, 256, 256).contiguous()
    with mashal.no_grad():
        for _ in range(2):
            for i in (0, 1):
                assert mashal.equal(linear(x, both[i]), (256 * both[i, :, 0]).expand(16, 256))
        assert mashal.equal(linear(x, both[0].t()), mashal.full((16, 256), 255.0 * 128))


def live() -> int:
    return int(mashal._core.memory_stats()["allocated"])


def test_weights_are_kept_from_the_second_use_on_but_not_for_single_rows() -> None:
    x, w = mashal.ones(16, 512), mashal.ones(512, 512)
    nbytes = 512 * 512 * 4
    with mashal.no_grad():
        before = live()
        mashal.nn.functional.linear(x, w)
        assert live() - before < nbytes
        mashal.nn.functional.linear(x, w)
        assert nbytes <= live() - before < 2 * nbytes
        for _ in range(3):
            assert mashal.nn.functional.linear(x[:1], w)[0, 0] == 512
            assert linear(x, w)[0, 0] == 512
            assert live() - before < nbytes
    with_gradients = mashal.ones(512, 512)
    before = live()
    linear(x, with_gradients)
    assert live() - before < nbytes


def test_products_of_no_columns_keep_the_bias() -> None:
    got = mashal.nn.functional.linear(mashal.ones(512, 0), mashal.ones(256, 0), mashal.arange(256.0))
    assert mashal.equal(got, mashal.arange(256.0).expand(512, 256))


def test_not_a_number_stays_in_its_row_and_column() -> None:
    a, b = mashal.ones(600, 300), mashal.ones(300, 300)
    a[7, 5], b[3, 290] = float("nan"), float("inf")
    got = (a @ b).numpy()
    assert np.isnan(got[7]).all()
    rest = np.delete(got, 7, axis=0)
    assert np.isinf(rest[:, 290]).all()
    assert (np.delete(rest, 290, axis=1) == 300).all()
