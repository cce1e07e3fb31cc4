"""What rooms share about dimensions and sizes."""

from __future__ import annotations

from typing import Any


def wrap_dim(op_name: str, dim: int, ndim: int) -> int:
    """``dim`` counted from the front; a 0-d tensor counts as 1-d."""
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(
            f"{op_name}: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        )
    return dim % n


def spread_ints(given: tuple[Any, ...]) -> tuple[int, ...]:
    """The ints of ``f(2, 3)`` and of ``f((2, 3))`` alike."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    return tuple(int(n) for n in given)
