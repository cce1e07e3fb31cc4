"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import mashal

from .. import Tensor
from . import constraints
from ._parameters import ProbsOrLogits, check_one_of
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Density proportional to ``probs ** x * (1 - probs) ** (1 - x)`` on [0, 1].

    Args:
        lims: within these limits of ``probs``, where the closed forms cancel, a Taylor series around 1/2 is used.

    Source: Loaiza-Ganem and Cunningham, "The continuous Bernoulli", 2019.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True
    _batched = {"probs": 0, "logits": 0}

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        check_one_of(probs, logits)
        if probs is not None:
            (probs,) = broadcast_all(probs)
            if validate_args is not None and not self.arg_constraints["probs"]._holds(probs):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(ContinuousBernoulli, _instance)
        new._lims = self._lims
        return super().expand(batch_shape, new)

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """``probs``, moved to a limit where the closed forms are not used: no NaN reaches a gradient."""
        return self.probs.where(self._outside_unstable_region(), self._lims[0] * mashal.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Tensor:
        cut = self._cut_probs()
        below = cut.where(cut <= 0.5, mashal.zeros_like(cut))
        above = cut.where(cut >= 0.5, mashal.ones_like(cut))
        log_norm = ((-cut).log1p() - cut.log()).abs().log() - mashal.where(
            cut <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log()
        )
        x = (self.probs - 0.5).square()
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return log_norm.where(self._outside_unstable_region(), taylor)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        mean = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.square()) * x
        return mean.where(self._outside_unstable_region(), taylor)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        variance = cut * (cut - 1.0) / (1.0 - 2.0 * cut).square() + 1.0 / ((-cut).log1p() - cut.log()).square()
        x = (self.probs - 0.5).square()
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return variance.where(self._outside_unstable_region(), taylor)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with mashal.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(mashal.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        cross = mashal.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._cont_bern_log_norm() - cross

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        cdf = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        cdf = cdf.where(self._outside_unstable_region(), value)
        return mashal.where(
            value <= 0.0,
            mashal.zeros_like(value),
            mashal.where(value >= 1.0, mashal.ones_like(value), cdf),
        )

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        quantile = ((-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()) / (cut.log() - (-cut).log1p())
        return quantile.where(self._outside_unstable_region(), value)

    def entropy(self) -> Tensor:
        log_fail = (-self.probs).log1p()
        return self.mean * (log_fail - self.probs.log()) - self._cont_bern_log_norm() - log_fail

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """Log normaliser of the natural parameter, with its Taylor series around 0."""
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = x.where(outside, (self._lims[0] - 0.5) * mashal.ones_like(x))
        log_norm = (cut.exp() - 1.0).abs().log() - cut.abs().log()
        taylor = 0.5 * x + x.square() / 24.0 - x.pow(4) / 2880.0
        return log_norm.where(outside, taylor)
