"""3x3 and 5x5 convolutions large enough for Winograd's algorithm, against torch in float64."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

import mashal

# batch, channels, height, width, channels of the result, kernel, padding
SHAPES = [
    (2, 32, 20, 20, 32, 3, 1),
    (3, 64, 17, 23, 48, 3, 0),
    (2, 96, 33, 9, 32, 3, 2),
    (8, 64, 32, 32, 64, 3, 1),
    (1, 128, 28, 28, 160, 3, 1),
    (4, 64, 40, 41, 80, 3, (0, 1)),
    (32, 256, 4, 4, 256, 3, 1),
    (16, 32, 14, 14, 64, 5, 2),
    (8, 48, 17, 15, 32, 5, (0, 4)),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("last", [False, True])
def test_result_and_gradients(shape: tuple[Any, ...], last: bool) -> None:
    n, c, h, w, k, size, padding = shape
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((n, c, h, w)), rng.standard_normal((k, c, size, size)) / (size * c**0.5)]
    arrays.append(rng.standard_normal(k))
    grad = None
    results = []
    for lib, dtype in ((torch, torch.float64), (mashal, mashal.float32)):
        x, weight, bias = (lib.tensor(a).to(dtype) for a in arrays)
        if last:
            x = x.contiguous(memory_format=lib.channels_last)
        for t in (x, weight, bias):
            t.requires_grad_()
        y = lib.nn.functional.conv2d(x, weight, bias, padding=padding)
        if grad is None:
            grad = rng.standard_normal(tuple(y.shape))
        y.backward(lib.tensor(grad).to(dtype))
        results.append([t.detach().numpy() for t in (y, x.grad, weight.grad, bias.grad)])
        assert y.is_contiguous(memory_format=lib.channels_last if last else lib.contiguous_format)
    for exact, ours in zip(*results, strict=True):
        assert np.abs(ours - exact).max() < 4e-5 * np.abs(exact).max()


def test_number_of_threads_changes_meanwhile() -> None:
    """Each thread has its own scratch memory: their number is that of the time at which it was allocated."""
    before, stop = mashal.get_num_threads(), threading.Event()

    def change() -> None:
        n = 0
        while not stop.wait(1e-5):
            mashal.set_num_threads(1 + n % 4 * 2)
            n += 1

    x, w = mashal.randn(2, 256, 14, 14, requires_grad=True), mashal.randn(512, 256, 3, 3, requires_grad=True)
    expected = mashal.nn.functional.conv2d(x, w, padding=1)
    gradients = mashal.autograd.grad(expected.sum(), (x, w))
    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(10):
            y = mashal.nn.functional.conv2d(x, w, padding=1)
            for ours, first in zip((y, *mashal.autograd.grad(y.sum(), (x, w))), (expected, *gradients), strict=True):
                assert (ours - first).abs().max() < 1e-4 * first.abs().max()
    finally:
        stop.set()
        other.join()
        mashal.set_num_threads(before)
