"""Padding of any dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import mashal

from ... import Tensor

__all__ = ["pad"]


def _crop(x: Tensor, dim: int, left: int, right: int) -> Tensor:
    """What negative amounts leave of ``x``."""
    start, end = max(0, -left), max(0, -right)
    if start == 0 and end == 0:
        return x
    return x.narrow(dim, start, x.size(dim) - start - end)


def _check_width(x: Tensor, dim: int, left: int, right: int, limit: int, message: str) -> None:
    if left > limit or right > limit:
        raise RuntimeError(
            f"pad: {message}, got padding ({left}, {right}) at dimension {dim} of input {tuple(x.shape)} {x.dtype}."
        )


def _reflect(x: Tensor, dim: int, left: int, right: int) -> Tensor:
    n = x.size(dim)
    _check_width(x, dim, left, right, n - 1, "Padding size should be less than the corresponding input dimension")
    parts = [_crop(x, dim, left, right)]
    if left > 0:
        parts.insert(0, x.narrow(dim, 1, left).flip(dim))
    if right > 0:
        parts.append(x.narrow(dim, n - 1 - right, right).flip(dim))
    return mashal.cat(parts, dim)


def _replicate(x: Tensor, dim: int, left: int, right: int) -> Tensor:
    n = x.size(dim)
    parts = [_crop(x, dim, left, right)]
    if left > 0:
        parts.insert(0, x.narrow(dim, 0, 1).expand([left if d == dim else -1 for d in range(x.dim())]))
    if right > 0:
        parts.append(x.narrow(dim, n - 1, 1).expand([right if d == dim else -1 for d in range(x.dim())]))
    return mashal.cat(parts, dim)


def _circular(x: Tensor, dim: int, left: int, right: int) -> Tensor:
    _check_width(x, dim, left, right, x.size(dim), "Padding value causes wrapping around more than once")
    middle = _crop(x, dim, left, right)
    parts = [middle]
    if left > 0:
        parts.insert(0, middle.narrow(dim, middle.size(dim) - left, left))
    if right > 0:
        parts.append(middle.narrow(dim, 0, right))
    return mashal.cat(parts, dim)


_MODES = {"reflect": _reflect, "replicate": _replicate, "circular": _circular}


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
    extend = _MODES[mode]
    out = input
    for i in range(count):
        left, right = pad[2 * i], pad[2 * i + 1]
        if left != 0 or right != 0:
            out = extend(out, ndim - 1 - i, left, right)
    return out.clone() if out is input else out
