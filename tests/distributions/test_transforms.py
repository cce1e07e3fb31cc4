"""Transforms, constraints and their registries, against PyTorch's."""

from __future__ import annotations

import pickle

import pytest

import mashal
from mashal import distributions as ours
from mashal.distributions import utils

from .test_distributions import same

torch = pytest.importorskip("torch")
theirs = torch.distributions

X = [[0.3, -0.7, 1.2], [2.0, 0.1, -1.5]]
POSITIVE = [[0.3, 0.7, 1.2], [2.0, 0.1, 1.5]]
SQUARE = [[0.3, -0.7, 1.2], [2.0, 0.1, -1.5], [0.4, 0.6, -0.2]]

# name: (transform, an input)
TRANSFORMS = {
    "abs": (lambda t, d: d.AbsTransform(), X),
    "affine": (lambda t, d: d.AffineTransform(t.tensor([1.0, 2.0, 3.0]), -2.0), X),
    "affine-event": (lambda t, d: d.AffineTransform(1.0, 3.0, event_dim=1), X),
    "cat": (lambda t, d: d.CatTransform([d.ExpTransform(), d.identity_transform], dim=1, lengths=[1, 2]), X),
    "stack": (lambda t, d: d.StackTransform([d.ExpTransform(), d.TanhTransform()], dim=0), X),
    "compose": (lambda t, d: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)]), X),
    "compose-events": (
        lambda t, d: d.ComposeTransform([d.ExpTransform(), d.StickBreakingTransform(), d.AffineTransform(0.1, 2.0)]),
        X,
    ),
    "corr": (lambda t, d: d.CorrCholeskyTransform(), X),
    "cdf": (lambda t, d: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)), X),
    "exp": (lambda t, d: d.ExpTransform(), X),
    "exp-inverse": (lambda t, d: d.ExpTransform().inv, POSITIVE),
    "independent": (lambda t, d: d.IndependentTransform(d.ExpTransform(), 1), X),
    "lower": (lambda t, d: d.LowerCholeskyTransform(), SQUARE),
    "definite": (lambda t, d: d.PositiveDefiniteTransform(), SQUARE),
    "power": (lambda t, d: d.PowerTransform(t.tensor(2.5)), POSITIVE),
    "reshape": (lambda t, d: d.ReshapeTransform((2, 3), (3, 2)), X),
    "sigmoid": (lambda t, d: d.SigmoidTransform(), X),
    "softplus": (lambda t, d: d.SoftplusTransform(), X),
    "softmax": (lambda t, d: d.SoftmaxTransform(), X),
    "stick": (lambda t, d: d.StickBreakingTransform(), X),
    "tanh": (lambda t, d: d.TanhTransform(), X),
    "identity": (lambda t, d: d.identity_transform, X),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name):
    make, data = TRANSFORMS[name]
    a, b = make(mashal, ours), make(torch, theirs)
    x, y = mashal.tensor(data), torch.tensor(data)
    p, q = a(x), b(y)
    same(p, q)
    same(a.inv(p), b.inv(q), atol=1e-5)
    for region in ("domain", "codomain"):
        ours_, theirs_ = getattr(a, region), getattr(b, region)
        assert (repr(ours_), ours_.event_dim) == (repr(theirs_), theirs_.event_dim)
    assert a.bijective == b.bijective
    assert repr(a) == repr(b)
    assert tuple(a.forward_shape(x.shape)) == tuple(b.forward_shape(y.shape))
    assert tuple(a.inverse_shape(p.shape)) == tuple(b.inverse_shape(q.shape))
    try:
        sign = b.sign
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            _ = a.sign
    else:
        assert (a.sign == sign) if isinstance(sign, int) else a.sign.item() == sign.item()
    try:
        jacobian = b.log_abs_det_jacobian(y, q)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            a.log_abs_det_jacobian(x, p)
    else:
        same(a.log_abs_det_jacobian(x, p), jacobian, rtol=1e-4, atol=1e-5)
        same(a.inv.log_abs_det_jacobian(p, x), b.inv.log_abs_det_jacobian(q, y), rtol=1e-4, atol=1e-5)
    assert a == make(mashal, ours) or name == "cdf" or b != make(torch, theirs)
    assert a != 3
    assert a.inv.inv is a or name == "identity"
    cached = a.with_cache(1)
    out = cached(x)
    if name not in ("compose", "compose-events", "identity", "stack", "cat"):
        assert cached.inv(out) is x
    same(pickle.loads(pickle.dumps(a))(x), q)


