"""The classes ``FloatStorage``, ``ByteStorage``, ...: constructors of typed storages, and marks for ``isinstance``."""

from __future__ import annotations

import sys
from typing import Any

from . import _core
from ._tensor import _DTYPES
from .storage import TypedStorage


class _Meta(type):
    """A typed storage is an instance of the class that names its dtype."""

    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)

    def from_buffer(cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0) -> Any:
        """A storage with a copy of a buffer's bytes, from ``offset``: ``count`` elements, default all.

        Raises:
            ValueError: the byte order is none of "native", "little" and "big", or the bytes do not make whole elements.
        """
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"from_buffer: byte_order must be 'native', 'little' or 'big', got {byte_order!r}.")
        size = cls.dtype.itemsize
        data = bytes(memoryview(buffer).cast("B")[offset : None if count < 0 else offset + count * size])
        if len(data) % size or (count >= 0 and len(data) < count * size):
            raise ValueError(
                f"from_buffer: {len(data)} bytes are not {count if count >= 0 else 'whole'} elements of {size}."
            )
        if not data:
            return cls(0)
        if byte_order not in ("native", sys.byteorder):
            # The parts of a complex number are turned round one by one.
            step = size // 2 if cls.dtype.is_complex else size
            data = b"".join(data[i : i + step][::-1] for i in range(0, len(data), step))
        flat = _core.from_buffer(bytearray(data)).view(cls.dtype).clone()
        return TypedStorage._of(flat)

    _from_buffer = from_buffer


def _make(dtype: Any) -> _Meta:
    name = f"{dtype._legacy_name}Storage"
    doc = f"``{name}(3)``, ``{name}([1, 2])``: a storage of {dtype}. ``isinstance`` tells whether a storage is one."
    return _Meta(name, (), {"__module__": "mashal", "__doc__": doc, "dtype": dtype})


# By name: FloatStorage, ByteStorage, ...; Storage is the one of the default dtype.
TYPES = {cls.__name__: cls for cls in map(_make, _DTYPES)}
