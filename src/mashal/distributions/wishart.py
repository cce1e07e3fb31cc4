"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

import mashal

from .. import Size, Tensor, nan
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _half_log_det, _precision_to_scale_tril
from .utils import lazy_property

__all__ = ["Wishart"]


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate gamma function."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    steps = mashal.arange(p, dtype=x.dtype, device=x.device)
    return (x.unsqueeze(-1) - steps / 2).digamma().sum(-1)


def _as_2d(x: Tensor) -> Tensor:
    return x.reshape(*x.shape, 1, 1)


class Wishart(ExponentialFamily):
    """Sums of ``df`` squares of normal vectors: random positive definite matrices.

    One of covariance, precision and Cholesky factor of the vectors' distribution is given.

    Raises:
        ValueError: unless exactly one of the three is given, and for ``df`` up to the vectors' length minus 1.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {
        "df": 0,
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
    }

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
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
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = df if isinstance(df, Tensor) else mashal.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch = mashal.broadcast_shapes(matrix.shape[:-2], df.shape)
        event = matrix.shape[-2:]
        self.df = df.expand(batch)
        n = event[-1]
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        super().__init__(Size(batch), event, validate_args=validate_args)
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = mashal.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._set_chi2()

    def _set_chi2(self) -> None:
        n = self._event_shape[-1]
        steps = mashal.arange(n, dtype=self.df.dtype, device=self.df.device)
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - steps)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._set_chi2()
        return new

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the vectors' covariance."""
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The vectors' covariance."""
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the vectors' covariance."""
        return self._full(mashal.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return _as_2d(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return _as_2d(factor.masked_fill(factor <= 0, nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return _as_2d(self.df) * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Tensor:
        """Samples as ``L A A^T L^T``: A is lower triangular, of normal variables below a chi-distributed diagonal."""
        n = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).sqrt().diag_embed()
        rows, columns = mashal.tril_indices(n, n, offset=-1)
        shape = (*sample_shape, *self._batch_shape, n * (n - 1) // 2)
        noise[..., rows, columns] = mashal.randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _singular(self, sample: Tensor) -> Tensor:
        wrong = ~self.support.check(sample)
        return wrong.amax(tuple(range(-len(self._batch_shape), 0))) if self._batch_shape else wrong

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """Samples; those that rounding made singular are drawn again, ``max_try_correction`` times at most."""
        sample_shape = Size(sample_shape)
        # PyTorch draws all regular samples a second time: these are the numbers that follow.
        self._bartlett_sampling(sample_shape)
        sample = self._bartlett_sampling((sample_shape.numel(),))
        singular = self._singular(sample)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if not singular.any():
                break
            again = self._bartlett_sampling((int(singular.sum()),))
            sample = sample.index_put((singular,), again)
            singular = singular.index_put((singular,), self._singular(again))
        return sample.reshape(sample_shape + sample.shape[1:])

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        lower = self._unbroadcasted_scale_tril
        trace = mashal.cholesky_solve(value, lower).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -nu * (p * math.log(2) / 2 + _half_log_det(lower))
            - mashal.mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * mashal.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
            + mashal.mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-mashal.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + mashal.mvlgamma(half, p)
