"""Devices that are not here: functions that answer what PyTorch's CPU build does, or raise what it raises."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, NoReturn


def raising(module: str, name: str, error: type[Exception], message: str) -> Callable[..., NoReturn]:
    """A function that raises."""

    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise error(message)

    return _named(call, module, name, f"Needs a device that is not here. Raises: {error.__name__}.")


def answering(module: str, name: str, answer: Any, doc: str) -> Callable[..., Any]:
    """A function that always gives the same answer, in a copy of its own if it is a container."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return answer.copy() if isinstance(answer, (dict, list)) else answer

    return _named(call, module, name, doc)


def uninstantiable(module: str, name: str) -> type:
    """A class whose instances need a device."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"Tried to instantiate dummy base class {type(self).__name__}")

    return type(name, (), {"__module__": module, "__init__": init, "__doc__": "Needs a device that is not here."})


def block(module: str, name: str, error: type[Exception], message: str) -> type:
    """A context manager that makes a device or stream the current one; None and negative numbers do nothing."""

    def init(self: Any, device: Any = None) -> None:
        self.idx = device if isinstance(device, int) else -1
        self.wanted = device is not None and not (isinstance(device, int) and device < 0)

    def enter(self: Any) -> None:
        if self.wanted:
            raise error(message)

    members = {
        "__module__": module,
        "__init__": init,
        "__enter__": enter,
        "__exit__": lambda self, *exc: None,
        "__doc__": f"Makes a device the current one for a block. Raises: {error.__name__}, as none is here.",
    }
    return type(name, (contextlib.ContextDecorator,), members)


def fill(
    namespace: dict[str, Any],
    answers: Mapping[str, tuple[Any, str]],
    absent: Mapping[str, tuple[type[Exception], str]],
    classes: tuple[str, ...] = (),
) -> None:
    """Puts such functions and classes into a module."""
    module = namespace["__name__"]
    for name, (answer, doc) in answers.items():
        namespace[name] = answering(module, name, answer, doc)
    for name, (error, message) in absent.items():
        namespace[name] = raising(module, name, error, message)
    for name in classes:
        namespace[name] = uninstantiable(module, name)


def _named(function: Any, module: str, name: str, doc: str) -> Any:
    function.__module__, function.__name__, function.__qualname__, function.__doc__ = module, name, name, doc
    return function
