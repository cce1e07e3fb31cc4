"""What a rule doesn't need isn't saved: the result may be overwritten, as the layers with inplace=True do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import mashal

F = Callable[[Any, Any], Any]
OPS: dict[str, F] = {
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "batch_norm eval": lambda t, x: t.nn.functional.batch_norm(x, t.zeros(4), t.ones(4)),
    "instance_norm": lambda t, x: t.nn.functional.instance_norm(x),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 2),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, [6]),
    "rms_norm": lambda t, x: t.nn.functional.rms_norm(x, [6]),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x, 2),
    "adaptive_max_pool2d": lambda t, x: t.nn.functional.adaptive_max_pool2d(x, 2),
    "avg_pool2d": lambda t, x: t.nn.functional.avg_pool2d(x, 2),
    "conv2d": lambda t, x: t.nn.functional.conv2d(x, t.ones(2, 4, 3, 3)),
    "conv_transpose2d": lambda t, x: t.nn.functional.conv_transpose2d(x, t.ones(4, 2, 2, 2), stride=2),
    "linear": lambda t, x: t.nn.functional.linear(x, t.ones(3, 6)),
    "dropout": lambda t, x: t.nn.functional.dropout(x, 0.5),
    "max": lambda t, x: x.max(1)[0],
    "min": lambda t, x: x.min(1)[0],
    "sort": lambda t, x: x.sort(1)[0],
    "topk": lambda t, x: x.topk(2, 1)[0],
    "median": lambda t, x: x.median(1)[0],
    "cummax": lambda t, x: x.cummax(1)[0],
    "interpolate": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2),
    "attention": lambda t, x: x @ x.transpose(2, 3),
    "add": lambda t, x: x + 1,
    "mul": lambda t, x: x * x,
    "cat": lambda t, x: t.cat([x, x]),
    "embedding": lambda t, x: t.nn.functional.embedding(t.tensor([0, 1]), x[0, 0]),
}


@pytest.mark.parametrize("name", OPS)
def test_result_may_be_overwritten(name: str) -> None:
    """An in-place op right after it: the gradients are torch's."""
    grads = []
    for t in (mashal, torch):
        t.manual_seed(0)
        x = t.randn(3, 4, 6, 6).requires_grad_()
        y = OPS[name](t, x)
        y.mul_(0.5)
        y += 1
        (y * y).sum().backward()
        grads.append(x.grad.numpy())
    mashal.testing.assert_close(mashal.from_numpy(grads[0]), mashal.from_numpy(grads[1]), rtol=1e-4, atol=1e-4)
