"""Kullback-Leibler divergences within a family."""

from __future__ import annotations

from typing import Any

import mashal

from .. import Tensor, inf
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _log_det, _mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, _half_log_det
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost
from .utils import euler_constant as _euler


def _weighted(weight: Tensor, difference: Tensor, q_weight: Tensor) -> Tensor:
    """``weight * difference``: 0 where weight is 0, else infinite where q cannot have that value."""
    term = (weight * difference).masked_fill(q_weight == 0, inf)
    return term.masked_fill(weight == 0, 0)


@register_kl(Bernoulli, Bernoulli)
def _(p: Any, q: Any) -> Tensor:
    softplus = mashal.nn.functional.softplus
    success = _weighted(p.probs, softplus(-q.logits) - softplus(-p.logits), q.probs)
    failure = _weighted(1 - p.probs, softplus(q.logits) - softplus(p.logits), 1 - q.probs)
    return success + failure


@register_kl(Beta, Beta)
def _(p: Any, q: Any) -> Tensor:
    p1, p0, q1, q0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    p_sum, q_sum = p1 + p0, q1 + q0
    return (
        (q1.lgamma() + q0.lgamma() + p_sum.lgamma())
        - (p1.lgamma() + p0.lgamma() + q_sum.lgamma())
        + (p1 - q1) * p1.digamma()
        + (p0 - q0) * p0.digamma()
        + (q_sum - p_sum) * p_sum.digamma()
    )


@register_kl(Binomial, Binomial)
def _(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return kl.masked_fill(p.total_count > q.total_count, inf)


@register_kl(Categorical, Categorical)
def _(p: Any, q: Any) -> Tensor:
    return _weighted(p.probs, p.logits - q.logits, q.probs).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p: Any, q: Any) -> Tensor:
    return (
        p.mean * (p.logits - q.logits)
        + p._cont_bern_log_norm()
        + (-p.probs).log1p()
        - q._cont_bern_log_norm()
        - (-q.probs).log1p()
    )


@register_kl(Dirichlet, Dirichlet)
def _(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    return (
        total.lgamma()
        - b.sum(-1).lgamma()
        - (a.lgamma() - b.lgamma()).sum(-1)
        + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)
    )


@register_kl(Exponential, Exponential)
def _(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    # The Bregman divergence of the log normaliser.
    p_params = [n.detach().requires_grad_() for n in p._natural_params]
    log_norm = p._log_normalizer(*p_params)
    gradients = mashal.autograd.grad(log_norm.sum(), p_params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - log_norm
    for a, b, g in zip(p_params, q._natural_params, gradients, strict=True):
        result = result - _sum_rightmost((b - a) * g, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _(p: Any, q: Any) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + q.concentration.lgamma()
        - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - shift + ratio * _euler + (shift + (1 + ratio).lgamma()).exp() - (1 + _euler)


@register_kl(Geometric, Geometric)
def _(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _(p: Any, q: Any) -> Tensor:
    ratio, offset = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + offset / q.scale + ratio * (-offset / p.scale).exp() - 1


def _check_events(p: Any, q: Any) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )


def _squares(x: Tensor) -> Tensor:
    """The sum of squares of each matrix's entries, the trace of ``x x^T``."""
    return x.square().sum((-2, -1))


def _low_rank(q: Any) -> tuple[Tensor, Tensor, Tensor]:
    """W, D and ``L^-1 W^T D^-1`` with L the factor of the capacitance: for the inverse of the covariance."""
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    inner = factor.mT / diagonal.unsqueeze(-2)
    return factor, diagonal, mashal.linalg.solve_triangular(q._capacitance_tril, inner, upper=False)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _(p: Any, q: Any) -> Tensor:
    _check_events(p, q)
    q_factor, q_diagonal, half = _low_rank(q)
    p_factor, p_diagonal = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    log_ratio = _log_det(q_factor, q_diagonal, q._capacitance_tril) - _log_det(
        p_factor, p_diagonal, p._capacitance_tril
    )
    trace = (
        (p_diagonal / q_diagonal).sum(-1)
        + _squares(p_factor * q_diagonal.rsqrt().unsqueeze(-1))
        - _squares(half * p_diagonal.sqrt().unsqueeze(-2))
        - _squares(half @ p_factor)
    )
    distance = _mahalanobis(q_factor, q_diagonal, q.loc - p.loc, q._capacitance_tril)
    return 0.5 * (log_ratio + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _(p: Any, q: Any) -> Tensor:
    _check_events(p, q)
    q_factor, q_diagonal, half = _low_rank(q)
    lower = p._unbroadcasted_scale_tril
    log_ratio = _log_det(q_factor, q_diagonal, q._capacitance_tril) - 2 * _half_log_det(lower)
    trace = _squares(lower * q_diagonal.rsqrt().unsqueeze(-1)) - _squares(half @ lower)
    distance = _mahalanobis(q_factor, q_diagonal, q.loc - p.loc, q._capacitance_tril)
    return 0.5 * (log_ratio + trace + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _(p: Any, q: Any) -> Tensor:
    _check_events(p, q)
    lower = q._unbroadcasted_scale_tril
    p_factor, p_diagonal = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    log_ratio = 2 * _half_log_det(lower) - _log_det(p_factor, p_diagonal, p._capacitance_tril)
    solve = mashal.linalg.solve_triangular
    trace = _squares(solve(lower, p_factor, upper=False)) + _squares(
        solve(lower, p_diagonal.sqrt().diag_embed(), upper=False)
    )
    return 0.5 * (log_ratio + trace + _batch_mahalanobis(lower, q.loc - p.loc) - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p: Any, q: Any) -> Tensor:
    _check_events(p, q)
    p_lower, q_lower = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    trace = _squares(mashal.linalg.solve_triangular(q_lower, p_lower, upper=False))
    distance = _batch_mahalanobis(q_lower, q.loc - p.loc)
    return _half_log_det(q_lower) - _half_log_det(p_lower) + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: Any, q: Any) -> Tensor:
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return kl.masked_fill(p.scale < q.scale, inf)


@register_kl(Poisson, Poisson)
def _(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _(p: Any, q: Any) -> Tensor:
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return kl.masked_fill((q.low > p.low) | (q.high < p.high), inf)


@register_kl(Independent, Independent)
def _(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _(p: Any, q: Any) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()
