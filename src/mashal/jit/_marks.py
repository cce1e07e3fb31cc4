"""Marks for the TorchScript compiler: without one they return what they are given."""

from __future__ import annotations

import builtins
import types
import typing
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

__all__ = [
    "Attribute", "Final", "_overload", "_overload_method", "annotate", "export", "ignore", "interface", "is_scripting",
    "is_tracing", "isinstance", "unused",
]  # fmt: skip

T = TypeVar("T")


class Attribute(NamedTuple):
    """A value and its type: what an attribute of a ``ScriptModule`` is given as. The module keeps the value."""

    value: Any
    type: Any


def annotate(the_type: Any, the_value: T) -> T:
    """The value."""
    return the_value


def export(fn: T) -> T:
    """The function."""
    return fn


def unused(fn: T) -> T:
    """The function."""
    return fn


def interface(obj: T) -> T:
    """The class."""
    return obj


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function; also as ``@ignore(drop=True)``."""
    return drop if callable(drop) else lambda fn: fn


def _overload(func: Callable[..., Any]) -> Callable[..., Any]:
    """The declaration of one signature; the definition that follows it under the same name is what runs."""
    return func


_overload_method = _overload


def is_scripting() -> bool:
    """Whether this runs as TorchScript: False."""
    return False


def is_tracing() -> bool:
    """Whether a trace is being recorded: False."""
    return False


def isinstance(obj: Any, target_type: Any) -> bool:
    """``builtins.isinstance`` for types with parameters: ``list[int]``, ``Optional[Tensor]``, ``dict[str, int]``.

    Example:
        >>> import mashal
        >>> mashal.jit.isinstance([1, 2], list[int]), mashal.jit.isinstance([1, "a"], list[int])
        (True, False)
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    if target_type is Any:
        return True
    if target_type is None:
        return obj is None
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is typing.Union or origin is types.UnionType:
        return any(isinstance(obj, t) for t in args)
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is list:
        return all(isinstance(item, args[0]) for item in obj)
    if origin is dict:
        return all(isinstance(k, args[0]) and isinstance(v, args[1]) for k, v in obj.items())
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return all(isinstance(item, args[0]) for item in obj)
        return len(obj) == len(args) and all(map(isinstance, obj, args))
    return True
