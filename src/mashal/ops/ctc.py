"""Connectionist temporal classification: the loss of a sequence of labels whose places in time are unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op


@op(
    "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank,"
    " bool zero_infinity) -> (Tensor, Tensor)"
)
def _ctc_loss() -> None:
    """The loss of every batch item, and the logarithms of the forward variables; see ``ctc_loss``.

    Example:
        >>> import mashal
        >>> log_probs = mashal.zeros(1, 1, 2).log_softmax(2)
        >>> mashal._ops._ctc_loss(log_probs, mashal.tensor([[1]]), [1], [1], 0, False)[0]
        tensor([0.6931])
    """


@op(
    "_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths,"
    " Tensor loss, Tensor log_alpha, int blank, bool zero_infinity) -> Tensor"
)
def _ctc_loss_backward() -> None:
    """The gradient of ``_ctc_loss``; an infinite loss has gradient nan, with ``zero_infinity`` 0.

    Example:
        >>> import mashal
        >>> x, t = mashal.zeros(1, 1, 2).log_softmax(2), mashal.tensor([[1]])
        >>> loss, log_alpha = mashal._ops._ctc_loss(x, t, [1], [1], 0, False)
        >>> mashal._ops._ctc_loss_backward(mashal.ones(1), x, t, [1], [1], loss, log_alpha, 0, False)
        tensor([[[ 0.5000, -0.5000]]])
    """


@_ctc_loss.vjp("log_probs")
def _(
    gs: Any,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int,
    zero_infinity: bool,
    outs: Any,
) -> Tensor:
    return _ctc_loss_backward(
        gs[0], log_probs, targets, input_lengths, target_lengths, outs[0], outs[1], blank, zero_infinity
    )


_ctc_loss_backward.nondifferentiable("second derivatives of ctc_loss are not implemented")


def _lengths(name: str, value: Any) -> list[int]:
    if not isinstance(value, Tensor):
        return [int(n) for n in ([value] if isinstance(value, int) else value)]
    if value.dtype.is_floating_point or value.dtype.is_complex or value.dtype is _core.bool:
        raise RuntimeError(f"ctc_loss: {name} must be integral, got {name} {tuple(value.shape)} {value.dtype}.")
    return value.reshape(-1).tolist()


@composite()
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability of all alignments of the target with the input.

    Args:
        log_probs: ``(T, N, C)`` or ``(T, C)``, float32 or float64, logarithms of probabilities (``log_softmax``).
        targets: ``(N, S)``, or ``(sum(target_lengths),)``: int64 or int32 labels without blanks.
        input_lengths: N ints, at most T. target_lengths: N ints.
        blank: the label of "nothing". reduction: 0 none, 1 mean (of losses over target lengths), 2 sum.
        zero_infinity: count infinite losses (targets longer than their input allows) and their gradients as 0.

    Returns:
        ``()``; for reduction 0 ``(N,)``.

    Raises:
        RuntimeError: for lengths and shapes that do not fit.
    Gradient:
        as PyTorch's, that of the composition with ``log_softmax``: ``exp(log_probs)`` minus the share of the paths
        through a label. It is that of ``log_probs`` alone only up to a term that ``log_softmax`` takes away.
    Source:
        Graves et al., Connectionist Temporal Classification, 2006, section 4.

    Example:
        >>> import mashal
        >>> log_probs = mashal.zeros(2, 1, 2).log_softmax(2)
        >>> mashal.ctc_loss(log_probs, mashal.tensor([[1]]), [2], [1])
        tensor(0.2877)
    """
    batched = log_probs.ndim == 3
    if not batched and log_probs.ndim == 2:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.reshape(1, -1)
    labels = _lengths("target_lengths", target_lengths)
    loss = _ctc_loss(log_probs, targets, _lengths("input_lengths", input_lengths), labels, blank, zero_infinity)[0]
    if zero_infinity:
        loss = loss.masked_fill(loss.isinf(), 0.0)
    if not batched:
        loss = loss[0]
        labels = labels[0]  # type: ignore[assignment]
    if reduction == 1:
        return (loss / _core.tensor_from_data(labels, loss.dtype).clamp(min=1)).mean()
    return loss.sum() if reduction == 2 else loss
