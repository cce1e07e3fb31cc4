"""NumPy's scalars, arrays and dtypes in a ``weights_only`` load. Only plain numbers, strings and records of bytes: an
array of objects would hold addresses.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from functools import cache
from typing import Any

_CODE = re.compile(r"[<>=|]?(?:[?bhilqBHILQefdFD]|[biufc](?:1|2|4|8|16)|[SUV]\d{0,6})")
_DTYPE_CLASSES = (
    "Bool", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float16", "Float32", "Float64",
    "Complex64", "Complex128",
)  # fmt: skip
_SCALARS = (
    "bool_", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip


def _refuse(what: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(f"numpy: {what}")


def _dtype(*arguments: Any) -> Any:
    import numpy as np

    code = arguments[0] if arguments else None
    if isinstance(code, str) and _CODE.fullmatch(code):
        return np.dtype(code, False, True)  # a copy: BUILD sets its byte order in place, as the memo requires
    if isinstance(code, type) and issubclass(code, np.generic) and code.__name__ in _SCALARS:
        return np.dtype(code, False, True)
    raise _refuse("only dtypes of plain numbers and strings are loaded with weights_only=True")


def build_dtype(dtype: Any, state: Any) -> None:
    """Sets the byte order that a pickle's state names: a plain dtype's says nothing else."""
    if not isinstance(state, tuple) or len(state) < 5 or any(part is not None for part in state[2:5]):
        raise _refuse("only dtypes of plain numbers and strings are loaded with weights_only=True")
    order = state[1]
    if order not in ("<", ">", "|", "=") or _plain(dtype).isbuiltin == 1:
        raise _refuse("invalid state of a dtype")
    sizes = (dtype.itemsize, dtype.alignment) if dtype.kind in "SUV" else (-1, -1)
    dtype.__setstate__((3, order, None, None, None, *sizes, 0))


def _raw(data: Any) -> bytes:
    if isinstance(data, str):  # how protocol 2 of Python 2 has bytes
        try:
            return data.encode("latin1")
        except UnicodeEncodeError:
            raise _refuse("invalid bytes") from None
    if not isinstance(data, (bytes, bytearray)):
        raise _refuse("the data must be bytes")
    return bytes(data)


def _plain(dtype: Any) -> Any:
    import numpy as np

    if not isinstance(dtype, np.dtype) or dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None:
        raise _refuse("a dtype of plain numbers or strings is needed")
    return dtype


def _scalar(*arguments: Any) -> Any:
    import numpy as np

    if len(arguments) != 2:
        raise _refuse("a scalar needs a dtype and data")
    dtype, data = _plain(arguments[0]), _raw(arguments[1])
    if len(data) != dtype.itemsize or not data:
        raise _refuse(f"a scalar of {dtype} has {dtype.itemsize} bytes, got {len(data)}")
    return np.frombuffer(data, dtype)[0]


def _reconstruct(*arguments: Any) -> Any:
    import numpy as np

    if len(arguments) != 3 or arguments[0] is not np.ndarray:
        raise _refuse("only plain arrays are loaded with weights_only=True")
    return np.empty(0, np.uint8)


def _shape(shape: Any) -> tuple[int, ...]:
    if type(shape) is int:
        shape = (shape,)
    if not isinstance(shape, tuple) or len(shape) > 32 or any(type(n) is not int or n < 0 for n in shape):
        raise _refuse("invalid shape of an array")
    return shape


def _checked(shape: Any, dtype: Any, data: Any) -> tuple[tuple[int, ...], Any, bytes]:
    shape, dtype, data = _shape(shape), _plain(dtype), _raw(data)
    count = 1
    for n in shape:
        count *= n
    if count * dtype.itemsize != len(data) or (0 in shape and max(shape) > 1 << 40):
        raise _refuse(f"the data of an array has {len(data)} bytes, which is not what its shape says")
    return shape, dtype, data


def build_array(array: Any, state: Any) -> None:
    """Fills an array that ``_reconstruct`` has made."""
    if not isinstance(state, tuple) or len(state) not in (4, 5):
        raise _refuse("invalid state of an array")
    shape, dtype, data = _checked(state[-4], state[-3], state[-1])
    array.__setstate__((1, shape, dtype, bool(state[-2]), data))


def _frombuffer(*arguments: Any) -> Any:
    import numpy as np

    if len(arguments) != 4 or arguments[3] not in ("C", "F"):
        raise _refuse("invalid state of an array")
    shape, dtype, data = _checked(arguments[2], arguments[1], arguments[0])
    return np.frombuffer(bytearray(data), dtype).reshape(shape, order=arguments[3])


@cache
def table() -> dict[str, tuple[Any, Callable[..., Any] | None]]:
    """NumPy's globals by name: (what stands on the stack, its guarded call)."""
    import numpy as np

    entries: dict[str, tuple[Any, Callable[..., Any] | None]] = {
        "numpy.dtype": (np.dtype, _dtype),
        "numpy.ndarray": (np.ndarray, None),
    }
    for package in ("numpy.core", "numpy._core"):
        entries[f"{package}.multiarray._reconstruct"] = (_reconstruct, _reconstruct)
        entries[f"{package}.multiarray.scalar"] = (_scalar, _scalar)
        entries[f"{package}.numeric._frombuffer"] = (_frombuffer, _frombuffer)
    for name in _SCALARS:
        entries[f"numpy.{name}"] = (getattr(np, name), None)
    for name in _DTYPE_CLASSES:
        cls = getattr(np.dtypes, f"{name}DType")
        entries[f"numpy.dtypes.{name}DType"] = (cls, lambda *a, cls=cls: cls(*a) if not a else _dtype())
    return entries
