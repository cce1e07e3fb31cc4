"""What the records of pointwise ops share."""

from __future__ import annotations

from typing import Any

from tests.opdb import ALL_FLOATS, COMPLEX, INTS, Record, S, Sample, T

nan, inf = float("nan"), float("inf")
SPECIAL = T(values=[nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 3e30, -7e15], kind="float32")
EXACT = (*INTS, "bool")
REAL = (*ALL_FLOATS, *EXACT)
ALL = (*ALL_FLOATS, *COMPLEX, *EXACT)


def unary(
    name: str, low: float = -2.0, high: float = 2.0, *, special: bool = True, args: tuple[Any, ...] = (), **kwargs: Any
) -> Record:
    """A function of one tensor: several shapes, and special values."""
    samples = [
        S(T((3, 5), low, high), *args),
        S(T((), low, high), *args),
        S(T((0, 2)), *args),
        S(T((700,), low, high), *args),
    ]
    if special:
        samples.append(S(SPECIAL, *args))
    return Record(name, samples, **{"dtypes": ALL_FLOATS, "out": True, "inplace": True, **kwargs})


def pairs(low: float = -2.0, high: float = 2.0, low2: float | None = None, high2: float | None = None) -> list[Sample]:
    """Two tensors: the same shape, broadcasting both ways, 0-d, empty, and a number."""
    low2, high2 = low if low2 is None else low2, high if high2 is None else high2
    return [
        S(T((3, 5), low, high), T((3, 5), low2, high2)),
        S(T((3, 5), low, high), T((5,), low2, high2)),
        S(T((3, 1), low, high), T((1, 5), low2, high2)),
        S(T((4,), low, high), T((), low2, high2)),
        S(T((), low, high), T((), low2, high2)),
        S(T((0, 3)), T((1, 3))),
        S(T((600,), low, high), T((600,), low2, high2)),
    ]


def _grid() -> tuple[T, T]:
    values = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 1e-30]
    n = len(values)
    return (
        T(values=[v for v in values for _ in range(n)], kind="float32"),
        T(values=values * n, kind="float32"),
    )


GRID = S(*_grid())


def binary(
    name: str,
    low: float = -2.0,
    high: float = 2.0,
    *,
    second: tuple[float, float] | None = None,
    numbers: tuple[Any, ...] = (),
    special: bool = True,
    **kwargs: Any,
) -> Record:
    """A function of two tensors."""
    samples = pairs(low, high, *(second or (low, high)))
    samples += [S(T((2, 3), low, high), n) for n in numbers]
    if special:
        samples.append(GRID)
    samples += kwargs.pop("more", [])
    if "second_order" in kwargs:
        kwargs["second"] = kwargs.pop("second_order")
    return Record(name, samples, **{"dtypes": ALL_FLOATS, "out": True, **kwargs})
