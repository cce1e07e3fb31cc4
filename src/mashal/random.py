"""Seeds and states of the default random number generator."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from . import _core

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

# The process's; the functions below ask for that of the calling thread, which a data-loading thread has for itself.
default_generator = _core.default_generator()


def manual_seed(seed: Any) -> Any:
    """Restarts the default stream from ``seed``, an int of ``[-2**63, 2**64)``; returns the generator.

    Example:
        >>> import mashal
        >>> a = mashal.manual_seed(1) and mashal.rand(1)
        >>> b = mashal.manual_seed(1) and mashal.rand(1)
        >>> bool(a == b)
        True
    """
    return _core.default_generator().manual_seed(int(seed))


def seed() -> int:
    """Restarts the default stream from a seed of the operating system, and returns that seed."""
    value: int = _core.default_generator().seed()
    return value


def initial_seed() -> int:
    """The seed that the default stream was started from."""
    value: int = _core.default_generator().initial_seed()
    return value


def get_rng_state() -> Any:
    """The state of the default stream: a uint8 tensor that ``set_rng_state`` takes."""
    return _core.default_generator().get_state()


def set_rng_state(new_state: Any) -> None:
    """Continues the default stream from a state that ``get_rng_state`` returned, here or in PyTorch."""
    _core.default_generator().set_state(new_state)


def _backend(device_type: str) -> Any:
    """The module of a device type other than the CPU, if there is one."""
    if device_type == "cpu" or importlib.util.find_spec(f"{__package__}.{device_type}") is None:
        return None
    return importlib.import_module(f"{__package__}.{device_type}")


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Puts the default stream back, at the end of the block, to where it was at its start.

    Args: ``devices``: whose streams to keep besides the CPU's, default all of ``device_type`` ("cuda" by default)
    that exist; ``enabled=False`` makes the block do nothing.

    Example:
        >>> import mashal
        >>> _ = mashal.manual_seed(0)
        >>> with mashal.random.fork_rng():
        ...     a = mashal.rand(1)
        >>> bool(mashal.rand(1) == a)
        True
    """
    if not enabled:
        yield
        return
    backend = _backend(device_type or "cuda")
    if devices is None:
        count = backend.device_count() if backend is not None and backend.is_available() else 0
        if count > 1:
            warnings.warn(
                f"{_caller}: the streams of all {count} devices are kept, which may be slow; name those you use in "
                f"'{_devices_kw}'.",
                stacklevel=3,
            )
        devices = range(count)
    else:
        devices = list(devices)
        if devices and backend is None:
            raise RuntimeError(f"{_caller}: no such device type is present, got '{device_type or 'cuda'}'.")
    state = get_rng_state()
    device_states = [(d, backend.get_rng_state(d)) for d in devices] if backend is not None else []
    try:
        yield
    finally:
        set_rng_state(state)
        for d, device_state in device_states:
            backend.set_rng_state(device_state, d)
