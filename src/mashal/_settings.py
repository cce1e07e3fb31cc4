"""Process-wide settings: the default device, determinism, the precision of matrix products."""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

from . import _core
from .autograd.grad_mode import _Mode

# ---- the default device ----


class _Stack(threading.local):
    """The devices that ``with device:`` blocks put aside."""

    def __init__(self) -> None:
        self.items: list[Any] = []


_stack = _Stack()


def get_default_device() -> Any:
    """Where factory functions put new tensors when no device is named.

    Example:
        >>> import mashal
        >>> mashal.get_default_device()
        device(type='cpu')
    """
    return _core.get_default_device()


def set_default_device(device: Any) -> None:
    """Sets the device of new tensors for this thread; None is the CPU. ``with mashal.device(...)`` does so for a block.

    Example:
        >>> import mashal
        >>> with mashal.device("meta"):
        ...     mashal.zeros(2).is_meta
        True
    """
    _core.set_default_device(_core.device("cpu") if device is None else _core.device(device))


def _enter(self: Any) -> Any:
    _stack.items.append(_core.get_default_device())
    _core.set_default_device(self)
    return self


def _exit(self: Any, *exc: object) -> None:
    _core.set_default_device(_stack.items.pop())


class _DeviceMode(_Mode):
    """The device as a decorator."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def clone(self) -> _DeviceMode:
        return _DeviceMode(self.device)

    def __enter__(self) -> None:
        self.device.__enter__()

    def __exit__(self, *exc: object) -> None:
        self.device.__exit__(*exc)


_core.device.__enter__ = _enter
_core.device.__exit__ = _exit
_core.device.__call__ = lambda self, fn: _DeviceMode(self)(fn)


# ---- determinism ----

_deterministic = {"enabled": False, "warn_only": False, "fill": True}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for operations that give the same result each time. All operations on the CPU do.

    Raises:
        TypeError: if ``mode`` is not a bool.
    """
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms: mode must be bool, not {type(mode).__name__}")
    _deterministic["enabled"] = mode
    _deterministic["warn_only"] = warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """What :func:`use_deterministic_algorithms` was last told."""
    return _deterministic["enabled"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was told to warn only."""
    return _deterministic["warn_only"]


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """:func:`use_deterministic_algorithms` by number or name: 0 "default" off, 1 "warn", 2 "error".

    Raises:
        RuntimeError: for another number or name.
    """
    level = _DEBUG_MODES.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(f"debug_mode must be one of {tuple(_DEBUG_MODES)} or 0, 1, 2, got {debug_mode!r}")
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """The number of :func:`set_deterministic_debug_mode`."""
    if not _deterministic["enabled"]:
        return 0
    return 1 if _deterministic["warn_only"] else 2


# ---- precision ----

_precision = {"matmul": "highest"}


def set_float32_matmul_precision(precision: str) -> None:
    """Allows float32 matrix products of lower precision ("high", "medium"). On the CPU they stay in float32.

    Warns (UserWarning), and changes nothing, for another word.
    """
    if precision not in ("highest", "high", "medium"):
        warnings.warn(f"{precision} is not one of 'highest', 'high', 'medium'", stacklevel=2)
        return
    _precision["matmul"] = precision


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` was last told; "highest" at first."""
    return _precision["matmul"]


# ---- the machine ----

_process = {"interop_threads": 0, "warn_always": False}


def get_device_module(device: Any = None) -> Any:
    """The module of a device type: ``mashal.cpu`` for "cpu"; of the default device if none is named.

    Raises:
        RuntimeError: there is no such module.
    """
    import mashal

    kind = (get_default_device() if device is None else _core.device(device)).type
    module = getattr(mashal, kind, None)
    if module is None:
        raise RuntimeError(f"Invalid device module '{kind}': mashal has none of that name.")
    return module


def get_num_interop_threads() -> int:
    """What :func:`set_num_interop_threads` was told, else the number of processors."""
    return _process["interop_threads"] or os.cpu_count() or 1


def set_num_interop_threads(num: int) -> None:
    """Keeps the number; operations run one after the other in any case.

    Raises:
        RuntimeError: the number is not positive.
    """
    if num <= 0:
        raise RuntimeError(f"set_num_interop_threads: expects a positive integer, got {num}")
    _process["interop_threads"] = int(num)


def set_warn_always(b: bool) -> None:
    """Keeps whether warnings should not be shown once only: Python's filters decide here."""
    _process["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was told."""
    return bool(_process["warn_always"])


def set_flush_denormal(mode: bool) -> bool:
    """Asks that tiny numbers be taken for zero. They never are: returns False, and changes nothing."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """Whether the C++ parts have the present form of the C++ library's interface: True."""
    return True


def is_vulkan_available() -> bool:
    """Whether there is a Vulkan device: False."""
    return False
