"""Multivariate normal distributions of low-rank covariance."""

from __future__ import annotations

import math
from typing import Any

import mashal

from .. import Size, Tensor
from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv, _half_log_det
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _capacitance_tril(factor: Tensor, diagonal: Tensor) -> Tensor:
    """The Cholesky factor of ``I + W^T D^-1 W``."""
    m = factor.shape[-1]
    inner = (factor.mT / diagonal.unsqueeze(-2)) @ factor
    return mashal.linalg.cholesky(inner + mashal.eye(m, dtype=factor.dtype, device=factor.device))


def _log_det(factor: Tensor, diagonal: Tensor, capacitance_tril: Tensor) -> Tensor:
    """``log det(W W^T + D)``, by the matrix determinant lemma."""
    return 2 * _half_log_det(capacitance_tril) + diagonal.log().sum(-1)


def _mahalanobis(factor: Tensor, diagonal: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """``x^T (W W^T + D)^-1 x``, by the Woodbury identity."""
    inner = _batch_mv(factor.mT / diagonal.unsqueeze(-2), x)
    return (x.pow(2) / diagonal).sum(-1) - _batch_mahalanobis(capacitance_tril, inner)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of mean ``loc`` and covariance ``cov_factor @ cov_factor.T + diag(cov_diag)``.

    Raises:
        ValueError: for shapes that do not fit.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _batched = {"loc": 1, "cov_factor": 2, "cov_diag": 1}

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = mashal.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as e:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from e
        self.loc = loc.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, -1, -1))
        self.cov_diag = cov_diag.expand((*batch, -1))
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)
        super().__init__(Size(batch), event, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The variance of each component."""
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        # D^1/2 (I + D^-1/2 W W^T D^-1/2) D^1/2: the middle is better conditioned
        n = self._event_shape[0]
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        middle = scaled @ scaled.mT + mashal.eye(n, dtype=scaled.dtype, device=scaled.device)
        return self._full(root * mashal.linalg.cholesky(middle))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._full(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by the Woodbury identity."""
        factor, diagonal = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        half = mashal.linalg.solve_triangular(self._capacitance_tril, factor.mT / diagonal.unsqueeze(-2), upper=False)
        return self._full(diagonal.reciprocal().diag_embed() - half.mT @ half)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        like = self.loc.dtype, self.loc.device
        low = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], *like)
        own = _standard_normal(shape, *like)
        return self.loc + _batch_mv(self._unbroadcasted_cov_factor, low) + self._unbroadcasted_cov_diag.sqrt() * own

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        parts = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        distance = _mahalanobis(*parts, value - self.loc, self._capacitance_tril)
        log_det = _log_det(*parts, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self) -> Tensor:
        log_det = _log_det(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
