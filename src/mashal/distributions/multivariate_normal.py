"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import mashal

from .. import Size, Tensor
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Products of batches of matrices and vectors."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(lower: Tensor, x: Tensor) -> Tensor:
    """``x^T (L L^T)^-1 x``: batches of L and x broadcast."""
    if lower.dim() == 2 and x.dim() > 1:
        # One factor for all: a single solution with many right hand sides.
        rows = x.reshape(-1, x.shape[-1])
        solved = mashal.linalg.solve_triangular(lower, rows.mT, upper=False)
        return solved.square().sum(-2).reshape(x.shape[:-1])
    solved = mashal.linalg.solve_triangular(lower, x.unsqueeze(-1), upper=False)
    return solved.square().sum((-2, -1))


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse, without inverting: that of the flipped matrix is upper triangular."""
    flipped = mashal.linalg.cholesky(precision.flip((-2, -1)))
    inverse = flipped.flip((-2, -1)).mT
    identity = mashal.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return mashal.linalg.solve_triangular(inverse, identity, upper=False)


def _half_log_det(lower: Tensor) -> Tensor:
    return lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors: mean ``loc`` and one of covariance, precision and Cholesky factor.

    Raises:
        ValueError: unless exactly one of the three is given.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _batched = {
        "loc": 1,
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            name: matrix
            for name, matrix in (
                ("scale_tril", scale_tril),
                ("covariance_matrix", covariance_matrix),
                ("precision_matrix", precision_matrix),
            )
            if matrix is not None
        }
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = mashal.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(Size(batch), self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = mashal.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._full(mashal.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        squared = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squared.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        lower = self._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(lower, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - _half_log_det(lower)

    def entropy(self) -> Tensor:
        n = self._event_shape[0]
        entropy = 0.5 * n * (1.0 + math.log(2 * math.pi)) + _half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
