"""finfo and iinfo: the limits of element types."""

from __future__ import annotations

from typing import Any

from . import _core

# bits, eps, largest, smallest normal, decimal digits (IEEE 754-2008; bfloat16: 8 bits of precision in float32's range)
_FLOATS = {
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 0.001),
    "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 0.01),
    "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-06),
    "float64": (64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15),
}


def _name(dtype: Any) -> str:
    return repr(dtype).split(".")[-1]


class finfo:
    """Limits of a floating-point type (for a complex type, of its parts): bits, eps, max, min, tiny, resolution.

    Raises:
        TypeError: for an integer type.

    Example:
        >>> import mashal
        >>> mashal.finfo(mashal.float16).max
        65504.0
    """

    def __init__(self, dtype: Any = None) -> None:
        if not isinstance(dtype, _core.dtype | None):
            raise TypeError(f"finfo(): argument 'type' must be dtype, not {type(dtype).__name__}")
        dtype = _core.get_default_dtype() if dtype is None else dtype.to_real()
        name = _name(dtype)
        if name not in _FLOATS:
            raise TypeError(f"finfo() requires a floating point input type. Use iinfo to handle '{name}'")
        self.dtype = name
        self.bits, self.eps, self.max, self.tiny, self.resolution = _FLOATS[name]
        self.min = -self.max
        self.smallest_normal = self.tiny

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer type: bits, max, min.

    Raises:
        TypeError: for a floating-point type or bool.
    """

    def __init__(self, dtype: Any) -> None:
        if not isinstance(dtype, _core.dtype):
            raise TypeError(f"iinfo(): argument 'type' must be dtype, not {type(dtype).__name__}")
        if dtype.is_floating_point or dtype.is_complex or dtype is _core.bool:
            raise TypeError(f"iinfo() requires an integer input type, got {dtype}. Use finfo for floating point")
        self.dtype = _name(dtype)
        self.bits = dtype.itemsize * 8
        self.min = -(1 << (self.bits - 1)) if dtype.is_signed else 0
        self.max = (1 << (self.bits - (1 if dtype.is_signed else 0))) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
