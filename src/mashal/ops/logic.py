"""Comparison, logic on truth values and on bits, and classification of floating-point numbers."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ._pointwise import pointwise
from ._registry import alias, composite
from .creation import ones_like

# ---- comparison ----


def _comparison(name: str, sign: str, shown: str, long_name: str | None = None) -> Any:
    primitive = pointwise(
        f"{name}(Tensor input, Tensor other) -> Tensor",
        "compare",
        f"Whether ``input {sign} other``, element by element.",
        example=f"mashal.{name}(mashal.tensor([1, 2, 3]), 2)\n{shown}",
        inplace=True,
    )
    primitive.nondifferentiable("bool output")
    if long_name:
        alias(long_name, name)
    _core.set_operator(name, primitive)
    return primitive


eq = _comparison("eq", "==", "tensor([False,  True, False])")
ne = _comparison("ne", "!=", "tensor([ True, False,  True])", "not_equal")
lt = _comparison("lt", "<", "tensor([ True, False, False])", "less")
le = _comparison("le", "<=", "tensor([ True,  True, False])", "less_equal")
gt = _comparison("gt", ">", "tensor([False, False,  True])", "greater")
ge = _comparison("ge", ">=", "tensor([False,  True,  True])", "greater_equal")


@composite(method=True)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and equal elements; nan equals nothing.

    Args:
        input: tensor of any shape.
        other: tensor of any shape on the same device.

    Returns:
        a Python bool.

    Example:
        >>> import mashal
        >>> mashal.equal(mashal.tensor([1, 2]), mashal.tensor([1, 2]))
        True
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    return bool(input.shape == other.shape and eq(input, other).all())


@composite(method=True)
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether ``|input - other| <= atol + rtol |other|``, element by element; infinities are close if they are equal.

    Args:
        input: tensor of any shape.
        other: tensor of the same type that broadcasts with it.
        rtol: relative tolerance, not negative.
        atol: absolute tolerance, not negative.
        equal_nan: whether two nans are close.

    Returns:
        a bool tensor of the broadcast shape.

    Raises:
        RuntimeError: the types differ, or a tolerance is negative.

    Example:
        >>> import mashal
        >>> mashal.isclose(mashal.tensor([1.0, 2.0]), mashal.tensor([1.0 + 1e-9, 2.1]))
        tensor([ True, False])
    """
    if input.dtype != other.dtype:
        raise RuntimeError(
            f"isclose: input and other must have one type, got input {input.dtype} and other {other.dtype}."
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"isclose: {name} must be greater than or equal to zero, but got {value}.")
    with _core.no_grad_guard():
        close = eq(input, other)
        inexact = input.dtype.is_floating_point or input.dtype.is_complex
        if equal_nan and inexact:
            close = close | (isnan(input) & isnan(other))
        if rtol == 0 and atol == 0:
            return close
        if not inexact:
            input, other = input.to(_core.get_default_dtype()), other.to(_core.get_default_dtype())
        difference = (input - other).abs()
        return close | (isfinite(difference) & (difference <= (other * rtol).abs() + atol))


