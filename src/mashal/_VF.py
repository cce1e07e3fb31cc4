# ruff: noqa: N999 (PyTorch's name)
"""The functions behind the recurrent layers, where PyTorch's own modules find them: ``from torch import _VF``."""

from __future__ import annotations

from typing import Any

from . import ops as _ops_package


def __getattr__(name: str) -> Any:
    entry = _ops_package._registry.entries.get(name)
    if entry is None:
        raise AttributeError(f"mashal._VF has no attribute '{name}'")
    return entry.call
