"""Rounding. All of these are constant between jumps: their gradient is zero (of frac, g)."""

from __future__ import annotations

from .._core import Tensor
from ._pointwise import in_place, pointwise, zeros
from ._registry import alias, composite

floor = pointwise(
    "floor(Tensor input) -> Tensor",
    "same",
    "The largest integer that is not above the element; integers are returned unchanged.",
    gradient="zero.",
    example="mashal.floor(mashal.tensor([1.5, -1.5]))\ntensor([ 1., -2.])",
    inplace=True,
)
floor.vjp(input=zeros)

ceil = pointwise(
    "ceil(Tensor input) -> Tensor",
    "same",
    "The smallest integer that is not below the element; integers are returned unchanged.",
    gradient="zero.",
    example="mashal.ceil(mashal.tensor([1.5, -1.5]))\ntensor([ 2., -1.])",
    inplace=True,
)
ceil.vjp(input=zeros)

trunc = pointwise(
    "trunc(Tensor input) -> Tensor",
    "same",
    "The integral part: rounding towards zero; integers are returned unchanged.",
    gradient="zero.",
    example="mashal.trunc(mashal.tensor([1.5, -1.5]))\ntensor([ 1., -1.])",
    inplace=True,
)
trunc.vjp(input=zeros)
alias("fix", "trunc")

frac = pointwise(
    "frac(Tensor input) -> Tensor",
    "same",
    "``x - trunc(x)``, with the sign of x.",
    gradient="g.",
    example="mashal.frac(mashal.tensor([1.5, -1.25]))\ntensor([ 0.5000, -0.2500])",
    inplace=True,
)
frac.vjp(input=lambda g: g)

round = pointwise(
    "round(Tensor input) -> Tensor",
    "same",
    "The nearest integer, halves to the even one; integers are returned unchanged.\n\n"
    "With ``decimals`` the nearest multiple of ``10**-decimals``.",
    gradient="zero.",
    example="mashal.round(mashal.tensor([0.5, 1.5, 2.6]))\ntensor([0., 2., 3.])",
)
round.vjp(input=zeros)

_round_decimals = pointwise(
    "_round_decimals(Tensor input, int decimals) -> Tensor",
    "same",
    "The nearest multiple of ``10**-decimals``.",
    gradient="zero.",
    inplace=True,
    loop="round_decimals",
)
_round_decimals.vjp(input=zeros)
_round_in_place, _round_decimals_in_place = in_place(round), in_place(_round_decimals)


@round.overloaded
def _(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    return round(input, out=out) if decimals == 0 else _round_decimals(input, decimals, out=out)


@composite(method=True)
def round_(input: Tensor, *, decimals: int = 0) -> Tensor:
    """In-place :func:`round`."""
    return _round_in_place(input) if decimals == 0 else _round_decimals_in_place(input, decimals)
