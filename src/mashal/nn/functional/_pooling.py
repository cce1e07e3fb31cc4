"""Pooling."""

from __future__ import annotations

from typing import Any

import mashal

from ... import Tensor, _ops

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
]


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`max_pool1d` and the positions of the maxima."""
    stride = kernel_size if stride is None else stride
    return mashal.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over a sliding window; see :class:`~mashal.nn.MaxPool1d`."""
    stride = kernel_size if stride is None else stride
    if return_indices:
        return mashal.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return mashal.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`max_pool2d` and the positions of the maxima in the flattened image."""
    stride = kernel_size if stride is None else stride
    return _ops.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over a sliding window of an image; see :class:`~mashal.nn.MaxPool2d`."""
    stride = kernel_size if stride is None else stride
    if return_indices:
        return _ops.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return mashal.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`max_pool3d` and the positions of the maxima in the flattened volume."""
    stride = kernel_size if stride is None else stride
    return _ops.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over a sliding window of a volume; see :class:`~mashal.nn.MaxPool3d`."""
    stride = kernel_size if stride is None else stride
    if return_indices:
        return _ops.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return mashal.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean over a sliding window; see :class:`~mashal.nn.AvgPool1d`."""
    stride = kernel_size if stride is None else stride
    return mashal.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean over a sliding window of an image; see :class:`~mashal.nn.AvgPool2d`."""
    stride = kernel_size if stride is None else stride
    return _ops.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean over a sliding window of a volume; see :class:`~mashal.nn.AvgPool3d`."""
    stride = kernel_size if stride is None else stride
    return _ops.avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _output_size(input: Tensor, output_size: Any, n: int) -> list[int]:
    """``output_size`` as n ints, ``None`` meaning the input's own size."""
    if isinstance(output_size, int):
        return [output_size] * n
    sizes = list(output_size)
    if len(sizes) == 1:
        sizes = sizes * n
    if input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return [input.shape[i - len(sizes)] if size is None else size for i, size in enumerate(sizes)]


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`adaptive_max_pool1d` and the positions of the maxima."""
    return mashal.adaptive_max_pool1d(input, _output_size(input, output_size, 1))


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over ``output_size`` even windows; see :class:`~mashal.nn.AdaptiveMaxPool1d`."""
    pair = adaptive_max_pool1d_with_indices(input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`adaptive_max_pool2d` and the positions of the maxima."""
    return _ops.adaptive_max_pool2d(input, _output_size(input, output_size, 2))


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over even windows of an image; see :class:`~mashal.nn.AdaptiveMaxPool2d`."""
    pair = adaptive_max_pool2d_with_indices(input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`adaptive_max_pool3d` and the positions of the maxima."""
    return _ops.adaptive_max_pool3d(input, _output_size(input, output_size, 3))


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over even windows of a volume; see :class:`~mashal.nn.AdaptiveMaxPool3d`."""
    pair = adaptive_max_pool3d_with_indices(input, output_size)
    return pair if return_indices else pair[0]


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over ``output_size`` even windows; see :class:`~mashal.nn.AdaptiveAvgPool1d`."""
    return mashal.adaptive_avg_pool1d(input, _output_size(input, output_size, 1))


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over even windows of an image; see :class:`~mashal.nn.AdaptiveAvgPool2d`."""
    return _ops.adaptive_avg_pool2d(input, _output_size(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over even windows of a volume; see :class:`~mashal.nn.AdaptiveAvgPool3d`."""
    return _ops.adaptive_avg_pool3d(input, _output_size(input, output_size, 3))


def _lp(pooled: Tensor, window: int, norm_type: float) -> Tensor:
    """The norm from the mean of ``x^p``; the sign of that mean is kept aside, since a root needs a positive one."""
    return (mashal.sign(pooled) * mashal.relu(mashal.abs(pooled))).mul(window).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``(sum x^p)^(1/p)`` over a sliding window; see :class:`~mashal.nn.LPPool1d`."""
    window = kernel_size if isinstance(kernel_size, int) else kernel_size[0]
    pooled = avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _lp(pooled, window, norm_type)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``(sum x^p)^(1/p)`` over a sliding window of an image; see :class:`~mashal.nn.LPPool2d`."""
    kh, kw = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
    pooled = avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _lp(pooled, kh * kw, norm_type)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``(sum x^p)^(1/p)`` over a sliding window of a volume; see :class:`~mashal.nn.LPPool3d`."""
    kd, kh, kw = (kernel_size,) * 3 if isinstance(kernel_size, int) else kernel_size
    pooled = avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _lp(pooled, kd * kh * kw, norm_type)
