"""Processes that share tensors: Python's :mod:`multiprocessing`, with tensors passed through shared memory.

Importing this package teaches multiprocessing's queues and pipes to move a tensor's memory to shared memory and to send
a handle of it instead of its contents; sender and receiver then see the same elements.

Two strategies say what the handle is. ``"file_descriptor"`` (the default) keeps a descriptor open for each shared
storage; its memory vanishes with its last user, however that ends. ``"file_system"`` needs no descriptors but names
files under ``/dev/shm``, which stay if all their users are killed.
"""

from __future__ import annotations

import multiprocessing
import sys
from multiprocessing import *  # noqa: F403

from .spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "ENV_VAR_PARALLEL_START",
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
__all__ += multiprocessing.__all__

_all_sharing_strategies = {"file_descriptor", "file_system"} if sys.platform == "linux" else {"file_system"}
_sharing_strategy = "file_descriptor" if sys.platform == "linux" else "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Chooses how tensors are handed to other processes from now on.

    Args:
        new_strategy: one of :func:`get_all_sharing_strategies`.

    Raises:
        AssertionError: it is none of them.
    """
    global _sharing_strategy
    if new_strategy not in _all_sharing_strategies:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {sorted(_all_sharing_strategies)}"
        )
    _sharing_strategy = new_strategy


def get_sharing_strategy() -> str:
    """How tensors are handed to other processes.

    Example:
        >>> import mashal.multiprocessing
        >>> mashal.multiprocessing.get_sharing_strategy()
        'file_descriptor'
    """
    return _sharing_strategy


def get_all_sharing_strategies() -> set[str]:
    """The strategies that this system offers."""
    return set(_all_sharing_strategies)


from . import reductions  # noqa: E402 - asks this module for the strategy

reductions.init_reductions()