CONSTRAINTS = {
    "boolean": (lambda c: c.boolean, [0.0, 1.0, 2.0]),
    "one_hot": (lambda c: c.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
    "integer_interval": (lambda c: c.integer_interval(0, 3), [0.0, 3.0, 1.5, 4.0]),
    "nonnegative_integer": (lambda c: c.nonnegative_integer, [0.0, 1.5, -1.0]),
    "positive_integer": (lambda c: c.positive_integer, [0.0, 1.0]),
    "real": (lambda c: c.real, [0.0, float("nan"), float("inf")]),
    "real_vector": (lambda c: c.real_vector, [[0.0, float("nan")], [1.0, 2.0]]),
    "positive": (lambda c: c.positive, [0.0, 1.0]),
    "nonnegative": (lambda c: c.nonnegative, [0.0, 1.0, -1.0]),
    "greater_than": (lambda c: c.greater_than(2.0), [2.0, 3.0]),
    "less_than": (lambda c: c.less_than(2.0), [2.0, 1.0]),
    "unit_interval": (lambda c: c.unit_interval, [0.0, 1.0, 1.1]),
    "half_open": (lambda c: c.half_open_interval(0.0, 1.0), [0.0, 1.0]),
    "simplex": (lambda c: c.simplex, [[0.5, 0.5], [1.5, -0.5], [0.5, 0.4]]),
    "multinomial": (lambda c: c.multinomial(3), [[1.0, 2.0], [3.0, 1.0]]),
    "lower_triangular": (lambda c: c.lower_triangular, [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 1.0]]]),
    "lower_cholesky": (lambda c: c.lower_cholesky, [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]),
    "corr_cholesky": (lambda c: c.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.5, 1.0]]]),
    "square": (lambda c: c.square, [[1.0, 2.0]]),
    "symmetric": (lambda c: c.symmetric, [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [0.0, 1.0]]]),
    "positive_definite": (lambda c: c.positive_definite, [[[1.0, 2.0], [2.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]]]),
    "positive_semidefinite": (lambda c: c.positive_semidefinite, [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]]),
    "cat": (lambda c: c.cat([c.positive, c.less_than(0.0)], dim=0, lengths=[1, 2]), [1.0, -1.0, 1.0]),
    "stack": (lambda c: c.stack([c.positive, c.less_than(0.0)], dim=0), [[1.0, -1.0], [1.0, -1.0]]),
    "independent": (lambda c: c.independent(c.positive, 2), [[1.0, 2.0], [1.0, -2.0]]),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint(name):
    make, data = CONSTRAINTS[name]
    a, b = make(ours.constraints), make(theirs.constraints)
    found, expected = a.check(mashal.tensor(data)), b.check(torch.tensor(data))
    same(found, expected)
    for row in [] if expected.dim() == 0 else range(len(expected)):
        if len(expected) == len(data) and name not in ("cat", "stack"):
            assert a._holds(mashal.tensor(data[row])) == bool(expected[row])
    assert a._holds(mashal.tensor(data)) == bool(expected.all())
    assert (a.event_dim, a.is_discrete) == (b.event_dim, b.is_discrete)
    if name not in ("cat", "stack", "multinomial"):  # whose repr is PyTorch's default
        assert repr(a) == repr(b)


@pytest.mark.parametrize(
    "name",
    ["real", "real_vector", "positive", "nonnegative", "greater_than", "less_than", "unit_interval", "half_open",
     "simplex", "lower_cholesky", "corr_cholesky", "positive_definite", "positive_semidefinite", "cat", "stack",
     "independent"],
)  # fmt: skip
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registries(name, registry):
    make = CONSTRAINTS[name][0]
    data = SQUARE if "lower" in name or "definite" in name else X[0]
    data = X if name in ("independent", "stack") else data
    try:
        b = getattr(theirs, registry)(make(theirs.constraints))
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            getattr(ours, registry)(make(ours.constraints))
        return
    a = getattr(ours, registry)(make(ours.constraints))
    assert repr(a) == repr(b)
    same(a(mashal.tensor(data)), b(torch.tensor(data)))
    assert make(ours.constraints)._holds(a(mashal.tensor(data)))


def test_dependent():
    c = ours.constraints
    assert c.is_dependent(c.dependent)
    assert c.is_dependent(ours.Uniform.support)
    assert not c.is_dependent(ours.Uniform(0.0, 1.0).support)
    assert ours.Uniform.support.event_dim == 0
    with pytest.raises(NotImplementedError):
        _ = ours.Independent.support.event_dim
    assert c.dependent(is_discrete=True, event_dim=2).event_dim == 2
    with pytest.raises(ValueError, match="Cannot determine validity"):
        c.dependent.check(mashal.zeros(1))


def test_registering():
    class Mine(ours.constraints.Constraint):
        pass

    registry = ours.constraint_registry.ConstraintRegistry()
    registry.register(Mine, lambda c: ours.ExpTransform())
    assert registry(Mine()) == ours.ExpTransform()
    with pytest.raises(TypeError, match="Expected constraint"):
        registry.register(3, lambda c: c)


def test_vectors_and_triangles():
    for diag in (-1, 0, 1):
        mat = mashal.arange(16.0).reshape(4, 4)
        vec = utils.tril_matrix_to_vec(mat, diag)
        same(vec, theirs.utils.tril_matrix_to_vec(torch.arange(16.0).reshape(4, 4), diag))
        if diag <= 0:
            same(utils.vec_to_tril_matrix(vec, diag), torch.arange(16.0).reshape(4, 4).tril(diag))
    with pytest.raises(ValueError, match="cannot be expressed"):
        utils.vec_to_tril_matrix(mashal.zeros(4))
    with pytest.raises(ValueError, match="is outside"):
        utils.tril_matrix_to_vec(mashal.zeros(3, 3), 5)


def test_logits_and_probs():
    for binary in (True, False):
        logits, other = mashal.tensor(X), torch.tensor(X)
        probs = utils.logits_to_probs(logits, binary)
        same(probs, theirs.utils.logits_to_probs(other, binary))
        same(utils.probs_to_logits(probs, binary), theirs.utils.probs_to_logits(torch.tensor(probs.numpy()), binary))
    with pytest.raises(ValueError, match="must all be instances"):
        utils.broadcast_all(1, "x")
