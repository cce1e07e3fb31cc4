"""Padding layers."""

from __future__ import annotations

from typing import Any

from ... import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """Padding with a mode of ``F.pad``; ``padding`` is an int or (left, right, top, bottom, front, back)."""

    _ndim: int
    _mode: str
    padding: tuple[int, ...]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._ndim)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self._ndim + 1, self._ndim + 2):
            raise ValueError(f"expected {self._ndim + 1}D or {self._ndim + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    r"""Continues ``(N, C, L)`` or ``(C, L)`` periodically.

    Args:
        padding: int or (left, right), at most the length.

    Example::

        >>> nn.CircularPad1d((1, 0))(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 1., 2., 3.]])
    """

    _ndim = 1


class CircularPad2d(_CircularPadNd):
    r"""Continues images periodically; ``padding`` is an int or (left, right, top, bottom).

    Example::

        >>> nn.CircularPad2d(1)(torch.zeros(1, 3, 4)).shape
        mashal.Size([1, 5, 6])
    """

    _ndim = 2


class CircularPad3d(_CircularPadNd):
    r"""Continues volumes periodically; ``padding`` is an int or (left, right, top, bottom, front, back).

    Example::

        >>> nn.CircularPad3d(1)(torch.zeros(1, 3, 4, 5)).shape
        mashal.Size([1, 5, 6, 7])
    """

    _ndim = 3


class _ConstantPadNd(_PadNd):
    value: float

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    r"""Pads the last dimension with ``value``; ``padding`` is an int or (left, right). Negative amounts crop.

    Example::

        >>> nn.ConstantPad1d((1, 2), 3.5)(torch.zeros(1, 1))
        tensor([[3.5000, 0.0000, 3.5000, 3.5000]])
    """

    _ndim = 1


class ConstantPad2d(_ConstantPadNd):
    r"""Pads the last two dimensions with ``value``; ``padding`` is an int or (left, right, top, bottom).

    Example::

        >>> nn.ConstantPad2d(1, 3.5)(torch.zeros(1, 3, 4)).shape
        mashal.Size([1, 5, 6])
    """

    _ndim = 2


class ConstantPad3d(_ConstantPadNd):
    r"""Pads the last three dimensions with ``value``; see :class:`ConstantPad2d`.

    Example::

        >>> nn.ConstantPad3d(1, 3.5)(torch.zeros(1, 3, 4, 5)).shape
        mashal.Size([1, 5, 6, 7])
    """

    _ndim = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    r"""Mirrors ``(N, C, L)`` or ``(C, L)`` at its ends, which are not repeated; ``padding`` < L.

    Example::

        >>> nn.ReflectionPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[2., 1., 2., 3., 2.]])
    """

    _ndim = 1


class ReflectionPad2d(_ReflectionPadNd):
    r"""Mirrors images at their edges; ``padding`` is an int or (left, right, top, bottom).

    Example::

        >>> nn.ReflectionPad2d(1)(torch.zeros(1, 3, 4)).shape
        mashal.Size([1, 5, 6])
    """

    _ndim = 2


class ReflectionPad3d(_ReflectionPadNd):
    r"""Mirrors volumes at their faces; ``padding`` is an int or (left, right, top, bottom, front, back).

    Example::

        >>> nn.ReflectionPad3d(1)(torch.zeros(1, 3, 4, 5)).shape
        mashal.Size([1, 5, 6, 7])
    """

    _ndim = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    r"""Repeats the end values of ``(N, C, L)`` or ``(C, L)``.

    Example::

        >>> nn.ReplicationPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 2., 3., 3.]])
    """

    _ndim = 1


class ReplicationPad2d(_ReplicationPadNd):
    r"""Repeats the edges of images; ``padding`` is an int or (left, right, top, bottom).

    Example::

        >>> nn.ReplicationPad2d(1)(torch.zeros(1, 3, 4)).shape
        mashal.Size([1, 5, 6])
    """

    _ndim = 2


class ReplicationPad3d(_ReplicationPadNd):
    r"""Repeats the faces of volumes; ``padding`` is an int or (left, right, top, bottom, front, back).

    Example::

        >>> nn.ReplicationPad3d(1)(torch.zeros(1, 3, 4, 5)).shape
        mashal.Size([1, 5, 6, 7])
    """

    _ndim = 3


class ZeroPad1d(ConstantPad1d):
    r""":class:`ConstantPad1d` with zeros.

    Example::

        >>> nn.ZeroPad1d(1)(torch.ones(1, 1))
        tensor([[0., 1., 0.]])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    r""":class:`ConstantPad2d` with zeros.

    Example::

        >>> nn.ZeroPad2d(1)(torch.ones(1, 1, 1)).sum()
        tensor(1.)
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    r""":class:`ConstantPad3d` with zeros.

    Example::

        >>> nn.ZeroPad3d(1)(torch.ones(1, 1, 1, 1)).sum()
        tensor(1.)
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
