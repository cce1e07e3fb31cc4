"""Cross entropy of a linear layer's results, without holding all of them at once."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

import mashal

from ... import Tensor, _ops
from ...autograd import enable_grad, grad
from ...autograd.function import Function, once_differentiable
from ._loss_classification import cross_entropy

__all__ = ["linear_cross_entropy"]

_POLICIES = ("accurate", "balanced", "compact", "auto")
_DEFAULT_RATIO = 2.0


def _ratio(method: str | None) -> float | None:
    """The number of an ``aspect_ratio:<number>``; ValueError for anything else but the other known words."""
    if method is None:
        return None
    if method in ("auto", "aspect_ratio"):
        return _DEFAULT_RATIO
    kind, _, number = method.partition(":")
    try:
        ratio = float(number)
    except ValueError:
        ratio = 0.0
    if kind != "aspect_ratio" or not ratio > 0:
        raise ValueError(f"invalid chunking_method: {method!r}")
    return ratio


@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How :func:`linear_cross_entropy` works through the batch in chunks, so that it never holds all logits.

    Backward computes each chunk's logits anew. That is worth it where there are many more classes than features, as in
    the last layer of a language model.

    Attributes:
        allow_retain_graph: accepted; a second backward pass is always possible.
        batch_chunk_size: rows per chunk; ``None`` leaves the choice to ``chunking_method``.
        chunking_method: ``"aspect_ratio:<r>"`` keeps a chunk's logits to about ``r`` times the size of the input;
            ``"auto"`` is a ratio of 2; ``None`` is one chunk.
        acc_policy: ``"accurate"``, ``"balanced"``, ``"compact"`` or ``"auto"``, accepted: gradients of the weight are
            always summed in ``acc_dtype``.
        acc_dtype: default float32, float64 for float64 input.

    Raises:
        ValueError: a value is none of the above.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size}")
        _ratio(self.chunking_method)
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        allowed = (None, mashal.float16, mashal.bfloat16, mashal.float32, mashal.float64)
        if self.acc_dtype not in allowed:
            raise ValueError(
                f"acc_dtype must be one of {allowed}, got {self.acc_dtype}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )

    def _rows(self, batch: int, features: int, classes: int) -> int:
        if self.batch_chunk_size is not None:
            return self.batch_chunk_size
        ratio = _ratio(self.chunking_method)
        if ratio is None or batch < features or classes <= features:
            return max(batch, 1)
        return max(1, min(batch, math.ceil(ratio * batch * features / classes)))


class _Chunked(Function):
    """Sum of the losses, or each of them, of class indices; forward and backward go through the batch in chunks."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        linear_weight: Tensor,
        linear_bias: Tensor | None,
        target: Tensor,
        weight: Tensor | None,
        ignore_index: int,
        rows: int,
        acc_dtype: Any,
    ) -> Tensor:
        ctx.save_for_backward(input, linear_weight, linear_bias, target, weight)
        ctx.settings = (ignore_index, rows, acc_dtype)
        losses = [
            cross_entropy(_ops.linear(x, linear_weight, linear_bias), t, weight, None, ignore_index, None, "none")
            for x, t in zip(input.split(rows), target.split(rows), strict=True)
        ]
        return mashal.cat(losses)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        input, linear_weight, linear_bias, target, weight = ctx.saved_tensors
        ignore_index, rows, acc_dtype = ctx.settings
        needs_input, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        of_input = []
        of_weight = linear_weight.new_zeros(linear_weight.shape, dtype=acc_dtype) if needs_weight else None
        of_bias = linear_bias.new_zeros(linear_bias.shape, dtype=acc_dtype) if needs_bias else None
        for x, t, g in zip(input.split(rows), target.split(rows), grads[0].split(rows), strict=True):
            logits = _ops.linear(x, linear_weight, linear_bias).requires_grad_()
            with enable_grad():
                losses = cross_entropy(logits, t, weight, None, ignore_index, None, "none")
            of_logits = grad(losses, logits, g)[0]
            if needs_input:
                of_input.append(of_logits @ linear_weight)
            if of_weight is not None:
                of_weight += of_logits.t() @ x
            if of_bias is not None:
                of_bias += of_logits.sum(0)
        return (
            mashal.cat(of_input) if needs_input else None,
            None if of_weight is None else of_weight.to(linear_weight.dtype),
            None if of_bias is None else of_bias.to(linear_bias.dtype),
            None,
            None,
            None,
            None,
            None,
        )


