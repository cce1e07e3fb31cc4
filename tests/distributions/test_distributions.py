"""Distributions against PyTorch's: samples of a seed, densities, moments, gradients, messages."""

from __future__ import annotations

import numpy as np
import pytest

import mashal
from mashal import distributions as ours

from .cases import CASES

torch = pytest.importorskip("torch")
theirs = torch.distributions
# Of PyTorch's Wishart distribution, which takes regular samples for singular ones.
pytestmark = pytest.mark.filterwarnings("ignore:Singular sample detected")

PROPERTIES = ("mean", "mode", "variance", "stddev")
# PyTorch's mode of it is NaN everywhere, for it takes the logarithm of what is negative.
OTHER_MODE = {"kumaraswamy"}


def pair(name):
    return CASES[name](mashal, ours), CASES[name](torch, theirs)


def same(a, b, rtol=1e-5, atol=1e-6):
    assert tuple(a.shape) == tuple(b.shape)
    assert repr(a.dtype).split(".")[1] == repr(b.dtype).split(".")[1]
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=rtol, atol=atol)


def both(call_a, call_b):
    """The results of both, or None where PyTorch has none (then neither has mashal)."""
    try:
        b = call_b()
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            call_a()
        return None
    return call_a(), b


@pytest.mark.parametrize("name", CASES)
def test_samples(name):
    a, b = pair(name)
    for shape in ((), (3,), (2, 4)):
        mashal.manual_seed(5)
        torch.manual_seed(5)
        for _ in range(2):
            same(a.sample(shape), b.sample(shape))
        if b.has_rsample:
            same(a.rsample(shape), b.rsample(shape))
        assert mashal.rand(1).item() == torch.rand(1).item()  # as many numbers were drawn


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    a, b = pair(name)
    assert a.has_rsample == b.has_rsample
    assert a.has_enumerate_support == b.has_enumerate_support
    assert repr(a) == repr(b).replace("torch.Size", "mashal.Size")
    assert (tuple(a.batch_shape), tuple(a.event_shape)) == (tuple(b.batch_shape), tuple(b.event_shape))
    torch.manual_seed(0)
    values = b.sample((4,))
    mine = mashal.from_numpy(values.numpy())
    same(a.log_prob(mine), b.log_prob(values), rtol=2e-5, atol=2e-6)
    same(a.support.check(mine), b.support.check(values))
    assert a.support._holds(mine) == bool(b.support.check(values).all())
    assert a.support.event_dim == b.support.event_dim
    assert a.support.is_discrete == b.support.is_discrete
    for what in PROPERTIES:
        if what == "mode" and name in OTHER_MODE:
            continue
        result = both(lambda w=what: getattr(a, w), lambda w=what: getattr(b, w))
        if result:
            same(*result)
    for what in ("entropy", "perplexity"):
        result = both(lambda w=what: getattr(a, w)(), lambda w=what: getattr(b, w)())
        if result:
            same(*result, rtol=2e-5, atol=2e-6)
    if result := both(lambda: a.cdf(mine), lambda: b.cdf(values)):
        same(*result)
    if result := both(lambda: a.icdf(mashal.full(mine.shape, 0.3)), lambda: b.icdf(torch.full(values.shape, 0.3))):
        same(*result)
    for expand in (True, False):
        if result := both(lambda e=expand: a.enumerate_support(e), lambda e=expand: b.enumerate_support(e)):
            same(*result)


@pytest.mark.parametrize("name", CASES)
def test_expand(name):
    a, b = pair(name)
    shape = (2, *tuple(b.batch_shape))
    x, y = a.expand(shape), b.expand(shape)
    assert repr(x) == repr(y).replace("torch.Size", "mashal.Size")
    assert type(x) is type(a)
    mashal.manual_seed(1)
    torch.manual_seed(1)
    p, q = x.sample((3,)), y.sample((3,))
    same(p, q)
    same(x.log_prob(p), y.log_prob(q), rtol=2e-5, atol=3e-6)
    again = x.expand((2, *shape))
    assert tuple(again.batch_shape) == (2, *shape)


