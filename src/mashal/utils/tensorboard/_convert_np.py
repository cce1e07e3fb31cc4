"""Whatever a program logs, as a NumPy array."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core

__all__ = ["make_np"]


def make_np(x: Any) -> Any:
    """The array of a tensor, an array, a list of numbers or a number (which becomes an array of one element).

    Raises:
        NotImplementedError: for anything else.
    """
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, (list, tuple)):
        return np.array(x)
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, _core.Tensor):
        x = x.detach().cpu()
        return (x.float() if x.dtype is _core.bfloat16 else x).numpy()
    raise NotImplementedError(f"tensorboard: expects a tensor, an array or a number, got {type(x).__name__}.")
