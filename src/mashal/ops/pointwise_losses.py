"""Losses that compare two tensors element by element. ``reduction``: 0 none, 1 mean, 2 sum.

Each pair has one fused loop for the value and one for the gradient; both are differentiable again.
"""

from __future__ import annotations

from typing import Any

from .. import _core
from ._pointwise import pointwise
from ._registry import composite
from .activations import log_sigmoid
from .extrema import where

Tensor = _core.Tensor


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return loss.mean()
    return loss.sum() if reduction == 2 else loss


def _loss(schema: str, summary: str, gradient: str, example: str) -> Any:
    return pointwise(schema, "same", summary, gradient=gradient, example=example, loop=schema[1 : schema.index("(")])


def _backward(schema: str, summary: str) -> Any:
    """The gradient of a loss in its input, times ``grad``."""
    return pointwise(schema, "same", f"The gradient of {summary}.", loop=schema[1 : schema.index("(")])


# ---- squared error ----

_mse = _loss(
    "_mse(Tensor input, Tensor target) -> Tensor",
    "``(input - target)^2``.",
    "``2 (input - target) g``, and its negative for the target.",
    "mashal._ops._mse(mashal.tensor([3.0]), mashal.tensor([1.0]))\ntensor([4.])",
)
_mse_backward = _backward("_mse_backward(Tensor grad, Tensor input, Tensor target) -> Tensor", "squared error")
_mse.vjp(
    input=lambda g, input, target: _mse_backward(g, input, target),
    target=lambda g, input, target: _mse_backward(g, target, input),
)
_mse_backward.vjp(
    grad=lambda g, input, target: _mse_backward(g, input, target),
    input=lambda g, grad: 2 * g * grad,
    target=lambda g, grad: -2 * g * grad,
)


@composite(namespace="nn", out=True)
def mse_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """``(input - target)^2``, reduced.

    Example:
        >>> import mashal
        >>> mashal._ops.mse_loss(mashal.tensor([3.0, 1.0]), mashal.tensor([1.0, 1.0]))
        tensor(2.)
    """
    return _reduced(_mse(input, target), reduction)


@composite(namespace="nn", out=True)
def l1_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """``|input - target|``, reduced. Gradient: 0 where both are equal.

    Example:
        >>> import mashal
        >>> mashal._ops.l1_loss(mashal.tensor([3.0, 1.0]), mashal.tensor([1.0, 1.0]))
        tensor(1.)
    """
    return _reduced((input - target).abs(), reduction)


# ---- squared near the target, linear far from it ----

_smooth_l1 = _loss(
    "_smooth_l1(Tensor input, Tensor target, Number beta) -> Tensor",
    "``d^2 / (2 beta)`` where ``d = |input - target| < beta``, else ``d - beta / 2`` (Girshick 2015).",
    "``(input - target) g / beta`` near the target, ``sign(input - target) g`` far from it.",
    "mashal._ops._smooth_l1(mashal.tensor([3.0, 1.5]), mashal.tensor([1.0, 1.0]), 1.0)\ntensor([1.5000, 0.1250])",
)
_smooth_l1_backward = _backward(
    "_smooth_l1_backward(Tensor grad, Tensor input, Tensor target, Number beta) -> Tensor", "the smooth L1 loss"
)
_smooth_l1.vjp(
    input=lambda g, input, target, beta: _smooth_l1_backward(g, input, target, beta),
    target=lambda g, input, target, beta: _smooth_l1_backward(g, target, input, beta),
)
_smooth_l1_backward.vjp(
    grad=lambda g, input, target, beta: _smooth_l1_backward(g, input, target, beta),
    input=lambda g, grad, input, target, beta: where((input - target).abs() < beta, g * grad / beta, 0),
    target=lambda g, grad, input, target, beta: where((input - target).abs() < beta, -g * grad / beta, 0),
)

