"""Kullback-Leibler divergences of all registered pairs, against PyTorch's."""

from __future__ import annotations

import pytest

import mashal
from mashal import distributions as ours
from mashal.distributions.kl import _KL_REGISTRY

from .cases import CASES, POSITIVE_DEFINITE
from .test_distributions import same

torch = pytest.importorskip("torch")
# Of PyTorch's Wishart distribution, which takes regular samples for singular ones.
pytestmark = pytest.mark.filterwarnings("ignore:Singular sample detected")
theirs = torch.distributions

ARGUMENTS = {
    "Bernoulli": [lambda t, d: d.Bernoulli(t.tensor([0.2, 0.0, 1.0, 0.7])),
                  lambda t, d: d.Bernoulli(t.tensor([0.6, 0.5, 0.2, 1.0]))],
    "Beta": [lambda t, d: d.Beta(t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])),
             lambda t, d: d.Beta(t.tensor([2.5, 1.0]), t.tensor([0.5, 4.0]))],
    "Binomial": [lambda t, d: d.Binomial(5, probs=t.tensor([0.2, 0.7])),
                 lambda t, d: d.Binomial(t.tensor([5, 4]), probs=t.tensor([0.6, 0.3]))],
    "Categorical": [lambda t, d: d.Categorical(t.tensor([[0.2, 0.8, 0.0], [1.0, 1.0, 1.0]])),
                    lambda t, d: d.Categorical(t.tensor([[0.5, 0.2, 0.3], [1.0, 0.0, 1.0]]))],
    "Cauchy": [lambda t, d: d.Cauchy(t.tensor([0.2]), t.tensor([1.2])),
               lambda t, d: d.Cauchy(t.tensor([1.2]), t.tensor([0.2]))],
    "ContinuousBernoulli": [lambda t, d: d.ContinuousBernoulli(t.tensor([0.2, 0.5])),
                            lambda t, d: d.ContinuousBernoulli(t.tensor([0.6, 0.3]))],
    "Dirichlet": [lambda t, d: d.Dirichlet(t.tensor([[0.5, 2.0], [1.0, 3.0]])),
                  lambda t, d: d.Dirichlet(t.tensor([[1.5, 0.7], [2.0, 2.0]]))],
    "Exponential": [lambda t, d: d.Exponential(t.tensor([0.5, 2.0])), lambda t, d: d.Exponential(t.tensor([1.5, 0.3]))],
    "Gamma": [lambda t, d: d.Gamma(t.tensor([0.5, 2.0]), t.tensor([1.0, 3.0])),
              lambda t, d: d.Gamma(t.tensor([2.5, 1.0]), t.tensor([2.0, 0.5]))],
    "Geometric": [lambda t, d: d.Geometric(t.tensor([0.2, 0.7])), lambda t, d: d.Geometric(t.tensor([0.5, 0.3]))],
    "Gumbel": [lambda t, d: d.Gumbel(t.tensor([0.2, 1.0]), t.tensor([1.0, 2.0])),
               lambda t, d: d.Gumbel(t.tensor([-0.2, 2.0]), t.tensor([0.7, 3.0]))],
    "HalfNormal": [lambda t, d: d.HalfNormal(t.tensor([0.2, 1.0])), lambda t, d: d.HalfNormal(t.tensor([1.2, 0.4]))],
    "Independent": [lambda t, d: d.Independent(d.Normal(t.zeros(2, 3), t.ones(2, 3)), 1),
                    lambda t, d: d.Independent(d.Normal(t.ones(2, 3), 2 * t.ones(2, 3)), 1)],
    "Laplace": [lambda t, d: d.Laplace(t.tensor([0.2, 1.0]), t.tensor([1.0, 2.0])),
                lambda t, d: d.Laplace(t.tensor([-0.2, 2.0]), t.tensor([0.7, 3.0]))],
    "LowRankMultivariateNormal": [
        CASES["low-rank"],
        lambda t, d: d.LowRankMultivariateNormal(t.zeros(3), t.tensor([[1.0], [0.2], [0.3]]), t.ones(3)),
    ],
    "MultivariateNormal": [lambda t, d: d.MultivariateNormal(t.zeros(3), t.tensor(POSITIVE_DEFINITE)),
                           CASES["multivariate-normal-tril"]],
    "Normal": [lambda t, d: d.Normal(t.tensor([0.2, 1.0]), t.tensor([1.0, 2.0])),
               lambda t, d: d.Normal(t.tensor([-0.2, 2.0]), t.tensor([0.7, 3.0]))],
    "OneHotCategorical": [CASES["one-hot"], lambda t, d: d.OneHotCategorical(t.ones(2, 3))],
    "Pareto": [lambda t, d: d.Pareto(t.tensor([0.5, 2.0]), t.tensor([3.0, 1.5])),
               lambda t, d: d.Pareto(t.tensor([0.2, 3.0]), t.tensor([2.0, 1.0]))],
    "Poisson": [lambda t, d: d.Poisson(t.tensor([0.5, 2.0])), lambda t, d: d.Poisson(t.tensor([1.5, 0.2]))],
    "TransformedDistribution": [lambda t, d: d.LogNormal(0.0, t.tensor([1.0, 2.0])),
                                lambda t, d: d.LogNormal(1.0, t.tensor([2.0, 1.5]))],
    "Uniform": [lambda t, d: d.Uniform(t.tensor([0.2, -1.0]), t.tensor([0.9, 2.0])),
                lambda t, d: d.Uniform(t.tensor([0.0, -0.5]), t.tensor([1.0, 3.0]))],
    "ExponentialFamily": [CASES["wishart"], lambda t, d: d.Wishart(t.tensor(5.0), t.eye(3))],
}  # fmt: skip
PAIRS = sorted((a.__name__, b.__name__) for a, b in _KL_REGISTRY)


def test_the_pairs_are_pytorchs():
    expected = sorted((a.__name__, b.__name__) for a, b in torch.distributions.kl._KL_REGISTRY)
    assert expected == PAIRS


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_pair(p, q):
    found = []
    for t, d in ((mashal, ours), (torch, theirs)):
        a, b = ARGUMENTS[p][0](t, d), ARGUMENTS[q][1](t, d)
        if (p, q) == ("Bernoulli", "Poisson"):
            a = d.Bernoulli(t.tensor([0.2, 0.7]))
        found.append(d.kl_divergence(a, b))
    if (p, q) == ("ContinuousBernoulli", "Uniform"):
        # Infinite only where the unit interval is not within q's (PyTorch: also where the two begin or end together).
        assert found[0].isfinite().all()
        return
    same(*found, rtol=1e-4, atol=1e-5)


def test_register_kl_and_ambiguity():
    class P(ours.Normal):
        pass

    class Q(ours.Normal):
        pass

    before = dict(_KL_REGISTRY)
    try:
        ours.register_kl(P, ours.Normal)(lambda p, q: 1)
        ours.register_kl(ours.Normal, Q)(lambda p, q: 2)
        assert ours.kl_divergence(P(0.0, 1.0), ours.Normal(0.0, 1.0)) == 1
        with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
            assert ours.kl_divergence(P(0.0, 1.0), Q(0.0, 1.0)) == 1
    finally:
        _KL_REGISTRY.clear()
        _KL_REGISTRY.update(before)
        ours.kl._KL_MEMOIZE.clear()


def test_unknown_pair():
    with pytest.raises(NotImplementedError, match="p type Cauchy and q type Poisson"):
        ours.kl_divergence(ours.Cauchy(0.0, 1.0), ours.Poisson(1.0))
