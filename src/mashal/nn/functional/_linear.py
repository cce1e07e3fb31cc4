"""Linear and bilinear maps, convolution, and attention's core."""

from __future__ import annotations

from typing import Any

import mashal

from ... import Tensor, _ops

__all__ = [
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linear",
    "scaled_dot_product_attention",
]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``; input ``(*, in)``, weight ``(out, in)`` or ``(in,)``, bias ``(out,)`` or ``()``."""
    return _ops.linear(input, weight, bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``y_k = x1^T A_k x2 + b_k``; inputs ``(*, in1)`` and ``(*, in2)``, weight ``(out, in1, in2)``.

    Raises:
        RuntimeError: the leading sizes of the inputs differ, or a last size does not fit the weight.
    """
    return mashal.bilinear(input1, input2, weight, bias)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of ``(N, C, L)`` with ``weight`` ``(out, C / groups, K)``; see :class:`~mashal.nn.Conv1d`."""
    return mashal.conv1d(input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of ``(N, C, H, W)`` with ``weight`` ``(out, C / groups, kH, kW)``; see :class:`~mashal.nn.Conv2d`."""
    return mashal.conv2d(input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of ``(N, C, D, H, W)``; see :class:`~mashal.nn.Conv3d`."""
    return mashal.conv3d(input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Transposed convolution, ``weight`` ``(C, out / groups, K)``; see :class:`~mashal.nn.ConvTranspose1d`."""
    return mashal.conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Transposed convolution of images; see :class:`~mashal.nn.ConvTranspose2d`."""
    return mashal.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Transposed convolution of volumes; see :class:`~mashal.nn.ConvTranspose3d`."""
    return mashal.conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution of ``(T, B, C)`` along T with ``weight`` ``(K, C, out)``."""
    out = mashal.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return out.permute(2, 0, 1)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query key^T scale + mask) value`` (Vaswani et al. 2017).

    Args:
        query, key, value: ``(N, ..., Hq, L, E)``, ``(N, ..., H, S, E)``, ``(N, ..., H, S, Ev)``.
        attn_mask: broadcastable to ``(N, ..., L, S)``; bool (true takes part) or added to the scores.
        dropout_p: probability of dropping a weight. It is always applied: pass 0 in evaluation.
        is_causal: position i sees only positions up to i. Not together with ``attn_mask``.
        scale: default ``1 / sqrt(E)``.
        enable_gqa: repeat key and value heads so that their number becomes Hq.

    Returns:
        ``(N, ..., Hq, L, Ev)``.
    """
    return _ops.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
