"""Normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mashal

from ... import Tensor
from ...ops._autocast import cast

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel of ``(N, C, *)`` over the batch; see :class:`~mashal.nn.BatchNorm1d`.

    Raises:
        ValueError: there is only one value per channel in training mode.
    """
    if training:
        size = input.shape
        if size[0] * _product(size[2:]) == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")
    return mashal.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel of each sample of ``(N, C, *)``; see :class:`~mashal.nn.InstanceNorm1d`.

    Raises:
        ValueError: there is only one value per channel and the input's own statistics are to be used.
    """
    if use_input_stats and _product(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return mashal.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises over the last dimensions, of sizes ``normalized_shape``; see :class:`~mashal.nn.LayerNorm`."""
    return mashal.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divides by the root mean square over the last dimensions; see :class:`~mashal.nn.RMSNorm`."""
    return mashal.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalises groups of channels of ``(N, C, *)``; see :class:`~mashal.nn.GroupNorm`.

    Raises:
        RuntimeError: fewer than 2 dimensions, or channels not divisible by ``num_groups``.
        ValueError: there is only one value per group.
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    size = input.shape
    if size[0] * size[1] // num_groups * _product(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")
    return mashal.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``x / (k + alpha * mean of x^2 over size channels)^beta``; see :class:`~mashal.nn.LocalResponseNorm`.

    Raises:
        ValueError: fewer than 3 dimensions.
    """
    from ._padding import pad

    ndim = input.dim()
    if ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {ndim} dimensions)")
    if input.numel() == 0:
        return input
    # size // 2 channels before c and (size - 1) // 2 after it; missing ones count as zero.
    amounts = [0, 0] * (ndim - 2) + [size // 2, (size - 1) // 2]
    means = _channel_means if ndim == 3 else cast(_channel_means, "avg_pool3d")  # what PyTorch composes it of
    window = means(pad(input * input, amounts), size)
    return input / window.mul(alpha).add(k).pow(beta)


def _channel_means(squares: Tensor, size: int) -> Tensor:
    return squares.unfold(1, size, 1).mean(-1)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """``x / max(|x|_p, eps)`` along ``dim`` (an int or several)."""
    norm = input.norm(p, dim, keepdim=True)
    if out is not None:
        return mashal.div(input, norm.clamp_min_(eps).expand_as(input), out=out)
    return input / norm.clamp_min(eps).expand_as(input)
