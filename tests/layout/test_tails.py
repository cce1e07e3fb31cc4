"""What stands between convolutions waits for the next one; reordered weights are kept. Neither may be seen."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mashal


def images(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def conv(lib: Any, seed: int = 1) -> Any:
    return lib.nn.functional.conv2d(lib.tensor(images(2, 3, 6, 5)), lib.tensor(images(8, 3, 3, 3, seed=seed)))


def norm(lib: Any, x: Any, training: bool = True) -> Any:
    mean, var = lib.tensor(images(8)), lib.tensor(np.abs(images(8, seed=3)) + 0.5)
    weight, bias = lib.tensor(images(8, seed=4)), lib.tensor(images(8, seed=5))
    return lib.nn.functional.batch_norm(x, mean, var, weight, bias, training)


def in_place_sum_and_activation(t: Any) -> Any:
    out = norm(t, conv(t))
    out += norm(t, conv(t, 2), False)
    return t.relu_(out)


def image_written_after(t: Any) -> Any:
    x = conv(t)
    y = norm(t, x, False)
    x.mul_(3)
    return y + x


def image_read_out_and_written(t: Any) -> Any:
    x = conv(t)
    y = t.relu(norm(t, x, False))
    x[0] = 5.0
    return y * x


def other_summand_written_after(t: Any) -> Any:
    a = conv(t, 2)
    y = norm(t, conv(t), False) + a
    a.zero_()
    return y


def normalised_used_twice(t: Any) -> Any:
    y = norm(t, conv(t))
    return t.relu(y) * 2 + y


def views_of_a_waiting_image(t: Any) -> Any:
    y = norm(t, conv(t))
    row, other = y[1], y.detach()
    y.relu_()
    return row + other[0]


def clamped_twice(t: Any) -> Any:
    return t.nn.functional.relu6(t.relu(norm(t, conv(t))) * 3)


def sum_with_itself(t: Any) -> Any:
    y = norm(t, conv(t))
    y += y
    return y + y


def sum_into_a_plain_image(t: Any) -> Any:
    a = t.tensor(images(2, 8, 4, 3))
    a += norm(t, conv(t))
    return a


def scaled_sum(t: Any) -> Any:
    return t.add(norm(t, conv(t)), conv(t, 2), alpha=2)


def not_a_number(t: Any) -> Any:
    x = conv(t)
    x[0, 0] = float("nan")
    y = conv(t, 2)
    return t.nn.functional.hardtanh(norm(t, y * x, False) + y)


def given_out(t: Any) -> Any:
    out = t.empty(2, 8, 4, 3)
    t.add(norm(t, conv(t)), 1, out=out)
    return out


def next_convolution(t: Any) -> Any:
    y = t.nn.functional.relu6(norm(t, conv(t)) + conv(t, 2))
    return t.nn.functional.conv2d(y, t.tensor(images(4, 8, 3, 3)))


CASES: list[Callable[[Any], Any]] = [
    in_place_sum_and_activation,
    image_written_after,
    image_read_out_and_written,
    other_summand_written_after,
    normalised_used_twice,
    views_of_a_waiting_image,
    clamped_twice,
    sum_with_itself,
    sum_into_a_plain_image,
    scaled_sum,
    not_a_number,
    given_out,
    next_convolution,
]


@pytest.mark.parametrize("case", CASES, ids=[c.__name__ for c in CASES])
def test_waiting_steps(case: Callable[[Any], Any]) -> None:
    ours, theirs = case(mashal), case(torch)
    assert tuple(ours.stride()) == tuple(theirs.stride())
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_a_residual_block(training: bool) -> None:
    results = []
    for lib in (mashal, torch):
        x = lib.tensor(images(2, 8, 6, 5), requires_grad=True)
        w = lib.tensor(images(8, 8, 3, 3, seed=1), requires_grad=True)
        fn = lib.nn.functional
        y = lib.relu_(norm(lib, fn.conv2d(x, w, padding=1), training))
        y = norm(lib, fn.conv2d(y, w, padding=1), training)
        y += x
        y = lib.relu_(y)
        (y * y).sum().backward()
        results.append((x.grad, w.grad))
    for ours, theirs in zip(*results, strict=True):
        scale = float(theirs.abs().max())
        np.testing.assert_allclose(ours.numpy() / scale, theirs.numpy() / scale, atol=2e-5)


WRITES: list[Callable[[Any, Any], Any]] = [
    lambda t, w: w.mul_(2),
    lambda t, w: w.data.mul_(2),
    lambda t, w: w[0].fill_(1.5),
    lambda t, w: w.detach().view(-1)[3:9].zero_(),
    lambda t, w: w.copy_(t.ones(*w.shape)),
    lambda t, w: w.set_(t.ones(*w.shape)),
    lambda t, w: w.numpy().fill(0.25),
    lambda t, w: t.optim.SGD([w], 0.5).step() if setattr(w, "grad", t.ones(*w.shape)) is None else None,
]


# Reordered for oneDNN; transformed for Winograd's algorithm, whose errors are larger; packed for a matrix product.
KEPT = [
    ((2, 3, 6, 5), (8, 3, 3, 3), 4e-6),
    ((1, 64, 14, 14), (64, 64, 3, 3), 1.5e-5),
    ((1, 64, 7, 9), (128, 64, 1, 1), 4e-6),
]


@pytest.mark.parametrize("number", range(len(WRITES)))
@pytest.mark.parametrize(("input_shape", "shape", "tolerance"), KEPT, ids=["direct", "winograd", "product"])
def test_a_weight_that_changed_is_read_again(input_shape: Any, shape: Any, tolerance: float, number: int) -> None:
    results = []
    for lib in (mashal, torch):
        x, w = lib.tensor(images(*input_shape)), lib.tensor(images(*shape, seed=1))
        with lib.no_grad():
            before = lib.nn.functional.conv2d(x, w) + lib.nn.functional.conv2d(x, w)
            WRITES[number](lib, w)
            results.append((before, lib.nn.functional.conv2d(x, w), lib.nn.functional.conv2d(x, w, stride=2)))
    scale = float(np.sqrt(np.prod(shape[1:])))  # of sums of that many products
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-5, atol=tolerance * scale)


@pytest.mark.parametrize("told", [lambda w: w.numpy().ctypes.data, lambda w: w.data_ptr()], ids=["numpy", "data_ptr"])
def test_a_weight_whose_address_is_known_is_not_kept(told: Callable[[Any], int]) -> None:
    """It may be written unseen at any time, also after later convolutions."""
    x, w = mashal.tensor(images(2, 3, 6, 5)), mashal.tensor(images(8, 3, 3, 3, seed=1))
    with mashal.no_grad():
        mashal.nn.functional.conv2d(x, w)
        address = told(w)
        mashal.nn.functional.conv2d(x, w)
        ctypes.memset(address, 0, w.numel() * 4)
        assert not mashal.nn.functional.conv2d(x, w).any()


def test_memory_of_kept_weights_goes_with_them() -> None:
    x = mashal.tensor(images(1, 16, 6, 5))
    allocated = []
    for _ in range(4):
        w = mashal.ones(64, 16, 3, 3)
        with mashal.no_grad():
            mashal.nn.functional.conv2d(x, w)
        del w
        allocated.append(mashal._core.memory_stats()["allocated"])
    assert allocated[1:] == allocated[1:2] * 3
