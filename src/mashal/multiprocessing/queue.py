"""Queues whose connections pickle with multiprocessing's own pickler, and so know tensors."""

from __future__ import annotations

import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

__all__ = ["ConnectionWrapper", "Queue", "SimpleQueue"]


class ConnectionWrapper:
    """A connection; objects go through ForkingPickler."""

    def __init__(self, conn: Any) -> None:
        self.conn = conn

    def send(self, obj: Any) -> None:
        """Pickles and sends an object."""
        self.conn.send_bytes(ForkingPickler.dumps(obj, pickle.HIGHEST_PROTOCOL))

    def recv(self) -> Any:
        """Waits for an object."""
        return pickle.loads(self.conn.recv_bytes())

    def __getattr__(self, name: str) -> Any:
        if name == "conn":  # while unpickling, before there is one
            raise AttributeError(name)
        return getattr(self.conn, name)


class Queue(multiprocessing.queues.Queue):  # type: ignore[type-arg]
    """``multiprocessing.Queue`` as a class; takes ``ctx``."""


class SimpleQueue(multiprocessing.queues.SimpleQueue):  # type: ignore[type-arg]
    """``multiprocessing.SimpleQueue`` as a class; takes ``ctx``."""
