"""Complex numbers: conjugation, phase, and making them of real parts.

Gradients follow PyTorch's convention: the gradient of a real loss L is dL/d(re) + i dL/d(im), so that for a holomorphic
f the incoming gradient is multiplied by the conjugate of f'.
"""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ._pointwise import in_place, pointwise, zeros
from ._registry import composite

_conj = pointwise(
    "_conj(Tensor input) -> Tensor",
    "same",
    "The conjugate of a complex tensor.",
    gradient="``conj(g)``.",
    loop="conj_physical",
)
_conj.vjp(input=lambda g: conjugate(g))


def conjugate(value: Any) -> Any:
    """The conjugate of a tensor or number, itself where it is real: the form that derivative rules use."""
    if isinstance(value, Tensor):
        return _conj(value) if value.dtype.is_complex else value
    return value.conjugate()


@composite(method=True)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is returned as it is.

    Args:
        input: tensor of any shape.

    Returns:
        a new tensor for complex input, otherwise ``input``.

    Note:
        PyTorch returns a lazy view of complex tensors; here the result has memory of its own, and
        :func:`resolve_conj` has nothing to do.

    Gradient:
        ``conj(g)``.

    Example:
        >>> import mashal
        >>> mashal.conj(mashal.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    return _conj(input) if input.dtype.is_complex else input


@composite(method=True, out=True)
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor is returned as it is.

    Args:
        input: tensor of any shape.

    Returns:
        a tensor of the same shape and type.

    Gradient:
        ``conj(g)``.

    Example:
        >>> import mashal
        >>> mashal.conj_physical(mashal.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    return _conj(input) if input.dtype.is_complex else input


_conj_in_place = in_place(_conj)


@composite(method=True)
def conj_physical_(input: Tensor) -> Tensor:
    """In-place :func:`conj_physical`."""
    return _conj_in_place(input) if input.dtype.is_complex else input


@composite(method=True)
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugation is never lazy here."""
    return input


@composite(method=True)
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negation is never lazy here."""
    return input


@composite(method=True)
def is_conj(input: Tensor) -> bool:
    """False: conjugation is never lazy here."""
    return False


@composite(method=True)
def is_neg(input: Tensor) -> bool:
    """False: negation is never lazy here."""
    return False


angle = pointwise(
    "angle(Tensor input) -> Tensor",
    "float_real",
    "The phase of each element in radians: of real numbers 0, or pi below zero.",
    gradient="``i z / |z|**2``, 0 at 0; zero for real input.",
    example="mashal.angle(mashal.tensor([1 + 1j, -1 + 0j]))\ntensor([0.7854, 3.1416])",
)


@angle.vjp("input")
def _(g: Tensor, input: Tensor) -> Tensor:
    if not input.dtype.is_complex:
        return zeros(g)
    squared = (input * _conj(input)).real
    return (input * 1j / squared * g).masked_fill(squared == 0, 0)


def _check_parts(op: str, first: str, second: str, a: Tensor, b: Tensor) -> None:
    if a.dtype not in (_core.float16, _core.float32, _core.float64) or b.dtype != a.dtype:
        raise RuntimeError(
            f"{op}: {first} and {second} must have the same type, float32 or float64, "
            f"got {first} {a.dtype} and {second} {b.dtype}."
        )


_complex = pointwise(
    "_complex(Tensor real, Tensor imag) -> Tensor",
    "complex_out",
    "Complex numbers of their parts.",
    gradient="the real and the imaginary part of g.",
    loop="complex",
)
_complex.vjp(real=lambda g: g.real, imag=lambda g: g.imag)


@composite(out=True)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """``real + i imag`` of each pair of elements.

    Args:
        real: real tensor of any shape.
        imag: tensor of the same type that broadcasts with it.

    Returns:
        a complex tensor of the broadcast shape.

    Raises:
        RuntimeError: the types differ or are no floating-point types.

    Gradient:
        the real and the imaginary part of g.

    Example:
        >>> import mashal
        >>> mashal.complex(mashal.tensor([1.0]), mashal.tensor([2.0]))
        tensor([1.+2.j])
    """
    _check_parts("complex", "real", "imag", real, imag)
    return _complex(real, imag)


_polar = pointwise(
    "_polar(Tensor abs, Tensor angle) -> Tensor",
    "complex_out",
    "Complex numbers of their polar coordinates.",
    gradient="of abs: ``Re(conj(g) sgn(out))``; of angle: ``Re(conj(g) i out)``.",
    loop="polar",
)
_polar.vjp(abs=lambda g, out: (_conj(g) * out.sgn()).real, angle=lambda g, out: (_conj(g) * out * 1j).real)


@composite(out=True)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """``abs (cos(angle) + i sin(angle))`` of each pair of elements.

    Args:
        abs: real tensor of any shape.
        angle: tensor of the same type that broadcasts with it, in radians.

    Returns:
        a complex tensor of the broadcast shape.

    Raises:
        RuntimeError: the types differ or are no floating-point types.

    Gradient:
        of abs ``Re(conj(g) sgn(out))``, of angle ``Re(conj(g) i out)``; that of abs is 0 where abs is 0.

    Example:
        >>> import mashal
        >>> mashal.polar(mashal.tensor([2.0]), mashal.tensor([0.0]))
        tensor([2.+0.j])
    """
    _check_parts("polar", "abs", "angle", abs, angle)
    return _polar(abs, angle)