GRADIENTS = {
    "normal": lambda t, d, p: d.Normal(p[0], p[1].exp()),
    "gamma": lambda t, d, p: d.Gamma(p[0].exp(), p[1].exp()),
    "student": lambda t, d, p: d.StudentT(p[0].exp() + 2.0, p[1], 1.5),
    "laplace": lambda t, d, p: d.Laplace(p[0], p[1].exp()),
    "gumbel": lambda t, d, p: d.Gumbel(p[0], p[1].exp()),
    "weibull": lambda t, d, p: d.Weibull(p[0].exp(), p[1].exp()),
    "uniform": lambda t, d, p: d.Uniform(p[0], p[0] + p[1].exp()),
    "mvn": lambda t, d, p: d.MultivariateNormal(p[0], t.diag(p[1].exp()) + 0.1),
    "low-rank": lambda t, d, p: d.LowRankMultivariateNormal(p[0], p[1].unsqueeze(-1), p[1].exp()),
    "relaxed": lambda t, d, p: d.RelaxedOneHotCategorical(t.tensor(0.5), logits=p[0] * p[1]),
    "straight": lambda t, d, p: d.OneHotCategoricalStraightThrough(logits=p[0] * p[1]),
    "tanh": lambda t, d, p: d.TransformedDistribution(d.Normal(p[0], p[1].exp()), [d.TanhTransform(cache_size=1)]),
    "continuous-bernoulli": lambda t, d, p: d.ContinuousBernoulli(logits=p[0] * p[1]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    found = []
    for t, d in ((mashal, ours), (torch, theirs)):
        t.manual_seed(2)
        p = [t.tensor([0.3, -0.2, 0.5], requires_grad=True), t.tensor([0.1, 0.4, -0.3], requires_grad=True)]
        dist = GRADIENTS[name](t, d, p)
        x = dist.rsample((5,))
        loss = (x * x).sum() + dist.log_prob(x if name != "straight" else x.detach().round()).sum()
        if name not in ("tanh", "relaxed"):
            loss = loss + dist.entropy().sum()
        loss.backward()
        found.append([q.grad for q in p])
    for a, b in zip(*found, strict=True):
        if b is None:
            assert a is None or not a.any()
        else:
            same(a, b, rtol=1e-3, atol=1e-4)


def test_dirichlet_gradient_on_average():
    # A sample's gradient is not unique; its mean is: that of c / c.sum().
    mashal.manual_seed(0)
    c = mashal.tensor([0.7, 2.0, 1.5], dtype=mashal.float64, requires_grad=True)
    weight = mashal.tensor([1.0, -2.0, 0.5], dtype=mashal.float64)
    (sampled,) = mashal.autograd.grad((ours.Dirichlet(c).rsample((40000,)).mean(0) * weight).sum(), c)
    (exact,) = mashal.autograd.grad((c / c.sum() * weight).sum(), c)
    np.testing.assert_allclose(sampled.numpy(), exact.numpy(), atol=0.02)


def test_log_prob_gradient_of_categorical():
    found = []
    for t, d in ((mashal, ours), (torch, theirs)):
        logits = t.tensor([[0.1, 0.5, -1.0], [2.0, 0.0, 0.3]], requires_grad=True)
        dist = d.Categorical(logits=logits)
        (dist.log_prob(t.tensor([2, 0])).sum() + dist.entropy().sum()).backward()
        probs = t.tensor([0.3, 0.7, 1.0], requires_grad=True)
        dist = d.Categorical(probs)
        (dist.log_prob(t.tensor([[2], [0]])).sum() + dist.entropy()).backward()
        found.append((logits.grad, probs.grad))
    for a, b in zip(*found, strict=True):
        same(a, b)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t, d: d.Normal(t.zeros(2), t.tensor([1.0, -1.0])),
        lambda t, d: d.Normal(t.tensor(float("nan")), 1.0),
        lambda t, d: d.Categorical(probs=t.tensor([-1.0, 2.0])),
        lambda t, d: d.Categorical(probs=t.tensor(1.0)),
        lambda t, d: d.Categorical(),
        lambda t, d: d.Bernoulli(probs=0.5, logits=0.1),
        lambda t, d: d.Bernoulli(1.5),
        lambda t, d: d.Uniform(1.0, 0.0),
        lambda t, d: d.Normal("a", 1.0),
        lambda t, d: d.Geometric(0.0),
        lambda t, d: d.MultivariateNormal(t.zeros(2), -t.eye(2)),
        lambda t, d: d.MultivariateNormal(t.zeros(2)),
        lambda t, d: d.MultivariateNormal(t.zeros(2), t.eye(2), t.eye(2)),
        lambda t, d: d.Wishart(t.tensor(0.5), t.eye(3)),
        lambda t, d: d.LKJCholesky(1),
        lambda t, d: d.Multinomial(t.tensor([1]), probs=t.ones(2)),
        lambda t, d: d.Independent(d.Normal(0.0, 1.0), 1),
        lambda t, d: d.Dirichlet(t.tensor(1.0)),
        lambda t, d: d.Normal(0.0, 1.0).log_prob(1.0),
        lambda t, d: d.Normal(0.0, 1.0).log_prob(t.tensor(float("nan"))),
        lambda t, d: d.Normal(t.zeros(2), t.ones(2)).log_prob(t.zeros(3)),
        lambda t, d: d.Categorical(t.ones(3)).log_prob(t.tensor(3)),
        lambda t, d: d.Categorical(t.ones(3)).log_prob(t.tensor([0, 5])),
        lambda t, d: d.Dirichlet(t.ones(3)).log_prob(t.ones(2) / 2),
        lambda t, d: d.Exponential(1.0).log_prob(t.tensor(-1.0)),
        lambda t, d: d.Binomial(3, 0.5),
        lambda t, d: d.kl_divergence(d.Normal(0.0, 1.0), d.Categorical(t.ones(2))),
        lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
        lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
        lambda t, d: d.biject_to(d.constraints.boolean),
        lambda t, d: d.ExpTransform(cache_size=2),
        lambda t, d: d.Distribution.set_default_validate_args("no"),
    ],
)
def test_errors(wrong):
    theirs.Distribution.set_default_validate_args(
        True
    )  # parts of torch that other tests use switch it off as they load
    try:
        wrong(torch, theirs)
    except Exception as e:  # noqa: BLE001 - whichever it is
        expected = e
    else:
        wrong(mashal, ours)
        return
    with pytest.raises(type(expected)) as found:
        wrong(mashal, ours)
    if "Expected" in str(expected):
        theirs_text = str(expected).replace("torch.Size", "mashal.Size").split(", but found")[0]
        assert theirs_text == str(found.value).split(", but found")[0]


