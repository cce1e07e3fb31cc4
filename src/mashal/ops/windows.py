"""Window functions for spectra: raised cosines, the triangle and Kaiser's."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite
from .creation import _placed, arange, empty, ones


def _grid(name: str, window_length: int, periodic: bool, dtype: Any, device: Any) -> tuple[Tensor | None, int]:
    """0, 1, ..., and the number of points of the symmetric window; None where a window has at most one point.

    A periodic window is the symmetric one of one point more, without its last.
    """
    dtype = dtype or _core.get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    if window_length < 2:
        return None, window_length
    points = window_length + 1 if periodic else window_length
    return arange(points, dtype=dtype, device=device), points


def _trivial(window_length: int, dtype: Any, device: Any, layout: Any, requires_grad: bool) -> Tensor:
    make = ones if window_length else empty
    return _placed(make(window_length, dtype=dtype, device=device), layout, requires_grad)


def _finished(window: Tensor, window_length: int, layout: Any, requires_grad: bool) -> Tensor:
    return _placed(window[:window_length], layout, requires_grad)


@composite()
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``(1 - cos(2 pi n / (N - 1))) / 2``, N being ``window_length``, one more if ``periodic``.

    Returns: ``(window_length,)``. Raises: RuntimeError for a negative length or a type without fractions.

    Example:
        >>> import mashal
        >>> mashal.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _raised_cosine("hann_window", window_length, periodic, 0.5, 0.5, dtype, layout, device, requires_grad)


@composite()
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - beta cos(2 pi n / (N - 1))``; N and errors as ``hann_window``.

    Example:
        >>> import mashal
        >>> mashal.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _raised_cosine("hamming_window", window_length, periodic, alpha, beta, dtype, layout, device, requires_grad)


def _raised_cosine(
    name: str,
    window_length: int,
    periodic: bool,
    alpha: float,
    beta: float,
    dtype: Any,
    layout: Any,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    n, points = _grid(name, window_length, periodic, dtype, device)
    if n is None:
        return _trivial(window_length, dtype, device, layout, requires_grad)
    window = (n * (2 * math.pi / (points - 1))).cos() * -beta + alpha
    return _finished(window, window_length, layout, requires_grad)


@composite()
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``0.42 - 0.5 cos(2 pi n / (N - 1)) + 0.08 cos(4 pi n / (N - 1))``; N and errors as ``hann_window``.

    Example:
        >>> import mashal
        >>> mashal.blackman_window(3, periodic=False)[1:2]
        tensor([1.])
    """
    n, points = _grid("blackman_window", window_length, periodic, dtype, device)
    if n is None:
        return _trivial(window_length, dtype, device, layout, requires_grad)
    angle = n * (math.pi / (points - 1))
    window = (angle * 4).cos() * 0.08 - (angle * 2).cos() * 0.5 + 0.42
    return _finished(window, window_length, layout, requires_grad)


@composite()
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The triangle ``1 - |2 n / (N - 1) - 1|``; N and errors as ``hann_window``.

    Example:
        >>> import mashal
        >>> mashal.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    n, points = _grid("bartlett_window", window_length, periodic, dtype, device)
    if n is None:
        return _trivial(window_length, dtype, device, layout, requires_grad)
    rising = n * (2 / (points - 1))
    middle = (points - 1) // 2 + 1
    rising[middle:] = 2 - rising[middle:]
    return _finished(rising, window_length, layout, requires_grad)


@composite()
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``I0(beta sqrt(1 - (2 n / (N - 1) - 1)^2)) / I0(beta)``; N and errors as ``hann_window``.

    Example:
        >>> import mashal
        >>> mashal.kaiser_window(4, beta=0.0)
        tensor([1., 1., 1., 1.])
    """
    n, points = _grid("kaiser_window", window_length, periodic, dtype, device)
    if n is None:
        return _trivial(window_length, dtype, device, layout, requires_grad)
    half = (points - 1) / 2
    place = (n - half) / half
    window = (beta * (1 - place * place).clamp(min=0).sqrt()).i0() / (n.new_full((), beta)).i0()
    return _finished(window, window_length, layout, requires_grad)
