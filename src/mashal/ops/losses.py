"""Losses from class indices. ``reduction``: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

from typing import Any

from .. import _core
from ._registry import composite, op

Tensor = _core.Tensor


@op(
    "_nll_loss(Tensor input, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor, Tensor)",
)
def _nll_loss() -> None:
    """``-weight[t] input[t]`` and the total weight; see ``nll_loss_nd``.

    Example:
        >>> import mashal
        >>> mashal._ops._nll_loss(mashal.tensor([[-1., -2.]]), mashal.tensor([1]), None, 1, -100)[0]
        tensor(2.)
    """


@op(
    "_nll_loss_backward(Tensor grad, Tensor target, Tensor? weight, Tensor total_weight, int[] input_shape,"
    " int reduction, int ignore_index) -> Tensor"
)
def _nll_loss_backward() -> None:
    """The gradient of nll_loss: ``-weight[t]`` at the target classes.

    Example:
        >>> import mashal
        >>> one = mashal.tensor(1.)
        >>> mashal._ops._nll_loss_backward(one, mashal.tensor([1]), None, one, [1, 2], 1, -100)
        tensor([[ 0., -1.]])
    """


_nll_loss.constant("target", "weight")
_nll_loss_backward.constant("target", "weight", "total_weight")


@_nll_loss.vjp("input")
def _(gs: Any, input_shape: Any, target: Tensor, weight: Any, reduction: int, ignore_index: int, out1: Any) -> Tensor:
    return _nll_loss_backward(gs[0], target, weight, out1, input_shape, reduction, ignore_index)


# The loss is linear in its input: the gradient's gradient is the loss again.
_nll_loss_backward.vjp(
    grad=lambda g, target, weight, reduction, ignore_index: _nll_loss(g, target, weight, reduction, ignore_index)[0]
)


@composite(namespace="nn")
def nll_loss_nd(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100
) -> Tensor:
    """``-weight[t] input[t]`` for log-probabilities.

    Args: ``input``: ``(C,)`` or ``(N, C, *)``; ``target``: ``()`` or ``(N, *)`` class indices, without those equal to
    ``ignore_index``; ``weight``: ``(C,)``. The mean is over the total weight.
    Raises: IndexError for a class out of range, ValueError for different batch sizes, RuntimeError for other shapes.

    Example:
        >>> import mashal
        >>> mashal._ops.nll_loss_nd(mashal.tensor([[-1., -2.]]), mashal.tensor([0]))
        tensor(1.)
    """
    return _nll_loss(input, target, weight, reduction, ignore_index)[0]


@op(
    "_cross_entropy(Tensor input, Tensor target, Tensor? weight, int reduction, int ignore_index,"
    " float label_smoothing) -> (Tensor, Tensor, Tensor)"
)
def _cross_entropy() -> None:
    """Cross entropy of (N, C) scores and N class indices, the rows' log-sum-exps and the total weight.

    Log-probabilities are neither stored nor kept for the gradient.

    Example:
        >>> import mashal
        >>> mashal._ops._cross_entropy(mashal.zeros(1, 2), mashal.tensor([1]), None, 1, -100, 0.)[0]
        tensor(0.6931)
    """


@op(
    "_cross_entropy_backward(Tensor grad, Tensor input, Tensor target, Tensor? weight, Tensor log_sum_exp,"
    " Tensor total_weight, int reduction, int ignore_index, float label_smoothing) -> Tensor"
)
def _cross_entropy_backward() -> None:
    """The gradient of cross entropy: softmax minus the smoothed target.

    Example:
        >>> import mashal
        >>> x, t, one = mashal.zeros(1, 2), mashal.tensor([1]), mashal.tensor(1.)
        >>> mashal._ops._cross_entropy_backward(one, x, t, None, x.logsumexp(1), one, 1, -100, 0.)
        tensor([[ 0.5000, -0.5000]])
    """


_cross_entropy.constant("target", "weight")
_cross_entropy_backward.nondifferentiable("used only where its result need not be differentiated")


@_cross_entropy.vjp("input")
def _(
    gs: Any,
    input: Tensor,
    target: Tensor,
    weight: Any,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
    out1: Any,
    out2: Any,
) -> Tensor:
    g = gs[0]
    if not _core.is_grad_enabled():
        return _cross_entropy_backward(g, input, target, weight, out1, out2, reduction, ignore_index, label_smoothing)
    # To be differentiated again: softmax times the weights that each row brings, minus those weights themselves.
    classes = input.shape[1]
    w = input.new_ones(classes) if weight is None else weight.to(input.dtype)
    used = (target != ignore_index).to(input.dtype).unsqueeze(1)
    place = target.long().masked_fill(target == ignore_index, 0).unsqueeze(1)
    wanted = input.new_zeros(input.shape).scatter(1, place, 1.0) * (1 - label_smoothing) + label_smoothing / classes
    wanted = wanted * w * used
    scale = g / out2.to(g.dtype) if reduction == 1 else g
    if scale.ndim:
        scale = scale.unsqueeze(1)
    return scale * (input.softmax(1) * wanted.sum(1, True) - wanted)


@composite(namespace="nn")
def cross_entropy_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """``-sum_c w_c q_c log(softmax(input)_c)``, q being the (smoothed) one-hot target, from class indices.

    Args: ``input``: ``(C,)`` or ``(N, C, *)``; ``target``: ``()`` or ``(N, *)`` class indices; ``weight``: ``(C,)``.
    The mean is over the total weight of the targets.
    Raises: as :func:`nll_loss_nd`. Gradient: softmax minus target, weighted.

    Example:
        >>> import mashal
        >>> mashal._ops.cross_entropy_loss(mashal.zeros(1, 2), mashal.tensor([1]))
        tensor(0.6931)
    """
    if input.ndim == 2 and target.ndim == 1:
        return _cross_entropy(input, target, weight, reduction, ignore_index, label_smoothing)[0]
    _check_classes(input, target)
    classes = input.shape[0 if input.ndim == 1 else 1]
    rows = (input if input.ndim == 1 else input.movedim(1, -1)).reshape(-1, classes)
    loss = _cross_entropy(rows, target.reshape(-1), weight, reduction, ignore_index, label_smoothing)[0]
    return loss if reduction else loss.reshape(target.shape)


def _check_classes(input: Tensor, target: Tensor) -> None:
    if input.ndim == 0:
        raise RuntimeError("cross_entropy: input must have at least 1 dimension, the classes, got input ()")
    if input.ndim > 1 and target.ndim > 0 and input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
        )
    expected = tuple(input.shape[:1] if input.ndim > 1 else ()) + tuple(input.shape[2:])
    if tuple(target.shape) != expected:
        raise RuntimeError(
            f"cross_entropy: target must have the shape of input without its classes, {expected}, got input "
            f"{tuple(input.shape)} and target {tuple(target.shape)}."
        )
