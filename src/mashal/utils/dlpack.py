"""Exchange of memory with other libraries through the DLPack protocol."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._tensor import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the memory of the tensor, to be consumed once."""
    return _core.to_dlpack(tensor)
