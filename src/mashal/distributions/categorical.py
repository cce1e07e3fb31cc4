"""The categorical distribution."""

from __future__ import annotations

from typing import Any

import mashal

from .. import Size, Tensor, nan
from .._core import no_grad_guard
from . import constraints
from ._parameters import ProbsOrLogits, check_one_of
from .distribution import Distribution

__all__ = ["Categorical"]

_INT64 = mashal.int64
_LOWEST = {t: mashal.finfo(t).min for t in (mashal.float16, mashal.bfloat16, mashal.float32, mashal.float64)}


class Categorical(ProbsOrLogits, Distribution):
    """Category numbers ``0 ... k - 1`` with probabilities along the last dimension.

    Args:
        probs: ``(..., k)``, from 0 on; normalised.
        logits: ``(..., k)``, log probabilities up to a constant; exactly one of the two is given.

    Example:
        >>> import mashal
        >>> mashal.distributions.Categorical(probs=mashal.tensor([0.0, 2.0])).sample()
        tensor(1)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _batched = {"probs": 1, "logits": 1}
    _binary = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        check_one_of(probs, logits)
        if probs is not None:
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            parameter = self.probs = probs / probs.sum(-1, True)
        else:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            parameter = self.logits = logits - logits.logsumexp(-1, True)
        shape = parameter.shape
        self._num_events = shape[-1]
        super().__init__(shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Categorical, _instance)
        new._num_events = self._num_events
        return super().expand(batch_shape, new)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return mashal.full(self._extended_shape(), nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return mashal.full(self._extended_shape(), nan, dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        probs = self.probs
        if self._validate_args and not sample_shape:
            # Known to be probabilities: one draw without multinomial's own look at them (same random numbers).
            with no_grad_guard():
                if probs.dim() > 2 or not probs.is_contiguous():
                    probs = probs.contiguous()
                return (probs / mashal.empty_like(probs).exponential_()).argmax(-1)
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        rows = probs.reshape(-1, self._num_events)
        samples = mashal.multinomial(rows, sample_shape.numel(), True).T
        return samples.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits = self.logits
        if value.dtype is not _INT64:
            value = value.long()
        if value.shape == self._batch_shape:
            return logits.gather(-1, value.unsqueeze(-1)).squeeze(-1)
        value, logits = mashal.broadcast_tensors(value.unsqueeze(-1), logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # Impossible categories contribute nothing, not NaN.
        logits = self.logits
        return -(logits.clamp(min=_LOWEST[logits.dtype]) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = mashal.arange(self._num_events, dtype=_INT64, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
