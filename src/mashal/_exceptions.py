"""Exceptions that travel: from a loading process, or a thread, to the one that waits for its result."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn

__all__ = ["ExceptionWrapper", "KeyErrorMessage"]


class KeyErrorMessage(str):
    """A message for KeyError, which shows its argument's repr: this one keeps its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The exception being handled, as its class and the text of its traceback, which can be pickled.

    Args:
        exc_info: what ``sys.exc_info()`` gave; the exception being handled if None.
        where: words that follow "Caught ValueError" in the message.
    """

    exc_type: Any
    exc_msg: str

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        # Only text is kept: a traceback would keep alive, through its frames, what the worker was working on.
        kind, value, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = kind
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raises an exception of the same class that tells the original traceback."""
        message: Any = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            exception = self.exc_type(message)
        except Exception:  # noqa: BLE001 - a class that wants other arguments
            raise RuntimeError(message) from None
        raise exception
