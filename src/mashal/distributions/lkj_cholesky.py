"""Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import mashal

from .. import Size, Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors of ``(dim, dim)`` correlation matrices of density ``det ** (concentration - 1)``.

    Source: Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion
    method", 2009 (the onion method).

    Raises:
        ValueError: for ``dim`` below 2.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _batched = {"concentration": 0}

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        like = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        # Row i's off-diagonal part: its squared length is a beta variable, its direction is uniform.
        offset = mashal.cat([mashal.zeros(1, **like), mashal.arange(dim - 1, **like)])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with mashal.no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = mashal.randn(self._extended_shape(sample_shape), dtype=squared.dtype, device=squared.device).tril(
                -1
            )
            direction = normal / normal.square().sum(-1, True).sqrt()
            direction[..., 0, :] = 0
            w = squared.sqrt() * direction
            rest = (1 - w.square().sum(-1)).clamp(min=mashal.finfo(w.dtype).tiny)
            return w + rest.sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = mashal.arange(2, self.dim + 1, dtype=self.concentration.dtype, device=self.concentration.device)
        exponent = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        normalizer = 0.5 * n * math.log(math.pi) + mashal.mvlgamma(alpha - 0.5, n) - alpha.lgamma() * n
        return (exponent * diagonal.log()).sum(-1) - normalizer
