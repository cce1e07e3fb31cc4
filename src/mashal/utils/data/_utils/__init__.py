"""The parts of a loader: fetching samples, making batches of them, what workers do and how they talk to the loader."""

from ...._exceptions import ExceptionWrapper
from . import blocks, collate, fetch, pin_memory, wire, worker
from .worker import HAS_NUMPY

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds that a worker gets to end by itself

__all__ = [
    "HAS_NUMPY",
    "MP_STATUS_CHECK_INTERVAL",
    "ExceptionWrapper",
    "blocks",
    "collate",
    "fetch",
    "pin_memory",
    "wire",
    "worker",
]
