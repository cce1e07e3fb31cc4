"""The autocast state of the present thread, per type of device: what ``torch.is_autocast_enabled`` and its like ask."""

from __future__ import annotations

import threading
import warnings
from typing import Any

from .. import _core

# Types of device that PyTorch knows and mashal has no tensors for: only what was set is kept.
_OTHERS = {
    "xpu": _core.float16,
    "mps": _core.float16,
    "hpu": _core.bfloat16,
    "xla": _core.bfloat16,
    "ipu": _core.float16,
    "mtia": _core.float16,
    "maia": _core.bfloat16,
    "privateuseone": _core.float16,
}


class _Others(threading.local):
    def __init__(self) -> None:
        self.enabled: dict[str, bool] = dict.fromkeys(_OTHERS, False)
        self.dtype: dict[str, Any] = dict(_OTHERS)


_others = _Others()


def _device_type(function: str, device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise TypeError(
            f"{function}(): argument 'device_type' (position 1) must be str, not {type(device_type).__name__}"
        )
    return device_type if device_type in _OTHERS else _core.device(device_type).type


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a type of device, of which there need not be one here."""
    return _device_type("is_autocast_available", device_type) != "meta"


def _known(function: str, device_type: Any) -> str:
    device_type = _device_type(function, device_type)
    if device_type == "meta":
        raise RuntimeError(f"{function}: unknown device type for autocast, got 'meta'. Use the type of a real device.")
    return device_type


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on in this thread for a type of device; without one: for CUDA.

    Example:
        >>> import mashal
        >>> with mashal.autocast("cpu"):
        ...     mashal.is_autocast_enabled("cpu")
        True
    """
    device_type = "cuda" if device_type is None else _known("is_autocast_enabled", device_type)
    return _others.enabled[device_type] if device_type in _OTHERS else _core.autocast_enabled(device_type)


def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """``set_autocast_enabled(device_type, enabled)``, or ``(enabled)`` for CUDA: turns autocast on or off."""
    given = (*args, *kwargs.values())
    device_type, enabled = ("cuda", *given) if len(given) == 1 else given
    if kwargs and len(given) == 2:
        device_type, enabled = kwargs.get("device_type", args[0] if args else None), kwargs.get("enabled", given[-1])
    device_type = _known("set_autocast_enabled", device_type)
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_autocast_enabled(): argument 'enabled' (position {len(given)}) must be bool, not "
            f"{type(enabled).__name__}"
        )
    if device_type in _OTHERS:
        _others.enabled[device_type] = enabled
    else:
        _core.autocast_enable(device_type, enabled)


def get_autocast_dtype(device_type: str) -> Any:
    """The type that autocast casts to on a type of device.

    Example:
        >>> import mashal
        >>> mashal.get_autocast_dtype("cpu")
        mashal.bfloat16
    """
    device_type = _known("get_autocast_dtype", device_type)
    return _others.dtype[device_type] if device_type in _OTHERS else _core.autocast_dtype(device_type)


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Sets the type that autocast casts to on a type of device."""
    device_type = _known("set_autocast_dtype", device_type)
    if not isinstance(dtype, _core.dtype):
        raise TypeError(
            f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {type(dtype).__name__}"
        )
    if device_type in _OTHERS:
        _others.dtype[device_type] = dtype
    else:
        _core.autocast_set_dtype(device_type, dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether cast weights are kept within an autocast region."""
    return _core.autocast_cache_enabled()


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Sets whether cast weights are kept within an autocast region."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    _core.autocast_enable_cache(enabled)


def clear_autocast_cache() -> None:
    """Forgets the cast weights of this thread."""
    _core.autocast_clear_cache()


def autocast_increment_nesting() -> int:
    """Enters one more autocast region; returns in how many this thread is."""
    return _core.autocast_increment_nesting()


def autocast_decrement_nesting() -> int:
    """Leaves an autocast region; returns in how many this thread still is."""
    return _core.autocast_decrement_nesting()


# ---- the older names, one per type of device ----


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=3)


def is_autocast_cpu_enabled() -> bool:
    """Another name of ``is_autocast_enabled("cpu")``."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Another name of ``set_autocast_enabled("cpu", enabled)``."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> Any:
    """Another name of ``get_autocast_dtype("cpu")``."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Another name of ``set_autocast_dtype("cpu", dtype)``."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> Any:
    """Another name of ``get_autocast_dtype("cuda")``."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """Another name of ``set_autocast_dtype("cuda", dtype)``."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def is_autocast_xla_enabled() -> bool:
    """Another name of ``is_autocast_enabled("xla")``."""
    _deprecated("is_autocast_xla_enabled()", "is_autocast_enabled('xla')")
    return is_autocast_enabled("xla")


def set_autocast_xla_enabled(enabled: bool) -> None:
    """Another name of ``set_autocast_enabled("xla", enabled)``."""
    _deprecated("set_autocast_xla_enabled(enabled)", "set_autocast_enabled('xla', enabled)")
    set_autocast_enabled("xla", enabled)


def get_autocast_xla_dtype() -> Any:
    """Another name of ``get_autocast_dtype("xla")``."""
    _deprecated("get_autocast_xla_dtype()", "get_autocast_dtype('xla')")
    return get_autocast_dtype("xla")


def set_autocast_xla_dtype(dtype: Any) -> None:
    """Another name of ``set_autocast_dtype("xla", dtype)``."""
    _deprecated("set_autocast_xla_dtype(dtype)", "set_autocast_dtype('xla', dtype)")
    set_autocast_dtype("xla", dtype)


def is_autocast_ipu_enabled() -> bool:
    """Another name of ``is_autocast_enabled("ipu")``."""
    _deprecated("is_autocast_ipu_enabled()", "is_autocast_enabled('ipu')")
    return is_autocast_enabled("ipu")


def set_autocast_ipu_enabled(enabled: bool) -> None:
    """Another name of ``set_autocast_enabled("ipu", enabled)``."""
    _deprecated("set_autocast_ipu_enabled(enabled)", "set_autocast_enabled('ipu', enabled)")
    set_autocast_enabled("ipu", enabled)


def get_autocast_ipu_dtype() -> Any:
    """Another name of ``get_autocast_dtype("ipu")``."""
    _deprecated("get_autocast_ipu_dtype()", "get_autocast_dtype('ipu')")
    return get_autocast_dtype("ipu")


def set_autocast_ipu_dtype(dtype: Any) -> None:
    """Another name of ``set_autocast_dtype("ipu", dtype)``."""
    _deprecated("set_autocast_ipu_dtype(dtype)", "set_autocast_dtype('ipu', dtype)")
    set_autocast_dtype("ipu", dtype)
