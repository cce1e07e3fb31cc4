"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

import mashal

from .. import Tensor
from .._core import no_grad_guard
from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Normal"]


_LOG_SQRT_2PI = math.log(math.sqrt(2 * math.pi))
_ENTROPY = 0.5 + 0.5 * math.log(2 * math.pi)


class Normal(ExponentialFamily):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``.

    Example:
        >>> import mashal
        >>> mashal.distributions.Normal(0.0, 1.0).log_prob(mashal.tensor(0.0))
        tensor(-0.9189)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2)

    def _noise(self, sample_shape: Any) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return mashal.empty(shape, dtype=self.loc.dtype, device=self.loc.device).normal_()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad_guard():
            return self._noise(sample_shape).mul_(self.scale).add_(self.loc)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + self._noise(sample_shape) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return z * z * -0.5 - self.scale.log() - _LOG_SQRT_2PI

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return _ENTROPY + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        squared = self.scale.pow(2)
        return (self.loc / squared, -0.5 * squared.reciprocal())

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()
