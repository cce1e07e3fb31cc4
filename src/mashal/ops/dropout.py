"""Dropout and other noise of training, with PyTorch's masks."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from ._pointwise import in_place
from ._registry import composite, op
from .activations import leaky_relu
from .creation import empty_like, ones_like
from .random import _bernoulli_

_leaky_relu_in_place = in_place(leaky_relu)


@op("_masked_scale(Tensor input, Tensor mask, float keep) -> Tensor", out=False)
def _masked_scale() -> None:
    """``input * mask / keep``, ``1 / keep`` being rounded to the dtype first. One pass, and a mask of one byte.

    Args: floating ``input``; bool ``mask`` of its shape. Returns: shape and dtype of ``input``, layout of ``mask``.
    Gradient: the same function of the gradient.

    Example:
        >>> import mashal
        >>> mashal._ops._masked_scale(mashal.tensor([1., 2.]), mashal.tensor([True, False]), 0.5)
        tensor([2., 0.])
    """


@_masked_scale.vjp("input")
def _(g: Tensor, mask: Tensor, keep: float) -> Tensor:
    return _masked_scale(g, mask, keep)


# The value that SELU saturates at is minus this.
_SELU_SATURATION = 1.7580993408473766


def _check(name: str, p: float) -> None:
    if p < 0 or p > 1:
        raise RuntimeError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")


def _multiplied(input: Tensor, factor: Tensor, inplace: bool) -> Tensor:
    return input.mul_(factor) if inplace else input * factor


def _kept(input: Tensor, p: float, per_channel: bool) -> Tensor:
    """1 with probability ``1 - p``, else 0; one draw per element or per channel."""
    if not per_channel:
        return _bernoulli_(empty_like(input), 1 - p)
    if input.dim() < 2:
        raise RuntimeError(
            f"feature_dropout: input must have at least 2 dimensions, got input {tuple(input.shape)} {input.dtype}."
        )
    return _bernoulli_(input.new_empty([*input.shape[:2], *[1] * (input.dim() - 2)]), 1 - p)


def _drop(name: str, input: Tensor, p: float, train: bool, inplace: bool, per_channel: bool, alpha: bool) -> Tensor:
    _check(name, p)
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return _multiplied(input, input.new_zeros(()), inplace)
    if not (inplace or per_channel or alpha):
        mask = _bernoulli_(empty_like(input, dtype=_core.bool), 1 - p)
        return _masked_scale(input, mask, 1 - p)
    noise = _kept(input, p, per_channel)
    if not alpha:
        return _multiplied(input, noise.div_(1 - p), inplace)
    # Kept values are scaled by a, dropped ones become the saturation value, and b restores the mean.
    a = 1.0 / math.sqrt((_SELU_SATURATION * _SELU_SATURATION * p + 1) * (1 - p))
    b = noise.add(-1).mul_(_SELU_SATURATION * a).add_(_SELU_SATURATION * a * p)
    return _multiplied(input, noise.mul_(a), inplace).add_(b)


@composite()
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zeroes elements with probability ``p`` and scales the rest by ``1 / (1 - p)``; ``input`` itself unless ``train``.

    Raises: RuntimeError for ``p`` outside ``[0, 1]``. Gradient: dropped and scaled alike.
    Source: Srivastava et al., "Dropout", 2014.

    Example:
        >>> import mashal
        >>> mashal.dropout(mashal.ones(3), 1.0, True)
        tensor([0., 0., 0.])
    """
    return _drop("dropout", input, p, train, inplace=False, per_channel=False, alpha=False)


@composite()
def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``dropout`` written into ``input``."""
    return _drop("dropout_", input, p, train, inplace=True, per_channel=False, alpha=False)


@composite()
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``dropout`` of whole channels: one draw for every ``input[n, c]``.

    Raises: RuntimeError for fewer than 2 dimensions.

    Example:
        >>> import mashal
        >>> mashal.feature_dropout(mashal.ones(2, 3, 4), 0.5, True).shape
        mashal.Size([2, 3, 4])
    """
    return _drop("feature_dropout", input, p, train, inplace=False, per_channel=True, alpha=False)


@composite()
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_dropout`` written into ``input``."""
    return _drop("feature_dropout_", input, p, train, inplace=True, per_channel=True, alpha=False)


@composite()
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout for self-normalising networks: dropped elements saturate, and mean and variance stay.

    Source: Klambauer et al., "Self-Normalizing Neural Networks", 2017.

    Example:
        >>> import mashal
        >>> mashal.alpha_dropout(mashal.ones(2), 0.0, True)
        tensor([1., 1.])
    """
    return _drop("alpha_dropout", input, p, train, inplace=False, per_channel=False, alpha=True)


@composite()
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` written into ``input``."""
    return _drop("alpha_dropout_", input, p, train, inplace=True, per_channel=False, alpha=True)


@composite()
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` of whole channels."""
    return _drop("feature_alpha_dropout", input, p, train, inplace=False, per_channel=True, alpha=True)


@composite()
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_alpha_dropout`` written into ``input``."""
    return _drop("feature_alpha_dropout_", input, p, train, inplace=True, per_channel=True, alpha=True)


@composite()
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """``dropout`` together with its bool mask; ``train=None`` means True.

    Example:
        >>> import mashal
        >>> mashal.native_dropout(mashal.ones(2), 0.5, False)
        (tensor([1., 1.]), tensor([True, True]))
    """
    if train is False:
        return input.clone(), ones_like(input, dtype=_core.bool)
    mask = _bernoulli_(empty_like(input, dtype=_core.bool), 1 - p)
    # The factor is rounded to the dtype before it multiplies; dropout rounds the probability first.
    scale = input.new_full((), 0.0 if p == 1 else 1 / (1 - p))
    return (input * mask).mul_(scale), mask


@op("_rrelu_noise(Tensor input, float lower, float upper, Generator? generator=None) -> Tensor", out=False)
def _rrelu_noise() -> None:
    """The factors of ``rrelu`` in training: uniform in ``[lower, upper)`` where ``input <= 0``, else 1.

    Returns: shape of ``input``, contiguous; its dtype, but float32 for bfloat16.

    Gradient: zero.
    """


_rrelu_noise.nondifferentiable("piecewise constant and random")


def _rrelu(input: Tensor, lower: float, upper: float, training: bool, generator: Any, inplace: bool) -> Tensor:
    if lower > upper:
        raise RuntimeError(f"rrelu: lower must not exceed upper, got lower={lower} and upper={upper}.")
    if not training:
        slope = (lower + upper) / 2
        return _leaky_relu_in_place(input, slope) if inplace else leaky_relu(input, slope)
    product = (input.contiguous() * _rrelu_noise(input, lower, upper, generator)).to(input.dtype)
    return input.copy_(product) if inplace else product


@composite()
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """``input`` if positive, else ``a * input``, ``a`` uniform in ``[lower, upper)``; their mean unless ``training``.

    Raises: RuntimeError if ``lower > upper``. Gradient: 1 or ``a``; ``a`` at 0.
    Source: Xu et al., "Empirical Evaluation of Rectified Activations in Convolutional Network", 2015.

    Example:
        >>> import mashal
        >>> mashal.rrelu(mashal.tensor([-2., 3.]), 0.5, 0.5)
        tensor([-1.,  3.])
    """
    return _rrelu(input, lower, upper, training, generator, inplace=False)


@composite()
def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """``rrelu`` written into ``input``."""
    return _rrelu(input, lower, upper, training, generator, inplace=True)
