"""Functions to run in the child of a fork."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

__all__ = ["register_after_fork"]


def register_after_fork(func: Callable[[], Any]) -> None:
    """Calls ``func()`` in every child that this process forks from now on."""
    os.register_at_fork(after_in_child=func)
