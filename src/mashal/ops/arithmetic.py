"""Arithmetic: sums, products, quotients, signs, integer arithmetic, fused multiply-add; the operators of Tensor."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ._pointwise import in_place, pointwise, zeros
from ._registry import alias, composite
from .complex import conjugate

# ---- sums and products ----

add = pointwise(
    "add(Tensor input, Tensor other, *, Number alpha=1) -> Tensor",
    "same",
    "``input + alpha * other``; of bool tensors, the logical or.",
    gradient="``g`` and ``conj(alpha) g``.",
    example="mashal.add(mashal.tensor([1.0, 2.0]), 10)\ntensor([11., 12.])",
    inplace=True,
)
add.vjp(input=lambda g: g, other=lambda g, alpha: g if alpha == 1 else g * conjugate(alpha))

sub = pointwise(
    "sub(Tensor input, Tensor other, *, Number alpha=1) -> Tensor",
    "same",
    "``input - alpha * other``.",
    gradient="``g`` and ``-conj(alpha) g``.",
    raises="both are bool: use ``^``.",
    example="mashal.sub(mashal.tensor([1.0, 2.0]), mashal.tensor([3.0, 5.0]), alpha=2)\ntensor([-5., -8.])",
    inplace=True,
)
sub.vjp(input=lambda g: g, other=lambda g, alpha: -g if alpha == 1 else g * -conjugate(alpha))
alias("subtract", "sub")

rsub = pointwise(
    "rsub(Tensor input, Tensor other, *, Number alpha=1) -> Tensor",
    "same",
    "``other - alpha * input``.",
    gradient="``-conj(alpha) g`` and ``g``.",
    example="mashal.rsub(mashal.tensor([1.0, 2.0]), 10)\ntensor([9., 8.])",
    method=False,
)
rsub.vjp(input=lambda g, alpha: -g if alpha == 1 else g * -conjugate(alpha), other=lambda g: g)

mul = pointwise(
    "mul(Tensor input, Tensor other) -> Tensor",
    "same",
    "``input * other``; of bool tensors, the logical and.",
    gradient="``g conj(other)`` and ``g conj(input)``.",
    example="mashal.mul(mashal.tensor([1.0, 2.0]), mashal.tensor([3.0, 4.0]))\ntensor([3., 8.])",
    inplace=True,
)
mul.vjp(input=lambda g, other: g * conjugate(other), other=lambda g, input: g * conjugate(input))
alias("multiply", "mul")

# ---- quotients ----

div = pointwise(
    "div(Tensor input, Tensor other) -> Tensor",
    "float",
    "``input / other``.\n\n"
    'With ``rounding_mode="trunc"`` the quotient is rounded towards zero, with ``"floor"`` downwards; '
    "both keep integer types.",
    gradient="``g / conj(other)`` and ``-g conj(input / other**2)``; zero with a rounding mode.",
    raises="an integer is divided by zero with a rounding mode.",
    example="mashal.div(mashal.tensor([1.0, 2.0]), 4)\ntensor([0.2500, 0.5000])",
)
div.vjp(
    input=lambda g, other: g / conjugate(other),
    other=lambda g, input, other: -g * conjugate((input / other) / other),
)
_div_in_place = in_place(div)

_div_trunc = pointwise(
    "_div_trunc(Tensor input, Tensor other) -> Tensor",
    "same",
    "The quotient, rounded towards zero.",
    gradient="zero.",
    inplace=True,
    loop="div_trunc",
)
_div_trunc.vjp(input=zeros, other=zeros)

_div_floor = pointwise(
    "_div_floor(Tensor input, Tensor other) -> Tensor",
    "same",
    "The quotient, rounded downwards.",
    gradient="zero.",
    inplace=True,
    loop="floor_divide",
)
_div_floor.vjp(input=zeros, other=zeros)

_ROUNDED = {"trunc": (_div_trunc, in_place(_div_trunc)), "floor": (_div_floor, in_place(_div_floor))}


def _rounded(rounding_mode: str) -> Any:
    try:
        return _ROUNDED[rounding_mode]
    except (KeyError, TypeError):
        raise RuntimeError(
            f"div: rounding_mode must be None, 'trunc' or 'floor', got rounding_mode {rounding_mode!r}."
        ) from None


@div.overloaded
def _(input: Tensor, other: Tensor | float, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    if rounding_mode is None:
        return div(input, other, out=out)
    return _rounded(rounding_mode)[0](input, other, out=out)


@composite(method=True, function=False)
def div_(input: Tensor, other: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
    """In-place :func:`div`."""
    return _div_in_place(input, other) if rounding_mode is None else _rounded(rounding_mode)[1](input, other)


for _name in ("divide", "true_divide"):
    alias(_name, "div")
    alias(_name + "_", "div_")

floor_divide = pointwise(
    "floor_divide(Tensor input, Tensor other) -> Tensor",
    "same",
    "The quotient, rounded downwards: Python's ``//``.",
    raises="an integer is divided by zero.",
    example="mashal.floor_divide(mashal.tensor([7, -7]), 2)\ntensor([ 3, -4])",
    inplace=True,
)
floor_divide.nondifferentiable("piecewise constant; div with rounding_mode has the zero gradient")

remainder = pointwise(
    "remainder(Tensor input, Tensor other) -> Tensor",
    "same",
    "``input - other * floor(input / other)``: Python's ``%``, with the sign of the divisor.",
    gradient="``g`` and ``-g floor(input / other)``.",
    raises="an integer is divided by zero.",
    example="mashal.remainder(mashal.tensor([7.0, -7.0]), 3)\ntensor([1., 2.])",
    inplace=True,
)
remainder.vjp(input=lambda g: g, other=lambda g, input, other: -g * _div_floor(input, other))

fmod = pointwise(
    "fmod(Tensor input, Tensor other) -> Tensor",
    "same",
    "``input - other * trunc(input / other)``: C's fmod, with the sign of the dividend.",
    gradient="``g`` and ``-g trunc(input / other)``.",
    raises="an integer is divided by zero.",
    example="mashal.fmod(mashal.tensor([7.0, -7.0]), 3)\ntensor([ 1., -1.])",
    inplace=True,
)
fmod.vjp(input=lambda g: g, other=lambda g, input, other: -g * _div_trunc(input, other))

reciprocal = pointwise(
    "reciprocal(Tensor input) -> Tensor",
    "float",
    "``1 / input``.",
    gradient="``-g conj(out**2)``.",
    example="mashal.reciprocal(mashal.tensor([2.0, 4.0]))\ntensor([0.5000, 0.2500])",
    inplace=True,
)
reciprocal.vjp(input=lambda g, out: -g * conjugate(out * out))

# ---- sign and magnitude ----

neg = pointwise(
    "neg(Tensor input) -> Tensor",
    "same",
    "``-input``.",
    gradient="``-g``.",
    raises="the input is bool: use ``~``.",
    example="mashal.neg(mashal.tensor([1.0, -2.0]))\ntensor([-1.,  2.])",
    inplace=True,
)
neg.vjp(input=lambda g: -g)
alias("negative", "neg")


@composite(method=True)
def positive(input: Tensor) -> Tensor:
    """The tensor itself: the operator ``+``.

    Args:
        input: tensor of any shape, not bool.

    Returns:
        ``input``.

    Raises:
        RuntimeError: the input is bool.

    Example:
        >>> import mashal
        >>> mashal.positive(mashal.tensor([1, -2]))
        tensor([ 1, -2])
    """
    if input.dtype == _core.bool:
        raise RuntimeError(f"positive: input must not be bool, got input {tuple(input.shape)} {input.dtype}.")
    return input


abs = pointwise(
    "abs(Tensor input) -> Tensor",
    "abs_like",
    "The magnitude of each element.",
    gradient="``g sgn(input)``, so 0 at 0.",
    example="mashal.abs(mashal.tensor([-1.0, 2.0]))\ntensor([1., 2.])",
    inplace=True,
)
abs.vjp(input=lambda g, input: g * sgn(input))
alias("absolute", "abs")

sign = pointwise(
    "sign(Tensor input) -> Tensor",
    "same",
    "-1, 0 or 1 for each element; 0 for nan.",
    gradient="zero.",
    raises="the input is complex: use :func:`sgn`.",
    example="mashal.sign(mashal.tensor([-3.0, 0.0, 5.0]))\ntensor([-1.,  0.,  1.])",
    inplace=True,
)
sign.vjp(input=zeros)

sgn: _core.Primitive = pointwise(
    "sgn(Tensor input) -> Tensor",
    "same",
    "``z / |z|``, 0 at 0: the sign, for complex numbers too.",
    gradient="``(g - out Re(conj(out) g)) / |z|``, 0 at 0; zero for real input.",
    example="mashal.sgn(mashal.tensor([3 + 4j]))\ntensor([0.6000+0.8000j])",
    inplace=True,
)


@sgn.vjp("input")
def _(g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    if not input.dtype.is_complex:
        return zeros(g)
    size = abs(input)
    return ((g - out * (conjugate(out) * g).real) / size).masked_fill(size == 0, 0)


signbit = pointwise(
    "signbit(Tensor input) -> Tensor",
    "bool_out",
    "Whether the sign bit is set: true for negative numbers and for -0.0.",
    example="mashal.signbit(mashal.tensor([-1.0, -0.0, 0.0]))\ntensor([ True,  True, False])",
)
signbit.nondifferentiable("bool output")

copysign = pointwise(
    "copysign(Tensor input, Tensor other) -> Tensor",
    "float",
    "The magnitude of ``input`` with the sign of ``other``.",
    gradient="``g out / input``, 0 where input is 0; zero for ``other``.",
    example="mashal.copysign(mashal.tensor([1.0, -2.0]), mashal.tensor([-0.0, 3.0]))\ntensor([-1.,  2.])",
    inplace=True,
)
copysign.vjp(input=lambda g, input, out: (g * (out / input)).masked_fill(input == 0, 0), other=zeros)

nextafter = pointwise(
    "nextafter(Tensor input, Tensor other) -> Tensor",
    "same",
    "The next representable number after ``input`` in the direction of ``other``.",
    gradient="``g`` where the two differ, the other's where they are equal.",
    example="mashal.nextafter(mashal.tensor([1.0]), mashal.tensor([2.0])) > 1\ntensor([True])",
    inplace=True,
)
nextafter.vjp(
    input=lambda g, input, other: g.masked_fill(input == other, 0),
    other=lambda g, input, other: g.masked_fill(input != other, 0),
)

hypot = pointwise(
    "hypot(Tensor input, Tensor other) -> Tensor",
    "same",
    "``sqrt(input**2 + other**2)`` without overflow.",
    gradient="``g input / out`` and ``g other / out``; nan where both are 0.",
    example="mashal.hypot(mashal.tensor([3.0]), mashal.tensor([4.0]))\ntensor([5.])",
    inplace=True,
)
hypot.vjp(input=lambda g, input, out: g * (input / out), other=lambda g, other, out: g * (other / out))

# ---- integers ----

gcd = pointwise(
    "gcd(Tensor input, Tensor other) -> Tensor",
    "same",
    "The greatest common divisor of two integers; ``gcd(0, 0) = 0``.",
    example="mashal.gcd(mashal.tensor([12, 10]), mashal.tensor([8]))\ntensor([4, 2])",
    inplace=True,
)
gcd.nondifferentiable("integer output")

lcm = pointwise(
    "lcm(Tensor input, Tensor other) -> Tensor",
    "same",
    "The least common multiple of two integers; 0 if one of them is 0.",
    example="mashal.lcm(mashal.tensor([12, 10]), mashal.tensor([8]))\ntensor([24, 40])",
    inplace=True,
)
lcm.nondifferentiable("integer output")

# ---- three arguments ----

addcmul = pointwise(
    "addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Number value=1) -> Tensor",
    "same",
    "``input + value * tensor1 * tensor2``.",
    gradient="``g``, ``g conj(value tensor2)``, ``g conj(value tensor1)``.",
    example="mashal.addcmul(mashal.tensor([1.0]), mashal.tensor([2.0]), mashal.tensor([3.0]), value=10)\ntensor([61.])",
    inplace=True,
)
addcmul.vjp(
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: g * conjugate(tensor2 * value),
    tensor2=lambda g, tensor1, value: g * conjugate(tensor1 * value),
)

addcdiv = pointwise(
    "addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Number value=1) -> Tensor",
    "same",
    "``input + value * tensor1 / tensor2``.",
    gradient="``g``, ``g conj(value / tensor2)``, ``-g conj(value tensor1 / tensor2**2)``.",
    raises="all inputs are integers.",
    example="mashal.addcdiv(mashal.tensor([1.0]), mashal.tensor([2.0]), mashal.tensor([4.0]))\ntensor([1.5000])",
    inplace=True,
)
addcdiv.vjp(
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: g * conjugate(value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * conjugate(value * tensor1 / (tensor2 * tensor2)),
)

_lerp_scalar = pointwise(
    "_lerp_scalar(Tensor input, Tensor end, Number weight) -> Tensor",
    "same",
    "Linear interpolation with one weight.",
    gradient="``g conj(1 - weight)`` and ``g conj(weight)``.",
    inplace=True,
    loop="lerp_scalar",
)
_lerp_scalar.vjp(
    input=lambda g, weight: g * conjugate(1 - weight),
    end=lambda g, weight: g * conjugate(weight),
)
_lerp = pointwise(
    "_lerp(Tensor input, Tensor end, Tensor weight) -> Tensor",
    "same",
    "Linear interpolation with a weight for each element.",
    gradient="``g conj(1 - weight)``, ``g conj(weight)``, ``g conj(end - input)``.",
    inplace=True,
    loop="lerp",
)
_lerp.vjp(
    input=lambda g, weight: g * conjugate(1 - weight),
    end=lambda g, weight: g * conjugate(weight),
    weight=lambda g, input, end: g * conjugate(end - input),
)
_lerp_scalar_in_place, _lerp_in_place = in_place(_lerp_scalar), in_place(_lerp)


def _check_lerp(input: Tensor, end: Tensor, weight: Any) -> None:
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, Tensor) and value.dtype != input.dtype:
            raise RuntimeError(
                f"lerp: {name} must have the type of input, got input {input.dtype} and {name} {value.dtype}."
            )


@composite(method=True, out=True)
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``input + weight * (end - input)``, computed from the nearer end so that weight 1 gives ``end`` exactly.

    Args:
        input: tensor of any shape, floating point or complex.
        end: tensor of the same type that broadcasts with it.
        weight: number, or tensor of the same type that broadcasts with them.

    Returns:
        a tensor of the broadcast shape and the same type.

    Raises:
        RuntimeError: the types differ.

    Gradient:
        ``g conj(1 - weight)``, ``g conj(weight)`` and ``g conj(end - input)``.

    Example:
        >>> import mashal
        >>> mashal.lerp(mashal.tensor([0.0, 10.0]), mashal.tensor([4.0, 20.0]), 0.25)
        tensor([ 1.0000, 12.5000])
    """
    _check_lerp(input, end, weight)
    return _lerp(input, end, weight) if isinstance(weight, Tensor) else _lerp_scalar(input, end, weight)


@composite(method=True, function=False)
def lerp_(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """In-place :func:`lerp`."""
    _check_lerp(input, end, weight)
    return (_lerp_in_place if isinstance(weight, Tensor) else _lerp_scalar_in_place)(input, end, weight)


for _name, _call in (
    ("add", add),
    ("sub", sub),
    ("mul", mul),
    ("div", div),
    ("floor_divide", floor_divide),
    ("remainder", remainder),
    ("neg", neg),
    ("pos", positive),
    ("abs", abs),
):
    _core.set_operator(_name, _call)
