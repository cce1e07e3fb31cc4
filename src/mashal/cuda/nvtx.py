"""Marks for NVIDIA's profilers, which are not here."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _absent(*args: Any, **kwargs: Any) -> NoReturn:
    """Needs CUDA. Raises: RuntimeError."""
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


range_push = range_pop = range_start = range_end = mark = _absent


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Any:
    """A range for a block. Raises: RuntimeError without CUDA."""
    _absent()
    yield
