"""Window functions. ``sym=False`` makes the periodic form: the window of one point more, without its last."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import mashal

from .. import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

_COMMON = """
    Args:
        M: the number of points, from 0 on.
        sym: symmetric, rather than periodic.
        dtype: float32 or float64.

    Raises:
        ValueError: for other values.
    """


def _window(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Adds what all windows share: the arguments behind ``sym``, their checks, and the trivial lengths."""
    name = fn.__name__

    def call(
        M: int,
        *,
        sym: bool = True,
        dtype: Any = None,
        layout: Any = mashal.strided,
        device: Any = None,
        requires_grad: bool = False,
        **shape: Any,
    ) -> Tensor:
        if dtype is None:
            dtype = mashal.get_default_dtype()
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not mashal.strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if dtype not in (mashal.float32, mashal.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        window = fn(M, sym, {"dtype": dtype, "device": device}, **shape)
        return window.requires_grad_() if requires_grad else window

    call.__name__ = call.__qualname__ = name
    call.__module__ = __name__
    call.__doc__ = (fn.__doc__ or "").rstrip() + "\n" + _COMMON
    return call


def _points(M: int, sym: bool) -> int:
    """One less than the points of the symmetric window."""
    return M - 1 if sym or M <= 1 else M


def _line(start: float, step: float, M: int, like: dict[str, Any]) -> Tensor:
    """``M`` values from ``start * step`` on, ``step`` apart."""
    return mashal.linspace(start * step, (start + (M - 1)) * step, M, **like)


@_window
def exponential(M: int, sym: bool, like: dict[str, Any], center: float | None = None, tau: float = 1.0) -> Tensor:
    """``exp(-|n - center| / tau)``; ``center`` is for periodic windows only."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return mashal.empty((0,), **like)
    if center is None:
        center = _points(M, sym) / 2.0
    return (-_line(-center, 1 / tau, M, like).abs()).exp()


@_window
def cosine(M: int, sym: bool, like: dict[str, Any]) -> Tensor:
    """``sin(pi (n + 1/2) / M)``."""
    if M == 0:
        return mashal.empty((0,), **like)
    return _line(0.5, math.pi / (_points(M, sym) + 1), M, like).sin()


@_window
def gaussian(M: int, sym: bool, like: dict[str, Any], std: float = 1.0) -> Tensor:
    """``exp(-((n - centre) / std) ** 2 / 2)``."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return mashal.empty((0,), **like)
    k = _line(-_points(M, sym) / 2.0, 1 / (std * math.sqrt(2)), M, like)
    return (-k.square()).exp()


@_window
def kaiser(M: int, sym: bool, like: dict[str, Any], beta: float = 12.0) -> Tensor:
    """``I0(beta sqrt(1 - x ** 2)) / I0(beta)``, x from -1 to 1."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return mashal.ones((M,), **like)
    step = 2.0 * beta / _points(M, sym)
    # Rounding must not leave the interval: the root below would be NaN.
    k = mashal.linspace(-beta, min(beta, -beta + (M - 1) * step), M, **like)
    top = mashal.tensor(beta, **like)
    return (top.square() - k.square()).sqrt().i0() / top.i0()


@_window
def bartlett(M: int, sym: bool, like: dict[str, Any]) -> Tensor:
    """The triangle ``1 - |x|``, x from -1 to 1."""
    if M < 2:
        return mashal.ones((M,), **like)
    step = 2 / _points(M, sym)
    return 1 - mashal.linspace(-1, -1 + (M - 1) * step, M, **like).abs()


def _cosines(M: int, sym: bool, like: dict[str, Any], a: Iterable[float]) -> Tensor:
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    if M < 2:
        return mashal.ones((M,), **like)
    k = _line(0, 2 * math.pi / _points(M, sym), M, like)
    orders = mashal.arange(len(weights), **like)
    signed = mashal.tensor([(-1) ** i * w for i, w in enumerate(weights)], **like)
    return (signed.unsqueeze(-1) * (orders.unsqueeze(-1) * k).cos()).sum(0)


@_window
def general_cosine(M: int, sym: bool, like: dict[str, Any], a: Iterable[float]) -> Tensor:
    """``a[0] - a[1] cos(x) + a[2] cos(2 x) - ...``, x from 0 to 2 pi."""
    return _cosines(M, sym, like, a)


@_window
def general_hamming(M: int, sym: bool, like: dict[str, Any], alpha: float = 0.54) -> Tensor:
    """``alpha - (1 - alpha) cos(x)``, x from 0 to 2 pi."""
    return _cosines(M, sym, like, (alpha, 1.0 - alpha))


@_window
def hamming(M: int, sym: bool, like: dict[str, Any]) -> Tensor:
    """``0.54 - 0.46 cos(x)``, x from 0 to 2 pi."""
    return _cosines(M, sym, like, (0.54, 0.46))


@_window
def hann(M: int, sym: bool, like: dict[str, Any]) -> Tensor:
    """``(1 - cos(x)) / 2``, x from 0 to 2 pi."""
    return _cosines(M, sym, like, (0.5, 0.5))


@_window
def blackman(M: int, sym: bool, like: dict[str, Any]) -> Tensor:
    """``0.42 - 0.5 cos(x) + 0.08 cos(2 x)``, x from 0 to 2 pi."""
    return _cosines(M, sym, like, (0.42, 0.5, 0.08))


@_window
def nuttall(M: int, sym: bool, like: dict[str, Any]) -> Tensor:
    """``0.3635819 - 0.4891775 cos(x) + 0.1365995 cos(2 x) - 0.0106411 cos(3 x)``, x from 0 to 2 pi."""
    return _cosines(M, sym, like, (0.3635819, 0.4891775, 0.1365995, 0.0106411))
