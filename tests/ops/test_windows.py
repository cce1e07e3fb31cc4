"""Window functions, shuffles of channels, similarities and ctc_loss against PyTorch."""

import numpy as np
import pytest
import torch

import mashal

WINDOWS = ["hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"]


def close(ours, theirs, **tolerance):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(ours.detach().double().numpy(), theirs.detach().double().numpy(), **tolerance)


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 31])
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_windows(name, length, periodic, dtype):
    ours, theirs = (getattr(f, name)(length, periodic, dtype=getattr(f, dtype)) for f in (mashal, torch))
    close(ours, theirs, rtol=0, atol=3e-7 if dtype == "float32" else 1e-14)


def test_window_arguments():
    close(mashal.hamming_window(9, True, 0.5, 0.4), torch.hamming_window(9, True, 0.5, 0.4), rtol=0, atol=2e-7)
    close(mashal.kaiser_window(9, False, 6.0), torch.kaiser_window(9, False, 6.0), rtol=0, atol=3e-7)
    assert mashal.hann_window(4, requires_grad=True).requires_grad
    for name in WINDOWS:
        with pytest.raises(RuntimeError, match="floating point"):
            getattr(mashal, name)(4, dtype=mashal.int64)
        with pytest.raises(RuntimeError, match="non-negative"):
            getattr(mashal, name)(-1)


@pytest.mark.parametrize(
    ("name", "shape", "factor"),
    [
        ("pixel_shuffle", (2, 8, 3, 2), 2), ("pixel_shuffle", (9, 1, 2), 3), ("pixel_unshuffle", (2, 2, 4, 6), 2),
        ("pixel_unshuffle", (1, 3, 3), 3), ("channel_shuffle", (2, 6, 3), 3), ("channel_shuffle", (1, 4, 2, 2), 2),
        ("pixel_shuffle", (1, 3, 2, 2), 2), ("pixel_shuffle", (2, 2), 1), ("pixel_shuffle", (4, 1, 1), 0),
        ("pixel_unshuffle", (1, 1, 3, 4), 2), ("pixel_unshuffle", (2, 2), 1), ("channel_shuffle", (1, 5, 2), 2),
        ("channel_shuffle", (4, 4), 2), ("channel_shuffle", (1, 4, 2), 0),
    ],
)  # fmt: skip
def test_shuffles(name, shape, factor):
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)

    def run(f):
        x = f.from_numpy(data.copy()).requires_grad_()
        try:
            y = getattr(f, name)(x, factor)
        except RuntimeError as e:
            return type(e)
        (y * f.arange(y.numel()).reshape(y.shape)).sum().backward()
        return y.tolist(), x.grad.tolist()

    assert run(mashal) == run(torch)
    if hasattr(mashal.nn.functional, name):
        assert getattr(mashal.nn.functional, name) is getattr(mashal, name)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cosine_similarity(dim):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(1, 3))
    a[0] = 0

    def run(f):
        x, y = (f.from_numpy(v.copy()).requires_grad_() for v in (a, b))
        out = f.cosine_similarity(x, y, dim)
        out.sum().backward()
        return out, x.grad, y.grad

    for ours, theirs in zip(run(mashal), run(torch), strict=True):
        close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5, float("inf")])
@pytest.mark.parametrize("keepdim", [True, False])
def test_pairwise_distance(p, keepdim):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    ours, theirs = (f.pairwise_distance(f.from_numpy(a), f.from_numpy(b), p, keepdim=keepdim) for f in (mashal, torch))
    close(ours, theirs, rtol=1e-12)


# ---- ctc_loss ----


