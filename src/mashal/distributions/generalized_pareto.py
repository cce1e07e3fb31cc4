"""The generalised Pareto distribution."""

from __future__ import annotations

from typing import Any

import mashal

from .. import Tensor, inf, nan
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Survival function ``(1 + concentration * (x - loc) / scale) ** (-1 / concentration)``.

    A concentration of 0 means its limit, the exponential distribution; of less than 0, that values are bounded.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _batched = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _limit(self) -> Tensor:
        return mashal.isclose(self.concentration, mashal.zeros_like(self.concentration))

    def _safe(self) -> Tensor:
        """The concentration where it is not 0, else 1: what is computed with it there is not used."""
        return mashal.where(self._limit(), mashal.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(mashal.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z, c = self._z(value), self._safe()
        power = -(1 + 1 / c) * (c * z).log1p()
        return mashal.where(self._limit(), -z, power) - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of values above ``value``."""
        if self._validate_args:
            self._validate_sample(value)
        z, c = self._z(value), self._safe()
        return mashal.where(self._limit(), -z, -(c * z).log1p() / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of :meth:`cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        c, rest = self._safe(), (-value).log1p()
        return self.loc + self.scale * mashal.where(self._limit(), -rest, (-c * rest).expm1() / c)

    @property
    def mean(self) -> Tensor:
        below = self.concentration < 1
        safe = mashal.where(below, self.concentration, 0.5)
        return mashal.where(below, self.loc + self.scale / (1 - safe), nan)

    @property
    def variance(self) -> Tensor:
        below = self.concentration < 0.5
        safe = mashal.where(below, self.concentration, 0.25)
        return mashal.where(below, self.scale.pow(2) / ((1 - safe).pow(2) * (1 - 2 * safe)), nan)

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        bound = self.loc - self.scale / self._safe()
        upper = mashal.where(self.concentration < 0, bound, inf)
        return constraints.interval(self.loc, upper)
