"""Parameters that are given as probabilities or as logits."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from .utils import lazy_property, logits_to_probs, probs_to_logits


def check_one_of(probs: Any, logits: Any) -> None:
    """Raises ValueError unless exactly one is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class ProbsOrLogits:
    """``probs`` and ``logits``, of which one is given and the other computed when it is asked for."""

    # Log odds rather than log probabilities.
    _binary = True

    @lazy_property
    def logits(self) -> Tensor:
        """Log odds, or log probabilities of categories."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def _param(self) -> Tensor:
        given = self.__dict__.get("probs")
        return self.logits if given is None else given

    @property
    def param_shape(self) -> Any:
        """The shape of ``probs`` and ``logits``."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)
