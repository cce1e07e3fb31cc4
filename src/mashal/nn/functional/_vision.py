"""Resizing, sampling and rearranging of images."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import mashal

from ... import Tensor, _ops
from ._pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "fold",
    "grid_sample",
    "interpolate",
    "native_channel_shuffle",
    "pixel_shuffle",
    "pixel_unshuffle",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

_RANK = {"linear": 3, "bilinear": 4, "bicubic": 4, "lanczos": 4, "trilinear": 5}
_ALIGNABLE = ("linear", "bilinear", "bicubic", "trilinear")
_ALL_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"


def _interpolate_sizes(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[list[int], list[float | None]]:
    """The output size, and the factors that kernels are to use (``None``: derive it from the sizes)."""
    n = input.dim() - 2
    spatial = list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, list | tuple):
            if len(size) != n:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, but got "
                    f"input with spatial dimensions of {spatial} and output size of {size}. "
                    "Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                    "output size in (o1, o2, ...,oK) format."
                )
            if not all(isinstance(s, int) for s in size):
                raise TypeError(
                    "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], "
                    f"but got size with types {[type(s) for s in size]}"
                )
            output = list(size)
        else:
            output = [int(size)] * n
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return output, [None] * n
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, list | tuple):
        if len(scale_factor) != n:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but "
                f"got input with spatial dimensions of {spatial} and scale_factor of shape {scale_factor}. "
                "Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                "scale_factor in (s1, s2, ...,sK) format."
            )
        factors = [float(f) for f in scale_factor]
    else:
        factors = [float(scale_factor)] * n
    output = [math.floor(float(s) * f) for s, f in zip(spatial, factors, strict=True)]
    return output, [None] * n if recompute else list(factors)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resizes ``(N, C, W)``, ``(N, C, H, W)`` or ``(N, C, D, H, W)``.

    Args:
        size: spatial output size, int or tuple; or
        scale_factor: float or tuple of factors; the output size is ``floor(size * factor)``.
        mode: ``"nearest"``, ``"nearest-exact"``, ``"area"`` (any rank), ``"linear"`` (3-D), ``"bilinear"``,
            ``"bicubic"``, ``"lanczos"`` (4-D, the last with ``antialias`` only), ``"trilinear"`` (5-D).
        align_corners: the corner elements of input and output coincide; else their outer edges do. Only for the
            (bi, tri)linear and bicubic modes.
        recompute_scale_factor: compute positions from the rounded output size instead of from ``scale_factor``.
        antialias: average over the pixels that an output pixel covers when shrinking (bilinear, bicubic, lanczos).

    Raises:
        ValueError: both or neither of ``size`` and ``scale_factor``, wrong lengths, or an option that the mode does
            not have.
        NotImplementedError: the mode is unknown or does not cover the input's rank.
    """
    ndim = input.dim()
    if mode not in _ALIGNABLE:
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the "
                "interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    output, scales = _interpolate_sizes(input, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if ndim in (3, 4, 5):
        if mode in ("nearest", "nearest-exact", "area"):
            return _resize_any_rank(input, output, scales, mode)
        if mode in _RANK and ndim == _RANK[mode]:
            return _resize_smooth(input, output, scales, mode, bool(align_corners), antialias)
        if mode in ("linear", "bilinear", "trilinear"):
            raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_RANK[mode]}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: "
        f"{_ALL_MODES} (got {mode})"
    )


def _resize_any_rank(input: Tensor, output: list[int], scales: list[float | None], mode: str) -> Tensor:
    n = len(output)
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[n - 1](input, output)
    if mode == "nearest":
        op = (_ops.upsample_nearest1d, _ops.upsample_nearest2d, _ops.upsample_nearest3d)[n - 1]
    else:
        op = (
            _ops._upsample_nearest_exact1d,
            _ops._upsample_nearest_exact2d,
            _ops._upsample_nearest_exact3d,
        )[n - 1]
    return op(input, output, *scales)


