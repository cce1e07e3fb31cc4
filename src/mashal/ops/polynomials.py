"""Orthogonal polynomials by their three-term recurrences (DLMF 18.9); differentiable in the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite
from .extrema import where

# (p_1 of x, p_(k+1) of x, k, p_k, p_(k-1)); p_0 is 1.
_Recurrence = tuple[Callable[[Any], Any], Callable[[Any, int, Any, Any], Any]]


def _chebyshev(first: Callable[[Any], Any]) -> _Recurrence:
    return first, lambda x, _k, p, before: 2 * x * p - before


_RECURRENCES: dict[str, _Recurrence] = {
    "chebyshev_polynomial_t": _chebyshev(lambda x: x),
    "chebyshev_polynomial_u": _chebyshev(lambda x: 2 * x),
    "chebyshev_polynomial_v": _chebyshev(lambda x: 2 * x - 1),
    "chebyshev_polynomial_w": _chebyshev(lambda x: 2 * x + 1),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, k, p, before: 2 * x * p - 2 * k * before),
    "hermite_polynomial_he": (lambda x: x, lambda x, k, p, before: x * p - k * before),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda x, k, p, before: ((2 * k + 1 - x) * p - k * before) / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda x, k, p, before: ((2 * k + 1) * x * p - k * before) / (k + 1)),
}


# A recurrence takes a step for each degree: more than this would seem to hang.
_MAX_DEGREE = 100_000


def _checked_degree(n: int) -> int:
    if n > _MAX_DEGREE:
        raise ValueError(f"polynomial: degree n must be at most {_MAX_DEGREE}, got n {n}.")
    return n


def _evaluate(recurrence: _Recurrence, x: Tensor, n: Any) -> Tensor:
    """p_n(x), 0 for negative n. Of a tensor of degrees, each is taken when the recurrence passes it."""
    p1, step = recurrence
    one = x * 0 + 1
    if not isinstance(n, Tensor):
        n = _checked_degree(int(n))
        if n < 0:
            return x * 0
        before, p = one, p1(x)
        for k in range(1, n):
            before, p = p, step(x, k, p, before)
        return one if n == 0 else p
    n = n.trunc()
    top = _checked_degree(int(n.max())) if n.numel() else 0
    result = where(n == 0, one, 0)
    before, p = one, p1(x)
    for k in range(1, top + 1):
        result = where(n == k, p, result)
        before, p = p, step(x, k, p, before)
    return result


def _argument(input: Any, n: Any) -> Tensor:
    if not isinstance(input, Tensor):
        if not isinstance(n, Tensor):
            raise TypeError(
                f"polynomial: input or n must be a Tensor, got {type(input).__name__} and {type(n).__name__}."
            )
        input = n.new_full((), input, dtype=_core.get_default_dtype())
    return input if input.dtype.is_floating_point else input.to(_core.get_default_dtype())


def _declare(name: str, shifted: bool = False) -> Callable[..., Tensor]:
    recurrence = _RECURRENCES[name.removeprefix("shifted_")]

    def polynomial(input: Any, n: Any) -> Tensor:
        x = _argument(input, n)
        return _evaluate(recurrence, 2 * x - 1 if shifted else x, n)

    polynomial.__name__ = polynomial.__qualname__ = name
    family, kind = name.removeprefix("shifted_").split("_polynomial_")
    argument = "``2 x - 1``" if shifted else "x"
    polynomial.__doc__ = f"""The {family.capitalize()} polynomial {kind.capitalize()} of degree n at {argument}.

    Args:
        input: tensor of any shape, or a number if ``n`` is a tensor.
        n: degree: an integer, or a tensor that broadcasts with ``input``; at most 100,000, negative degrees give 0.

    Returns:
        a floating-point tensor of the broadcast shape.

    Gradient:
        that of the recurrence, with respect to ``input`` (PyTorch has none).
    """
    return composite(out=True, namespace="special")(polynomial)


for _name in _RECURRENCES:
    _declare(_name)
    if _name.startswith("chebyshev"):
        _declare("shifted_" + _name, shifted=True)
