"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import mashal

from .. import Size, Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Density proportional to ``exp(concentration * cos(x - loc))``: angles in [-pi, pi).

    Source: Best and Fisher, "Efficient simulation of the von Mises distribution", 1979.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _batched = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        c = self.concentration
        # log I0(c), scaled so that large concentrations do not overflow
        log_bessel = mashal.special.i0e(c).log() + c
        return c * (value - self.loc).cos() - math.log(2 * math.pi) - log_bessel

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(mashal.double)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(mashal.double)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that proposals are drawn from."""
        c = self._concentration
        tau = 1 + (1 + 4 * c.square()).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * c)
        r = (1 + rho.square()) / (2 * rho)
        return mashal.where(c < 1e-5, 1 / c + c, r)  # where rho cancels, the series of r

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with mashal.no_grad():
            r, c = self._proposal_r, self._concentration
            x = mashal.empty(shape, dtype=mashal.double, device=self.loc.device)
            done = mashal.zeros(shape, dtype=mashal.bool, device=self.loc.device)
            while not done.all():
                u1, u2, u3 = mashal.rand((3, *shape), dtype=mashal.double, device=self.loc.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                d = c * (r - f)
                accept = ((d * (2 - d) - u2) > 0) | ((d / u2).log() + 1 - d >= 0)
                if accept.any():
                    x = mashal.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                    done = done | accept
            return ((x + math.pi + self._loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The circular variance, ``1 - I1 / I0``."""
        c = self.concentration
        return 1 - mashal.special.i1e(c) / mashal.special.i0e(c)
