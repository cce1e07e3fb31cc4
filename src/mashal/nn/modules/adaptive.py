"""Softmax over many classes of which few are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import mashal

from ... import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """Log-probability of each target, and their negative mean."""

    output: Tensor
    loss: Tensor


_ASMoutput.__name__ = "ASMoutput"


class AdaptiveLogSoftmaxWithLoss(Module):
    r"""Log-softmax in two steps: over frequent classes and clusters of rare ones, then within a cluster.

    Classes must be ordered from the most to the least frequent. A cluster's input is first projected to fewer
    features: ``in_features / div_value ** i`` for the i-th cluster. (Grave et al., "Efficient softmax approximation for
    GPUs", 2017.)

    Args:
        in_features: size of the last dimension of the input.
        n_classes: number of classes.
        cutoffs: increasing class numbers at which clusters begin; the classes below the first are the frequent ones.
        div_value: see above.
        head_bias: whether the first step has a bias.

    Shape:
        input ``(N, in_features)`` or ``(in_features,)``, target ``(N,)`` or ``()``. The result is a named tuple:
        output, the log-probabilities of the targets, as target; loss, their negative mean.

    Raises:
        ValueError: ``cutoffs`` is empty, not increasing, or not within ``1 ... n_classes - 1``.
        RuntimeError: shapes do not go together, or a target lies outside ``0 ... n_classes - 1``.

    Example::

        >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 100, cutoffs=[10, 50], div_value=2.0)
        >>> layer(torch.randn(4, 16), torch.tensor([0, 12, 99, 5])).output.shape
        mashal.Size([4])
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1"
            )
        where = {"device": device, "dtype": dtype}
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(Linear(in_features, width, bias=False, **where), Linear(width, classes, bias=False, **where))
            )

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        self.head.reset_parameters()
        for pair in self.tail:
            pair[0].reset_parameters()
            pair[1].reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError(
                    f"AdaptiveLogSoftmaxWithLoss: Input and target should have the same size in the batch dimension, "
                    f"got input {tuple(input_.shape)} and target {tuple(target_.shape)}."
                )
            if input_.dim() != 2:
                raise RuntimeError(
                    f"AdaptiveLogSoftmaxWithLoss: 1D target tensor expects 2D input tensors, but found inputs with "
                    f"size {input_.size()}"
                )
        elif target_.dim() == 0:
            if input_.dim() != 1:
                raise RuntimeError(
                    f"AdaptiveLogSoftmaxWithLoss: 0D target tensor expects 1D input tensors, but found inputs with "
                    f"size {input_.size()}"
                )
        else:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: 0D or 1D target tensor expected, multi-target not supported, got target "
                f"{tuple(target_.shape)}."
            )
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        count = target.size(0)
        if count and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: Target values should be in [0, {self.n_classes - 1}], but values in "
                f"range [{int(target.min())}, {int(target.max())}] were found."
            )
        output = input.new_zeros(count)
        # What each target is in the first step: itself, or its cluster.
        first_step = target.clone()
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            log_probs = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            chosen = log_probs.gather(1, (target.index_select(0, rows) - low).unsqueeze(1))
            output = output.index_copy(0, rows, chosen.squeeze(1))
            first_step.index_fill_(0, rows, self.shortlist_size + i)
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, first_step.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, pair in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(pair(input), dim=1) + cluster)
        return mashal.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities of all classes, ``(N, n_classes)``."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row, ``(N,)``; looks into clusters only where they are chosen."""
        head_output = self.head(input)
        output = head_output.argmax(1)
        in_cluster = output >= self.shortlist_size
        if not bool(in_cluster.any()):
            return output
        if bool(in_cluster.all()):
            return self._get_full_log_prob(input, head_output).argmax(1)
        rows = in_cluster.nonzero().squeeze(1)
        best = self._get_full_log_prob(input[rows], head_output[rows]).argmax(1)
        return output.index_copy(0, rows, best)