_huber = _loss(
    "_huber(Tensor input, Tensor target, Number delta) -> Tensor",
    "``d^2 / 2`` where ``d = |input - target| <= delta``, else ``delta (d - delta / 2)`` (Huber 1964).",
    "``(input - target) g``, clamped to ``-delta g .. delta g``.",
    "mashal._ops._huber(mashal.tensor([3.0, 1.5]), mashal.tensor([1.0, 1.0]), 1.0)\ntensor([1.5000, 0.1250])",
)
_huber_backward = _backward(
    "_huber_backward(Tensor grad, Tensor input, Tensor target, Number delta) -> Tensor", "the Huber loss"
)
_huber.vjp(
    input=lambda g, input, target, delta: _huber_backward(g, input, target, delta),
    target=lambda g, input, target, delta: _huber_backward(g, target, input, delta),
)
_huber_backward.vjp(
    grad=lambda g, input, target, delta: _huber_backward(g, input, target, delta),
    input=lambda g, grad, input, target, delta: where((input - target).abs() <= delta, g * grad, 0),
    target=lambda g, grad, input, target, delta: where((input - target).abs() <= delta, -g * grad, 0),
)


@composite(namespace="nn", out=True)
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Tensor:
    """``d^2 / (2 beta)`` where ``d = |input - target| < beta``, else ``d - beta / 2``, reduced.

    Raises: RuntimeError for a negative ``beta``; 0 makes it ``l1_loss``.

    Example:
        >>> import mashal
        >>> mashal._ops.smooth_l1_loss(mashal.tensor([3.0]), mashal.tensor([1.0]))
        tensor(1.5000)
    """
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got beta {beta}.")
    if beta == 0:
        return l1_loss(input, target, reduction)
    return _reduced(_smooth_l1(input, target, beta), reduction)


@composite(namespace="nn", out=True)
def huber_loss(input: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Tensor:
    """``d^2 / 2`` where ``d = |input - target| <= delta``, else ``delta (d - delta / 2)``, reduced.

    Raises: RuntimeError unless ``delta`` is positive.

    Example:
        >>> import mashal
        >>> mashal._ops.huber_loss(mashal.tensor([3.0]), mashal.tensor([1.0]))
        tensor(1.5000)
    """
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got delta {delta}.")
    return _reduced(_huber(input, target, delta), reduction)


# ---- binary cross entropy ----

_bce = _loss(
    "_bce(Tensor input, Tensor target) -> Tensor",
    "``-(t log x + (1 - t) log(1 - x))`` with logarithms of at least -100.",
    "``(x - t) g / max(x (1 - x), 1e-12)``; for the target ``(log(1 - x) - log x) g``.",
    "mashal._ops._bce(mashal.tensor([0.5, 0.0]), mashal.tensor([1.0, 1.0]))\ntensor([  0.6931, 100.0000])",
)
_bce_backward = _backward(
    "_bce_backward(Tensor grad, Tensor input, Tensor target) -> Tensor", "binary cross entropy of probabilities"
)
_bce.vjp(
    input=lambda g, input, target: _bce_backward(g, input, target),
    target=lambda g, input: g * ((-input).log1p() - input.log()),
)
_TINY = 1e-12  # keeps the quotients below finite at probabilities 0 and 1, as PyTorch does


def _bce_curvature(g: Tensor, grad: Tensor, input: Tensor, target: Tensor) -> Tensor:
    spread = (input + _TINY) * (1 - input + _TINY)
    return g * grad * (input * input - 2 * input * target + target) / (spread * spread)


_bce_backward.vjp(
    grad=lambda g, input, target: _bce_backward(g, input, target),
    input=_bce_curvature,
    target=lambda g, grad, input: -g * grad / (input * (1 - input)).clamp(min=_TINY),
)

_bce_with_logits = _loss(
    "_bce_with_logits(Tensor input, Tensor target) -> Tensor",
    "``(1 - t) x - log sigmoid(x)``: binary cross entropy of ``sigmoid(x)``, without overflow.",
    "``(sigmoid(x) - t) g``; for the target ``-x g``.",
    "mashal._ops._bce_with_logits(mashal.tensor([0.0]), mashal.tensor([1.0]))\ntensor([0.6931])",
)
_bce_with_logits_backward = _backward(
    "_bce_with_logits_backward(Tensor grad, Tensor input, Tensor target) -> Tensor", "binary cross entropy of logits"
)
_bce_with_logits.vjp(
    input=lambda g, input, target: _bce_with_logits_backward(g, input, target), target=lambda g, input: -g * input
)


def _logits_curvature(g: Tensor, grad: Tensor, input: Tensor) -> Tensor:
    s = input.sigmoid()
    return g * grad * s * (1 - s)


_bce_with_logits_backward.vjp(
    grad=lambda g, input, target: _bce_with_logits_backward(g, input, target),
    input=_logits_curvature,
    target=lambda g, grad: -g * grad,
)


@composite(namespace="nn", out=True)
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1) -> Tensor:
    """``-weight (t log x + (1 - t) log(1 - x))`` for probabilities x, reduced; logarithms are at least -100.

    Raises: RuntimeError for elements of ``input`` outside ``[0, 1]`` or a target of another dtype.

    Example:
        >>> import mashal
        >>> mashal._ops.binary_cross_entropy(mashal.tensor([0.5]), mashal.tensor([1.0]))
        tensor(0.6931)
    """
    if input.dtype != target.dtype:
        raise RuntimeError(
            f"binary_cross_entropy: target must have the dtype of input, got input {input.dtype} and target "
            f"{target.dtype}. Convert it with target.to(input.dtype)."
        )
    if not input.is_meta and not bool(((input >= 0) & (input <= 1)).all()):
        raise RuntimeError(
            "binary_cross_entropy: all elements of input should be between 0 and 1. For unbounded scores use "
            "binary_cross_entropy_with_logits."
        )
    loss = _bce(input, target)
    return _reduced(loss if weight is None else loss * weight, reduction)


