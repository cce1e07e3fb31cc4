"""Loss functions as layers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ... import Tensor
from .. import functional as F
from ..functional._reduction import legacy_reduction
from .distance import PairwiseDistance
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _Loss(Module):
    """``reduction`` is ``"none"``, ``"mean"`` or ``"sum"``; ``size_average`` and ``reduce`` are its older form."""

    reduction: str

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            self.reduction = legacy_reduction(size_average, reduce)
        else:
            self.reduction = reduction


class _WeightedLoss(_Loss):
    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    r"""``|input - target|``.

    Args:
        reduction: ``"none"`` (shape of the input), ``"mean"`` or ``"sum"``.

    Gradient:
        0 where input equals target.

    Example::

        >>> nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]))
        tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    r"""Negative log likelihood: ``-weight[t] * input[t]`` for the class t, from log-probabilities.

    Args:
        weight: weight of each class, ``(C,)``; the mean divides by the sum of the weights used.
        ignore_index: a class that counts for nothing.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input ``(N, C, *)`` or ``(C,)``, target ``(N, *)`` or ``()`` of class indices.

    Example::

        >>> nn.NLLLoss()(torch.tensor([[-0.5, -1.0]]), torch.tensor([1]))
        tensor(1.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """The deprecated name of :class:`NLLLoss` for images."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class PoissonNLLLoss(_Loss):
    r"""``exp(x) - t x`` for log rates x (or ``x - t log(x + eps)`` for rates): the Poisson log likelihood.

    Args:
        log_input: whether the input is the log of the rate.
        full: add Stirling's ``t log t - t + log(2 pi t) / 2`` where t > 1.
        eps: keeps the logarithm finite.

    Example::

        >>> nn.PoissonNLLLoss()(torch.tensor([0.0]), torch.tensor([2.0]))
        tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Any = None,
        eps: float = 1e-8,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    r"""``(log(var) + (input - target)^2 / var) / 2`` with ``var`` clamped to at least ``eps`` (Nix and Weigend 1994).

    Args:
        full: add ``log(2 pi) / 2``.
        eps: least variance; the clamp has no gradient.

    Shape:
        input and target ``(N, *)``; var the same, or with size 1 in (or without) the last dimension.

    Raises:
        ValueError: var has another shape or a negative entry.

    Example::

        >>> nn.GaussianNLLLoss()(torch.tensor([1.0]), torch.tensor([0.0]), torch.tensor([1.0]))
        tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Any) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    r"""``target (log(target) - input)`` for log-probabilities ``input``: the Kullback-Leibler divergence.

    Args:
        reduction: ``"none"``, ``"mean"`` (over all elements), ``"sum"`` or ``"batchmean"`` (sum divided by N, which
            is the divergence).
        log_target: whether the target is given as log-probabilities too.

    Example::

        >>> p = torch.tensor([[0.5, 0.5]])
        >>> nn.KLDivLoss(reduction="batchmean")(p.log(), p)
        tensor(0.)
    """

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class MSELoss(_Loss):
    r"""``(input - target)^2``.

    Args:
        reduction: ``"none"`` (shape of the input), ``"mean"`` or ``"sum"``.

    Example::

        >>> nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]))
        tensor(2.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class BCELoss(_WeightedLoss):
    r"""``-weight (t log x + (1 - t) log(1 - x))`` for probabilities x; logarithms are clamped to at least -100.

    Args:
        weight: factor of each element, broadcastable to the input.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: target and input differ in shape.
        RuntimeError: an input is outside [0, 1].

    Example::

        >>> nn.BCELoss()(torch.tensor([0.5]), torch.tensor([1.0]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    r""":class:`BCELoss` of ``sigmoid(input)``, computed without overflow.

    Args:
        weight: factor of each element, broadcastable to the input.
        pos_weight: factor of the positive term, broadcastable to the target.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: target and input differ in shape.

    Example::

        >>> nn.BCEWithLogitsLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
        tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class HingeEmbeddingLoss(_Loss):
    r"""``x`` where the target is 1, ``max(0, margin - x)`` where it is -1.

    Example::

        >>> nn.HingeEmbeddingLoss()(torch.tensor([0.25]), torch.tensor([-1]))
        tensor(0.7500)
    """

    def __init__(
        self, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    r"""``sum_ij max(0, 1 - (x[t_j] - x[i])) / C`` over target classes t_j and all classes i that are no targets.

    Shape:
        input ``(N, C)`` or ``(C,)``; target the same, class indices up to the first -1.

    Example::

        >>> x = torch.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> nn.MultiLabelMarginLoss()(x, torch.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    r"""``d^2 / (2 beta)`` where ``d = |input - target| < beta``, else ``d - beta / 2`` (Girshick 2015).

    Example::

        >>> nn.SmoothL1Loss()(torch.tensor([0.5]), torch.tensor([0.0]))
        tensor(0.1250)
    """

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    r"""``d^2 / 2`` where ``d = |input - target| <= delta``, else ``delta (d - delta / 2)`` (Huber 1964).

    Example::

        >>> nn.HuberLoss()(torch.tensor([2.0]), torch.tensor([0.0]))
        tensor(1.5000)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SoftMarginLoss(_Loss):
    r"""``log(1 + exp(-target * input))`` for targets 1 and -1.

    Example::

        >>> nn.SoftMarginLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    r"""``-sum_c w_c target_c log(softmax(input)_c)``, for class indices or class probabilities.

    Args:
        weight: weight of each class, ``(C,)``; for class indices the mean divides by the sum of the weights used.
        ignore_index: a class index that counts for nothing.
        label_smoothing: s in [0, 1]; the target becomes ``(1 - s) target + s / C``.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input ``(N, C, *)`` or ``(C,)``; target ``(N, *)`` or ``()`` of indices, or the input's shape (probabilities).

    Raises:
        RuntimeError, ValueError: shapes or dtypes do not fit; IndexError: a class is out of range.

    Example::

        >>> nn.CrossEntropyLoss()(torch.zeros(1, 2), torch.tensor([1]))
        tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class MultiLabelSoftMarginLoss(_WeightedLoss):
    r"""The mean over classes of ``-(t log sigmoid(x) + (1 - t) log sigmoid(-x))``.

    Example::

        >>> nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 3), torch.ones(1, 3))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    r"""``1 - cos(x1, x2)`` where the target is 1, ``max(0, cos(x1, x2) - margin)`` where it is -1.

    Shape:
        inputs ``(N, D)`` or ``(D,)``, target ``(N,)`` or ``()``.

    Example::

        >>> x = torch.tensor([[1.0, 0.0]])
        >>> nn.CosineEmbeddingLoss()(x, x, torch.tensor([-1]))
        tensor(1.)
    """

    def __init__(
        self, margin: float = 0.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    r"""``max(0, -target (x1 - x2) + margin)``: target 1 wants x1 larger, -1 wants x2 larger.

    Example::

        >>> nn.MarginRankingLoss()(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1]))
        tensor(2.)
    """

    def __init__(
        self, margin: float = 0.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    r"""``sum_i max(0, weight[t] (margin - x[t] + x[i]))^p / C`` over the classes i other than the target t.

    Args:
        p: 1 or 2.
        margin: constant of the formula.
        weight: weight of each class, ``(C,)``.

    Shape:
        input ``(N, C)`` or ``(C,)``, target ``(N,)`` or ``()``.

    Raises:
        ValueError: p is neither 1 nor 2, or ``weight`` is not 1-D.

    Example::

        >>> nn.MultiMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
        tensor(0.3250)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class TripletMarginLoss(_Loss):
    r"""``max(0, d(a, p) - d(a, n) + margin)`` with p-norm distances of anchor, positive and negative.

    Args:
        margin: positive number.
        p, eps: of :class:`PairwiseDistance`.
        swap: use the smaller of d(a, n) and d(p, n) (Balntas et al. 2016).

    Shape:
        ``(N, D)`` or ``(D,)`` each; output ``(N,)`` or ``()`` with ``reduction="none"``.

    Example::

        >>> a = torch.zeros(1, 2)
        >>> round(nn.TripletMarginLoss()(a, a, a).item(), 4)
        1.0
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    r""":class:`TripletMarginLoss` with any distance.

    Args:
        distance_function: function of two tensors; default: :class:`PairwiseDistance`.
        margin, swap: as for :class:`TripletMarginLoss`.

    Example::

        >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1))
        >>> loss(torch.zeros(1, 2), torch.ones(1, 2), torch.ones(1, 2))
        tensor(1.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average=None, reduce=None, reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = distance_function if distance_function is not None else PairwiseDistance()
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class CTCLoss(_Loss):
    r"""Connectionist temporal classification (Graves et al. 2006): minus the log probability of the target, summed
    over all its alignments with the input.

    Args:
        blank: class index of the blank.
        reduction: ``"none"``, ``"mean"`` (each loss divided by its target's length, then averaged) or ``"sum"``.
        zero_infinity: turn infinite losses (targets longer than the input) and their gradients into zeros.

    Shape:
        log_probs ``(T, N, C)`` or ``(T, C)``; targets ``(N, S)`` or the concatenation of all; lengths ``(N,)`` each.

    Example::

        >>> log_probs = torch.zeros(4, 1, 3).log_softmax(2)
        >>> nn.CTCLoss()(log_probs, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2])).item() > 0
        True
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
