"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import mashal

from .. import Size, Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A component of ``component_distribution``'s last batch dimension, chosen by ``mixture_distribution``.

    Raises:
        ValueError: for anything but a Categorical over as many components.
    """

    arg_constraints = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        batch = component_distribution.batch_shape
        for ours, theirs in zip(reversed(mixture_distribution.batch_shape), reversed(batch[:-1]), strict=False):
            if ours not in (1, theirs) and theirs != 1:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        components = mixture_distribution.logits.shape[-1]
        if components != batch[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({components}) does not equal `component_distribution.batch_shape"
                f"[-1]` ({batch[-1]})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = components
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        batch = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand((*batch, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        super(MixtureSameFamily, new).__init__(batch, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of the component's number."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components, along the last batch dimension."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        """Probabilities of components, shaped to multiply events of them."""
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        dim, weights = -1 - self._event_ndims, self._weights()
        within = (weights * self._component_distribution.variance).sum(dim)
        offset = self._component_distribution.mean - self.mean.unsqueeze(dim)
        return within + (weights * offset.pow(2.0)).sum(dim)

    def cdf(self, value: Tensor) -> Tensor:
        parts = self._component_distribution.cdf(self._pad(value))
        return (parts * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        parts = self._component_distribution.log_prob(self._pad(value))
        return (parts + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with mashal.no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            dim = samples.dim() - 1 - self._event_ndims
            lead = samples.shape[:dim]
            index = chosen.expand(lead).reshape(lead + (1,) * (self._event_ndims + 1))
            return samples.gather(dim, index.expand((*lead, 1, *self.event_shape))).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
