"""Convolution and transposed convolution in one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor
from ._registry import composite, op
from .matmul import conjugate
from .padding import constant_pad_nd

Ints = Sequence[int]

_GEOMETRY = "int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups"


@op(f"_convolution(Tensor input, Tensor weight, Tensor? bias, {_GEOMETRY}) -> Tensor")
def _convolution() -> None:
    """The convolution behind ``conv1d`` ... ``conv_transpose3d``: batched input, explicit lists.

    ``out[n, o, p] = bias[o] + sum_{c, k} weight[o, c, k] * input[n, c, stride * p - padding + dilation * k]``,
    with zeros outside of ``input``; ``transposed`` swaps the roles of ``input`` and the result.

    Args:
        input: (N, C, ...), one to three spatial dimensions. Channels-last memory is kept.
        weight: (O, C / groups, ...); transposed: (C, O / groups, ...).
        bias: (O,).
    Gradient:
        by convolutions of the same kind; may be differentiated any number of times.
    """


@op(f"_convolution_backward(Tensor grad, Tensor input, Tensor weight, {_GEOMETRY}) -> (Tensor, Tensor)")
def _convolution_backward() -> None:
    """Gradients of ``_convolution`` with respect to input and weight, sharing the preparation of ``grad``."""


@op(f"_convolution_backward_input(Tensor grad, Tensor weight, int[] input_size, {_GEOMETRY}) -> Tensor")
def _convolution_backward_input() -> None:
    """Gradient of ``_convolution`` with respect to its input, of shape ``input_size``."""


@op(f"_convolution_backward_weight(Tensor grad, Tensor input, int[] weight_size, {_GEOMETRY}) -> Tensor")
def _convolution_backward_weight() -> None:
    """Gradient of ``_convolution`` with respect to its weight, of shape ``weight_size``."""


@_convolution.vjp
def _(
    g: Tensor,
    input: Tensor,
    weight: Tensor,
    needs: tuple[bool, ...],
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> tuple[Tensor | None, ...]:
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    g_input = g_weight = g_bias = None
    if needs[0] and needs[1]:
        g_input, g_weight = _convolution_backward(g, conjugate(input), conjugate(weight), *geometry)
    elif needs[0]:
        g_input = _convolution_backward_input(g, conjugate(weight), input.shape, *geometry)
    elif needs[1]:
        g_weight = _convolution_backward_weight(g, conjugate(input), weight.shape, *geometry)
    if needs[2]:
        g_bias = g.sum([0, *range(2, g.dim())])
    return g_input, g_weight, g_bias


# The maps (input, weight) -> out, (grad, weight) -> input and (grad, input) -> weight are linear in each argument, and
# each is the derivative of the other two.
@_convolution_backward_input.vjp
def _(
    g: Tensor,
    grad: Tensor,
    weight: Tensor,
    needs: tuple[bool, ...],
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> tuple[Tensor | None, ...]:
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    g_grad = _convolution(g, conjugate(weight), None, *geometry) if needs[0] else None
    g_weight = _convolution_backward_weight(conjugate(grad), g, weight.shape, *geometry) if needs[1] else None
    return g_grad, g_weight


@_convolution_backward_weight.vjp
def _(
    g: Tensor,
    grad: Tensor,
    input: Tensor,
    needs: tuple[bool, ...],
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> tuple[Tensor | None, ...]:
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    g_grad = _convolution(conjugate(input), g, None, *geometry) if needs[0] else None
    g_input = _convolution_backward_input(conjugate(grad), g, input.shape, *geometry) if needs[1] else None
    return g_grad, g_input


@_convolution_backward.vjp
def _(
    gs: tuple[Tensor, ...],
    grad: Tensor,
    input: Tensor,
    weight: Tensor,
    needs: tuple[bool, ...],
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> tuple[Tensor | None, ...]:
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    to_input, to_weight = gs
    g_grad = None
    if needs[0]:
        g_grad = _convolution(to_input, conjugate(weight), None, *geometry)
        g_grad = g_grad + _convolution(conjugate(input), to_weight, None, *geometry)
    g_input = _convolution_backward_input(conjugate(grad), to_weight, input.shape, *geometry) if needs[1] else None
    g_weight = _convolution_backward_weight(conjugate(grad), to_input, weight.shape, *geometry) if needs[2] else None
    return g_grad, g_input, g_weight


def _spread(op: str, name: str, value: Any, n: int) -> list[int]:
    """One int for all spatial dimensions, or one each."""
    if isinstance(value, int):
        return [value] * n
    items = [int(v) for v in value]
    if len(items) == 1:
        return items * n
    if len(items) != n:
        raise RuntimeError(f"{op}: {name} must be an int or {n} ints, got {tuple(items)}.")
    return items


def _batched(op: str, input: Tensor, weight: Tensor, n: int) -> tuple[Tensor, bool]:
    if weight.dim() != n + 2 or input.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {op}, with a {n + 2}D weight, but got input "
            f"of size: {list(input.shape)} and weight of size: {list(weight.shape)}"
        )
    return (input, False) if input.dim() == n + 2 else (input.unsqueeze(0), True)


def _forward(
    op: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    x, single = _batched(op, input, weight, n)
    strides, dilations = _spread(op, "stride", stride, n), _spread(op, "dilation", dilation, n)
    if isinstance(padding, str):
        x, paddings = _named_padding(op, n, x, weight, strides, padding, dilations)
    else:
        paddings = _spread(op, "padding", padding, n)
    out = _convolution(x, weight, bias, strides, paddings, dilations, False, [0] * n, groups)
    return out.squeeze(0) if single else out


def _named_padding(
    op: str, n: int, x: Tensor, weight: Tensor, stride: list[int], padding: str, dilation: list[int]
) -> tuple[Tensor, list[int]]:
    if padding == "valid":
        return x, [0] * n
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    if any(t % 2 for t in total):  # one more after than before
        x = constant_pad_nd(x, [v for t in reversed(total) for v in (0, t % 2)])
    return x, [t // 2 for t in total]


def _transposed(
    op: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    x, single = _batched(op, input, weight, n)
    lists = [_spread(op, name, v, n) for name, v in (("stride", stride), ("padding", padding), ("dilation", dilation))]
    out = _convolution(x, weight, bias, *lists, True, _spread(op, "output_padding", output_padding, n), groups)
    return out.squeeze(0) if single else out


@composite()
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over one dimension (cross-correlation: the kernel is not flipped).

    Args:
        input: (N, C, L) or (C, L).
        weight: (O, C / groups, K).
        bias: (O,).
        padding: zeros on both sides: int, tuple, ``"valid"`` (none) or ``"same"`` (the output is as long as the input;
            stride 1 only).

    Returns:
        (N, O, L'), with ``L' = floor((L + 2 padding - dilation (K - 1) - 1) / stride) + 1``.

    Raises:
        RuntimeError: if shapes or dtypes do not fit, or the kernel is longer than the padded input.

    Example:
        >>> import mashal
        >>> mashal.conv1d(mashal.ones(1, 1, 4), mashal.ones(1, 1, 3))
        tensor([[[3., 3.]]])
    """
    return _forward("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@composite()
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over two dimensions; arguments as for ``conv1d``, with ints or pairs.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (O, C / groups, KH, KW).

    Example:
        >>> import mashal
        >>> mashal.conv2d(mashal.ones(1, 1, 3, 3), mashal.ones(2, 1, 2, 2)).shape
        mashal.Size([1, 2, 2, 2])
    """
    return _forward("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@composite()
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over three dimensions; arguments as for ``conv1d``, with ints or triples.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        weight: (O, C / groups, KD, KH, KW).

    Example:
        >>> import mashal
        >>> mashal.conv3d(mashal.ones(1, 1, 3, 3, 3), mashal.ones(2, 1, 2, 2, 2)).shape
        mashal.Size([1, 2, 2, 2, 2])
    """
    return _forward("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@composite()
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Transposed convolution over one dimension: the map that ``conv1d`` has as its input gradient.

    Args:
        input: (N, C, L) or (C, L).
        weight: (C, O / groups, K).
        output_padding: how much longer the output is at its end; less than stride or dilation.

    Returns:
        (N, O, L'), with ``L' = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1``.

    Raises:
        RuntimeError: if shapes or dtypes do not fit.

    Example:
        >>> import mashal
        >>> mashal.conv_transpose1d(mashal.ones(1, 1, 2), mashal.ones(1, 1, 2), stride=2)
        tensor([[[1., 1., 1., 1.]]])
    """
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite()
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Transposed convolution over two dimensions; arguments as for ``conv_transpose1d``, with ints or pairs.

    Example:
        >>> import mashal
        >>> mashal.conv_transpose2d(mashal.ones(1, 3, 4, 4), mashal.ones(3, 2, 2, 2), stride=2).shape
        mashal.Size([1, 2, 8, 8])
    """
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite()
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Transposed convolution over three dimensions; arguments as for ``conv_transpose1d``, with ints or triples.

    Example:
        >>> import mashal
        >>> mashal.conv_transpose3d(mashal.ones(1, 3, 2, 2, 2), mashal.ones(3, 2, 2, 2, 2), stride=2).shape
        mashal.Size([1, 2, 4, 4, 4])
    """
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite()
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Tensor:
    """All of the convolutions above by one name; arguments are lists with one entry per spatial dimension.

    Example:
        >>> import mashal
        >>> mashal.convolution(mashal.ones(1, 1, 4), mashal.ones(1, 1, 3), None, [1], [0], [1], False, [0], 1).shape
        mashal.Size([1, 1, 2])
    """
    n = input.dim() - 2
    lists = [
        _spread("convolution", name, v, n)
        for name, v in (("stride", stride), ("padding", padding), ("dilation", dilation))
    ]
    return _convolution(
        input, weight, bias, *lists, transposed, _spread("convolution", "output_padding", output_padding, n), groups
    )
