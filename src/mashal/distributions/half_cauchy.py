"""The half-Cauchy distribution."""

from __future__ import annotations

from typing import Any

import mashal

from .. import Tensor, inf
from ._half import HalfDistribution
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(HalfDistribution):
    """The absolute value of a Cauchy variable of location 0."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return mashal.full(self._extended_shape(), inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Tensor:
        return super().log_prob(mashal.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
