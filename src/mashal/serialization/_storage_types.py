"""Storage classes by the names that files use: ``FloatStorage`` and so on. They stand for dtypes only."""

from __future__ import annotations

from typing import Any

from .._pickling import DTYPE_OF_STORAGE


class StorageType:
    """What the global ``torch.FloatStorage`` of a file becomes: the name of a dtype."""

    def __init__(self, name: str) -> None:
        self._dtype = DTYPE_OF_STORAGE[name]

    @property
    def dtype(self) -> Any:
        return self._dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


def _mark(name: str) -> type:
    return type(name, (), {"__module__": __name__, "__doc__": f"Written to files as ``torch.{name}``."})


# By dtype: classes that pickle as globals of this module, which become torch's when the file is written.
MARKS = {dtype: _mark(name) for name, dtype in DTYPE_OF_STORAGE.items()}
globals().update({cls.__name__: cls for cls in MARKS.values()})
