"""A pool of processes that frees what its tasks leave behind."""

from __future__ import annotations

import gc
import multiprocessing.pool
from typing import Any

__all__ = ["Pool", "clean_worker"]


def clean_worker(*args: Any, **kwargs: Any) -> None:
    """Works as a pool's process, then collects cycles, so that shared memory in them is given back."""
    multiprocessing.pool.worker(*args, **kwargs)  # type: ignore[attr-defined]
    gc.collect()


class Pool(multiprocessing.pool.Pool):
    """``multiprocessing.Pool``; tensors pass through shared memory."""
