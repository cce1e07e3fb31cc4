"""Types for annotations."""

from __future__ import annotations

import os
from typing import IO, Any, TypeAlias

from . import _core
from ._core import Size, Tensor
from ._symbolic import SymBool, SymFloat, SymInt

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors: TypeAlias = Tensor | tuple[Tensor, ...]
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_dtype: TypeAlias = _core.dtype
_device: TypeAlias = _core.device
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_layout: TypeAlias = Any
_int, _float, _bool, _complex = int, float, bool, complex
IntLikeType: TypeAlias = int | SymInt
FloatLikeType: TypeAlias = float | SymFloat
BoolLikeType: TypeAlias = bool | SymBool
Number: TypeAlias = int | float | bool
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Device: TypeAlias = _core.device | str | int | None


class Storage:
    """What any storage has; for annotations."""

    _cdata: int
    device: _core.device
    dtype: _core.dtype
