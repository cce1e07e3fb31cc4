"""Switches that hold for a block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def held(module: Any, **values: Any) -> Iterator[None]:
    """Sets attributes of a module for a block; None leaves one as it is."""
    before = {name: getattr(module, name) for name, value in values.items() if value is not None}
    for name in before:
        setattr(module, name, values[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)
