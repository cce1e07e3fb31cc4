"""Results that are not there yet."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A result, or an exception, that one thread sets and others wait for.

    Args:
        devices: accelerators on which the result may lie; accepted for compatibility.

    Example:
        >>> import mashal
        >>> future = mashal.futures.Future()
        >>> double = future.then(lambda f: 2 * f.value())
        >>> future.set_result(3)
        >>> double.wait()
        6
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._lock = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], None]] = []

    def done(self) -> bool:
        """Whether the result, or an exception, is there."""
        return self._done

    def wait(self) -> T:
        """The result; waits for it. Raises the exception if that was set instead."""
        with self._lock:
            self._lock.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> T:
        """The result, which must be there. Raises the exception if that was set instead."""
        if not self._done:
            raise RuntimeError("Future.value: the result is not there yet. Use wait().")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._done:
                raise RuntimeError("Future can only be marked completed once, but it was marked completed already.")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._lock.notify_all()
        for callback in callbacks:
            callback(self)

    def set_result(self, result: T) -> None:
        """Sets the result. Raises: RuntimeError if it was set."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Sets an exception in place of the result."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Calls ``callback`` with this future when it is done, or at once."""
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of what ``callback`` makes of this one."""
        child: Future[Any] = Future()

        def run(parent: Future[T]) -> None:
            try:
                result = callback(parent)
            except Exception as error:  # noqa: BLE001 - it belongs to whoever waits
                child.set_exception(error)
            else:
                child.set_result(result)

        self.add_done_callback(run)
        return child


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list of these futures, done when all are."""
    whole: Future[list[Future[Any]]] = Future()
    left = len(futures)
    lock = threading.Lock()

    def one(_: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            whole.set_result(futures)

    if not futures:
        whole.set_result([])
    for future in futures:
        future.add_done_callback(one)
    return whole


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all. Raises the first exception."""
    return [future.wait() for future in futures]
