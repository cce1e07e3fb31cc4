"""Pooling: maxima and averages over windows, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor
from ._registry import composite, op

Ints = Sequence[int]

# ---- primitives: any number of spatial dimensions, explicit lists ----


@op(
    "_max_pool(Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode)"
    " -> (Tensor, Tensor)"
)
def _max_pool() -> None:
    """Largest element of each window and its index in the flattened spatial dimensions.

    Args:
        input: as many spatial dimensions as ``kernel_size`` has entries, with one or two before them.
        padding: at most half the kernel; padded elements never win.
        ceil_mode: windows may hang over the end, as long as they begin inside.

    Returns:
        values, and int64 indices. Of equal elements the first counts; NaN beats everything.
    Gradient:
        goes to the element that won.
    """


@op("_plane_scatter(Tensor input, Tensor indices, int[] output_size, bool accumulate) -> Tensor")
def _plane_scatter() -> None:
    """Puts elements at ``indices`` of otherwise empty planes of spatial size ``output_size``; the last one (or the sum)
    stays where several meet.
    """


@op("_plane_gather(Tensor input, Tensor indices, int spatial) -> Tensor")
def _plane_gather() -> None:
    """Reads elements at ``indices`` of planes that span the last ``spatial`` dimensions of ``input``."""


def _to_winners(gs: tuple[Tensor, ...], winners: Tensor, input_shape: Ints, n: int) -> Tensor:
    return _plane_scatter(gs[0], winners, list(input_shape[len(input_shape) - n :]), True)


_max_pool.vjp(input=lambda gs, out1, input_shape, kernel_size: _to_winners(gs, out1, input_shape, len(kernel_size)))
_plane_scatter.vjp(input=lambda g, indices, output_size: _plane_gather(g, indices, len(output_size)))
_plane_gather.vjp(
    input=lambda g, indices, input_shape, spatial: _plane_scatter(
        g, indices, list(input_shape[len(input_shape) - spatial :]), True
    )
)


@op("_adaptive_max_pool(Tensor input, int[] output_size) -> (Tensor, Tensor)")
def _adaptive_max_pool() -> None:
    """``_max_pool`` over windows that divide each spatial dimension evenly into ``output_size`` parts."""


_adaptive_max_pool.vjp(
    input=lambda gs, out1, input_shape, output_size: _to_winners(gs, out1, input_shape, len(output_size))
)


@op(
    "_fractional_max_pool(Tensor input, int[] kernel_size, int[] output_size, Tensor random_samples)"
    " -> (Tensor, Tensor)"
)
def _fractional_max_pool() -> None:
    """``_max_pool`` over windows at pseudo-random distances (B. Graham, "Fractional Max-Pooling", 2014).

    Args:
        random_samples: (N, C, number of spatial dimensions), uniform in [0, 1).
    """


_fractional_max_pool.vjp(
    input=lambda gs, out1, input_shape, kernel_size: _to_winners(gs, out1, input_shape, len(kernel_size)),
    random_samples=lambda: None,
)


@op(
    "_avg_pool(Tensor input, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad,"
    " int divisor) -> Tensor"
)
def _avg_pool() -> None:
    """Mean of each window: its sum over its size (with or without padding), or over ``divisor`` if not 0."""


@op(
    "_avg_pool_backward(Tensor grad, int[] input_size, int[] kernel_size, int[] stride, int[] padding,"
    " bool count_include_pad, int divisor) -> Tensor"
)
def _avg_pool_backward() -> None:
    """The adjoint of ``_avg_pool``; ``input_size`` is spatial."""


@_avg_pool.vjp("input")
def _(
    g: Tensor, input_shape: Ints, kernel_size: Ints, stride: Ints, padding: Ints, count_include_pad: bool, divisor: int
) -> Tensor:
    size = list(input_shape[len(input_shape) - len(kernel_size) :])
    return _avg_pool_backward(g, size, kernel_size, stride, padding, count_include_pad, divisor)


@_avg_pool_backward.vjp("grad")
def _(
    g: Tensor, grad_shape: Ints, kernel_size: Ints, stride: Ints, padding: Ints, count_include_pad: bool, divisor: int
) -> Tensor:
    # Whether the forward pass rounded sizes up shows in the shape of its gradient.
    n = len(kernel_size)
    down = [
        (s + 2 * p - k) // st + 1
        for s, p, k, st in zip(g.shape[g.dim() - n :], padding, kernel_size, stride, strict=True)
    ]
    ceil_mode = down != list(grad_shape[len(grad_shape) - n :])
    return _avg_pool(g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor)


@op("_adaptive_avg_pool(Tensor input, int[] output_size) -> Tensor")
def _adaptive_avg_pool() -> None:
    """Means over windows that divide each spatial dimension evenly into ``output_size`` parts."""


@op("_adaptive_avg_pool_backward(Tensor grad, int[] input_size) -> Tensor")
def _adaptive_avg_pool_backward() -> None:
    """The adjoint of ``_adaptive_avg_pool``; ``input_size`` is spatial."""


_adaptive_avg_pool.vjp(
    input=lambda g, input_shape, output_size: _adaptive_avg_pool_backward(
        g, list(input_shape[len(input_shape) - len(output_size) :])
    )
)
_adaptive_avg_pool_backward.vjp(
    grad=lambda g, grad_shape, input_size: _adaptive_avg_pool(g, list(grad_shape[len(grad_shape) - len(input_size) :]))
)

# ---- PyTorch's names ----


def _spread(op: str, name: str, value: Any, n: int) -> list[int]:
    if isinstance(value, int):
        return [value] * n
    items = [int(v) for v in value]
    if len(items) == 1:
        return items * n
    if len(items) != n:
        raise RuntimeError(f"{op}: {name} must either be a single int, or a tuple of {n} ints, got {tuple(items)}.")
    return items


def _steps(op: str, stride: Any, kernels: list[int]) -> list[int]:
    if stride is None or (not isinstance(stride, int) and len(stride) == 0):
        return kernels
    return _spread(op, "stride", stride, len(kernels))


def _check_rank(op: str, input: Tensor, n: int) -> None:
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(f"{op}: input must be {n + 1}-D or {n + 2}-D, got input {tuple(input.shape)} {input.dtype}.")


def _max(op: str, n: int, input: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    _check_rank(op, input, n)
    kernels = _spread(op, "kernel_size", kernel, n)
    strides = _steps(op, stride, kernels)
    return _max_pool(
        input, kernels, strides, _spread(op, "padding", padding, n), _spread(op, "dilation", dilation, n), ceil_mode
    )


def _average(
    op: str, n: int, input: Tensor, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, divisor: Any
) -> Tensor:
    _check_rank(op, input, n)
    if divisor == 0:
        raise RuntimeError(f"{op}: divisor must be not zero")
    kernels = _spread(op, "kernel_size", kernel, n)
    strides = _steps(op, stride, kernels)
    return _avg_pool(input, kernels, strides, _spread(op, "padding", padding, n), ceil_mode, include, divisor or 0)


_WINDOW = """
    Args:
        input: {shape}.
        kernel_size, stride, padding, dilation: ints or tuples of {n}; stride defaults to kernel_size.
        ceil_mode: round the output size up; a last window must still begin inside the input or its left padding.
    Raises:
        RuntimeError: if the input has another rank, or the window does not fit."""


def _declare(n: int) -> None:
    shape = f"(N, C, {', '.join('DHW'[3 - n :])}) or (C, {', '.join('DHW'[3 - n :])})"
    window = _WINDOW.format(shape=shape, n=n)

    def max_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        return _max(f"max_pool{n}d", n, input, kernel_size, stride, padding, dilation, ceil_mode)[0]

    max_pool.__doc__ = f"Largest element of each window of {n} spatial dimension(s).\n{window}"

    def max_pool_with_indices(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return _max(f"max_pool{n}d", n, input, kernel_size, stride, padding, dilation, ceil_mode)

    max_pool_with_indices.__doc__ = f"``max_pool{n}d``, and where in its plane each maximum lies (int64).\n{window}"

    def avg_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        return _average(
            f"avg_pool{n}d", n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    def avg_pool1(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        return _average("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    for average in (avg_pool, avg_pool1):
        average.__doc__ = f"Mean of each window of {n} spatial dimension(s).\n{window}"

    def adaptive_max_pool(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
        _check_rank(f"adaptive_max_pool{n}d", input, n)
        return _adaptive_max_pool(input, _spread(f"adaptive_max_pool{n}d", "output_size", output_size, n))

    adaptive_max_pool.__doc__ = f"""Maxima over ``output_size`` parts of each spatial dimension, and their indices.

    Args:
        input: {shape}.
        output_size: int or {n} ints.
    """

    def adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
        _check_rank(f"adaptive_avg_pool{n}d", input, n)
        return _adaptive_avg_pool(input, _spread(f"adaptive_avg_pool{n}d", "output_size", output_size, n))

    adaptive_avg_pool.__doc__ = f"""Means over ``output_size`` parts of each spatial dimension.

    Args:
        input: {shape}.
        output_size: int or {n} ints.
    """

    # PyTorch offers these as functions of the package; the others only through nn.functional.
    public = None if n == 1 else "nn"
    composite(name=f"max_pool{n}d")(max_pool)
    composite(name=f"max_pool{n}d_with_indices", namespace=public)(max_pool_with_indices)
    composite(name=f"avg_pool{n}d", namespace=public)(avg_pool1 if n == 1 else avg_pool)
    composite(name=f"adaptive_max_pool{n}d", namespace=public)(adaptive_max_pool)
    composite(name=f"adaptive_avg_pool{n}d", namespace=public)(adaptive_avg_pool)


for _n in (1, 2, 3):
    _declare(_n)


@composite(namespace="nn")
def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any, random_samples: Tensor
) -> tuple[Tensor, Tensor]:
    """See ``_fractional_max_pool``: (N, C, H, W) or (C, H, W), with (N, C, 2) samples."""
    return _fractional_max_pool(
        input,
        _spread("fractional_max_pool2d", "kernel_size", kernel_size, 2),
        _spread("fractional_max_pool2d", "output_size", output_size, 2),
        random_samples,
    )


@composite(namespace="nn")
def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any, random_samples: Tensor
) -> tuple[Tensor, Tensor]:
    """See ``_fractional_max_pool``: (N, C, D, H, W) or (C, D, H, W), with (N, C, 3) samples."""
    return _fractional_max_pool(
        input,
        _spread("fractional_max_pool3d", "kernel_size", kernel_size, 3),
        _spread("fractional_max_pool3d", "output_size", output_size, 3),
        random_samples,
    )


@composite(namespace="nn")
def max_unpool2d(input: Tensor, indices: Tensor, output_size: Any) -> Tensor:
    """Puts the elements of ``input`` back to where ``max_pool2d_with_indices`` found them; zeros elsewhere."""
    _check_rank("max_unpool2d", input, 2)
    return _plane_scatter(input, indices, _spread("max_unpool2d", "output_size", output_size, 2), False)


@composite(namespace="nn")
def max_unpool3d(input: Tensor, indices: Tensor, output_size: Any, stride: Any = None, padding: Any = None) -> Tensor:
    """Puts the elements of ``input`` back to where ``max_pool3d_with_indices`` found them; zeros elsewhere."""
    _check_rank("max_unpool3d", input, 3)
    return _plane_scatter(input, indices, _spread("max_unpool3d", "output_size", output_size, 3), False)
