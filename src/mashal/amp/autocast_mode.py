"""Regions of mixed precision, and what custom functions need to take part in them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import _core
from .._core import Tensor
from ._state import (
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_SUPPORTED = (_core.bfloat16, _core.float16)


def _cuda_is_missing() -> bool:
    from ..cuda import is_available

    return not is_available()


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function that runs ``func`` inside an autocast region."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


class autocast:
    """A region in which ops run in the type that suits them: products in ``dtype``, delicate functions in float32.

    A context manager, or a decorator of functions. Which op does what is the table of ``mashal/ops/_autocast.py``; ops
    outside it take their arguments as they come. Only tensors of ``device_type`` are cast, float64 never is. Weights
    (leaves that need gradients) are cast once until the outermost region ends; their gradients come back in their own
    type. Regions nest, and ``enabled=False`` makes an exception. The state belongs to the thread.

    Args:
        device_type: "cpu", "cuda", ...
        dtype: bfloat16 or float16; None: ``mashal.get_autocast_dtype(device_type)``.
        enabled: False gives a region without casts.
        cache_enabled: whether cast weights are kept; None: as outside.

    Raises:
        ValueError: if ``device_type`` is no text.
        RuntimeError: if there is no such type of device.

    Note:
        A cast weight that was written since is cast again, and so is one that was cast under ``no_grad``: PyTorch would
        go on with the old one, or lose the gradient.

    Example:
        >>> import mashal
        >>> with mashal.autocast("cpu", dtype=mashal.bfloat16):
        ...     y = mashal.ones(2, 3) @ mashal.ones(3, 2)
        >>> y.dtype
        mashal.bfloat16
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = _core.autocast_cache_enabled() if cache_enabled is None else bool(cache_enabled)
        if enabled:
            problem = self._problem()
            if problem:
                warnings.warn(problem, stacklevel=2)
                enabled = False
        self._enabled = bool(enabled)
        self._before: list[tuple[bool, Any, bool]] = []

    def _problem(self) -> str:
        if self.device == "cuda":
            return "CUDA is not available or torch_xla is imported. Disabling autocast." if _cuda_is_missing() else ""
        if self.fast_dtype in _SUPPORTED:
            return ""
        name = self.device.upper()
        return (
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only "
            f"supports dtypes of {', '.join(map(str, _SUPPORTED))} currently."
        )

    def __enter__(self) -> autocast:
        device = self.device
        self._before.append((is_autocast_enabled(device), get_autocast_dtype(device), _core.autocast_cache_enabled()))
        set_autocast_enabled(device, self._enabled)
        set_autocast_dtype(device, self.fast_dtype)
        _core.autocast_increment_nesting()
        _core.autocast_enable_cache(self._cache_enabled)
        return self

    def __exit__(self, *exc: object) -> None:
        enabled, dtype, cache = self._before.pop()
        if _core.autocast_decrement_nesting() == 0:
            _core.autocast_clear_cache()
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, dtype)
        _core.autocast_enable_cache(cache)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast: a decorated object must be callable, got {type(func).__name__}. For a region write "
                "`with torch.autocast(device_type=...):`"
            )
        return autocast_decorator(self, func)


def _enter_autocast(*values: Any) -> autocast:
    """Enters a region that no ``with`` statement looks after; see :func:`_exit_autocast`."""
    return autocast(*values).__enter__()


def _exit_autocast(mode: autocast) -> None:
    mode.__exit__(None, None, None)


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """Casts the floating-point tensors in nested containers, float64 excepted."""
    if isinstance(value, Tensor):
        fits = value.is_floating_point() and value.device.type == device_type and value.dtype is not _core.float64
        return value.to(dtype) if fits else value
    if isinstance(value, (str, bytes)) or hasattr(value, "__array_interface__"):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        items = (_cast(v, device_type, dtype) for v in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def _check_device_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorates ``forward`` of a custom function that may be called in an autocast region.

    ``cast_inputs`` is a type: inside a region, floating-point tensors among the arguments are cast to it, and autocast
    is off within ``forward``. None leaves arguments and region as they are. Outside a region nothing is done.

    Raises:
        ValueError: if ``device_type`` is no text.
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    forward = fwd

    @functools.wraps(forward)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        inside = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = inside and cast_inputs is None
        if cast_inputs is None or not inside:
            return forward(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return forward(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorates ``backward`` of a custom function: it runs under the autocast state that ``forward`` had.

    Raises:
        ValueError: if ``device_type`` is no text.
    """
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward = bwd

    @functools.wraps(backward)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return backward(*args, **kwargs)

    return decorate_bwd
