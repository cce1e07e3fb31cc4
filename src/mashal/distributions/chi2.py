"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of squares of ``df`` standard normal variables: gamma of concentration ``df / 2`` and rate 1/2."""

    arg_constraints = {"df": constraints.positive}
    _batched = {"concentration": 0, "rate": 0}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2
