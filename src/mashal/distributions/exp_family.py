"""Exponential families."""

from __future__ import annotations

from typing import Any

import mashal

from .. import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities ``exp(<t(x), theta> - F(theta) + k(x))``: natural parameters, log normaliser and carrier measure."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The expected value of ``k(x)``."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """``F(theta) - <grad F(theta), theta> - E k(x)``: a Bregman divergence of the log normaliser."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        with mashal.enable_grad():
            log_norm = self._log_normalizer(*parameters)
            gradients = mashal.autograd.grad(log_norm.sum(), parameters, create_graph=True)
        result = log_norm - self._mean_carrier_measure
        event_dim = len(self._event_shape)
        for p, g in zip(parameters, gradients, strict=True):
            inner = p * g
            result = result - (inner.reshape((*self._batch_shape, -1)).sum(-1) if event_dim else inner)
        return result
