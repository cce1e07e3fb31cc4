"""Batch normalisation folded into the layer before it, for inference."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import mashal

from ... import Tensor
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

M = TypeVar("M")


def fuse_conv_bn_eval(conv: M, bn: Any, transpose: bool = False) -> M:
    """A copy of the convolution that computes ``bn(conv(x))``.

    Args: ``transpose``: whether it is a transposed convolution.
    Raises: AssertionError unless both modules are in evaluation mode.

    Example:
        >>> import mashal
        >>> conv, bn = mashal.nn.Conv2d(2, 3, 1).eval(), mashal.nn.BatchNorm2d(3).eval()
        >>> fused = mashal.nn.utils.fuse_conv_bn_eval(conv, bn)
        >>> x = mashal.ones(1, 2, 4, 4)
        >>> mashal.allclose(fused(x), bn(conv(x)), atol=1e-6)
        True
    """
    fused: Any = _copy_in_eval(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def _copy_in_eval(layer: Any, bn: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Fusion needs the running statistics of bn; it has none (track_running_stats=False).")
    return copy.deepcopy(layer)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the convolution that contains the normalisation; see :func:`fuse_conv_bn_eval`."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def _fused(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    bn_weight: Tensor | None,
    bn_bias: Tensor | None,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    before = mashal.zeros_like(mean) if bias is None else bias
    factor = (var + eps).rsqrt()
    if bn_weight is not None:
        factor = factor * bn_weight
    new_bias = (before - mean) * factor
    if bn_bias is not None:
        new_bias = new_bias + bn_bias
    new_weight = (weight * factor.reshape(shape)).to(weight.dtype)
    dtype = weight.dtype if bias is None else bias.dtype
    learns = weight.requires_grad
    return (
        Parameter(new_weight.detach(), learns),
        Parameter(new_bias.detach().to(dtype), learns if bias is None else bias.requires_grad),
    )


def fuse_linear_bn_eval(linear: M, bn: Any) -> M:
    """A copy of the linear layer that computes ``bn(linear(x))``.

    Raises: AssertionError unless both are in evaluation mode and as wide as each other (or bn has one feature).
    """
    fused: Any = _copy_in_eval(linear, bn)
    if bn.num_features not in (1, fused.out_features):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the linear layer that contains the normalisation; see :func:`fuse_linear_bn_eval`."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])
