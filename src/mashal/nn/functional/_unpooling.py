"""Max unpooling, and max pooling at random positions."""

from __future__ import annotations

from typing import Any

import mashal

from ... import Tensor, _ops

__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


def _spread(value: Any, n: int) -> list[Any]:
    return [value] * n if isinstance(value, int | float) else list(value)


def _unpool_output_size(
    input: Tensor, kernel_size: list[int], stride: list[int], padding: list[int], output_size: Any
) -> list[int]:
    n = len(kernel_size)
    size = input.shape[-n:]
    default = [(size[d] - 1) * stride[d] + kernel_size[d] - 2 * padding[d] for d in range(n)]
    if output_size is None:
        return default
    wanted = list(output_size)
    if len(wanted) == n + 2:
        wanted = wanted[2:]
    if len(wanted) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, "
            f"but it has a length of '{len(wanted)}'"
        )
    for d in range(n):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < wanted[d] < high:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})')
    return wanted


def _max_unpool(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any, n: int
) -> Tensor:
    op = f"max_unpool{n}d"
    kernel = _spread(kernel_size, n)
    steps = kernel if stride is None else _spread(stride, n)
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"{op}: input must have {n + 1} or {n + 2} dimensions, got input {tuple(input.shape)} {input.dtype}."
        )
    if indices.dtype != mashal.int64:
        raise RuntimeError(f"{op}: elements in indices should be type int64 but got: {indices.dtype}.")
    if indices.shape != input.shape:
        raise RuntimeError(
            f"{op}: Expected shape of indices to be same as that of the input tensor, got input "
            f"{tuple(input.shape)} and indices {tuple(indices.shape)}."
        )
    size = _unpool_output_size(input, kernel, steps, _spread(padding, n), output_size)
    if n == 1:
        return _ops.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)
    if n == 2:
        return _ops.max_unpool2d(input, indices, size)
    return _ops.max_unpool3d(input, indices, size, steps, _spread(padding, n))


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """The partial inverse of :func:`max_pool1d`; see :class:`~mashal.nn.MaxUnpool1d`."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """The partial inverse of :func:`max_pool2d`; see :class:`~mashal.nn.MaxUnpool2d`."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """The partial inverse of :func:`max_pool3d`; see :class:`~mashal.nn.MaxUnpool3d`."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 3)


def _fractional(
    input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None, n: int
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{n}d"
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"{name}: input must have {n + 1} or {n + 2} dimensions, got input {tuple(input.shape)} {input.dtype}."
        )
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    size = list(input.shape[-n:])
    if output_size is None:
        ratio = _spread(output_ratio, n)
        out = [int(s * r) for s, r in zip(size, ratio, strict=True)]
    else:
        out = _spread(output_size, n)
    pool = _spread(kernel_size, n)
    for s, o, k in zip(size, out, pool, strict=True):
        if o + k - 1 > s:
            raise RuntimeError(
                f"{name}: kernel_size + output size - 1 must not exceed the input size ({k} + {o} - 1 > {s}), "
                f"got input {tuple(input.shape)} {input.dtype}."
            )
    if samples is None:
        batch = input.shape[0] if input.dim() == n + 2 else 1
        samples = mashal.rand(batch, input.shape[-n - 1], n, dtype=input.dtype, device=input.device)
    op = _ops.fractional_max_pool2d if n == 2 else _ops.fractional_max_pool3d
    return op(input, pool, out, samples)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """:func:`fractional_max_pool2d` and the positions of the maxima in the flattened image."""
    return _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 2)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Max pooling at random, nearly regular positions; see :class:`~mashal.nn.FractionalMaxPool2d`."""
    pair = _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 2)
    return pair if return_indices else pair[0]


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """:func:`fractional_max_pool3d` and the positions of the maxima in the flattened volume."""
    return _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 3)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Max pooling of volumes at random positions; see :class:`~mashal.nn.FractionalMaxPool3d`."""
    pair = _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 3)
    return pair if return_indices else pair[0]
