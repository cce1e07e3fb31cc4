"""Layers that only rearrange: flatten, shuffle, fold."""

from __future__ import annotations

from typing import Any

from ... import Tensor
from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle", "Flatten", "Fold", "PixelShuffle", "PixelUnshuffle", "Unflatten", "Unfold"]


class Flatten(Module):
    r"""Joins the dimensions from ``start_dim`` to ``end_dim`` into one; by default all but the batch.

    Example::

        >>> nn.Flatten()(torch.zeros(32, 1, 5, 5)).shape
        mashal.Size([32, 25])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    r"""Splits dimension ``dim`` into several of the sizes ``unflattened_size``, of which one may be -1.

    Raises:
        TypeError: ``unflattened_size`` is no tuple (or list) of ints.

    Example::

        >>> nn.Unflatten(1, (2, 5))(torch.zeros(3, 10)).shape
        mashal.Size([3, 2, 5])
    """

    def __init__(self, dim: Any, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, str):
            raise TypeError("Unflatten: dim must be an int, got a name. Named dimensions are not supported.")
        if not isinstance(unflattened_size, tuple | list):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class PixelShuffle(Module):
    r"""``(*, C r^2, H, W)`` to ``(*, C, H r, W r)``: channels become pixels (Shi et al. 2016).

    Args:
        upscale_factor: r.

    Raises:
        RuntimeError: the number of channels is not divisible by r^2.

    Example::

        >>> nn.PixelShuffle(3)(torch.zeros(1, 9, 4, 4)).shape
        mashal.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    r"""``(*, C, H r, W r)`` to ``(*, C r^2, H, W)``: the inverse of :class:`PixelShuffle`.

    Args:
        downscale_factor: r.

    Raises:
        RuntimeError: height or width is not divisible by r.

    Example::

        >>> nn.PixelUnshuffle(3)(torch.zeros(1, 1, 12, 12)).shape
        mashal.Size([1, 9, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    r"""Interleaves ``groups`` groups of the channels of ``(N, C, *)`` (Zhang et al. 2017).

    Raises:
        RuntimeError: the number of channels is not divisible by ``groups``.

    Example::

        >>> nn.ChannelShuffle(2)(torch.arange(4.0).reshape(1, 4, 1, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class _Windows(Module):
    def extra_repr(self) -> str:
        names = ("output_size", "kernel_size", "dilation", "padding", "stride")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names if hasattr(self, name))


class Fold(_Windows):
    r"""Adds up the columns of ``(N, C k, L)`` as overlapping windows of an image ``(N, C, *output_size)``.

    k is the number of elements of a window and L the number of windows. It is the adjoint of :class:`Unfold`, not
    its inverse: elements that lie in several windows are summed.

    Args:
        output_size, kernel_size, dilation, padding, stride: int or pair.

    Raises:
        RuntimeError: L is not the number of windows that these settings give.

    Example::

        >>> nn.Fold(output_size=(4, 5), kernel_size=(2, 2))(torch.randn(1, 3 * 2 * 2, 12)).shape
        mashal.Size([1, 3, 4, 5])
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Unfold(_Windows):
    r"""The sliding windows of ``(N, C, H, W)`` as the columns of ``(N, C k, L)``.

    Args:
        kernel_size, dilation, padding, stride: int or pair.

    Example::

        >>> nn.Unfold(kernel_size=(2, 3))(torch.randn(2, 5, 3, 4)).shape
        mashal.Size([2, 30, 4])
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)
