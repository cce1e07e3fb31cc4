"""Decorators of pipes: names as methods, determinism, checks of types."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any

from .datapipe import IterDataPipe, MapDataPipe

__all__ = [
    "argument_validation",
    "functional_datapipe",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "runtime_validation",
    "runtime_validation_disabled",
]


class functional_datapipe:
    """Makes a class of pipes a method of all pipes.

    Args:
        name: the method.
        enable_df_api_tracing: accepted; data frames are not traced.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        kind = getattr(getattr(cls, "__self__", cls), "cls", None) or cls  # a class that non_deterministic has wrapped
        if not isinstance(kind, type) or not issubclass(kind, (IterDataPipe, MapDataPipe)):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe")
        base: Any = IterDataPipe if issubclass(kind, IterDataPipe) else MapDataPipe
        base.register_datapipe_as_function(self.name, cls)
        return cls


class _Switch:
    """A global setting that a block changes."""

    value: bool
    inside: bool

    def __init__(self) -> None:
        cls = type(self)
        self._before = cls.value
        cls.value = cls.inside

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        type(self).value = self._before


class guaranteed_datapipes_determinism(_Switch):
    """A block in which pipes that are not deterministic cannot be made."""

    value = False
    inside = True


class runtime_validation_disabled(_Switch):
    """A block in which :class:`runtime_validation` does nothing."""

    value = True
    inside = False


class non_deterministic:
    """Marks a class of pipes: always, or when ``deterministic_fn(*args)`` of its constructor's arguments is true."""

    cls: Any = None

    def __init__(self, arg: Any) -> None:
        self.deterministic_fn: Callable[..., Any] | None = None
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found"
                )
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is None:
            if not (args and isinstance(args[0], type) and issubclass(args[0], IterDataPipe)):
                raise TypeError(f"Only `IterDataPipe` can be decorated, but {args[0]} is found")
            self.cls = args[0]
            return self.deterministic_wrapper_fn
        self._check("")
        return self.cls(*args, **kwargs)

    def _check(self, words: str) -> None:
        if guaranteed_datapipes_determinism.value:
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic{words}, but you set 'guaranteed_datapipes_determinism'. You "
                "can turn off determinism for this DataPipe if that is acceptable for your application"
            )

    def deterministic_wrapper_fn(self, *args: Any, **kwargs: Any) -> Any:
        """Build the pipe if its arguments allow it."""
        assert self.deterministic_fn is not None
        answer = self.deterministic_fn(*args, **kwargs)
        if not isinstance(answer, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required to return a boolean value, but "
                f"{type(answer)} is found"
            )
        if answer:
            self._check(" with the inputs")
        return self.cls(*args, **kwargs)


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Checks that arguments annotated as ``IterDataPipe`` are pipes."""
    signature = inspect.signature(f)
    hints = typing.get_type_hints(f)
    pipes = {
        name
        for name, hint in hints.items()
        if isinstance(origin := typing.get_origin(hint) or hint, type) and issubclass(origin, IterDataPipe)
    }

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name in pipes and not isinstance(value, IterDataPipe):
                raise TypeError(f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}")
        return f(*args, **kwargs)

    return wrapper


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type, as far as that can be told."""
    if isinstance(hint, typing.TypeVar) or hint is Any:
        return True
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return isinstance(value, hint) if isinstance(hint, type) else True
    if not isinstance(origin, type) or "Union" in origin.__name__:
        return any(_fits(value, part) for part in parts)
    if not isinstance(value, origin):
        return False
    if origin is tuple and parts and parts[-1] is not Ellipsis:
        return len(value) == len(parts) and all(map(_fits, value, parts))
    if origin in (list, set, frozenset, tuple):
        return all(_fits(item, parts[0]) for item in value)
    if origin is dict:
        return all(_fits(key, parts[0]) and _fits(item, parts[1]) for key, item in value.items())
    return True


def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Checks what ``__iter__`` yields against the type that the class was declared with, ``IterDataPipe[int]``."""
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def wrapper(self: Any) -> Iterator[Any]:
        declared = next(
            (
                typing.get_args(base)[0]
                for base in getattr(type(self), "__orig_bases__", ())
                if typing.get_args(base) and issubclass(typing.get_origin(base), IterDataPipe)
            ),
            Any,
        )
        for sample in f(self):
            if runtime_validation_disabled.value and not _fits(sample, declared):
                raise RuntimeError(f"Expected an instance as subtype of {declared}, but found {sample}({type(sample)})")
            yield sample

    return wrapper
