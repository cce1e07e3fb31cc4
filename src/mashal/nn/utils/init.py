"""Modules without initial values."""

from __future__ import annotations

import inspect
from typing import Any

from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """An instance of a module class whose parameters and buffers are allocated but not initialised.

    Raises: RuntimeError unless ``module_cls`` is a module class that takes ``device``.

    Example:
        >>> import mashal
        >>> mashal.nn.utils.skip_init(mashal.nn.Linear, 1, 5).weight.shape
        mashal.Size([5, 1])
    """
    if not isinstance(module_cls, type) or not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
