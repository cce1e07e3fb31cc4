"""Data loading and other tools around the tensor library."""

from __future__ import annotations

import importlib
from typing import Any

# Imported on first use, so that `torch.utils.data` needs no import of its own.
_LAZY = frozenset(("checkpoint", "data", "dlpack", "hooks"))


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
