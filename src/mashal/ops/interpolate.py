"""Resampling of images: interpolation, sampling at a grid, sliding blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor
from ._registry import composite, op

Ints = Sequence[int]


@op("_interpolate(Tensor input, int[] output_size, str mode, bool align_corners, float[] scales) -> Tensor")
def _interpolate() -> None:
    """Resizes the spatial dimensions.

    Args:
        input: as many spatial dimensions as ``output_size`` has entries, with one or two before them; floating or uint8
            (then rounded).
        mode: ``nearest``, ``nearest-exact``, ``linear``, ``cubic`` (each along every axis), or ``linear-antialias``,
            ``cubic-antialias``, ``lanczos-antialias``.
        align_corners: whether corner elements or outer edges coincide.
        scales: factors to compute positions with; 0: from the sizes.
    Gradient:
        the adjoint map.
    Source:
        cubic: R. Keys, "Cubic convolution interpolation for digital image processing" (1981), a = -0.75 (-0.5 with
        antialiasing).
    """


@op("_interpolate_backward(Tensor grad, int[] input_size, str mode, bool align_corners, float[] scales) -> Tensor")
def _interpolate_backward() -> None:
    """The adjoint of ``_interpolate``; ``input_size`` is spatial."""


_interpolate.vjp(
    input=lambda g, input_shape, output_size, mode, align_corners, scales: _interpolate_backward(
        g, list(input_shape[len(input_shape) - len(output_size) :]), mode, align_corners, scales
    )
)
_interpolate_backward.vjp(
    grad=lambda g, grad_shape, input_size, mode, align_corners, scales: _interpolate(
        g, list(grad_shape[len(grad_shape) - len(input_size) :]), mode, align_corners, scales
    )
)


def _resize(
    name: str, n: int, input: Tensor, output_size: Any, mode: str, align: bool, scales: Sequence[float | None]
) -> Tensor:
    sizes = [output_size] * n if isinstance(output_size, int) else list(output_size)
    if len(sizes) != n or input.dim() != n + 2:
        raise RuntimeError(
            f"{name}: input must be {n + 2}-D and output_size have {n} entries, got input {tuple(input.shape)} "
            f"{input.dtype} and output_size {tuple(sizes)}."
        )
    return _interpolate(input, sizes, mode, align, [float(s or 0.0) for s in scales])


def _declare(name: str, n: int, mode: str, alignable: bool) -> None:
    def aligned(input: Tensor, output_size: Any, align_corners: bool, *scales: float | None) -> Tensor:
        return _resize(name, n, input, output_size, mode, align_corners, scales)

    def unaligned(input: Tensor, output_size: Any, *scales: float | None) -> Tensor:
        return _resize(name, n, input, output_size, mode, False, scales)

    fn = aligned if alignable else unaligned
    fn.__doc__ = f"""``_interpolate`` with mode ``{mode}`` for {n} spatial dimension(s).

    Args:
        input: {n + 2}-D, (N, C, ...).
        scales: the factors given to ``nn.functional.interpolate``; None: derived from the sizes.
    """
    composite(name=name, namespace="nn")(fn)


for _n in (1, 2, 3):
    _declare(f"upsample_nearest{_n}d", _n, "nearest", False)
    _declare(f"_upsample_nearest_exact{_n}d", _n, "nearest-exact", False)
_declare("upsample_linear1d", 1, "linear", True)
_declare("upsample_bilinear2d", 2, "linear", True)
_declare("upsample_trilinear3d", 3, "linear", True)
_declare("upsample_bicubic2d", 2, "cubic", True)
_declare("_upsample_bilinear2d_aa", 2, "linear-antialias", True)
_declare("_upsample_bicubic2d_aa", 2, "cubic-antialias", True)
_declare("_upsample_lanczos2d_aa", 2, "lanczos-antialias", True)


@op(
    "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    method=False,
)
def grid_sampler() -> None:
    """Values of ``input`` at the positions of ``grid``.

    Args:
        input: (N, C, H, W) or (N, C, D, H, W).
        grid: (N, H', W', 2) or (N, D', H', W', 3): x, y[, z] from -1 to 1.
        interpolation_mode: 0 linear along every axis, 1 nearest, 2 cubic (4-D only).
        padding_mode: 0 zeros, 1 the border, 2 reflection.

    Returns:
        (N, C, H', W') or (N, C, D', H', W').

    Raises:
        RuntimeError: if shapes or dtypes do not fit.
    Gradient:
        of input and grid, once; 0 by the grid where padding holds a position fixed and for nearest.

    Example:
        >>> import mashal
        >>> mashal.grid_sampler(mashal.ones(1, 1, 2, 2), mashal.zeros(1, 1, 1, 2), 0, 0, False)
        tensor([[[[1.]]]])
    """


@op(
    "_grid_sampler_backward(Tensor grad, Tensor input, Tensor grid, int interpolation_mode, int padding_mode,"
    " bool align_corners) -> (Tensor, Tensor)"
)
def _grid_sampler_backward() -> None:
    """Gradients of ``grid_sampler`` with respect to input and grid."""


@grid_sampler.vjp
def _(
    g: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> tuple[Tensor, ...]:
    return _grid_sampler_backward(g, input, grid, interpolation_mode, padding_mode, align_corners)


_grid_sampler_backward.nondifferentiable("second derivatives of grid_sampler are not implemented, as in PyTorch")


def _check_sampler(name: str, input: Tensor, rank: int) -> None:
    if input.dim() != rank:
        raise RuntimeError(f"{name}: input must be {rank}-D, got input {tuple(input.shape)} {input.dtype}.")


@composite()
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``grid_sampler`` for (N, C, H, W)."""
    _check_sampler("grid_sampler_2d", input, 4)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@composite()
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``grid_sampler`` for (N, C, D, H, W)."""
    _check_sampler("grid_sampler_3d", input, 5)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@op(
    "im2col(Tensor input, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", namespace="nn"
)
def im2col() -> None:
    """Sliding blocks of images as columns (``nn.functional.unfold``).

    Args:
        input: (N, C, H, W) or (C, H, W).

    Returns:
        (N, C * KH * KW, L) with one column for each of the L places of the block, row by row.

    Raises:
        RuntimeError: if the input has another rank or no block fits.
    Gradient:
        ``col2im``.

    Example:
        >>> import mashal
        >>> mashal._ops.im2col(mashal.ones(1, 1, 3, 3), 2, 1, 0, 1).shape
        mashal.Size([1, 4, 4])
    """


@op(
    "col2im(Tensor input, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)"
    " -> Tensor",
    namespace="nn",
)
def col2im() -> None:
    """Sums columns of ``im2col`` back into images (``nn.functional.fold``).

    Args:
        input: (N, C * KH * KW, L) or (C * KH * KW, L).
        output_size: (H, W).

    Returns:
        (N, C, H, W).

    Raises:
        RuntimeError: if sizes do not belong together.
    Gradient:
        ``im2col``.

    Example:
        >>> import mashal
        >>> mashal._ops.col2im(mashal.ones(1, 4, 4), (3, 3), 2, 1, 0, 1)[0, 0, 1, 1]
        tensor(4.)
    """


im2col.vjp(
    input=lambda g, input_shape, kernel_size, dilation, padding, stride: col2im(
        g, list(input_shape[-2:]), kernel_size, dilation, padding, stride
    )
)
col2im.vjp(input=lambda g, kernel_size, dilation, padding, stride: im2col(g, kernel_size, dilation, padding, stride))
