"""Losses between scores and classes."""

from __future__ import annotations

from typing import Any

import mashal

from ... import Tensor, _ops
from ...ops._autocast import cast
from ._activation import log_softmax
from ._reduction import apply_reduction, check_reduction, reduction_code, resolve_reduction

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "ctc_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
]


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``-weight[t] * input[t]`` for log-probabilities ``(N, C, *)`` or ``(C,)``; see :class:`~mashal.nn.NLLLoss`."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    if input.dim() < 1:
        raise ValueError(f"nll_loss: input must have 1 or more dimensions, got {input.dim()}")
    return _ops.nll_loss_nd(input, target, weight, reduction_code(reduction), ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """``-sum_c w_c target_c log(softmax(input)_c)`` for class indices or probabilities; see
    :class:`~mashal.nn.CrossEntropyLoss`.
    """
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    class_dim = 0 if input.dim() == 1 else 1
    if input.shape == target.shape:
        call = cast(_cross_entropy_probabilities, "cross_entropy_loss")
        return call(input, target, weight, ignore_index, reduction, label_smoothing, class_dim)
    # One pass over the scores: no tensor of log-probabilities is made or kept.
    return _ops.cross_entropy_loss(input, target, weight, reduction_code(reduction), ignore_index, label_smoothing)


def _class_sum(values: Tensor, weight: Tensor | None, class_dim: int) -> Tensor:
    """The sum over classes, weighted."""
    if weight is not None:
        shape = [1] * values.dim()
        shape[class_dim] = weight.shape[0]
        values = values * weight.reshape(shape)
    return values.sum(class_dim)


def _cross_entropy_probabilities(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    class_dim: int,
) -> Tensor:
    if not target.is_floating_point():
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype}. target has the "
            "shape of input; class indices have no class dimension."
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    n_classes = input.size(class_dim)
    if weight is not None and (weight.dim() != 1 or weight.numel() != n_classes):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {n_classes} classes or no classes "
            f"but got weight tensor of shape: {list(weight.shape)}"
        )
    if label_smoothing > 0.0:
        target = target * (1 - label_smoothing) + label_smoothing / n_classes
    loss = -_class_sum(log_softmax(input, class_dim) * target, weight, class_dim)
    if reduction == "mean":  # over samples, even for weighted classes
        return loss.sum() / (input.numel() / n_classes)
    return apply_reduction(loss, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``-weight (t log x + (1 - t) log(1 - x))`` for probabilities; see :class:`~mashal.nn.BCELoss`."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(mashal.broadcast_shapes(target.shape, weight.shape))
    return _ops.binary_cross_entropy(input, target, weight, reduction_code(reduction))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """:func:`binary_cross_entropy` of ``sigmoid(input)``, without overflow; see
    :class:`~mashal.nn.BCEWithLogitsLoss`.
    """
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    if not target.size() == input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return mashal.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction_code(reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the binary cross entropies; see :class:`~mashal.nn.MultiLabelSoftMarginLoss`."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    loss = -(target * _ops.log_sigmoid(input) + (1 - target) * _ops.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(input.dim() - 1) / input.size(input.dim() - 1)
    return apply_reduction(loss, reduction)


def _rows(op: str, input: Tensor) -> Tensor:
    """Input ``(N, C)`` or ``(C,)`` as ``(N, C)``."""
    if input.dim() not in (1, 2) or input.shape[-1] == 0:
        raise RuntimeError(
            f"{op}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    return input if input.dim() == 2 else input.unsqueeze(0)


@cast
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum_i max(0, margin - x[t] + x[i])^p / C`` over ``i != t``; see :class:`~mashal.nn.MultiMarginLoss`."""
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    x = _rows("multi_margin_loss", input)
    n, n_classes = x.shape
    if target.numel() != n or target.dim() > 1:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{n}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != n_classes:
        raise RuntimeError(f"inconsistent weight size, expected {n_classes} but got {list(weight.shape)}")
    column = target.reshape(n, 1)
    # relu, not clamp: on the margin itself the gradient is 0.
    terms = mashal.relu(margin - x.gather(1, column) + x)
    if p == 2:
        terms = terms * terms
    if weight is not None:
        terms = terms * weight.gather(0, target.reshape(n)).unsqueeze(1)
    loss = terms.scatter(1, column, 0.0).sum(1) / n_classes
    if reduction == "none":
        return loss.reshape(target.shape)
    return apply_reduction(loss, reduction)


@cast
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """``sum_ij max(0, 1 - (x[t_j] - x[i])) / C``; see :class:`~mashal.nn.MultiLabelMarginLoss`."""
    reduction = check_reduction(resolve_reduction(size_average, reduce, reduction))
    x = _rows("multilabel_margin_loss", input)
    if target.shape != input.shape:
        raise RuntimeError(
            f"multilabel_margin_loss: inconsistent target size: {list(target.shape)} for input of size: "
            f"{list(input.shape)}"
        )
    labels = target.reshape(x.shape)
    valid = (labels < 0).cumsum(1) == 0  # labels end at the first negative one
    index = labels.clamp(min=0)
    own = x.gather(1, index)
    is_label = mashal.zeros_like(index).scatter_add(1, index, valid.long()) > 0
    terms = mashal.relu(1 - (own.unsqueeze(2) - x.unsqueeze(1)))  # (N, label, class)
    counts = valid.unsqueeze(2) & ~is_label.unsqueeze(1)
    loss = terms.masked_fill(~counts, 0.0).sum((1, 2)) / x.size(1)
    if reduction == "none":
        return loss.reshape(input.shape[:-1])
    return apply_reduction(loss, reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification; see :class:`~mashal.nn.CTCLoss`."""
    return mashal.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, reduction_code(reduction), zero_infinity
    )
