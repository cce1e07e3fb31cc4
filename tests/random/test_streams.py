"""Random numbers against PyTorch, bit for bit: values, layouts and the state that is left behind."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mashal
from mashal import _ops

torch = pytest.importorskip("torch")

SEEDS = (0, 42, 2**32 + 5, -3)
HALVES = ("float16", "bfloat16")
REALS = ("float32", "float64")
FLOATS = (*HALVES, *REALS)
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def values(t: Any) -> np.ndarray:
    """Exact in float64, int64 or complex128."""
    if t.is_complex():
        return np.asarray(t.detach().resolve_conj().to(_lib(t).complex128).numpy())
    wide = _lib(t).float64 if t.is_floating_point() else _lib(t).int64
    return np.asarray(t.detach().to(wide).numpy())


def _lib(t: Any) -> Any:
    return torch if isinstance(t, torch.Tensor) else mashal


def same(ours: Any, theirs: Any, rtol: float = 0) -> None:
    if isinstance(theirs, tuple):
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, rtol)
        return
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    assert tuple(ours.stride()) == tuple(theirs.stride())
    np.testing.assert_allclose(values(ours), values(theirs), rtol=rtol, atol=0)


def check(draw: Callable[[Any, Any], Any], seeds: tuple[int, ...] = SEEDS, rtol: float = 0) -> None:
    """Draws twice in both libraries: the second draw sees what the first one left cached."""
    for seed in seeds:
        ours, theirs = mashal.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
        for _ in range(2):
            same(draw(mashal, ours), draw(torch, theirs), rtol)
        same(ours.get_state(), theirs.get_state())


LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "empty": lambda lib, dtype: lib.zeros(0, 3, dtype=dtype),
    "scalar": lambda lib, dtype: lib.zeros((), dtype=dtype),
    "15": lambda lib, dtype: lib.zeros(15, dtype=dtype),
    "16": lambda lib, dtype: lib.zeros(16, dtype=dtype),
    "1001": lambda lib, dtype: lib.zeros(7, 11, 13, dtype=dtype),
    "transposed": lambda lib, dtype: lib.zeros(7, 5, dtype=dtype).t(),
    "permuted": lambda lib, dtype: lib.zeros(3, 4, 5, dtype=dtype).permute(2, 0, 1),
    "channels_last": lambda lib, dtype: lib.zeros(2, 3, 4, 5, dtype=dtype).contiguous(memory_format=lib.channels_last),
    "stepped": lambda lib, dtype: lib.zeros(6, 8, dtype=dtype)[:, ::2],
    "stepped_transposed": lambda lib, dtype: lib.zeros(6, 8, dtype=dtype)[::3, 1::2].t(),
}

FILLS: dict[str, tuple[tuple[str, ...], Callable[[Any, Any], Any]]] = {
    "uniform": ((*FLOATS, "complex64", "complex128"), lambda t, g: t.uniform_(-0.3, 2.5, generator=g)),
    "normal": ((*FLOATS, "complex64", "complex128"), lambda t, g: t.normal_(0.5, 1.5, generator=g)),
    "log_normal": (FLOATS, lambda t, g: t.log_normal_(0.1, 0.5, generator=g)),
    "cauchy": (FLOATS, lambda t, g: t.cauchy_(1, 0.5, generator=g)),
    "exponential": (FLOATS, lambda t, g: t.exponential_(0.7, generator=g)),
    "geometric": ((*FLOATS, *INTEGERS), lambda t, g: t.geometric_(0.3, generator=g)),
    "bernoulli": (("bool", *FLOATS, *INTEGERS), lambda t, g: t.bernoulli_(0.3, generator=g)),
    "bernoulli_default": (("float32",), lambda t, g: t.bernoulli_(generator=g)),
    "random": (("bool", *FLOATS, *INTEGERS), lambda t, g: t.random_(generator=g)),
    "random_to": ((*FLOATS, *INTEGERS), lambda t, g: t.random_(100, generator=g)),
    "random_from_to": (("int8", "int64", "float32"), lambda t, g: t.random_(-5, 7, generator=g)),
    "random_from": (("int16", "int64", "float64"), lambda t, g: t.random_(-5, None, generator=g)),
    "random_wide": (("int64",), lambda t, g: t.random_(-(2**40), 2**45, generator=g)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FILLS)
def test_fills(name: str, layout: str) -> None:
    dtypes, fill = FILLS[name]
    for dtype in dtypes:
        check(lambda lib, g, d=dtype: fill(LAYOUTS[layout](lib, getattr(lib, d)), g), SEEDS[:2])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bernoulli_with_tensor(layout: str) -> None:
    def draw(lib: Any, g: Any, p_dtype: str, transposed: bool) -> Any:
        t = LAYOUTS[layout](lib, lib.float32)
        n = max(t.numel(), 1)
        p = (lib.arange(n, dtype=lib.float64) / n).to(getattr(lib, p_dtype))[: t.numel()]
        if transposed:
            p = p.reshape(tuple(reversed(t.shape))).permute(tuple(reversed(range(t.dim()))))
        else:
            p = p.reshape(t.shape)
        return t.bernoulli_(p, generator=g)

    for p_dtype in FLOATS:
        for transposed in (False, True):
            check(lambda lib, g, d=p_dtype, tr=transposed: draw(lib, g, d, tr), SEEDS[:2])


FACTORIES: dict[str, Callable[[Any, Any], Any]] = {
    "rand": lambda lib, g: lib.rand(3, 5, generator=g),
    "rand_tuple": lambda lib, g: lib.rand((3, 5), generator=g, dtype=lib.float64),
    "rand_half": lambda lib, g: lib.rand(37, generator=g, dtype=lib.float16),
    "rand_out": lambda lib, g: lib.rand(3, generator=g, out=lib.zeros(3, dtype=lib.float64)),
    "rand_keywords": lambda lib, g: lib.rand(3, generator=g, requires_grad=True, pin_memory=False, layout=lib.strided),
    "rand_complex": lambda lib, g: lib.rand(9, generator=g, dtype=lib.complex64),
    "randn": lambda lib, g: lib.randn(100, 3, generator=g),
    "randn_small": lambda lib, g: lib.randn(3, generator=g),
    "randn_bfloat16": lambda lib, g: lib.randn(35, generator=g, dtype=lib.bfloat16),
    "randn_complex": lambda lib, g: lib.randn(19, generator=g, dtype=lib.complex128),
    "rand_like": lambda lib, g: lib.rand_like(lib.zeros(4, 5).t(), generator=g),
    "rand_like_format": lambda lib, g: lib.rand_like(
        lib.zeros(2, 3, 4, 5), dtype=lib.float64, memory_format=lib.channels_last, generator=g
    ),
    "randn_like": lambda lib, g: lib.randn_like(lib.zeros(2, 3, 4, 5).permute(0, 2, 3, 1), generator=g),
    "randn_like_stepped": lambda lib, g: lib.randn_like(lib.zeros(8, 9)[:, ::2].t(), requires_grad=True, generator=g),
    "randint": lambda lib, g: lib.randint(10, (7, 3), generator=g),
    "randint_low": lambda lib, g: lib.randint(-3, 10, (7,), generator=g),
    "randint_named": lambda lib, g: lib.randint(low=2, high=2**40, size=(7,), generator=g),
    "randint_high": lambda lib, g: lib.randint(high=5, size=[4], generator=g, dtype=lib.float32),
    "randint_out": lambda lib, g: lib.randint(5, (4,), generator=g, out=lib.zeros(4, dtype=lib.uint8)),
    "randint_like": lambda lib, g: lib.randint_like(lib.zeros(3, 4).t(), 9, generator=g),
    "randint_like_low": lambda lib, g: lib.randint_like(lib.zeros(3), 5, 9, dtype=lib.int16, generator=g),
    "randint_like_tensor": lambda lib, g: lib.randint_like(lib.zeros(3), lib.tensor(9), generator=g),
    "randperm": lambda lib, g: lib.randperm(1000, generator=g),
    "randperm_zero": lambda lib, g: lib.randperm(0, generator=g),
    "randperm_half": lambda lib, g: lib.randperm(77, generator=g, dtype=lib.float16),
    "randperm_out": lambda lib, g: lib.randperm(5, generator=g, out=lib.zeros(5, dtype=lib.int32)),
    "normal_size": lambda lib, g: lib.normal(2, 3, (5, 7), generator=g),
    "normal_size_dtype": lambda lib, g: lib.normal(2.0, 3.0, size=(5,), generator=g, dtype=lib.float64),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name: str) -> None:
    check(FACTORIES[name])


def spaced(lib: Any, low: float, high: float, *shape: int, dtype: str = "float32") -> Any:
    """The same numbers in both libraries, in no special order."""
    n = int(np.prod(shape))
    array = np.linspace(low, high, n)[np.random.default_rng(n).permutation(n)].reshape(shape)
    return lib.from_numpy(array).to(getattr(lib, dtype))


SAMPLERS: dict[str, Callable[[Any, Any, str], Any]] = {
    "bernoulli": lambda lib, g, d: lib.bernoulli(spaced(lib, 0, 1, 6, 7, dtype=d).t(), generator=g),
    "bernoulli_p": lambda lib, g, d: lib.bernoulli(spaced(lib, 5, 9, 6, 7, dtype=d).t(), 0.25, generator=g),
    "bernoulli_method": lambda lib, g, d: spaced(lib, 0, 1, 50, dtype=d).bernoulli(generator=g),
    "poisson": lambda lib, g, d: lib.poisson(spaced(lib, 0, 60, 9, 11, dtype=d).t(), generator=g),
    "normal_both": lambda lib, g, d: lib.normal(
        spaced(lib, -3, 3, 4, 1, dtype=d), spaced(lib, 0, 2, 9, dtype=d), generator=g
    ),
    "normal_transposed": lambda lib, g, d: lib.normal(
        spaced(lib, -3, 3, 4, 9, dtype=d).t(), spaced(lib, 0, 2, 4, 9, dtype=d).t(), generator=g
    ),
    "normal_mean": lambda lib, g, d: lib.normal(spaced(lib, -3, 3, 7, 4, dtype=d).t(), 0.7, generator=g),
    "normal_mean_only": lambda lib, g, d: lib.normal(spaced(lib, -3, 3, 7, dtype=d), generator=g),
    "normal_std": lambda lib, g, d: lib.normal(0.7, spaced(lib, 0, 3, 7, 4, dtype=d).t(), generator=g),
    "multinomial_one": lambda lib, g, d: lib.multinomial(spaced(lib, 0, 1, 5, 7, dtype=d), 1, generator=g),
    "multinomial_row": lambda lib, g, d: lib.multinomial(spaced(lib, 0.1, 1, 7, dtype=d), 4, generator=g),
    "multinomial_distinct": lambda lib, g, d: lib.multinomial(spaced(lib, 0.1, 1, 5, 7, dtype=d), 7, generator=g),
    "multinomial_transposed": lambda lib, g, d: lib.multinomial(spaced(lib, 0.1, 1, 7, 5, dtype=d).t(), 3, generator=g),
    "multinomial_again": lambda lib, g, d: lib.multinomial(
        spaced(lib, 0, 1, 5, 7, dtype=d), 30, replacement=True, generator=g
    ),
    "multinomial_again_one": lambda lib, g, d: lib.multinomial(
        spaced(lib, 0, 1, 5, 7, dtype=d), 1, replacement=True, generator=g
    ),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name: str, dtype: str) -> None:
    check(lambda lib, g: SAMPLERS[name](lib, g, dtype))


@pytest.mark.parametrize("dtype", REALS)
def test_wide_samplers(dtype: str) -> None:
    check(
        lambda lib, g: lib.binomial(spaced(lib, 1, 90, 8, 9, dtype=dtype).floor(), spaced(lib, 0, 1, 9, dtype=dtype), g)
    )
    check(lambda lib, g: hidden(lib)._standard_gamma(spaced(lib, 0.1, 9, 8, 9, dtype=dtype).t(), generator=g))
    # The samples of a row are divided by their sum, which is rounded in another order.
    check(
        lambda lib, g: hidden(lib)._sample_dirichlet(spaced(lib, 0.01, 9, 8, 9, dtype=dtype), generator=g),
        rtol=4 * np.finfo(dtype).eps,
    )
    check(lambda lib, g: -lib.empty_like(spaced(lib, 0, 1, 6, 7, dtype=dtype)).exponential_(generator=g))


def hidden(lib: Any) -> Any:
    """Where the names with an underscore are."""
    return lib if lib is torch else _ops


def under_default(draw: Callable[[Any], Any], seeds: tuple[int, ...] = SEEDS) -> None:
    """For functions that only know the default generator."""
    for seed in seeds:
        mashal.manual_seed(seed)
        torch.manual_seed(seed)
        for _ in range(2):
            same(draw(mashal), draw(torch))
        same(mashal.get_rng_state(), torch.get_rng_state())


DROPOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "dropout": lambda lib, x: lib.dropout(x, 0.3, True),
    "dropout_in_place": lambda lib, x: lib.dropout_(x.clone(), 0.3, True),
    "dropout_transposed": lambda lib, x: lib.dropout(x.transpose(1, 3), 0.1, True),
    "dropout_stepped": lambda lib, x: lib.dropout(x[:, :, ::2], 0.1, True),
    "dropout_expanded": lambda lib, x: lib.dropout(x[:, :1].expand(-1, 3, -1, -1), 0.9, True),
    "dropout_all": lambda lib, x: lib.dropout(x, 1.0, True),
    "feature": lambda lib, x: lib.feature_dropout(x, 0.3, True),
    "feature_in_place": lambda lib, x: lib.feature_dropout_(x.clone(), 0.3, True),
    "alpha": lambda lib, x: lib.alpha_dropout(x, 0.3, True),
    "alpha_in_place": lambda lib, x: lib.alpha_dropout_(x.clone(), 0.3, True),
    "feature_alpha": lambda lib, x: lib.feature_alpha_dropout(x, 0.3, True),
    "native": lambda lib, x: lib.native_dropout(x, 0.3, True),
    "native_off": lambda lib, x: lib.native_dropout(x, 0.3, False),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout(name: str, dtype: str) -> None:
    for format in ("contiguous_format", "channels_last"):
        under_default(
            lambda lib, f=format: DROPOUTS[name](
                lib, spaced(lib, -2, 2, 2, 3, 4, 5, dtype=dtype).contiguous(memory_format=getattr(lib, f))
            ),
            SEEDS[:2],
        )


@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout_factor_and_gradient(dtype: str) -> None:
    def run(lib: Any, p: float) -> Any:
        x = spaced(lib, -2, 2, 40, dtype=dtype).requires_grad_()
        y = lib.dropout(x, p, True)
        y.backward(spaced(lib, 1, 3, 40, dtype=dtype))
        return y, x.grad

    for p in np.linspace(0.01, 0.99, 40):
        under_default(lambda lib, p=p: run(lib, float(p)), SEEDS[:1])


def test_dropout_multiplies() -> None:
    mashal.manual_seed(0)
    x = mashal.tensor([float("inf"), float("nan"), -1.0, 1.0]).expand(20, 4).contiguous()
    torch.manual_seed(0)
    same(mashal.dropout(x, 0.5, True), torch.dropout(torch.from_numpy(x.numpy()), 0.5, True))
    assert mashal.dropout(x, 0.5, False) is x
    assert mashal.dropout(x, 0.0, True) is x


@pytest.mark.parametrize("dtype", ["bfloat16", *REALS])
def test_rrelu(dtype: str) -> None:
    check(lambda lib, g: lib.rrelu(spaced(lib, -2, 2, 6, 7, dtype=dtype).t(), 0.1, 0.4, True, g))
    under_default(lambda lib: lib.rrelu(spaced(lib, -2, 2, 60, dtype=dtype), training=True))
    under_default(lambda lib: lib.rrelu_(spaced(lib, -2, 2, 60, dtype=dtype), training=True))
    same(mashal.rrelu(spaced(mashal, -2, 2, 9, dtype=dtype)), torch.rrelu(spaced(torch, -2, 2, 9, dtype=dtype)))


def test_rrelu_gradient() -> None:
    def run(lib: Any) -> Any:
        x = spaced(lib, -2, 2, 30).requires_grad_()
        lib.rrelu(x, training=True).backward(spaced(lib, 1, 2, 30))
        return x.grad

    under_default(run)


def test_default_generator() -> None:
    under_default(
        lambda lib: (lib.rand(3), lib.randn(20), lib.randperm(9), lib.randint(5, (3,)), lib.zeros(3).normal_())
    )
    assert mashal.manual_seed(7) is mashal.default_generator
    assert mashal.initial_seed() == 7
    assert mashal.manual_seed(-7).initial_seed() == 2**64 - 7
    assert mashal.seed() == mashal.initial_seed()
    assert mashal.default_generator is mashal.random.default_generator


def test_states_cross() -> None:
    ours, theirs = mashal.Generator(), torch.Generator()
    same(ours.get_state(), theirs.get_state())
    torch.randn(5, generator=theirs)
    ours.set_state(mashal.from_numpy(theirs.get_state().numpy()))
    same(mashal.randn(7, generator=ours), torch.randn(7, generator=theirs))
    mashal.rand(700, generator=ours)
    theirs.set_state(torch.from_numpy(ours.get_state().numpy()))
    same(mashal.randn(7, generator=ours), torch.randn(7, generator=theirs))


def test_generator_object() -> None:
    g = mashal.Generator().manual_seed(3)
    assert (g.device, g.initial_seed()) == (mashal.device("cpu"), 3)
    mashal.randn(3, generator=g)
    for twin in (g.clone_state(), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert twin is not g
        same(mashal.randn(5, generator=twin), torch.tensor(mashal.randn(5, generator=g.clone_state()).numpy()))
    assert g.seed() == g.initial_seed()
    for bad, error in (("a", RuntimeError), (1.5, RuntimeError), (True, RuntimeError), (2**64, ValueError)):
        with pytest.raises(error):
            g.manual_seed(bad)
    with pytest.raises(TypeError):
        g.set_state(mashal.zeros(5056))
    with pytest.raises(RuntimeError):
        g.set_state(mashal.zeros(5056, dtype=mashal.uint8))
    with pytest.raises(RuntimeError):
        mashal.Generator("cuda")
    with pytest.raises(RuntimeError, match="offset"):
        g.get_offset()
    with pytest.raises(TypeError):
        mashal.rand(2, generator=3)


def test_fork_rng() -> None:
    mashal.manual_seed(1)
    before = mashal.get_rng_state()
    with mashal.random.fork_rng():
        mashal.rand(3)
    same(mashal.get_rng_state(), torch.from_numpy(before.numpy()))
    with mashal.random.fork_rng(enabled=False):
        mashal.rand(3)
    assert not mashal.equal(mashal.get_rng_state(), before)


def test_gradients_are_zero() -> None:
    def run(lib: Any) -> Any:
        a, b = (spaced(lib, 0.1, 0.9, 20).requires_grad_() for _ in range(2))
        filled = a * 2
        filled.uniform_()
        total = filled + lib.bernoulli(a) + lib.poisson(a) + lib.normal(a, b)
        total.sum().backward()
        return total, a.grad, b.grad

    under_default(run)
    with pytest.raises(RuntimeError, match="leaf"):
        mashal.zeros(3, requires_grad=True).uniform_()


def test_gamma_gradient() -> None:
    special = pytest.importorskip("scipy.special")
    alpha = np.exp(np.linspace(-4, 11, 40))[:, None] * np.ones(7)
    quantile = np.linspace(0.02, 0.98, 7) * np.ones((40, 1))
    x = special.gammaincinv(alpha, quantile)
    step = 1e-4 * alpha
    # Of the logarithm, which stays smooth where x is tiny.
    above, below = (np.log(special.gammaincinv(a, quantile)) for a in (alpha + step, alpha - step))
    expected = x * (above - below) / (2 * step)
    ours = _ops._standard_gamma_grad(mashal.from_numpy(alpha), mashal.from_numpy(x)).numpy()
    # The difference quotient is what limits this.
    normal = x > 1e-300
    np.testing.assert_allclose(ours[normal], expected[normal], rtol=2e-6)


def test_gamma_backward() -> None:
    alpha = mashal.full((200,), 2.5, dtype=mashal.float64, requires_grad=True)
    _ops._standard_gamma(alpha, mashal.Generator().manual_seed(0)).backward(mashal.ones(200, dtype=mashal.float64))
    a = torch.full((200,), 2.5, dtype=torch.float64, requires_grad=True)
    torch._standard_gamma(a, torch.Generator().manual_seed(0)).sum().backward()
    # PyTorch's own values are approximations of some three digits.
    np.testing.assert_allclose(alpha.grad.numpy(), a.grad.numpy(), rtol=2e-3)


ERRORS: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "uniform_order": (RuntimeError, lambda lib: lib.zeros(3).uniform_(2, 1)),
    "uniform_integer": (RuntimeError, lambda lib: lib.zeros(3, dtype=lib.int64).uniform_()),
    "normal_std": (RuntimeError, lambda lib: lib.zeros(3).normal_(0, -1)),
    "exponential": (RuntimeError, lambda lib: lib.zeros(3).exponential_(0)),
    "geometric": (RuntimeError, lambda lib: lib.zeros(3).geometric_(1)),
    "bernoulli": (RuntimeError, lambda lib: lib.zeros(3).bernoulli_(2)),
    "bernoulli_shape": (RuntimeError, lambda lib: lib.zeros(3).bernoulli_(lib.ones(2))),
    "random_empty": (RuntimeError, lambda lib: lib.zeros(3).random_(0)),
    "random_float": (TypeError, lambda lib: lib.zeros(3).random_(5.5)),
    "expanded": (RuntimeError, lambda lib: lib.zeros(1).expand(3).uniform_()),
    "rand_nothing": (TypeError, lambda lib: lib.rand()),
    "rand_negative": (RuntimeError, lambda lib: lib.rand(-1)),
    "rand_integer": (RuntimeError, lambda lib: lib.rand(2, dtype=lib.int64)),
    "rand_float_size": (TypeError, lambda lib: lib.rand(2.5)),
    "randint_order": (RuntimeError, lambda lib: lib.randint(5, 5, (2,))),
    "randint_size": (TypeError, lambda lib: lib.randint(10, 2)),
    "randint_float": (TypeError, lambda lib: lib.randint(10.5, (2,))),
    "randint_uint8": (RuntimeError, lambda lib: lib.randint(300, (2,), dtype=lib.uint8)),
    "randint_complex": (RuntimeError, lambda lib: lib.randint(10, (2,), dtype=lib.complex64)),
    "randint_grad": (RuntimeError, lambda lib: lib.randint(10, (2,), requires_grad=True)),
    "randperm_negative": (RuntimeError, lambda lib: lib.randperm(-1)),
    "randperm_uint8": (RuntimeError, lambda lib: lib.randperm(300, dtype=lib.uint8)),
    "randperm_bool": (RuntimeError, lambda lib: lib.randperm(5, dtype=lib.bool)),
    "normal_numbers": (TypeError, lambda lib: lib.normal(0.0, 1.0)),
    "normal_shapes": (RuntimeError, lambda lib: lib.normal(lib.zeros(2), lib.ones(3))),
    "normal_negative": (RuntimeError, lambda lib: lib.normal(0.0, -lib.ones(3))),
    "normal_complex": (RuntimeError, lambda lib: lib.normal(lib.zeros(3), lib.ones(3, dtype=lib.complex64))),
    "multinomial_dims": (RuntimeError, lambda lib: lib.multinomial(lib.ones(2, 3, 1), 1)),
    "multinomial_integer": (RuntimeError, lambda lib: lib.multinomial(lib.ones(3, dtype=lib.int64), 1)),
    "multinomial_many": (RuntimeError, lambda lib: lib.multinomial(lib.ones(3), 4)),
    "multinomial_none": (RuntimeError, lambda lib: lib.multinomial(lib.ones(3), 0)),
    "multinomial_zero": (RuntimeError, lambda lib: lib.multinomial(lib.zeros(3), 1)),
    "multinomial_zero_again": (RuntimeError, lambda lib: lib.multinomial(lib.zeros(3), 2, True)),
    "multinomial_negative": (RuntimeError, lambda lib: lib.multinomial(-lib.ones(3), 1)),
    "multinomial_nan": (RuntimeError, lambda lib: lib.multinomial(lib.tensor([1.0, float("nan")]), 1)),
    "poisson": (RuntimeError, lambda lib: lib.poisson(-lib.ones(2))),
    "binomial_integer": (ValueError, lambda lib: lib.binomial(lib.ones(2).long(), lib.ones(2).long())),
    "binomial_mixed": (RuntimeError, lambda lib: lib.binomial(lib.ones(2), lib.ones(2).double())),
    "dropout_p": (RuntimeError, lambda lib: lib.dropout(lib.ones(2), 1.5, False)),
    "dropout_integer": (RuntimeError, lambda lib: lib.dropout(lib.ones(2).long(), 0.5, True)),
    "feature_dropout": (RuntimeError, lambda lib: lib.feature_dropout(lib.ones(2), 0.5, True)),
    "rrelu": (RuntimeError, lambda lib: lib.rrelu(lib.ones(2), 0.5, 0.3, True)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    error, call = ERRORS[name]
    for lib in (mashal, torch):
        with pytest.raises(error):
            call(lib)


def test_imprecise_bounds_warn() -> None:
    with pytest.warns(UserWarning, match="2\\^24"):
        ours = mashal.zeros(5).random_(2**25, generator=mashal.Generator().manual_seed(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(ours, torch.zeros(5).random_(2**25, generator=torch.Generator().manual_seed(0)))


def test_meta() -> None:
    for t in (
        mashal.rand(2, 3, device="meta"),
        mashal.randperm(4, device="meta"),
        mashal.zeros(2, device="meta").normal_(),
    ):
        assert t.is_meta
