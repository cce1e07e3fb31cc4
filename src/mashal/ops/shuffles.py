"""Rearrangements of channels: pixel_shuffle, pixel_unshuffle, channel_shuffle."""

from __future__ import annotations

from .._core import Tensor
from ._registry import alias, composite


@composite()
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """``(*, C r^2, H, W)`` to ``(*, C, H r, W r)``, r being ``upscale_factor``: channels become pixels.

    Raises: RuntimeError if the channels are no multiple of r^2, or for fewer than 3 dimensions.
    Gradient: ``pixel_unshuffle``.

    Example:
        >>> import mashal
        >>> mashal.pixel_shuffle(mashal.arange(4).reshape(4, 1, 1), 2)
        tensor([[[0, 1],
                 [2, 3]]])
    """
    r = upscale_factor
    if input.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, channels, h, w = input.shape
    if channels % (r * r) != 0:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    k = len(lead)
    split = input.reshape([*lead, channels // (r * r), r, r, h, w])
    return split.permute([*range(k), k, k + 3, k + 1, k + 4, k + 2]).reshape([*lead, channels // (r * r), h * r, w * r])


@composite()
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """``(*, C, H r, W r)`` to ``(*, C r^2, H, W)``, r being ``downscale_factor``: pixels become channels.

    Raises: RuntimeError if height or width is no multiple of r, or for fewer than 3 dimensions.
    Gradient: ``pixel_shuffle``.

    Example:
        >>> import mashal
        >>> mashal.pixel_unshuffle(mashal.arange(4).reshape(1, 2, 2), 2).flatten()
        tensor([0, 1, 2, 3])
    """
    r = downscale_factor
    if input.dim() < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, "
            f"but got input with {input.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, channels, h, w = input.shape
    for name, index, length in (("height", -2, h), ("width", -1, w)):
        if length % r != 0:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, "
                f"but input.size({index})={length} is not divisible by {r}"
            )
    k = len(lead)
    split = input.reshape([*lead, channels, h // r, r, w // r, r])
    return split.permute([*range(k), k, k + 2, k + 4, k + 1, k + 3]).reshape([*lead, channels * r * r, h // r, w // r])


@composite()
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleaves groups of channels of ``(N, C, *)``: (g, C / g) becomes (C / g, g).

    Raises: RuntimeError if C is no multiple of ``groups``, or for fewer than 3 dimensions.
    Gradient: the inverse rearrangement.

    Example:
        >>> import mashal
        >>> mashal.channel_shuffle(mashal.arange(4).reshape(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
    if input.dim() <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    batch, channels, *rest = input.shape
    if channels % groups != 0:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    split = input.reshape([batch, groups, channels // groups, *rest])
    return split.transpose(1, 2).reshape([batch, channels, *rest])


alias("native_channel_shuffle", "channel_shuffle")
