"""Special functions: error functions, the gamma family, Bessel functions, quantities of the normal distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from ._pointwise import pointwise
from ._registry import composite
from .creation import arange

_SQRT_PI = math.sqrt(math.pi)
_SQRT_2PI = math.sqrt(2 * math.pi)

# ---- error functions ----

erf = pointwise(
    "erf(Tensor input) -> Tensor",
    "float",
    "The error function ``2 / sqrt(pi) * integral from 0 to x of exp(-t**2)``.",
    gradient="``2 g exp(-x**2) / sqrt(pi)``.",
    example="mashal.erf(mashal.tensor([0.0, 1.0]))\ntensor([0.0000, 0.8427])",
    inplace=True,
)
erf.vjp(input=lambda g, input: g * (-input * input).exp() * (2 / _SQRT_PI))

erfc = pointwise(
    "erfc(Tensor input) -> Tensor",
    "float",
    "``1 - erf(x)``, accurate for large x.",
    gradient="``-2 g exp(-x**2) / sqrt(pi)``.",
    example="mashal.erfc(mashal.tensor([0.0, 1.0]))\ntensor([1.0000, 0.1573])",
    inplace=True,
)
erfc.vjp(input=lambda g, input: g * (-input * input).exp() * (-2 / _SQRT_PI))

erfinv = pointwise(
    "erfinv(Tensor input) -> Tensor",
    "float",
    "The inverse of erf; infinite at -1 and 1, nan beyond.",
    gradient="``g sqrt(pi) / 2 exp(out**2)``.",
    example="mashal.erfinv(mashal.tensor([0.0, 0.5]))\ntensor([0.0000, 0.4769])",
    inplace=True,
)
erfinv.vjp(input=lambda g, out: g * (out * out).exp() * (_SQRT_PI / 2))

erfcx = pointwise(
    "erfcx(Tensor input) -> Tensor",
    "float",
    "``exp(x**2) erfc(x)``, which neither overflows nor vanishes for large x.",
    gradient="``g (2 x out - 2 / sqrt(pi))``.",
    example="mashal.special.erfcx(mashal.tensor([0.0, 30.0]))\ntensor([1.0000, 0.0188])",
    namespace="special",
)
erfcx.vjp(input=lambda g, input, out: g * (2 * input * out - 2 / _SQRT_PI))

# ---- the normal distribution ----

ndtr = pointwise(
    "ndtr(Tensor input) -> Tensor",
    "float",
    "The distribution function of the standard normal distribution.",
    gradient="``g exp(-x**2 / 2) / sqrt(2 pi)``.",
    example="mashal.special.ndtr(mashal.tensor([0.0, 1.0]))\ntensor([0.5000, 0.8413])",
    namespace="special",
)
ndtr.vjp(input=lambda g, input: g * (input * input * -0.5).exp() * (1 / _SQRT_2PI))

log_ndtr = pointwise(
    "log_ndtr(Tensor input) -> Tensor",
    "float",
    "The logarithm of :func:`ndtr`, accurate in the lower tail.",
    gradient="``g sqrt(2 / pi) / erfcx(-x / sqrt(2))``.",
    example="mashal.special.log_ndtr(mashal.tensor([0.0, -30.0]))\ntensor([  -0.6931, -454.3213])",
    namespace="special",
)
log_ndtr.vjp(input=lambda g, input: g / erfcx(input * -math.sqrt(0.5)) * math.sqrt(2 / math.pi))

ndtri = pointwise(
    "ndtri(Tensor input) -> Tensor",
    "float",
    "The inverse of :func:`ndtr`; nan outside [0, 1].",
    gradient="``g sqrt(2 pi) exp(out**2 / 2)``.",
    example="mashal.special.ndtri(mashal.tensor([0.5, 0.9]))\ntensor([0.0000, 1.2816])",
    namespace="special",
)
ndtri.vjp(input=lambda g, out: g * (out * out * 0.5).exp() * _SQRT_2PI)

entr = pointwise(
    "entr(Tensor input) -> Tensor",
    "float",
    "``-x log(x)``: 0 at 0, minus infinity below.",
    gradient="``-g (1 + log(x))``.",
    example="mashal.special.entr(mashal.tensor([0.0, 0.5]))\ntensor([0.0000, 0.3466])",
    namespace="special",
)
entr.vjp(input=lambda g, input: g * -(input.log() + 1))

# ---- products with a logarithm ----

xlogy = pointwise(
    "xlogy(Tensor input, Tensor other) -> Tensor",
    "float",
    "``input * log(other)``, 0 where ``input`` is 0 and ``other`` is a number.",
    gradient="``g log(other)``, 0 where input is 0 and other <= 0; ``g input / other``.",
    example="mashal.xlogy(mashal.tensor([0.0, 2.0]), mashal.tensor([0.0, 1.0]))\ntensor([0., 0.])",
    inplace=True,
)
xlogy.vjp(
    input=lambda g, input, other: xlogy(g, other).masked_fill((input == 0) & _at_most(other, 0), 0),
    other=lambda g, input, other: g * input / other,
)

xlog1py = pointwise(
    "xlog1py(Tensor input, Tensor other) -> Tensor",
    "float",
    "``input * log1p(other)``, 0 where ``input`` is 0 and ``other`` is a number.",
    gradient="``g log1p(other)``, 0 where input is 0 and other <= -1; ``g input / (1 + other)``.",
    example="mashal.special.xlog1py(mashal.tensor([2.0]), mashal.tensor([1.0]))\ntensor([1.3863])",
    namespace="special",
)
xlog1py.vjp(
    input=lambda g, input, other: xlog1py(g, other).masked_fill((input == 0) & _at_most(other, -1), 0),
    other=lambda g, input, other: g * input / (other + 1),
)


def _at_most(value: Tensor | float, bound: float) -> Any:
    return value <= bound


# ---- the gamma family ----

lgamma = pointwise(
    "lgamma(Tensor input) -> Tensor",
    "float",
    "``log|Gamma(x)|``.",
    gradient="``g digamma(x)``.",
    example="mashal.lgamma(mashal.tensor([1.0, 5.0]))\ntensor([0.0000, 3.1781])",
    inplace=True,
)
lgamma.vjp(input=lambda g, input: g * digamma(input))

digamma: Any = pointwise(
    "digamma(Tensor input) -> Tensor",
    "float",
    "The derivative of lgamma.",
    gradient="``g polygamma(1, x)``.",
    example="mashal.digamma(mashal.tensor([1.0, 0.5]))\ntensor([-0.5772, -1.9635])",
    inplace=True,
)
digamma.vjp(input=lambda g, input: g * _polygamma(input, 1))

_polygamma: Any = pointwise(
    "_polygamma(Tensor input, int n) -> Tensor",
    "float",
    "The n-th derivative of digamma, n > 0.",
    gradient="``g polygamma(n + 1, x)``.",
    inplace=True,
    loop="polygamma",
)
_polygamma.vjp(input=lambda g, input, n: g * _polygamma(input, n + 1))


@composite(out=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of the digamma function.

    Args:
        n: order, not negative.
        input: tensor of any shape.

    Returns:
        a tensor of the same shape; integer input gives the default float type.

    Raises:
        RuntimeError: n is negative.

    Gradient:
        ``g polygamma(n + 1, x)``.

    Example:
        >>> import mashal
        >>> mashal.polygamma(1, mashal.tensor([1.0, 0.5]))
        tensor([1.6449, 4.9348])
    """
    if n < 0:
        raise RuntimeError(f"polygamma: n must not be negative, got n {n}.")
    return digamma(input) if n == 0 else _polygamma(input, n)


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """``x.polygamma(n)`` is ``polygamma(n, x)``: the order comes second."""
    return polygamma(n, self)