def _resize_smooth(
    input: Tensor, output: list[int], scales: list[float | None], mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    if mode == "lanczos":
        if not antialias:
            raise ValueError("lanczos mode requires antialias=True")
        return _ops._upsample_lanczos2d_aa(input, output, align_corners, *scales)
    if antialias:
        op = _ops._upsample_bilinear2d_aa if mode == "bilinear" else _ops._upsample_bicubic2d_aa
    elif mode == "linear":
        op = _ops.upsample_linear1d
    elif mode == "bilinear":
        op = _ops.upsample_bilinear2d
    elif mode == "bicubic":
        op = _ops.upsample_bicubic2d
    else:
        op = _ops.upsample_trilinear3d
    return op(input, output, align_corners, *scales)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Tensor:
    """The deprecated name of :func:`interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Deprecated: :func:`interpolate` with ``mode="nearest"``."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Deprecated: :func:`interpolate` with ``mode="bilinear"`` and ``align_corners=True``."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}
_ALIGN_WARNING = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Samples ``(N, C, H, W)`` (or ``(N, C, D, H, W)``) at the places of ``grid`` ``(N, Ho, Wo, 2)`` (``..., 3``).

    Args:
        grid: (x, y[, z]) with -1 and 1 for the edges (or, with ``align_corners``, for the centres of the corners).
        mode: ``"bilinear"``, ``"nearest"`` or ``"bicubic"`` (4-D only).
        padding_mode: values outside: ``"zeros"``, ``"border"`` or ``"reflection"``.

    Raises:
        ValueError: unknown mode or padding mode. RuntimeError: shapes do not fit.
    """
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(_ALIGN_WARNING, stacklevel=2)
        align_corners = False
    return mashal.grid_sampler(
        input,
        grid,
        GRID_SAMPLE_INTERPOLATION_MODES[mode],
        GRID_SAMPLE_PADDING_MODES[padding_mode],
        align_corners,
    )


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for :func:`grid_sample` of affine maps ``theta``: ``(N, 2, 3)`` (or ``(N, 3, 4)`` for volumes).

    Args:
        size: (N, C, H, W) or (N, C, D, H, W) of the output image.
        align_corners: as for :func:`grid_sample`.

    Returns:
        ``(N, H, W, 2)`` or ``(N, D, H, W, 3)``.

    Raises:
        ValueError: wrong dtype or shape of ``theta``, or a size that is not positive.
        NotImplementedError: ``size`` has neither 4 nor 5 entries.
    """
    if align_corners is None:
        warnings.warn(_ALIGN_WARNING, stacklevel=2)
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size = list(size)
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    n = len(size) - 2
    if theta.dim() != 3 or theta.shape[-2] != n or theta.shape[-1] != n + 1:
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    spatial = size[2:]
    if align_corners and min(spatial) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. "
            "This is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=2,
        )
    columns = []
    for i in range(n):  # x runs along the last dimension, y along the one before, ...
        steps = spatial[n - 1 - i]
        if steps > 1:
            line = mashal.linspace(-1, 1, steps, dtype=theta.dtype, device=theta.device)
        else:
            line = theta.new_zeros(1)
        if not align_corners:
            line = line * ((steps - 1) / steps)
        shape = [1] * n
        shape[n - 1 - i] = steps
        columns.append(line.reshape(shape).expand(spatial))
    columns.append(theta.new_ones(1).expand(spatial))
    points = mashal.stack(columns, -1).reshape(1, -1, n + 1).expand(size[0], -1, n + 1)
    return points.bmm(theta.transpose(1, 2)).reshape(size[0], *spatial, n)


pixel_shuffle = mashal.pixel_shuffle
pixel_unshuffle = mashal.pixel_unshuffle
channel_shuffle = mashal.channel_shuffle
native_channel_shuffle = mashal.native_channel_shuffle


def _pair(value: Any) -> Any:
    return (value, value) if isinstance(value, int) else value


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The sliding windows of ``(N, C, H, W)`` as columns ``(N, C kH kW, L)``; see :class:`~mashal.nn.Unfold`."""
    return _ops.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Sums columns ``(N, C kH kW, L)`` as windows of an image; see :class:`~mashal.nn.Fold`."""
    return _ops.col2im(input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))
