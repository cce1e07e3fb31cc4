"""Convolution against torch: both engines (oneDNN for float32, columns and products for float64), both layouts."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import mashal

from .compare import array, check, check_raises

# (input, weight, keyword arguments)
PLAIN = [
    ((2, 3, 9), (4, 3, 3), {}),
    ((2, 4, 9), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
    ((3, 9), (4, 3, 3), {"padding": 2, "dilation": 2}),
    ((2, 3, 8, 9), (4, 3, 3, 3), {}),
    ((2, 3, 8, 9), (4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0)}),
    ((2, 3, 8, 9), (4, 3, 3, 3), {"padding": "same", "dilation": 2}),
    ((2, 3, 8, 9), (4, 3, 2, 4), {"padding": "same"}),
    ((2, 3, 8, 9), (4, 3, 3, 3), {"padding": "valid"}),
    ((2, 8, 6, 7), (8, 1, 3, 3), {"padding": 1, "groups": 8}),
    ((2, 8, 9, 7), (8, 1, 3, 5), {"padding": (1, 2), "groups": 8, "stride": 2}),
    ((2, 4, 9, 9), (4, 1, 3, 3), {"padding": 3, "groups": 4, "stride": (3, 2), "dilation": (2, 1)}),
    ((2, 4, 9, 40), (4, 1, 3, 3), {"padding": 0, "groups": 4}),
    ((2, 4, 6, 7), (8, 1, 3, 3), {"padding": 1, "groups": 4}),
    ((2, 6, 6, 7), (4, 3, 1, 1), {"groups": 2}),
    ((2, 6, 6, 7), (4, 6, 1, 1), {}),
    ((2, 6, 6, 7), (4, 6, 1, 1), {"stride": 2}),
    ((2, 6, 6, 7), (4, 6, 1, 1), {"padding": 1}),
    ((3, 6, 7), (4, 3, 3, 3), {}),
    ((2, 20, 12, 12), (36, 20, 3, 3), {"padding": 1}),
    ((0, 3, 8, 8), (4, 3, 3, 3), {}),
    ((2, 3, 5, 6, 7), (4, 3, 3, 2, 3), {"stride": (1, 2, 1), "padding": 1}),
    ((2, 4, 5, 6, 7), (4, 2, 2, 2, 2), {"groups": 2, "dilation": 2}),
]
TRANSPOSED = [
    ((2, 3, 9), (3, 4, 3), {}),
    ((2, 3, 5), (3, 4, 3), {"stride": 3, "padding": 1, "output_padding": 2}),
    ((2, 3, 5, 6), (3, 4, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    ((2, 4, 5, 6), (4, 3, 3, 2), {"stride": (2, 1), "groups": 2, "dilation": 2}),
    ((4, 5, 6), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    ((2, 3, 3, 4, 5), (3, 2, 2, 3, 2), {"stride": 2, "padding": (0, 1, 1)}),
]


def conv(case, prefix):
    n = len(case[1]) - 2
    name = f"{prefix}{n}d"

    def fn(lib, x, w, *b):
        return getattr(lib, name)(x, w, b[0] if b else None, **case[2])

    return fn


def arrays(case, bias, transposed=False):
    x, w, options = case
    channels = w[1] * options.get("groups", 1) if transposed else w[0]
    parts = [array(*x), array(*w, seed=1)]
    return [*parts, array(channels, seed=2)] if bias else parts


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # torch's, about a copy
@pytest.mark.parametrize("case", PLAIN, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_convolution(case, dtype):
    check(conv(case, "conv"), *arrays(case, True), dtype=dtype, tolerance=1e-4 if dtype == "float32" else None)
    check(conv(case, "conv"), *arrays(case, False), dtype=dtype, grad=1)


@pytest.mark.parametrize("case", TRANSPOSED, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_transposed(case, dtype):
    fn = conv(case, "conv_transpose")
    check(fn, *arrays(case, True, True), dtype=dtype, tolerance=1e-4 if dtype == "float32" else None)


@pytest.mark.parametrize("case", [PLAIN[3], PLAIN[4], PLAIN[8], PLAIN[9], PLAIN[14], PLAIN[18]], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_channels_last(case, dtype):
    def fn(lib, x, w, b):
        x = x.to(memory_format=lib.channels_last)
        return lib.conv2d(x, w, b, **case[2])

    check(fn, *arrays(case, True), dtype=dtype, tolerance=1e-4 if dtype == "float32" else None)
    x = mashal.tensor(array(*case[0])).to(mashal.float32).contiguous(memory_format=mashal.channels_last)
    out = mashal.conv2d(x, mashal.tensor(array(*case[1])).to(mashal.float32), **case[2])
    assert out.is_contiguous(memory_format=mashal.channels_last)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("case", [PLAIN[3], PLAIN[8], PLAIN[14], PLAIN[18]], ids=str)
def test_half_types(case, dtype):
    check(conv(case, "conv"), *arrays(case, True), dtype=dtype, grad=1, tolerance=0.03)


def test_complex():
    x, w = array(2, 3, 6, 6, dtype="complex128"), array(4, 3, 3, 3, dtype="complex128", seed=1)
    check(lambda lib, x, w: lib.conv2d(x, w), x, w, dtype="complex128")


def test_strided_input():
    check(
        lambda lib, x, w: lib.conv2d(x[:, :, ::2, 1:], w),
        array(2, 3, 12, 8),
        array(4, 3, 3, 3),
        dtype="float32",
        tolerance=1e-4,
    )
    check(
        lambda lib, x, w: lib.conv2d(x.expand(3, 3, 6, 6), w),
        array(1, 3, 6, 6),
        array(4, 3, 3, 3),
        dtype="float32",
        tolerance=1e-4,
    )


def test_only_what_is_needed():
    x, w = mashal.tensor(array(1, 2, 5)), mashal.tensor(array(3, 2, 3)).requires_grad_()
    (g,) = mashal.autograd.grad(mashal.conv1d(x, w).sum(), w)
    tx, tw = torch.tensor(array(1, 2, 5)), torch.tensor(array(3, 2, 3)).requires_grad_()
    (tg,) = torch.autograd.grad(torch.conv1d(tx, tw).sum(), tw)
    np.testing.assert_allclose(g.numpy(), tg.numpy())


@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((1, 4, 8, 8), (6, 3, 3, 3), {}),
        ((1, 3, 2, 2), (6, 3, 3, 3), {}),
        ((8, 8), (6, 3, 3, 3), {}),
        ((1, 3, 8, 8), (6, 3, 3, 3), {"stride": 0}),
        ((1, 3, 8, 8), (6, 3, 3, 3), {"padding": -1}),
        ((1, 3, 8, 8), (6, 3, 3, 3), {"padding": "same", "stride": 2}),
        ((1, 3, 8, 8), (6, 3, 3, 3), {"padding": "none"}),
        ((1, 4, 8, 8), (5, 2, 3, 3), {"groups": 2}),
        ((1, 3, 8, 8), (6, 3, 3, 3), {"bias": (5,)}),
    ],
)
def test_errors(x, w, options):
    bias = [array(*options.pop("bias"))] if "bias" in options else []
    check_raises(RuntimeError, conv((x, w, options), "conv"), array(*x), array(*w), *bias)


def test_portable_engine():
    """The same tests without oneDNN, in a process of its own: the choice is made once."""
    if os.environ.get("MASHAL_DISABLE_ONEDNN") == "1":
        pytest.skip("this is that process")
    env = {**os.environ, "MASHAL_DISABLE_ONEDNN": "1"}
    args = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(args, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