@composite(method=True)
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close in the sense of :func:`isclose`.

    Args:
        input, other, rtol, atol, equal_nan: as for :func:`isclose`.

    Returns:
        a Python bool.

    Example:
        >>> import mashal
        >>> mashal.allclose(mashal.tensor([1.0, 2.0]), mashal.tensor([1.0, 2.0 + 1e-6]))
        True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite()
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element occurs among the test elements.

    Args:
        elements: tensor of any shape, or a number.
        test_elements: tensor of any shape, or a number; not both may be numbers.
        assume_unique: a hint of which no use is made.
        invert: ask for absence instead.

    Returns:
        a bool tensor of the shape of ``elements``.

    Example:
        >>> import mashal
        >>> mashal.isin(mashal.tensor([1, 2, 3]), mashal.tensor([2, 3, 4]))
        tensor([False,  True,  True])
    """
    if not isinstance(test_elements, Tensor):
        return ne(elements, test_elements) if invert else eq(elements, test_elements)
    tests = test_elements.reshape(-1)
    if not isinstance(elements, Tensor):
        found = eq(tests, elements).any()
    elif tests.numel() < 10 * elements.numel() ** 0.145:
        # Comparing all pairs beats sorting while the test elements are few.
        found = eq(elements.unsqueeze(-1), tests).any(-1)
    else:
        from .searching import searchsorted

        ordered = tests.sort()[0]
        at = searchsorted(ordered, elements).clamp(max=tests.numel() - 1)
        found = eq(ordered[at], elements)
    return logical_not(found) if invert else found


# ---- truth values ----


def _logical(name: str, words: str, shown: str) -> Any:
    primitive = pointwise(
        f"logical_{name}(Tensor input, Tensor other) -> Tensor",
        "compare",
        f"The logical {words} of truth values; whatever is not 0 counts as true.",
        example=f"mashal.logical_{name}(mashal.tensor([0, 1, 2]), mashal.tensor([0, 0, 3]))\n{shown}",
        inplace=True,
    )
    primitive.nondifferentiable("bool output")
    return primitive


logical_and = _logical("and", "and", "tensor([False, False,  True])")
logical_or = _logical("or", "or", "tensor([False,  True,  True])")
logical_xor = _logical("xor", "exclusive or", "tensor([False,  True, False])")

logical_not = pointwise(
    "logical_not(Tensor input) -> Tensor",
    "bool_out",
    "Whether the element is 0.",
    example="mashal.logical_not(mashal.tensor([0, 1, 2]))\ntensor([ True, False, False])",
    inplace=True,
)
logical_not.nondifferentiable("bool output")

# ---- bits ----


def _bitwise(name: str, operator: str, summary: str, example: str) -> Any:
    primitive = pointwise(
        f"bitwise_{name}(Tensor input, Tensor other) -> Tensor",
        "same",
        summary,
        raises="an input is neither integer nor bool.",
        example=example,
        inplace=True,
    )
    primitive.nondifferentiable("integer output")
    _core.set_operator(operator, primitive)
    return primitive


bitwise_and = _bitwise(
    "and",
    "and",
    "The bits set in both; of bool tensors, the logical and.",
    "mashal.bitwise_and(mashal.tensor([6]), 3)\ntensor([2])",
)
bitwise_or = _bitwise(
    "or",
    "or",
    "The bits set in either; of bool tensors, the logical or.",
    "mashal.bitwise_or(mashal.tensor([6]), 3)\ntensor([7])",
)
bitwise_xor = _bitwise(
    "xor", "xor", "The bits set in one of the two.", "mashal.bitwise_xor(mashal.tensor([6]), 3)\ntensor([5])"
)
bitwise_left_shift = _bitwise(
    "left_shift",
    "lshift",
    "``input * 2**other`` by shifting bits; a count that is negative or as large as the width gives 0.",
    "mashal.bitwise_left_shift(mashal.tensor([3]), 2)\ntensor([12])",
)
bitwise_right_shift = _bitwise(
    "right_shift",
    "rshift",
    "``input / 2**other``, rounded downwards, by shifting bits.",
    "mashal.bitwise_right_shift(mashal.tensor([12]), 2)\ntensor([3])",
)

bitwise_not = pointwise(
    "bitwise_not(Tensor input) -> Tensor",
    "same",
    "All bits inverted; of bool tensors, the logical not.",
    raises="the input is neither integer nor bool.",
    example="mashal.bitwise_not(mashal.tensor([0, 5]))\ntensor([-1, -6])",
    inplace=True,
)
bitwise_not.nondifferentiable("integer output")
_core.set_operator("invert", bitwise_not)

# ---- classification ----


def _classification(name: str, summary: str, shown: str) -> Any:
    primitive = pointwise(
        f"{name}(Tensor input) -> Tensor",
        "bool_out",
        summary,
        example=f"mashal.{name}(mashal.tensor([1.0, float('inf'), -float('inf'), float('nan')]))\n{shown}",
    )
    primitive.nondifferentiable("bool output")
    return primitive


isnan = _classification("isnan", "Whether the element is nan.", "tensor([False, False, False,  True])")
isinf = _classification("isinf", "Whether the element is infinite.", "tensor([False,  True,  True, False])")
isfinite = _classification(
    "isfinite", "Whether the element is neither infinite nor nan.", "tensor([ True, False, False, False])"
)
isposinf = _classification("isposinf", "Whether the element is plus infinity.", "tensor([False,  True, False, False])")
isneginf = _classification("isneginf", "Whether the element is minus infinity.", "tensor([False, False,  True, False])")


@composite(method=True)
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0.

    Args:
        input: tensor of any shape.

    Returns:
        a bool tensor of the same shape; true everywhere for real input.

    Example:
        >>> import mashal
        >>> mashal.isreal(mashal.tensor([1 + 0j, 1 + 1j]))
        tensor([ True, False])
    """
    return eq(input.imag, 0) if input.dtype.is_complex else ones_like(input, dtype=_core.bool)


@composite(method=True)
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of a tensor is not 0.

    Args:
        input: tensor of one element.

    Returns:
        a Python bool.

    Raises:
        RuntimeError: there is not exactly one element.

    Example:
        >>> import mashal
        >>> mashal.is_nonzero(mashal.tensor([0.0]))
        False
    """
    return bool(input)
