"""Kullback-Leibler divergences between families."""

from __future__ import annotations

import math
from typing import Any

import mashal

from .. import Tensor, inf
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant as _euler

_LOG_2PI = math.log(2 * math.pi)


def _infinite(p: Any, q: Any) -> Tensor:
    """P has values that q cannot have."""
    return mashal.full(p.batch_shape, inf, dtype=p.mean.dtype, device=p.mean.device)


for _p, _qs in {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}.items():
    for _q in _qs:
        register_kl(_p, _q)(_infinite)


def _xlogx(x: Tensor) -> Tensor:
    return mashal.special.xlogy(x, x)


def _second_moment(p: Any, loc: Tensor) -> Tensor:
    """``E (x - loc)^2``."""
    return p.variance + (p.mean - loc).pow(2)


def _cross_normal(p: Any, q: Any) -> Tensor:
    """``-E_p log q`` for a normal q."""
    return 0.5 * _LOG_2PI + q.scale.log() + _second_moment(p, q.loc) / (2 * q.scale.pow(2))


def _cross_exponential(p: Any, q: Any) -> Tensor:
    return q.rate * p.mean - q.rate.log()


def _cross_gamma(p: Any, q: Any, mean_log: Tensor) -> Tensor:
    c = q.concentration
    return c.lgamma() - c * q.rate.log() - (c - 1) * mean_log + q.rate * p.mean


def _by_entropy(cross: Any) -> Any:
    return lambda p, q: cross(p, q) - p.entropy()


for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Laplace, Gumbel, Uniform):
    register_kl(_p, Normal)(_by_entropy(_cross_normal))
for _p in (Beta, ContinuousBernoulli, Gamma):
    register_kl(_p, Exponential)(_by_entropy(_cross_exponential))


def _uniform_outside(p: Any, q: Any) -> Tensor:
    """Where the unit interval is not within q's."""
    return (q.low > 0) | (q.high < 1)


for _p in (Beta, ContinuousBernoulli):
    register_kl(_p, Uniform)(
        lambda p, q: ((q.high - q.low).log() - p.entropy()).masked_fill(_uniform_outside(p, q), inf)
    )


def _cross_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(Bernoulli, Poisson)
def _(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


register_kl(Beta, ContinuousBernoulli)(_by_entropy(_cross_continuous_bernoulli))


@register_kl(Beta, Gamma)
def _(p: Any, q: Any) -> Tensor:
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return _cross_gamma(p, q, mean_log) - p.entropy()


@register_kl(Exponential, Gamma)
def _(p: Any, q: Any) -> Tensor:
    return _cross_gamma(p, q, -_euler - p.rate.log()) - p.entropy()


@register_kl(Exponential, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - ratio + ratio.exp() * product / (product + 1) + product.reciprocal()


@register_kl(Gamma, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    c, product, ratio = p.concentration, p.rate * q.scale, q.loc / q.scale
    own = (c - 1) * c.digamma() - c.lgamma() - c
    return own + product.log() + c / product + ratio.exp() * (1 + product.reciprocal()).pow(-c) - ratio


@register_kl(Normal, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    shift, squared = (p.loc - q.loc) / q.scale, (p.scale / q.scale).pow(2)
    return -0.5 * squared.log() + shift + (0.5 * squared - shift).exp() - 0.5 * (1 + _LOG_2PI)


@register_kl(Normal, Laplace)
def _(p: Any, q: Any) -> Tensor:
    offset = p.loc - q.loc
    z = offset / p.scale
    # E |x - q.loc|, of a folded normal variable
    folded = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp() + offset * (math.sqrt(0.5) * z).erf()
    return -(p.scale / q.scale).log() + folded / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Pareto, Exponential)
def _(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    kl = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return kl.masked_fill(p.alpha <= 1, inf)


@register_kl(Pareto, Gamma)
def _(p: Any, q: Any) -> Tensor:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    cross = (
        q.concentration.lgamma()
        - q.concentration * q.rate.log()
        + (1 - q.concentration) * mean_log
        + q.rate * p.alpha * p.scale / (p.alpha - 1)
    )
    return (p.alpha.log() - mean_log + cross - 1).masked_fill(p.alpha <= 1, inf)


@register_kl(Pareto, Normal)
def _(p: Any, q: Any) -> Tensor:
    common = p.scale / (p.alpha - 1)
    own = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
    moment = p.alpha * common.pow(2) / (p.alpha - 2) + (p.alpha * common - q.loc).pow(2)
    return (own + moment / (2 * q.scale.pow(2)) - 1).masked_fill(p.alpha <= 2, inf)


def _uniform_mean_log(low: Tensor, high: Tensor) -> Tensor:
    """``E log x`` of a uniform variable."""
    return (_xlogx(high) - _xlogx(low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    cross = (
        a.lgamma()
        + b.lgamma()
        - (a + b).lgamma()
        - (a - 1) * _uniform_mean_log(p.low, p.high)
        - (b - 1) * _uniform_mean_log(1 - p.high, 1 - p.low)
    )
    return (cross - p.entropy()).masked_fill((p.high > 1) | (p.low < 0), inf)


@register_kl(Uniform, ContinuousBernoulli)
def _(p: Any, q: Any) -> Tensor:
    kl = _cross_continuous_bernoulli(p, q) - p.entropy()
    return kl.masked_fill((p.high > 1) | (p.low < 0), inf)


@register_kl(Uniform, Exponential)
def _(p: Any, q: Any) -> Tensor:
    return (_cross_exponential(p, q) - p.entropy()).masked_fill(p.low < 0, inf)


@register_kl(Uniform, Gamma)
def _(p: Any, q: Any) -> Tensor:
    kl = _cross_gamma(p, q, _uniform_mean_log(p.low, p.high)) - p.entropy()
    return kl.masked_fill(p.low < 0, inf)


@register_kl(Uniform, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    density = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return density.log() + 0.5 * (high + low) - density * ((-high).exp() - (-low).exp())


@register_kl(Uniform, Pareto)
def _(p: Any, q: Any) -> Tensor:
    kl = (
        (q.alpha + 1) * _uniform_mean_log(p.low, p.high)
        - q.alpha.log()
        - q.alpha * q.scale.log()
        - (p.high - p.low).log()
    )
    return kl.masked_fill(p.low < q.scale, inf)
