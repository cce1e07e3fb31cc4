"""Scaled dot-product attention against torch's plain formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mashal

from .compare import array, check, check_raises


def attention(**kwargs):
    def fn(lib, q, k, v, mask=None):
        if lib is not torch:
            return mashal._ops.scaled_dot_product_attention(q, k, v, mask, **kwargs)
        # The backend that can be differentiated twice.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, **kwargs)

    return fn


SHAPES = [
    ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)),
    ((1, 2, 130, 8), (1, 2, 300, 8), (1, 2, 300, 8)),
    ((1, 1, 1, 3), (1, 1, 1, 3), (1, 1, 1, 3)),
    ((3, 5, 4), (3, 7, 4), (3, 7, 6)),
    ((5, 4), (7, 4), (7, 6)),
    ((2, 2, 3, 5, 4), (2, 2, 3, 7, 4), (2, 2, 3, 7, 4)),
    ((2, 3, 5, 4), (1, 3, 7, 4), (2, 1, 7, 4)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_attention(shapes, causal, dtype):
    arrays = [array(*s, seed=i) for i, s in enumerate(shapes)]
    check(attention(is_causal=causal), *arrays, dtype=dtype, tolerance=1e-4 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_types(dtype):
    arrays = [array(*s, seed=i) for i, s in enumerate(SHAPES[0])]
    check(attention(), *arrays, dtype=dtype, grad=1, tolerance=0.05)


def test_scale_and_groups():
    arrays = [array(2, 6, 9, 4), array(2, 2, 8, 4, seed=1), array(2, 2, 8, 4, seed=2)]
    check(attention(enable_gqa=True, scale=0.3), *arrays, tolerance=1e-9)
    check(attention(enable_gqa=True, is_causal=True), *arrays, tolerance=1e-9)


@pytest.mark.parametrize("shape", [(9, 300), (2, 1, 9, 300), (1, 3, 1, 300), (2, 3, 9, 300)])
def test_masks(shape):
    arrays = [array(2, 3, 9, 4), array(2, 3, 300, 4, seed=1), array(2, 3, 300, 4, seed=2)]
    allowed = np.random.default_rng(0).random(shape) > 0.4
    check(attention(), *arrays, allowed, tolerance=1e-9)
    # A mask that takes part in differentiation, and one that does not.
    check(attention(), *arrays, array(*shape), tolerance=1e-9)
    check(lambda lib, q, k, v: attention()(lib, q, k, v, lib.tensor(array(*shape))), *arrays, tolerance=1e-9)


def test_rows_without_any_key():
    arrays = [array(1, 1, 3, 4), array(1, 1, 5, 4, seed=1), array(1, 1, 5, 4, seed=2)]
    allowed = np.ones((3, 5), dtype=bool)
    allowed[1] = False
    check(attention(), *arrays, allowed, grad=1)


def test_merged_heads_are_views():
    q = mashal.ones(2, 3, 5, 4)
    out = mashal._ops.scaled_dot_product_attention(q, q, q)
    assert out.transpose(1, 2).is_contiguous()


def test_dropout_draws_as_torch():
    arrays = [array(2, 3, 5, 4, dtype="float32", seed=i) for i in range(3)]
    mashal.manual_seed(3)
    ours = mashal._ops.scaled_dot_product_attention(*(mashal.tensor(a) for a in arrays), dropout_p=0.4)
    torch.manual_seed(3)
    theirs = torch.nn.functional.scaled_dot_product_attention(*(torch.tensor(a) for a in arrays), dropout_p=0.4)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-5)


def test_errors():
    q, k = array(1, 2, 3, 4), array(1, 2, 3, 5)
    check_raises(RuntimeError, attention(), q, k, k)
    check_raises(RuntimeError, attention(is_causal=True), q, q, q, np.ones((3, 3), dtype=bool))
    check_raises(RuntimeError, attention(), q, q, q, np.ones((4, 4), dtype=bool))
