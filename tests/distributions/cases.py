"""Distributions with arguments, written once for both frameworks: ``t`` is the framework, ``d`` its distributions."""

POSITIVE_DEFINITE = [[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 0.9]]
TRIL = [[1.2, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.5, 0.2, 1.1]]

CASES = {
    "bernoulli": lambda t, d: d.Bernoulli(probs=t.tensor([0.1, 0.5, 0.9, 0.0, 1.0])),
    "bernoulli-logits": lambda t, d: d.Bernoulli(logits=t.tensor([[-1.0, 0.3], [2.0, 0.0]])),
    "bernoulli-number": lambda t, d: d.Bernoulli(0.3),
    "beta": lambda t, d: d.Beta(t.tensor([0.5, 2.0, 3.0]), t.tensor([1.5, 0.7, 4.0])),
    "beta-numbers": lambda t, d: d.Beta(1.5, 2.5),
    "binomial": lambda t, d: d.Binomial(5, probs=t.tensor([0.1, 0.5, 0.9])),
    "binomial-logits": lambda t, d: d.Binomial(t.tensor([3, 3]), logits=t.tensor([0.1, -0.5])),
    "categorical": lambda t, d: d.Categorical(probs=t.tensor([[0.1, 0.2, 3.0], [1.0, 0.0, 1.0]])),
    "categorical-logits": lambda t, d: d.Categorical(logits=t.tensor([0.1, -2.0, 0.5, 0.0])),
    "cauchy": lambda t, d: d.Cauchy(t.tensor([0.0, 1.0]), t.tensor([1.0, 0.3])),
    "chi2": lambda t, d: d.Chi2(t.tensor([1.0, 3.5])),
    "continuous-bernoulli": lambda t, d: d.ContinuousBernoulli(probs=t.tensor([0.1, 0.5, 0.4995, 0.9])),
    "continuous-bernoulli-logits": lambda t, d: d.ContinuousBernoulli(logits=t.tensor([-1.0, 0.001, 2.0])),
    "dirichlet": lambda t, d: d.Dirichlet(t.tensor([[0.5, 2.0, 1.5], [3.0, 1.2, 4.0]])),
    "exponential": lambda t, d: d.Exponential(t.tensor([0.5, 2.0])),
    "fisher-snedecor": lambda t, d: d.FisherSnedecor(t.tensor([3.0, 5.0, 1.5]), t.tensor([6.0, 3.0, 1.0])),
    "gamma": lambda t, d: d.Gamma(t.tensor([0.5, 2.0, 30.0]), t.tensor([1.0, 3.0, 0.2])),
    "generalized-pareto": lambda t, d: d.GeneralizedPareto(
        t.tensor([0.0, 1.0, 0.5]), t.tensor([1.0, 2.0, 0.5]), t.tensor([0.2, 0.0, -0.3])
    ),
    "geometric": lambda t, d: d.Geometric(probs=t.tensor([0.2, 0.9])),
    "geometric-logits": lambda t, d: d.Geometric(logits=t.tensor([0.2, -0.9])),
    "gumbel": lambda t, d: d.Gumbel(t.tensor([0.0, 1.0]), t.tensor([1.0, 2.0])),
    "half-cauchy": lambda t, d: d.HalfCauchy(t.tensor([1.0, 2.0])),
    "half-normal": lambda t, d: d.HalfNormal(t.tensor([1.0, 2.0])),
    "independent": lambda t, d: d.Independent(d.Normal(t.zeros(2, 3), t.ones(2, 3)), 1),
    "inverse-gamma": lambda t, d: d.InverseGamma(t.tensor([0.5, 2.5]), t.tensor([1.0, 3.0])),
    "kumaraswamy": lambda t, d: d.Kumaraswamy(t.tensor([1.5, 2.0]), t.tensor([3.0, 1.2])),
    "laplace": lambda t, d: d.Laplace(t.tensor([0.0, 1.0]), t.tensor([1.0, 2.0])),
    "lkj": lambda t, d: d.LKJCholesky(3, t.tensor([0.5, 2.0])),
    "log-normal": lambda t, d: d.LogNormal(t.tensor([0.0, 1.0]), t.tensor([1.0, 0.5])),
    "logistic-normal": lambda t, d: d.LogisticNormal(t.tensor([0.0, 1.0, -0.5]), t.tensor([1.0, 0.5, 0.7])),
    "low-rank": lambda t, d: d.LowRankMultivariateNormal(
        t.tensor([0.5, 1.0, -1.0]), t.tensor([[1.0, 0.2], [0.5, 0.1], [-0.3, 2.0]]), t.tensor([0.5, 0.7, 1.0])
    ),
    "mixture": lambda t, d: d.MixtureSameFamily(
        d.Categorical(t.tensor([0.2, 0.8])), d.Normal(t.tensor([0.0, 3.0]), t.tensor([1.0, 0.5]))
    ),
    "mixture-vectors": lambda t, d: d.MixtureSameFamily(
        d.Categorical(t.ones(4, 2)), d.Independent(d.Normal(t.zeros(4, 2, 3), t.ones(4, 2, 3)), 1)
    ),
    "multinomial": lambda t, d: d.Multinomial(4, probs=t.tensor([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])),
    "multivariate-normal": lambda t, d: d.MultivariateNormal(t.zeros(2, 3), t.tensor(POSITIVE_DEFINITE)),
    "multivariate-normal-tril": lambda t, d: d.MultivariateNormal(t.ones(3), scale_tril=t.tensor(TRIL)),
    "multivariate-normal-precision": lambda t, d: d.MultivariateNormal(
        t.ones(3), precision_matrix=t.tensor(POSITIVE_DEFINITE)
    ),
    "negative-binomial": lambda t, d: d.NegativeBinomial(t.tensor([3.0, 5.0]), probs=t.tensor([0.2, 0.6])),
    "normal": lambda t, d: d.Normal(t.tensor([[0.0], [2.0]]), t.tensor([1.0, 0.5, 3.0])),
    "normal-numbers": lambda t, d: d.Normal(0.0, 2.0),
    "one-hot": lambda t, d: d.OneHotCategorical(probs=t.tensor([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])),
    "one-hot-straight": lambda t, d: d.OneHotCategoricalStraightThrough(logits=t.tensor([0.2, 0.5, 0.3])),
    "pareto": lambda t, d: d.Pareto(t.tensor([1.0, 2.0]), t.tensor([3.0, 1.5])),
    "poisson": lambda t, d: d.Poisson(t.tensor([0.5, 3.0, 20.0])),
    "relaxed-bernoulli": lambda t, d: d.RelaxedBernoulli(t.tensor(0.5), probs=t.tensor([0.2, 0.7])),
    "relaxed-one-hot": lambda t, d: d.RelaxedOneHotCategorical(t.tensor(0.7), logits=t.tensor([0.2, 0.5, 0.3])),
    "student": lambda t, d: d.StudentT(t.tensor([0.5, 1.5, 4.0]), t.tensor([0.0, 1.0, 2.0]), 2.0),
    "transformed": lambda t, d: d.TransformedDistribution(
        d.Normal(t.zeros(3), t.ones(3)), [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()]
    ),
    "uniform": lambda t, d: d.Uniform(t.tensor([0.0, -1.0]), t.tensor([1.0, 3.0])),
    "von-mises": lambda t, d: d.VonMises(t.tensor([0.0, 1.0]), t.tensor([1.0, 5.0])),
    "weibull": lambda t, d: d.Weibull(t.tensor([1.0, 2.0]), t.tensor([1.5, 3.0])),
    "wishart": lambda t, d: d.Wishart(t.tensor(4.0), t.tensor(POSITIVE_DEFINITE)),
    "wishart-tril": lambda t, d: d.Wishart(t.tensor([4.0, 5.0]), scale_tril=t.tensor(TRIL)),
}
