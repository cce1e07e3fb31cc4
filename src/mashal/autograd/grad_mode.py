"""Switches for recording: no_grad, enable_grad, set_grad_enabled, inference_mode."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _core

F = TypeVar("F", bound=Callable[..., Any])


class _Mode:
    """A context manager that is also a decorator, of functions and of generators."""

    def clone(self) -> _Mode:
        return self.__class__()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def __call__(self, fn: F) -> F:
        if inspect.isclass(fn):
            raise TypeError(f"{type(self).__name__} decorates functions and methods, not classes, got {fn.__name__}")
        if inspect.isgeneratorfunction(fn):
            return self._wrap_generator(fn)  # type: ignore[return-value]

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return fn(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    def _wrap_generator(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            # The mode holds only while the generator's own code runs.
            generator = fn(*args, **kwargs)
            try:
                with self.clone():
                    item = generator.send(None)
                while True:
                    try:
                        sent = yield item
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as e:  # noqa: BLE001 (passed on to the generator, whatever it is)
                        with self.clone():
                            item = generator.throw(e)
                    else:
                        with self.clone():
                            item = generator.send(sent)
            except StopIteration as stop:
                return stop.value

        return wrapped


class no_grad(_Mode):
    """Within it, operations are not recorded; results do not require grad.

    Example:
        >>> import mashal
        >>> x = mashal.ones(1, requires_grad=True)
        >>> with mashal.no_grad():
        ...     (x * 2).requires_grad
        False
    """

    def __new__(cls, fn: Any = None) -> Any:
        self = super().__new__(cls)
        return self if fn is None else self(fn)

    def __init__(self) -> None:
        self._before = False

    def __enter__(self) -> None:
        self._before = _core.set_grad_mode(False)

    def __exit__(self, *exc: object) -> None:
        _core.set_grad_mode(self._before)


class enable_grad(_Mode):
    """Within it, operations are recorded, also inside :class:`no_grad`."""

    def __new__(cls, fn: Any = None) -> Any:
        self = super().__new__(cls)
        return self if fn is None else self(fn)

    def __init__(self) -> None:
        self._before = False

    def __enter__(self) -> None:
        self._before = _core.set_grad_mode(True)

    def __exit__(self, *exc: object) -> None:
        _core.set_grad_mode(self._before)


class set_grad_enabled(_Mode):
    """Turns recording on or off: at once as a function, or for a block as a context manager."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._before = _core.set_grad_mode(mode)

    def clone(self) -> set_grad_enabled:
        return self.__class__(self.mode)

    def __call__(self, fn: F) -> F:
        # As a decorator it holds only while the function runs.
        _core.set_grad_mode(self._before)
        return super().__call__(fn)

    def __enter__(self) -> None:
        _core.set_grad_mode(self.mode)

    def __exit__(self, *exc: object) -> None:
        _core.set_grad_mode(self._before)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mode={self.mode})"


class inference_mode(_Mode):
    """Like :class:`no_grad`, and results can never be used in a recorded computation."""

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if isinstance(mode, bool):
            return self
        self.__init__()  # type: ignore[misc]
        return self(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._before = (False, False)

    def clone(self) -> inference_mode:
        return self.__class__(self.mode)

    def __enter__(self) -> None:
        inference = _core.set_inference_mode(self.mode)
        self._before = (inference, _core.set_grad_mode(not self.mode))

    def __exit__(self, *exc: object) -> None:
        _core.set_inference_mode(self._before[0])
        _core.set_grad_mode(self._before[1])


_multithreading = {"enabled": True}


def is_multithreading_enabled() -> bool:
    """What :class:`set_multithreading_enabled` was last told; True at first."""
    return _multithreading["enabled"]


class set_multithreading_enabled(_Mode):
    """Says whether backward passes may use a thread for each device; there is one device, so nothing depends on it.

    From the call on, or for a block or function.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = _multithreading["enabled"]
        _multithreading["enabled"] = bool(mode)

    def clone(self) -> set_multithreading_enabled:
        return self.__class__(self.mode)

    def __enter__(self) -> None:
        """It holds already."""

    def __exit__(self, *exc: object) -> None:
        _multithreading["enabled"] = self.prev


# The registry needs it before this package is complete.
_core.no_grad_guard = no_grad
