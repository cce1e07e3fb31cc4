"""Exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

import math
from typing import Any

from .._core import Tensor
from ._pointwise import in_place, pointwise
from ._registry import alias, composite
from .complex import conjugate

_LN2 = math.log(2)
_LN10 = math.log(10)

# ---- exponentials ----

exp = pointwise(
    "exp(Tensor input) -> Tensor",
    "float",
    "``e**x``.",
    gradient="``g conj(out)``.",
    example="mashal.exp(mashal.tensor([0.0, 1.0]))\ntensor([1.0000, 2.7183])",
    inplace=True,
)
exp.vjp(input=lambda g, out: g * conjugate(out))

exp2 = pointwise(
    "exp2(Tensor input) -> Tensor",
    "float",
    "``2**x``.",
    gradient="``g conj(out) log(2)``.",
    example="mashal.exp2(mashal.tensor([0.0, 3.0]))\ntensor([1., 8.])",
    inplace=True,
)
exp2.vjp(input=lambda g, out: g * conjugate(out) * _LN2)

expm1 = pointwise(
    "expm1(Tensor input) -> Tensor",
    "float",
    "``e**x - 1``, accurate near 0.",
    gradient="``g conj(out + 1)``.",
    example="mashal.expm1(mashal.tensor([1e-8]))\ntensor([1.0000e-08])",
    inplace=True,
)
expm1.vjp(input=lambda g, out: g * conjugate(out + 1))

# ---- logarithms ----

log = pointwise(
    "log(Tensor input) -> Tensor",
    "float",
    "The natural logarithm; nan below 0 for real input.",
    gradient="``g / conj(input)``.",
    example="mashal.log(mashal.tensor([1.0, 10.0]))\ntensor([0.0000, 2.3026])",
    inplace=True,
)
log.vjp(input=lambda g, input: g / conjugate(input))

log2 = pointwise(
    "log2(Tensor input) -> Tensor",
    "float",
    "The logarithm to base 2.",
    gradient="``g / (conj(input) log(2))``.",
    example="mashal.log2(mashal.tensor([1.0, 8.0]))\ntensor([0., 3.])",
    inplace=True,
)
log2.vjp(input=lambda g, input: g / conjugate(input * _LN2))

log10 = pointwise(
    "log10(Tensor input) -> Tensor",
    "float",
    "The logarithm to base 10.",
    gradient="``g / (conj(input) log(10))``.",
    example="mashal.log10(mashal.tensor([1.0, 100.0]))\ntensor([0., 2.])",
    inplace=True,
)
log10.vjp(input=lambda g, input: g / conjugate(input * _LN10))

log1p = pointwise(
    "log1p(Tensor input) -> Tensor",
    "float",
    "``log(1 + x)``, accurate near 0.",
    gradient="``g / conj(1 + input)``.",
    example="mashal.log1p(mashal.tensor([1e-8]))\ntensor([1.0000e-08])",
    inplace=True,
)
log1p.vjp(input=lambda g, input: g / conjugate(input + 1))

logaddexp = pointwise(
    "logaddexp(Tensor input, Tensor other) -> Tensor",
    "same",
    "``log(e**input + e**other)`` without overflow.",
    gradient="g times each one's share of the sum.",
    example="mashal.logaddexp(mashal.tensor([1000.0]), mashal.tensor([1000.0]))\ntensor([1000.6932])",
)
logaddexp.vjp(
    input=lambda g, input, other: g * conjugate((input - other).sigmoid()),
    other=lambda g, input, other: g * conjugate((other - input).sigmoid()),
)

logaddexp2 = pointwise(
    "logaddexp2(Tensor input, Tensor other) -> Tensor",
    "same",
    "``log2(2**input + 2**other)`` without overflow.",
    gradient="g times each one's share of the sum.",
    example="mashal.logaddexp2(mashal.tensor([3.0]), mashal.tensor([3.0]))\ntensor([4.])",
)
logaddexp2.vjp(
    input=lambda g, input, other: g * ((input - other) * _LN2).sigmoid(),
    other=lambda g, input, other: g * ((other - input) * _LN2).sigmoid(),
)

# ---- sigmoid ----

sigmoid = pointwise(
    "sigmoid(Tensor input) -> Tensor",
    "float",
    "``1 / (1 + e**-x)``.",
    gradient="``g conj(out (1 - out))``.",
    example="mashal.sigmoid(mashal.tensor([0.0, 2.0]))\ntensor([0.5000, 0.8808])",
    inplace=True,
)
_sigmoid_backward = pointwise(
    "_sigmoid_backward(Tensor grad, Tensor output) -> Tensor",
    "same",
    "The gradient of sigmoid: ``grad conj((1 - output) output)``.",
    loop="sigmoid_backward",
)
sigmoid.vjp(input=lambda g, out: _sigmoid_backward(g, out))
_sigmoid_backward.vjp(
    grad=lambda g, output: g * ((1 - output) * output),
    output=lambda g, grad, output: conjugate(g) * grad * conjugate(1 - 2 * output),
)

logit = pointwise(
    "logit(Tensor input) -> Tensor",
    "float",
    "``log(x / (1 - x))``; nan outside [0, 1].\n\nWith ``eps`` the input is first limited to ``[eps, 1 - eps]``.",
    gradient="``g / (x (1 - x))``; with ``eps``, zero beyond the limits.",
    example="mashal.logit(mashal.tensor([0.5, 0.9]))\ntensor([0.0000, 2.1972])",
)


def _logit_rule(g: Tensor, input: Tensor) -> Tensor:
    grad = g / (input * (1 - input))
    return grad.masked_fill((input < 0) | (input > 1), math.nan)


logit.vjp(input=_logit_rule)
_logit_eps = pointwise(
    "_logit_eps(Tensor input, Number eps) -> Tensor",
    "float",
    "logit of the input limited to ``[eps, 1 - eps]``.",
    gradient="``g / (x (1 - x))``, zero beyond the limits.",
    inplace=True,
    loop="logit_eps",
)
_logit_eps.vjp(
    input=lambda g, input, eps: (g / (input * (1 - input))).masked_fill((input < eps) | (input > 1 - eps), 0)
)


@logit.overloaded
def _(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    return logit(input, out=out) if eps is None else _logit_eps(input, eps, out=out)


_logit_in_place, _logit_eps_in_place = in_place(logit), in_place(_logit_eps)


@composite(method=True)
def logit_(input: Tensor, eps: float | None = None) -> Tensor:
    """In-place :func:`logit`."""
    return _logit_in_place(input) if eps is None else _logit_eps_in_place(input, eps)


# ---- trigonometric ----

sin = pointwise(
    "sin(Tensor input) -> Tensor",
    "float",
    "The sine of an angle in radians.",
    gradient="``g conj(cos(input))``.",
    example="mashal.sin(mashal.tensor([0.0, 1.0]))\ntensor([0.0000, 0.8415])",
    inplace=True,
)
sin.vjp(input=lambda g, input: g * conjugate(cos(input)))

cos: Any = pointwise(
    "cos(Tensor input) -> Tensor",
    "float",
    "The cosine of an angle in radians.",
    gradient="``-g conj(sin(input))``.",
    example="mashal.cos(mashal.tensor([0.0, 1.0]))\ntensor([1.0000, 0.5403])",
    inplace=True,
)
cos.vjp(input=lambda g, input: g * -conjugate(sin(input)))

tan = pointwise(
    "tan(Tensor input) -> Tensor",
    "float",
    "The tangent of an angle in radians.",
    gradient="``g conj(1 + out**2)``.",
    example="mashal.tan(mashal.tensor([0.0, 1.0]))\ntensor([0.0000, 1.5574])",
    inplace=True,
)
tan.vjp(input=lambda g, out: g * conjugate(1 + out * out))

asin = pointwise(
    "asin(Tensor input) -> Tensor",
    "float",
    "The inverse sine; nan outside [-1, 1] for real input.",
    gradient="``g conj(1 / sqrt(1 - input**2))``.",
    example="mashal.asin(mashal.tensor([0.0, 1.0]))\ntensor([0.0000, 1.5708])",
    inplace=True,
)
asin.vjp(input=lambda g, input: g * conjugate((1 - input * input).rsqrt()))

acos = pointwise(
    "acos(Tensor input) -> Tensor",
    "float",
    "The inverse cosine; nan outside [-1, 1] for real input.",
    gradient="``-g conj(1 / sqrt(1 - input**2))``.",
    example="mashal.acos(mashal.tensor([0.0, 1.0]))\ntensor([1.5708, 0.0000])",
    inplace=True,
)
acos.vjp(input=lambda g, input: g * -conjugate((1 - input * input).rsqrt()))

atan = pointwise(
    "atan(Tensor input) -> Tensor",
    "float",
    "The inverse tangent.",
    gradient="``g / conj(1 + input**2)``.",
    example="mashal.atan(mashal.tensor([0.0, 1.0]))\ntensor([0.0000, 0.7854])",
    inplace=True,
)
atan.vjp(input=lambda g, input: g / conjugate(input * input + 1))

atan2 = pointwise(
    "atan2(Tensor input, Tensor other) -> Tensor",
    "float",
    "The angle of the point (other, input) in radians, in (-pi, pi].",
    gradient="``g other / (input**2 + other**2)`` and ``-g input / (input**2 + other**2)``; 0 at the origin.",
    example="mashal.atan2(mashal.tensor([1.0]), mashal.tensor([-1.0]))\ntensor([2.3562])",
    inplace=True,
)


def _inverse_square(a: Tensor, b: Tensor) -> Tensor:
    squared = a * a + b * b
    return squared.reciprocal().masked_fill(squared == 0, 0)


atan2.vjp(
    input=lambda g, input, other: g * (other * _inverse_square(input, other)),
    other=lambda g, input, other: g * (-input * _inverse_square(input, other)),
)

deg2rad = pointwise(
    "deg2rad(Tensor input) -> Tensor",
    "float",
    "Degrees to radians.",
    gradient="``g pi / 180``.",
    example="mashal.deg2rad(mashal.tensor([180.0]))\ntensor([3.1416])",
    inplace=True,
)
deg2rad.vjp(input=lambda g: g * (math.pi / 180))

rad2deg = pointwise(
    "rad2deg(Tensor input) -> Tensor",
    "float",
    "Radians to degrees.",
    gradient="``g 180 / pi``.",
    example="mashal.rad2deg(mashal.tensor([1.0]))\ntensor([57.2958])",
    inplace=True,
)
rad2deg.vjp(input=lambda g: g * (180 / math.pi))

sinc = pointwise(
    "sinc(Tensor input) -> Tensor",
    "float",
    "``sin(pi x) / (pi x)``, 1 at 0.",
    gradient="``g (cos(pi x) - out) / x``, 0 at 0.",
    example="mashal.sinc(mashal.tensor([0.0, 0.5]))\ntensor([1.0000, 0.6366])",
    inplace=True,
)


@sinc.vjp("input")
def _(g: Tensor, input: Tensor) -> Tensor:
    x = input * math.pi
    slope = (x.cos() * x - x.sin()) / (x * input)
    return g * conjugate(slope.masked_fill(input == 0, 0))


# ---- hyperbolic ----

sinh = pointwise(
    "sinh(Tensor input) -> Tensor",
    "float",
    "The hyperbolic sine.",
    gradient="``g conj(cosh(input))``.",
    example="mashal.sinh(mashal.tensor([0.0, 1.0]))\ntensor([0.0000, 1.1752])",
    inplace=True,
)
sinh.vjp(input=lambda g, input: g * conjugate(cosh(input)))

cosh: Any = pointwise(
    "cosh(Tensor input) -> Tensor",
    "float",
    "The hyperbolic cosine.",
    gradient="``g conj(sinh(input))``.",
    example="mashal.cosh(mashal.tensor([0.0, 1.0]))\ntensor([1.0000, 1.5431])",
    inplace=True,
)
cosh.vjp(input=lambda g, input: g * conjugate(sinh(input)))

tanh = pointwise(
    "tanh(Tensor input) -> Tensor",
    "float",
    "The hyperbolic tangent.",
    gradient="``g conj(1 - out**2)``.",
    example="mashal.tanh(mashal.tensor([0.0, 1.0]))\ntensor([0.0000, 0.7616])",
    inplace=True,
)
_tanh_backward = pointwise(
    "_tanh_backward(Tensor grad, Tensor output) -> Tensor",
    "same",
    "The gradient of tanh: ``grad conj(1 - output**2)``.",
    loop="tanh_backward",
)
tanh.vjp(input=lambda g, out: _tanh_backward(g, out))
_tanh_backward.vjp(
    grad=lambda g, output: g * (1 - output * output),
    output=lambda g, grad, output: conjugate(g) * grad * conjugate(output) * -2,
)

asinh = pointwise(
    "asinh(Tensor input) -> Tensor",
    "float",
    "The inverse hyperbolic sine.",
    gradient="``g conj(1 / sqrt(input**2 + 1))``.",
    example="mashal.asinh(mashal.tensor([0.0, 1.0]))\ntensor([0.0000, 0.8814])",
    inplace=True,
)
asinh.vjp(input=lambda g, input: g * conjugate((input * input + 1).rsqrt()))

acosh = pointwise(
    "acosh(Tensor input) -> Tensor",
    "float",
    "The inverse hyperbolic cosine; nan below 1 for real input.",
    gradient="``g conj(1 / sqrt(input**2 - 1))``.",
    example="mashal.acosh(mashal.tensor([1.0, 2.0]))\ntensor([0.0000, 1.3170])",
    inplace=True,
)
# In two factors: on the branch of the complex function, the root of the product would have the wrong sign.
acosh.vjp(input=lambda g, input: g * conjugate((input - 1).rsqrt() * (input + 1).rsqrt()))

atanh = pointwise(
    "atanh(Tensor input) -> Tensor",
    "float",
    "The inverse hyperbolic tangent; nan outside [-1, 1] for real input.",
    gradient="``g / conj(1 - input**2)``.",
    example="mashal.atanh(mashal.tensor([0.0, 0.5]))\ntensor([0.0000, 0.5493])",
    inplace=True,
)
atanh.vjp(input=lambda g, input: g / conjugate(1 - input * input))

for _name in ("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh"):
    alias("arc" + _name[1:], _name)
