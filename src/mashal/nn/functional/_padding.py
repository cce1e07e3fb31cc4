"""Padding of any dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import mashal

from ... import Tensor, _ops

__all__ = ["pad"]


_MODES = ("reflect", "replicate", "circular")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pads the last ``len(pad) / 2`` dimensions.

    Args:
        input: any shape. For modes other than ``"constant"``: 1 to 3 padded dimensions, and before them one or two
            others.
        pad: (before, after) of the last dimension, then of the one before it, and so on. Negative amounts crop.
        mode: ``"constant"``, ``"reflect"`` (mirror without repeating the edge; amounts less than the size),
            ``"replicate"`` (repeat the edge) or ``"circular"`` (amounts up to the size).
        value: fill value of ``"constant"``; default 0.

    Raises:
        RuntimeError: the length of ``pad`` is odd or too large, an amount is too large, or ``value`` is given for
            another mode.
        NotImplementedError: unknown mode, or a rank that the mode does not cover.
    """
    if len(pad) % 2 != 0:
        raise RuntimeError(f"Padding length must be divisible by 2: pad holds (before, after) pairs, got {pad}.")
    ndim, count = input.dim(), len(pad) // 2
    if count > ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension "
            f"but got padding length {len(pad)} and input of dimension {ndim}"
        )
    if mode == "constant":
        return mashal.constant_pad_nd(input, pad, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if not 1 <= count <= 3 or ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {ndim}D input tensor: mode {mode!r} takes 2 amounts for "
            "2D or 3D, 4 for 3D or 4D, and 6 for 4D or 5D input."
        )
    if any(size == 0 for size in input.shape[-count - 1 :]):
        raise RuntimeError(
            f"pad: only the batch dimension of input may have size 0 for mode {mode!r}, got input "
            f"{tuple(input.shape)} {input.dtype}."
        )
    for i in range(count):
        dim = ndim - 1 - i
        size = input.shape[dim]
        # A mirrored edge is not repeated, so one element fewer is there to be taken.
        limit = {"reflect": size - 1, "circular": size}.get(mode)
        if limit is not None and max(pad[2 * i], pad[2 * i + 1]) > limit:
            why = (
                "Padding size should be less than the corresponding input dimension"
                if mode == "reflect"
                else "Padding value causes wrapping around more than once"
            )
            raise RuntimeError(
                f"pad: {why}, got padding ({pad[2 * i]}, {pad[2 * i + 1]}) at dimension {dim} of input "
                f"{tuple(input.shape)} {input.dtype}."
            )
    if mode == "circular" and any(amount < 0 for amount in pad):
        # What is left after cropping is what repeats.
        input = mashal.constant_pad_nd(input, [min(amount, 0) for amount in pad], 0)
        pad = [max(amount, 0) for amount in pad]
    return _ops.pad(input, pad, mode)