def ctc(f, log_probs, targets, input_lengths, target_lengths, **kwargs):
    x = f.from_numpy(log_probs.copy()).requires_grad_()
    scores = x.log_softmax(-1)
    scores.retain_grad()
    loss = f.nn.functional.ctc_loss(scores, f.from_numpy(targets.copy()), input_lengths, target_lengths, **kwargs)
    weights = f.arange(1, loss.numel() + 1, dtype=scores.dtype).reshape(loss.shape)
    (loss * weights).sum().backward()
    return loss, scores.grad, x.grad


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("layout", ["padded", "joined"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ctc_loss(reduction, layout, dtype):
    rng = np.random.default_rng(1)
    log_probs = rng.normal(size=(12, 5, 6)).astype(dtype)
    lengths = [4, 2, 0, 3, 4]
    targets = rng.integers(1, 6, (5, 4))
    targets[1] = targets[1, 0]  # repeated labels need a blank between them
    if layout == "joined":
        targets = np.concatenate([row[:n] for row, n in zip(targets, lengths, strict=True)])
    inputs = [12, 9, 5, 7, 12]
    results = [ctc(f, log_probs, targets, inputs, lengths, reduction=reduction) for f in (mashal, torch)]
    for ours, theirs in zip(*results, strict=True):
        close(ours, theirs, rtol=2e-5 if dtype == "float32" else 1e-11, atol=2e-6 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_loss_of_impossible_targets(zero_infinity):
    log_probs = np.random.default_rng(2).normal(size=(3, 2, 4))
    targets = np.array([[1, 1, 1], [1, 2, 3]])
    kwargs = {"reduction": "none", "zero_infinity": zero_infinity}
    results = [ctc(f, log_probs, targets, (3, 3), (3, 3), **kwargs) for f in (mashal, torch)]
    for ours, theirs in zip(*results, strict=True):
        close(ours, theirs, rtol=1e-11, atol=1e-12)


def test_ctc_loss_forms():
    log_probs = np.random.default_rng(3).normal(size=(6, 4))
    targets = np.array([1, 2])
    for kwargs in ({}, {"blank": 3}, {"reduction": "sum"}):
        results = [ctc(f, log_probs, targets, (6,), (2,), **kwargs) for f in (mashal, torch)]
        for ours, theirs in zip(*results, strict=True):
            close(ours, theirs, rtol=1e-11, atol=1e-12)
    for f in (mashal, torch):  # lengths as tensors; labels of int32
        x = f.from_numpy(log_probs.copy()).log_softmax(-1).unsqueeze(1)
        t = f.tensor([[1, 2]], dtype=f.int32)
        loss = f.nn.CTCLoss()(x, t, f.tensor([6]), f.tensor([2]))
        if f is torch:
            close(ours, loss, rtol=1e-12)
        ours = loss
    one_input = [ctc(f, log_probs[:1], targets[:0], (0,), (0,)) for f in (mashal, torch)]
    close(one_input[0][0], one_input[1][0])


@pytest.mark.parametrize(
    ("targets", "inputs", "labels", "blank"),
    [
        ([[1, 2]], (7,), (2,), 0), ([[1, 2]], (6,), (3,), 0), ([[1, 2]], (6, 6), (2,), 0), ([[1, 2]], (6,), (2, 2), 0),
        ([[1, 2]], (6,), (2,), 9), ([1, 2, 3], (6,), (2,), 0),
    ],
)  # fmt: skip
def test_ctc_loss_errors(targets, inputs, labels, blank):
    for f in (mashal, torch):
        with pytest.raises(RuntimeError):
            f.nn.functional.ctc_loss(f.randn(6, 1, 4), f.tensor(targets), inputs, labels, blank)


def test_ctc_loss_checks_labels():
    with pytest.raises(RuntimeError, match=r"labels in \[0, 3\], got 4"):
        mashal.nn.functional.ctc_loss(mashal.randn(6, 1, 4), mashal.tensor([[1, 4]]), (6,), (2,))
    with pytest.raises(RuntimeError, match="integral"):
        mashal.nn.functional.ctc_loss(mashal.randn(6, 1, 4), mashal.tensor([[1, 2]]), mashal.tensor([6.0]), (2,))