def _check(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    name = "linear_cross_entropy"
    got = f"input {tuple(input.shape)} and linear_weight {tuple(linear_weight.shape)}"
    if input.dim() not in (1, 2):
        raise RuntimeError(f"{name}: expected input with dimensionality 1 or 2, got {got}.")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"{name}: expected linear_weight with dimensionality at least 2, got {got}.")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(f"{name}: expected equal input and linear_weight last dimensions (in_features), got {got}.")
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(f"{name}: a loss over several places requires batched input, got {got}.")
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise RuntimeError(
            f"{name}: expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got {tuple(linear_bias.shape)}."
        )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target, ...)``.

    Args:
        input: ``(N, in_features)`` or ``(in_features,)``.
        linear_weight: ``(C, d_1, ..., d_K, in_features)``; linear_bias: ``(C, d_1, ..., d_K)``.
        target: class indices ``(N, d_1, ..., d_K)`` or probabilities ``(N, C, d_1, ..., d_K)``.
        ignore_index: only with class indices; ``None`` means -100.
        weight, reduction, label_smoothing: as for :func:`cross_entropy`.
        options: work through the batch in chunks. Only for class indices, ``K = 0`` and no label smoothing; otherwise a
            warning says that they are not used. The chunked form has no second derivatives.

    Raises:
        RuntimeError: shapes do not go together, or ``ignore_index`` comes with probabilities.
    """
    _check(input, linear_weight, linear_bias)
    if target.is_floating_point():
        if ignore_index is not None:
            raise RuntimeError(
                "linear_cross_entropy: ignore_index cannot be specified when target contains probabilities"
            )
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        possible = (
            reduction in ("mean", "sum", "none")
            and label_smoothing == 0
            and target.dtype == mashal.int64
            and linear_weight.dim() == 2
            and target.dim() == input.dim() - 1
            and target.shape == input.shape[:-1]
            and target.numel() > 0
        )
        if possible:
            return _by_chunks(input, linear_weight, linear_bias, target, weight, reduction, ignored, options)
        warnings.warn(
            "linear_cross_entropy: options are not used; they need reduction 'mean', 'sum' or 'none', "
            "label_smoothing == 0, class indices of dtype int64 as target, and a two-dimensional linear_weight",
            stacklevel=2,
        )
    if linear_weight.dim() == 2:
        logits = _ops.linear(input, linear_weight, linear_bias)
    else:
        bias = None if linear_bias is None else linear_bias.flatten()
        logits = _ops.linear(input, linear_weight.flatten(0, -2), bias)
        logits = logits.unflatten(1, list(linear_weight.shape[:-1]))
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _by_chunks(
    input: Tensor,
    linear_weight: Tensor,
    linear_bias: Tensor | None,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    options: LinearCrossEntropyOptions,
) -> Tensor:
    unbatched = input.dim() == 1
    rows_of_input = input.unsqueeze(0) if unbatched else input
    targets = target.unsqueeze(0) if unbatched else target
    rows = options._rows(rows_of_input.shape[0], input.shape[-1], linear_weight.shape[0])
    acc_dtype = options.acc_dtype or mashal.promote_types(input.dtype, mashal.float32)
    losses = _Chunked.apply(rows_of_input, linear_weight, linear_bias, targets, weight, ignore_index, rows, acc_dtype)
    if reduction == "none":
        return losses.squeeze(0) if unbatched else losses
    if reduction == "sum":
        return losses.sum()
    counted = targets != ignore_index
    if weight is None:
        return losses.sum() / counted.sum()
    weights = weight.index_select(0, targets.masked_fill(counted.logical_not(), 0))
    return losses.sum() / weights.masked_fill(counted.logical_not(), 0.0).sum()
