"""Losses between values: regression, likelihoods of counts and densities, margins and distances."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import mashal

from ... import Tensor, _ops
from ...ops._autocast import cast
from ._distance import pairwise_distance
from ._reduction import apply_reduction, check_reduction, reduction_code, resolve_reduction

__all__ = [
    "cosine_embedding_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def _warn_shapes(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(loss: Tensor, weight: Tensor, input: Tensor, reduction: str, divide_by_weight: bool) -> Tensor:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    if reduction == "mean" and divide_by_weight:
        return loss.sum() / weight.sum()
    return apply_reduction(loss, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``|input - target|``; with ``weight`` the mean is weighted. See :class:`~mashal.nn.L1Loss`."""
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    _warn_shapes(input, target)
    if weight is not None:
        return _weighted((input - target).abs(), weight, input, reduction, True)
    return _ops.l1_loss(input, target, reduction_code(reduction))


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``(input - target)^2``; with ``weight`` the mean is weighted. See :class:`~mashal.nn.MSELoss`."""
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    _warn_shapes(input, target)
    if weight is not None:
        return _weighted(_ops.mse_loss(input, target, 0), weight, input, reduction, True)
    return _ops.mse_loss(input, target, reduction_code(reduction))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """``d^2 / (2 beta)`` for ``d = |input - target| < beta``, else ``d - beta / 2``; see
    :class:`~mashal.nn.SmoothL1Loss`. RuntimeError if beta is negative.
    """
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    _warn_shapes(input, target)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got beta {beta}.")
    return _ops.smooth_l1_loss(input, target, reduction_code(reduction), beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``d^2 / 2`` for ``d = |input - target| <= delta``, else ``delta (d - delta / 2)``; see
    :class:`~mashal.nn.HuberLoss`. RuntimeError if delta is not positive.
    """
    check_reduction(reduction)
    _warn_shapes(input, target)
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got delta {delta}.")
    if weight is not None:
        return _weighted(_ops.huber_loss(input, target, 0, delta), weight, input, reduction, False)
    return _ops.huber_loss(input, target, reduction_code(reduction), delta)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """``target (log(target) - input)``; see :class:`~mashal.nn.KLDivLoss`."""
    if size_average is not None or reduce is not None:
        reduction = resolve_reduction(size_average, reduce, reduction)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    if reduction == "batchmean":
        total = mashal.kl_div(input, target, reduction_code("sum"), log_target=log_target)
        return total / input.size(0) if input.dim() != 0 else total
    return mashal.kl_div(input, target, reduction_code(reduction), log_target=log_target)


@cast
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the Poisson log likelihood; see :class:`~mashal.nn.PoissonNLLLoss`."""
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return apply_reduction(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """``(log(var) + (input - target)^2 / var) / 2``; see :class:`~mashal.nn.GaussianNLLLoss`."""
    if isinstance(var, int | float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * mashal.ones_like(input)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        else:
            same_rank = input.dim() == var.dim()
            different = [v for i, v in zip(input.size(), var.size(), strict=False) if i != v]
            if not (same_rank and different == [1]):
                raise ValueError(
                    f"var is of incorrect size: it must be that of input, or have size 1 in one dimension, "
                    f"got var {tuple(var.shape)} and input {tuple(input.shape)}."
                )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    # The clamp guards the value and stays out of the gradient.
    var = var.clone()
    with mashal.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return apply_reduction(loss, reduction)


@cast
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """``log(1 + exp(-target * input))``; see :class:`~mashal.nn.SoftMarginLoss`."""
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    # As a log sigmoid it stays finite where the exponential overflows.
    return apply_reduction(-_ops.log_sigmoid(input * target), reduction)


@cast
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``x`` where the target is 1, ``max(0, margin - x)`` where it is -1; see
    :class:`~mashal.nn.HingeEmbeddingLoss`.
    """
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    zero = input.new_zeros(())
    far = mashal.where(target != 1, (margin - input).clamp_min(0), zero)
    near = mashal.where(target != -1, input, zero)
    return apply_reduction(far + near, reduction)


@cast
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target (input1 - input2) + margin)``; see :class:`~mashal.nn.MarginRankingLoss`."""
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return apply_reduction((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@cast
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1; see
    :class:`~mashal.nn.CosineEmbeddingLoss`.
    """
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    dim = target.dim()
    if dim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != dim + 1 or input2.dim() != dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    eps = 1e-12  # keeps the quotient finite for zero vectors
    dot = (input1 * input2).sum(dim)
    cos = dot / (((input1 * input1).sum(dim) + eps) * ((input2 * input2).sum(dim) + eps)).sqrt()
    zero = mashal.zeros_like(cos)
    loss = mashal.where(target == 1, 1 - cos, zero) + mashal.where(target == -1, (cos - margin).clamp_min(0), zero)
    return apply_reduction(loss, reduction)


def _check_ranks(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )


def _triplet(
    distance: Callable[[Tensor, Tensor], Tensor],
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    near = distance(anchor, positive)
    far = distance(anchor, negative)
    if swap:
        far = mashal.minimum(far, distance(positive, negative))
    return apply_reduction((margin + near - far).clamp_min(0), reduction)


@cast
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``; see :class:`~mashal.nn.TripletMarginLoss`."""
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_ranks(anchor, positive, negative)
    return _triplet(lambda a, b: pairwise_distance(a, b, p, eps), anchor, positive, negative, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """:func:`triplet_margin_loss` with any distance; see :class:`~mashal.nn.TripletMarginWithDistanceLoss`."""
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_ranks(anchor, positive, negative)
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(distance, anchor, positive, negative, margin, swap, reduction)
