"""Gradients of convolutions with respect to their inputs and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mashal

from .. import Tensor
from ..autograd import enable_grad
from ..autograd import grad as _gradient
from . import functional as F


def _of_input(
    convolve: Callable[..., Tensor], input_size: Any, weight: Tensor, grad_output: Tensor, rest: Sequence[Any]
) -> Tensor:
    with enable_grad():
        x = mashal.zeros(tuple(input_size), dtype=weight.dtype, device=weight.device, requires_grad=True)
        return _gradient(convolve(x, weight, None, *rest), x, grad_output)[0]


def _of_weight(
    convolve: Callable[..., Tensor], input: Tensor, weight_size: Any, grad_output: Tensor, rest: Sequence[Any]
) -> Tensor:
    with enable_grad():
        w = mashal.zeros(tuple(weight_size), dtype=input.dtype, device=input.device, requires_grad=True)
        return _gradient(convolve(input, w, None, *rest), w, grad_output)[0]


def conv1d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv1d`` with respect to an input of shape ``input_size``."""
    return _of_input(F.conv1d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv1d`` with respect to a weight of shape ``weight_size``."""
    return _of_weight(F.conv1d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv2d`` with respect to an input of shape ``input_size``."""
    return _of_input(F.conv2d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv2d`` with respect to a weight of shape ``weight_size``."""
    return _of_weight(F.conv2d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv3d`` with respect to an input of shape ``input_size``."""
    return _of_input(F.conv3d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv3d`` with respect to a weight of shape ``weight_size``."""
    return _of_weight(F.conv3d, input, weight_size, grad_output, (stride, padding, dilation, groups))
