"""``flex_attention`` and its masks, against PyTorch's eager form."""

import warnings

import numpy as np
import pytest
import torch
import torch.nn.attention.flex_attention as theirs

import mashal
import mashal.nn.attention.flex_attention as ours

PAIRS = ((torch, theirs), (mashal, ours))


def array(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def causal(b, h, q, kv):
    return q >= kv


def near(b, h, q, kv):
    return (q - kv).abs() < 3


def own_head(b, h, q, kv):
    return (q + kv + h) % 3 > 0


SCORES = {
    "none": None,
    "relative": lambda fw: lambda s, b, h, q, kv: s + 0.1 * (q - kv),
    "slopes": lambda fw: lambda s, b, h, q, kv: s + fw.tensor([0.5, 0.1, 0.2, 0.3])[h] * (q - kv),
    "capped": lambda fw: lambda s, b, h, q, kv: 2 * (s / 2).tanh(),
}


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask", [None, causal, own_head])
@pytest.mark.parametrize("groups", [1, 2])
def test_flex_attention(score, mask, groups):
    found = []
    for fw, flex in PAIRS:
        q, k, v = (fw.tensor(array(*s)) for s in ((2, 4, 16, 8), (2, 4 // groups, 24, 8), (2, 4 // groups, 24, 8)))
        block_mask = None if mask is None else flex.create_block_mask(mask, None, 4, 16, 24, "cpu", BLOCK_SIZE=8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch advises compilation
            out, lse = flex.flex_attention(
                q,
                k,
                v,
                SCORES[score] and SCORES[score](fw),
                block_mask,
                scale=0.3,
                enable_gqa=groups > 1,
                return_lse=True,
            )
        found.append([t.numpy() for t in (out, lse)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-7)


def test_gradients():
    """PyTorch has none on the CPU: those of the ordinary attention are compared."""
    x = [mashal.tensor(array(2, 2, 6, 4) + i, requires_grad=True) for i in range(3)]
    block_mask = ours.create_block_mask(causal, None, None, 6, 6, BLOCK_SIZE=4)
    flexible = ours.flex_attention(*x, block_mask=block_mask)
    plain = mashal.nn.functional.scaled_dot_product_attention(*x, is_causal=True)
    for a, b in zip(
        mashal.autograd.grad((flexible**2).sum(), x), mashal.autograd.grad((plain**2).sum(), x), strict=True
    ):
        mashal.testing.assert_close(a, b)
    assert mashal.autograd.gradcheck(lambda *t: ours.flex_attention(*t, lambda s, b, h, q, kv: s * (q - kv)), x)


@pytest.mark.parametrize("mask", [causal, near, own_head, "and", "or"])
@pytest.mark.parametrize("shape", [(None, None, 32, 48), (2, 3, 20, 33)])
def test_block_masks(mask, shape):
    found = []
    for _, flex in PAIRS:
        mod = {"and": flex.and_masks(causal, near), "or": flex.or_masks(causal, near)}.get(mask, mask)
        block = flex.create_block_mask(mod, *shape, "cpu", BLOCK_SIZE=8)
        dense = flex.create_mask(mod, *shape, "cpu")
        facts = [tuple(block.shape), block.numel(), round(block.sparsity(), 4), block.BLOCK_SIZE]
        tensors = [dense, block.to_dense(), block.kv_num_blocks, block.kv_indices, block.q_num_blocks, block.q_indices]
        tensors += [block.full_kv_num_blocks, block.full_kv_indices, block.full_q_num_blocks, block.full_q_indices]
        found.append((facts, [(str(t.dtype).split(".")[1], t.numpy()) for t in tensors]))
    assert found[0][0] == found[1][0]
    for (a_type, a), (b_type, b) in zip(found[0][1], found[1][1], strict=True):
        assert a_type == b_type
        np.testing.assert_array_equal(a, b)


def test_errors():
    for shapes in (((2, 4, 8), (2, 4, 8)), ((1, 4, 3, 8), (1, 2, 3, 8)), ((1, 2, 3, 8), (1, 2, 3, 4))):
        kinds = []
        for fw, flex in PAIRS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with pytest.raises(Exception) as caught:
                    flex.flex_attention(fw.ones(shapes[0]), fw.ones(shapes[1]), fw.ones(shapes[1]))
            kinds.append(caught.type.__name__)
        assert kinds[0] == kinds[1]