def test_validation_can_be_switched_off():
    ours.Normal(0.0, -1.0, validate_args=False)
    ours.Normal(0.0, 1.0, validate_args=False).log_prob(mashal.tensor(float("nan")))
    default = ours.Distribution._validate_args
    try:
        ours.Distribution.set_default_validate_args(False)
        ours.Normal(0.0, -1.0)
    finally:
        ours.Distribution.set_default_validate_args(default)


def test_subclass_with_its_own_constructor_must_expand_itself():
    class Unit(ours.Normal):
        def __init__(self):
            super().__init__(mashal.zeros(2), mashal.ones(2))

    with pytest.raises(NotImplementedError, match=r"define a custom \.expand"):
        Unit().expand((3, 2))

    class Plain(ours.Normal):
        pass

    assert type(Plain(0.0, 1.0).expand((3,))) is Plain


def test_own_distribution_and_default_entropy():
    class Coin(ours.ExponentialFamily):
        _mean_carrier_measure = 0

        def __init__(self, logits):
            self.logits = logits
            super().__init__(logits.shape, validate_args=False)

        @property
        def _natural_params(self):
            return (self.logits,)

        def _log_normalizer(self, x):
            return x.exp().log1p()

    logits = mashal.tensor([0.3, -1.0])
    same(Coin(logits).entropy(), ours.Bernoulli(logits=logits).entropy())
    same(Coin(logits).perplexity(), ours.Bernoulli(logits=logits).perplexity())
    other = mashal.tensor([1.0, 0.5])
    kl = ours.kl_divergence(Coin(logits), Coin(other))
    same(kl, ours.kl_divergence(ours.Bernoulli(logits=logits), ours.Bernoulli(logits=other)))


def test_lazy_property_is_computed_once_with_gradients():
    logits = mashal.zeros(2, requires_grad=True)
    dist = ours.Bernoulli(logits=logits)
    with mashal.no_grad():
        probs = dist.probs
    assert probs.requires_grad
    assert dist.probs is probs


def test_sample_n_warns():
    with pytest.warns(UserWarning, match="sample_n"):
        assert tuple(ours.Normal(0.0, 1.0).sample_n(3).shape) == (3,)


def test_float64_and_numbers_take_the_tensor_type():
    x = ours.Normal(mashal.zeros(2, dtype=mashal.float64), 1)
    assert x.scale.dtype == mashal.float64
    assert x.sample().dtype == mashal.float64
    mashal.manual_seed(0)
    torch.manual_seed(0)
    y = theirs.Normal(torch.zeros(2, dtype=torch.float64), 1)
    same(x.sample((20,)), y.sample((20,)))