def _polygamma_method_in_place(self: Tensor, n: int) -> Tensor:
    """In-place ``polygamma``."""
    return self.copy_(polygamma(n, self))


for _method, _call in (("polygamma", _polygamma_method), ("polygamma_", _polygamma_method_in_place)):
    setattr(_core.Tensor, _method, _call)


@composite(method=True, out=True, inplace=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p.

    ``p (p - 1) / 4 log(pi) + sum over j < p of lgamma(x - j / 2)``

    Args:
        input: tensor of any shape; all elements above ``(p - 1) / 2``.
        p: dimension, at least 1.

    Returns:
        a tensor of the same shape; integer input gives the default float type.

    Raises:
        RuntimeError: p < 1.

    Gradient:
        ``g times the sum of digamma(x - j / 2)``.

    Example:
        >>> import mashal
        >>> mashal.mvlgamma(mashal.tensor([2.0, 3.0]), 2)
        tensor([0.4516, 1.5502])
    """
    if p < 1:
        raise RuntimeError(f"mvlgamma: p must be at least 1, got p {p}.")
    dtype = input.dtype if input.dtype.is_floating_point else _core.get_default_dtype()
    terms = lgamma(input.unsqueeze(-1) - arange(p, dtype=dtype, device=input.device) / 2)
    return terms.sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


igamma = pointwise(
    "igamma(Tensor input, Tensor other) -> Tensor",
    "same",
    "The regularised lower incomplete gamma function ``P(input, other)``.",
    gradient="of ``other``: ``g exp((a - 1) log(x) - x - lgamma(a))``; of ``input`` there is none.",
    example="mashal.igamma(mashal.tensor([4.0]), mashal.tensor([3.0]))\ntensor([0.3528])",
    inplace=True,
)
igammac = pointwise(
    "igammac(Tensor input, Tensor other) -> Tensor",
    "same",
    "The regularised upper incomplete gamma function ``Q(input, other) = 1 - P(input, other)``.",
    gradient="of ``other``: ``-g exp((a - 1) log(x) - x - lgamma(a))``; of ``input`` there is none.",
    example="mashal.igammac(mashal.tensor([4.0]), mashal.tensor([3.0]))\ntensor([0.6472])",
    inplace=True,
)


def _gamma_density(a: Tensor, x: Tensor) -> Tensor:
    return ((a - 1) * x.log() - x - lgamma(a)).exp()


igamma.vjp(other=lambda g, input, other: g * _gamma_density(input, other))
igammac.vjp(other=lambda g, input, other: g * -_gamma_density(input, other))
for _op in (igamma, igammac):

    @_op.vjp("input")
    def _(g: Tensor) -> Tensor:
        raise RuntimeError("igamma: there is no derivative with respect to input, only with respect to other.")


zeta = pointwise(
    "zeta(Tensor input, Tensor other) -> Tensor",
    "float",
    "The Hurwitz zeta function: the sum over k >= 0 of ``(k + other)**-input``.",
    gradient="of ``other``: ``-g input zeta(input + 1, other)``; of ``input`` there is none.",
    example="mashal.special.zeta(mashal.tensor([2.0]), mashal.tensor([1.0]))\ntensor([1.6449])",
    namespace="special",
)
zeta.vjp(other=lambda g, input, other: g * -input * zeta(input + 1, other))


@zeta.vjp("input")
def _(g: Tensor) -> Tensor:
    raise RuntimeError("zeta: there is no derivative with respect to input, only with respect to other.")


# ---- modified Bessel functions ----

i0 = pointwise(
    "i0(Tensor input) -> Tensor",
    "float",
    "The modified Bessel function of the first kind, order 0.",
    gradient="``g i1(x)``.",
    example="mashal.i0(mashal.tensor([0.0, 1.0]))\ntensor([1.0000, 1.2661])",
    inplace=True,
)
i0.vjp(input=lambda g, input: g * i1(input))

i0e = pointwise(
    "i0e(Tensor input) -> Tensor",
    "float",
    "``exp(-|x|) i0(x)``.",
    gradient="``g (i1e(x) - sgn(x) out)``.",
    example="mashal.special.i0e(mashal.tensor([0.0, 1.0]))\ntensor([1.0000, 0.4658])",
    namespace="special",
)
i0e.vjp(input=lambda g, input, out: g * (i1e(input) - input.sgn() * out))

i1: Any = pointwise(
    "i1(Tensor input) -> Tensor",
    "float",
    "The modified Bessel function of the first kind, order 1.",
    gradient="``g (i0(x) - out / x)``, ``g / 2`` at 0.",
    example="mashal.special.i1(mashal.tensor([0.0, 1.0]))\ntensor([0.0000, 0.5652])",
    namespace="special",
)
i1.vjp(input=lambda g, input, out: g * (i0(input) - out / input).masked_fill(input == 0, 0.5))

i1e: Any = pointwise(
    "i1e(Tensor input) -> Tensor",
    "float",
    "``exp(-|x|) i1(x)``.",
    gradient="``g (i0e(x) - out (sgn(x) + 1 / x))``, ``g / 2`` at 0.",
    example="mashal.special.i1e(mashal.tensor([0.0, 1.0]))\ntensor([0.0000, 0.2079])",
    namespace="special",
)
i1e.vjp(input=lambda g, input, out: g * (i0e(input) - out * (input.sgn() + 1 / input)).masked_fill(input == 0, 0.5))

# ---- other Bessel functions ----


def _bessel(name: str, summary: str, shown: str, loop: str | None = None) -> Any:
    primitive = pointwise(
        f"{name}(Tensor input) -> Tensor",
        "float",
        summary,
        example=f"mashal.special.{name}(mashal.tensor([1.0, 2.0]))\ntensor([{shown}])",
        namespace="special",
        loop=loop,
    )
    primitive.nondifferentiable("none in PyTorch either")
    return primitive


bessel_j0 = _bessel("bessel_j0", "The Bessel function of the first kind, order 0.", "0.7652, 0.2239")
bessel_j1 = _bessel("bessel_j1", "The Bessel function of the first kind, order 1.", "0.4401, 0.5767")
bessel_y0 = _bessel("bessel_y0", "The Bessel function of the second kind, order 0; nan below 0.", "0.0883, 0.5104")
bessel_y1 = _bessel("bessel_y1", "The Bessel function of the second kind, order 1; nan below 0.", "-0.7812, -0.1070")
modified_bessel_k0 = _bessel(
    "modified_bessel_k0",
    "The modified Bessel function of the second kind, order 0; nan below 0.",
    "0.4210, 0.1139",
    "bessel_k0",
)
modified_bessel_k1 = _bessel(
    "modified_bessel_k1",
    "The modified Bessel function of the second kind, order 1; nan below 0.",
    "0.6019, 0.1399",
    "bessel_k1",
)
scaled_modified_bessel_k0 = _bessel(
    "scaled_modified_bessel_k0", "``exp(x) k0(x)``; nan below 0.", "1.1445, 0.8416", "scaled_k0"
)
scaled_modified_bessel_k1 = _bessel(
    "scaled_modified_bessel_k1", "``exp(x) k1(x)``; nan below 0.", "1.6362, 1.0335", "scaled_k1"
)
spherical_bessel_j0 = _bessel("spherical_bessel_j0", "``sin(x) / x``, 1 at 0.", "0.8415, 0.4546", "spherical_j0")
