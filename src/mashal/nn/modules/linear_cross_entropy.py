"""A linear layer and the cross entropy of its results, as one layer."""

from __future__ import annotations

import math
from typing import Any

from ... import Tensor
from .. import functional as F
from ..functional._linear_cross_entropy import LinearCrossEntropyOptions
from .linear import Linear
from .loss import _WeightedLoss

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]


class LinearCrossEntropyLoss(_WeightedLoss):
    r"""Cross entropy between ``Linear(in_features, num_classes)(input)`` and target.

    Args:
        in_features: size of the last dimension of the input.
        num_classes: number of classes C.
        out_features: further dimensions ``(d_1, ..., d_K)`` of a loss over several places.
        bias: whether the linear layer has a bias.
        reduction, weight, label_smoothing: as for :class:`CrossEntropyLoss`.
        ignore_index: class that does not count; only with class indices as target. ``None`` means -100.
        options: how to work through the batch in chunks; see :class:`LinearCrossEntropyOptions`.

    Shape:
        input ``(N, in_features)`` or ``(in_features,)``; target: class indices ``(N, d_1, ..., d_K)``, or probabilities
        ``(N, C, d_1, ..., d_K)``.

    Example::

        >>> loss = nn.LinearCrossEntropyLoss(5, 10)
        >>> loss(torch.randn(2, 5), torch.tensor([3, 7])).shape
        mashal.Size([])
    """

    linear: Linear

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        self.linear = Linear(
            in_features, num_classes * math.prod(self.out_features), bias=bias, device=device, dtype=dtype
        )

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        self.linear.reset_parameters()

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        weight, bias = self.linear.weight, self.linear.bias
        if self.out_features:
            weight = weight.view(self.num_classes, *self.out_features, -1)
            bias = None if bias is None else bias.view(self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            weight,
            target,
            linear_bias=bias,
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )
