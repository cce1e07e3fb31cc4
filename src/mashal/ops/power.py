"""Powers and roots."""

from __future__ import annotations

from typing import Any

from .. import _core, return_types
from .._core import Tensor
from ._pointwise import in_place, is_number, pointwise, zeros
from ._registry import composite
from .complex import conjugate
from .extrema import where

square = pointwise(
    "square(Tensor input) -> Tensor",
    "same",
    "``input**2``.",
    gradient="``2 g conj(input)``.",
    example="mashal.square(mashal.tensor([2.0, -3.0]))\ntensor([4., 9.])",
    inplace=True,
)
square.vjp(input=lambda g, input: g * conjugate(input * 2))

sqrt = pointwise(
    "sqrt(Tensor input) -> Tensor",
    "float",
    "The square root; nan below 0 for real input.",
    gradient="``g / (2 conj(out))``: infinite at 0.",
    example="mashal.sqrt(mashal.tensor([4.0, 9.0]))\ntensor([2., 3.])",
    inplace=True,
)
sqrt.vjp(input=lambda g, out: g / conjugate(out * 2))

rsqrt = pointwise(
    "rsqrt(Tensor input) -> Tensor",
    "float",
    "``1 / sqrt(input)``.",
    gradient="``-g conj(out**3) / 2``.",
    example="mashal.rsqrt(mashal.tensor([4.0, 0.25]))\ntensor([0.5000, 2.0000])",
    inplace=True,
)
rsqrt.vjp(input=lambda g, out: g * conjugate(out * out * out) * -0.5)

_pow_scalar = pointwise(
    "_pow_scalar(Tensor input, Number exponent) -> Tensor",
    "same",
    "``input**exponent`` for one number, whose type does not widen the input's.",
    gradient="``g conj(exponent input**(exponent - 1))``; zero for exponent 0.",
    inplace=True,
    loop="pow_scalar",
)


@_pow_scalar.vjp("input")
def _(g: Tensor, input: Tensor, exponent: Any) -> Tensor:
    if exponent == 0:
        return zeros(g)
    if exponent == 2:
        return g * conjugate(input * 2)
    return g * conjugate(pow(input, exponent - 1) * exponent)


_pow = pointwise(
    "_pow(Tensor input, Tensor exponent) -> Tensor",
    "same",
    "``input**exponent``, element by element.",
    gradient="``g conj(exponent input**(exponent - 1))`` and ``g conj(out log(input))``.",
    inplace=True,
    loop="pow",
)


@_pow.vjp("input")
def _(g: Tensor, input: Tensor, exponent: Any) -> Tensor:
    grad = g * conjugate(exponent * pow(input, exponent - 1))
    # 0 * x**-1 is nan at x = 0, but the function is constant there.
    return grad.masked_fill(exponent == 0, 0) if isinstance(exponent, Tensor) else grad


@_pow.vjp("exponent")
def _(g: Tensor, input: Any, exponent: Tensor, out: Tensor) -> Tensor:
    if not isinstance(input, Tensor):
        base = out.new_full((), input)
        if input != 0:
            return g * conjugate(out * base.log())
        at_zero = exponent.real >= 0 if exponent.dtype.is_complex else exponent >= 0
        return (g * conjugate(out * base.log())).masked_fill(at_zero, 0)
    nonnegative = exponent.real >= 0 if exponent.dtype.is_complex else exponent >= 0
    # 0**e has the limit 0 for e > 0 and is taken as constant for e = 0: out * log(0) would be nan.
    return (g * conjugate(out * input.log())).masked_fill((input == 0) & nonnegative, 0)


_pow_in_place, _pow_scalar_in_place = in_place(_pow), in_place(_pow_scalar)


def _keeps_type(dtype: Any, exponent: Any) -> bool:
    """Whether a number as exponent leaves the type of the base as it is."""
    if dtype.is_complex:
        return True
    if dtype.is_floating_point:
        return not isinstance(exponent, complex)
    return isinstance(exponent, int) and dtype != _core.bool


def _check_exponent(input: Tensor, exponent: Any) -> None:
    if isinstance(exponent, int) and exponent < 0 and not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(
            "pow: Integers to negative integer powers are not allowed, "
            f"got input {tuple(input.shape)} {input.dtype} and exponent {exponent}. Convert input to a float type."
        )


def _plain_number(value: Any) -> Any:
    """A number of NumPy's as one of Python's."""
    if isinstance(value, (int, float, complex)):
        return value
    if hasattr(value, "__index__"):
        return value.__index__()
    if hasattr(value, "__float__"):
        return float(value)
    raise TypeError(f"pow(): argument 'exponent' (position 2) must be Tensor or Number, not {type(value).__name__}")


@composite(method=True, out=True)
def pow(input: Any, exponent: Any) -> Tensor:
    """``input**exponent``, element by element.

    Args:
        input: tensor of any shape, or a number if ``exponent`` is a tensor.
        exponent: number, or tensor that broadcasts with ``input``.

    Returns:
        a tensor of the broadcast shape and the common type of both.

    Raises:
        RuntimeError: integers with a negative number as exponent.

    Gradient:
        ``g conj(exponent input**(exponent - 1))``, zero where the exponent is 0; of the exponent
        ``g conj(out log(input))``, zero where ``input`` is 0 and the exponent is not negative, nan where ``input < 0``.

    Example:
        >>> import mashal
        >>> mashal.pow(mashal.tensor([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
    """
    if isinstance(exponent, Tensor):
        return _pow(input, exponent)
    if not isinstance(input, Tensor):
        raise TypeError(f"pow(): one of 'input' and 'exponent' must be a Tensor, not {type(input).__name__}")
    exponent = _plain_number(exponent)
    _check_exponent(input, exponent)
    return (_pow_scalar if _keeps_type(input.dtype, exponent) else _pow)(input, exponent)


@composite(method=True, function=False)
def pow_(input: Tensor, exponent: Any) -> Tensor:
    """In-place :func:`pow`."""
    if isinstance(exponent, Tensor):
        return _pow_in_place(input, exponent)
    exponent = _plain_number(exponent)
    _check_exponent(input, exponent)
    return (_pow_scalar_in_place if _keeps_type(input.dtype, exponent) else _pow_in_place)(input, exponent)


_pow_without_out: Any = pow.__wrapped__  # type: ignore[attr-defined]


def _power_operator(input: Any, exponent: Any) -> Any:
    if not (isinstance(exponent, Tensor) or is_number(exponent)) or not (isinstance(input, Tensor) or is_number(input)):
        return NotImplemented
    return _pow_without_out(input, exponent)


_core.set_operator("pow", _power_operator)
_core.set_operator("pow", pow_, True)


def _wide(value: Any) -> Any:
    """A tensor in double precision; a number is left alone."""
    if not isinstance(value, Tensor):
        return value
    return value.to(_core.complex128 if value.dtype.is_complex else _core.float64)


@composite(method=True, out=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """``input**exponent`` in double precision.

    Args:
        input: tensor of any shape, or a number if ``exponent`` is a tensor.
        exponent: number, or tensor that broadcasts with ``input``.

    Returns:
        a float64 tensor of the broadcast shape, complex128 if an argument is complex.

    Gradient:
        that of :func:`pow`.

    Example:
        >>> import mashal
        >>> mashal.float_power(mashal.tensor([2, 4]), 0.5)
        tensor([1.4142, 2.0000], dtype=mashal.float64)
    """
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError("float_power(): one of 'input' and 'exponent' must be a Tensor")
    if isinstance(exponent, Tensor):
        return _pow(_wide(input), _wide(exponent))
    return pow(_wide(input), float(exponent) if isinstance(exponent, int) else exponent)


@composite(method=True, function=False)
def float_power_(input: Tensor, exponent: Any) -> Tensor:
    """In-place :func:`float_power`; the tensor must be float64 or complex128."""
    exponent = _wide(exponent)
    wide = isinstance(exponent, complex) or (isinstance(exponent, Tensor) and exponent.dtype.is_complex)
    wanted = _core.complex128 if wide or input.dtype.is_complex else _core.float64
    if input.dtype != wanted:
        raise RuntimeError(f"float_power_: input must be {wanted} to hold the result, got input {input.dtype}.")
    return pow_(input, exponent)


@composite(method=True, out=True, inplace=True)
def ldexp(input: Tensor, other: Tensor | float) -> Tensor:
    """``input * 2**other``.

    Args:
        input: tensor of any shape.
        other: tensor of exponents that broadcasts with it.

    Returns:
        a floating-point tensor of the broadcast shape.

    Gradient:
        ``g 2**other`` and ``g out log(2)``.

    Example:
        >>> import mashal
        >>> mashal.ldexp(mashal.tensor([1.0, 3.0]), mashal.tensor([2, 3]))
        tensor([ 4., 24.])
    """
    return input * pow(2.0, other)


@composite(method=True, out=True)
def frexp(input: Tensor) -> tuple[Tensor, Tensor]:
    """Mantissa and exponent: ``input = mantissa * 2**exponent`` with ``1/2 <= |mantissa| < 1``.

    Args:
        input: floating-point tensor of any shape.

    Returns:
        the named tuple (mantissa, exponent): the type of ``input``, and int32; zeros, infinities and nan keep their
        value as mantissa, with exponent 0.

    Raises:
        RuntimeError: the input is no floating-point tensor.

    Gradient:
        of the mantissa ``g / 2**exponent``.

    Example:
        >>> import mashal
        >>> mashal.frexp(mashal.tensor([6.0, 0.25]))
        mashal.return_types.frexp(
        mantissa=tensor([0.7500, 0.5000]),
        exponent=tensor([ 3, -1], dtype=mashal.int32))
    """
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"frexp: input must be floating-point, got input {tuple(input.shape)} {input.dtype}.")
    with _core.no_grad_guard():
        # Exact powers of two; in double, so that neither they nor their reciprocals leave the range.
        size = input.to(_core.float64).abs()
        exponent = size.log2().floor() + 1
        mantissa = size * (-exponent).exp2()
        # The logarithm may round across a power of two.
        exponent = exponent + (mantissa >= 1).to(_core.float64) - (mantissa < 0.5).to(_core.float64)
        exponent = where((size == 0) | ~size.isfinite(), 0, exponent)
    mantissa = (input.to(_core.float64) * (-exponent).exp2()).to(input.dtype)
    return return_types.frexp((mantissa, exponent.to(_core.int32)))