@composite()
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    """``-weight (pos_weight t log sigmoid(x) + (1 - t) log(1 - sigmoid(x)))``, reduced, without overflow.

    Example:
        >>> import mashal
        >>> mashal.binary_cross_entropy_with_logits(mashal.tensor([0.0]), mashal.tensor([1.0]))
        tensor(0.6931)
    """
    if pos_weight is None:
        loss = _bce_with_logits(input, target)
    else:
        # log(1 - sigmoid(x)) is log sigmoid(x) - x.
        loss = (1 - target) * input - (1 + (pos_weight - 1) * target) * log_sigmoid(input)
    return _reduced(loss if weight is None else loss * weight, reduction)


# ---- Kullback-Leibler divergence ----

_kl_div = _loss(
    "_kl_div(Tensor input, Tensor target) -> Tensor",
    "``t (log t - x)`` for log-probabilities x; 0 where t is 0.",
    "``-t g``; for the target ``(log t + 1 - x) g``.",
    "mashal._ops._kl_div(mashal.tensor([0.0]), mashal.tensor([1.0]))\ntensor([0.])",
)
_kl_div.vjp(input=lambda g, target: -g * target, target=lambda g, input, target: g * (target.log() + 1 - input))

_kl_div_log = _loss(
    "_kl_div_log(Tensor input, Tensor target) -> Tensor",
    "``exp(t) (t - x)`` for log-probabilities x and t.",
    "``-exp(t) g``; for the target ``exp(t) (t - x + 1) g``.",
    "mashal._ops._kl_div_log(mashal.tensor([-1.0]), mashal.tensor([0.0]))\ntensor([1.])",
)
_kl_div_log.vjp(
    input=lambda g, target: -g * target.exp(), target=lambda g, input, target: g * target.exp() * (target - input + 1)
)


@composite()
def kl_div(input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """``t (log t - x)`` for log-probabilities x, reduced (the mean is over all elements).

    Args: ``log_target``: whether the target holds log-probabilities too.

    Example:
        >>> import mashal
        >>> p = mashal.tensor([0.5, 0.5])
        >>> mashal.kl_div(p.log(), p)
        tensor(0.)
    """
    return _reduced((_kl_div_log if log_target else _kl_div)(input, target), reduction)
