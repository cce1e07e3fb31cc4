"""Numbers of a graph's shapes, of which there are none yet: the classes serve ``isinstance`` and annotations."""

from __future__ import annotations

from typing import Any


class SymInt:
    """An integer that is known when a graph runs."""

    __module__ = "mashal"


class SymFloat:
    """A number that is known when a graph runs."""

    __module__ = "mashal"


class SymBool:
    """A truth value that is known when a graph runs."""

    __module__ = "mashal"


def sym_int(a: Any) -> int:
    """``int(a)``."""
    return int(a)


def sym_float(a: Any) -> float:
    """``float(a)``."""
    return float(a)


def sym_not(a: Any) -> bool:
    """``not a``."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The greater of two numbers; a float if one is."""
    return _as_both(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float if one is."""
    return _as_both(min(a, b), a, b)


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    return sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t if b else f``."""
    return t if b else f


def _as_both(value: Any, a: Any, b: Any) -> Any:
    return float(value) if isinstance(a, float) or isinstance(b, float) else value


def check(cond: Any, message: Any = None) -> None:
    """Raises RuntimeError unless ``cond``; ``message`` is a function that makes the text, called only then."""
    _check_with(RuntimeError, cond, message)


def check_value(cond: Any, message: Any = None) -> None:
    """Raises ValueError unless ``cond``."""
    _check_with(ValueError, cond, message)


def check_type(cond: Any, message: Any = None) -> None:
    """Raises TypeError unless ``cond``."""
    _check_with(TypeError, cond, message)


def check_index(cond: Any, message: Any = None) -> None:
    """Raises IndexError unless ``cond``."""
    _check_with(IndexError, cond, message)


def check_not_implemented(cond: Any, message: Any = None) -> None:
    """Raises NotImplementedError unless ``cond``."""
    _check_with(NotImplementedError, cond, message)


def check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """Raises RuntimeError unless ``i`` is at least 0, and at most ``max``."""
    check(i >= 0 and (max is None or i <= max), message)


def _check_with(error: type[Exception], cond: Any, message: Any) -> None:
    if not isinstance(cond, (bool, SymBool)):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        if message is None:
            raise error("Expected cond to be True, but got False.")
        if not callable(message):
            raise TypeError("message must be a callable")
        raise error(str(message()))
