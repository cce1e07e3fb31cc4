"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math
from typing import Any

import mashal

from ... import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Any
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        # The amounts for F.pad, which padding modes other than zeros go through.
        if isinstance(padding, str):
            sides: list[int] = []
            for d, k in zip(dilation, kernel_size, strict=True):
                total = d * (k - 1) if padding == "same" else 0
                sides[:0] = [total // 2, total - total // 2]
            self._reversed_padding_repeated_twice: Any = sides
        else:
            self._reversed_padding_repeated_twice = _reverse_repeat_tuple(padding, 2)

        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(mashal.empty((first, second // groups, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(mashal.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values: U(-k, k) with ``k = 1 / sqrt(fan_in)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _PlainConvNd(_ConvNd):
    """What Conv1d, Conv2d and Conv3d share; each gives its number of spatial dimensions."""

    _ndim: int
    _function: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        spread = _ntuple(self._ndim)
        super().__init__(
            in_channels,
            out_channels,
            spread(kernel_size),
            spread(stride),
            padding if isinstance(padding, str) else spread(padding),
            spread(dilation),
            False,
            spread(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._ndim
        return type(self)._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_PlainConvNd):
    r"""Cross-correlation of a signal with learned kernels.

    ``out[n, j] = bias[j] + sum_i weight[j, i] * input[n, i]``, where ``*`` slides the kernel along the length.

    Args:
        in_channels, out_channels: numbers of channels.
        kernel_size: int or 1-tuple.
        stride: step of the kernel.
        padding: zeros added on both sides, or ``"valid"`` (none) or ``"same"`` (keeps the length; stride 1 only).
        dilation: distance between kernel elements.
        groups: the channels are split into this many groups that do not see each other.
        bias: whether to add a learned bias.
        padding_mode: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Shape:
        input ``(N, C_in, L)`` or ``(C_in, L)``, output ``(N, C_out, L_out)`` with
        ``L_out = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1)``; weight
        ``(out_channels, in_channels / groups, kernel_size)``.

    Raises:
        ValueError: channels are not divisible by ``groups``, or a padding string or mode is unknown.

    Example::

        >>> nn.Conv1d(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).shape
        mashal.Size([20, 33, 24])
    """

    _ndim = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_PlainConvNd):
    r"""Cross-correlation of an image with learned kernels.

    ``out[n, j] = bias[j] + sum_i weight[j, i] * input[n, i]``, where ``*`` slides the kernel over height and width.

    Args:
        in_channels, out_channels: numbers of channels.
        kernel_size, stride, dilation: int, or a pair (height, width).
        padding: int or pair of zeros added on both sides, or ``"valid"``, or ``"same"`` (stride 1 only).
        groups: the channels are split into this many groups that do not see each other.
        bias: whether to add a learned bias.
        padding_mode: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Shape:
        input ``(N, C_in, H, W)`` or ``(C_in, H, W)``, output ``(N, C_out, H_out, W_out)`` with
        ``H_out = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1)``, likewise the width; weight
        ``(out_channels, in_channels / groups, kH, kW)``.

    Raises:
        ValueError: channels are not divisible by ``groups``, or a padding string or mode is unknown.

    Example::

        >>> nn.Conv2d(16, 33, (3, 5), stride=(2, 1), padding=(4, 2))(torch.randn(20, 16, 50, 100)).shape
        mashal.Size([20, 33, 28, 100])
    """

    _ndim = 2
    _function = staticmethod(F.conv2d)


class Conv3d(_PlainConvNd):
    r"""Cross-correlation of a volume with learned kernels; the three-dimensional form of :class:`Conv2d`.

    Shape:
        input ``(N, C_in, D, H, W)`` or ``(C_in, D, H, W)``, output ``(N, C_out, D_out, H_out, W_out)``; weight
        ``(out_channels, in_channels / groups, kD, kH, kW)``. Arguments and errors are those of :class:`Conv2d`, with
        triples for pairs.

    Example::

        >>> nn.Conv3d(16, 33, 3, stride=2)(torch.randn(2, 16, 10, 50, 100)).shape
        mashal.Size([2, 33, 4, 24, 49])
    """

    _ndim = 3
    _function = staticmethod(F.conv3d)


class _ConvTransposeNd(_ConvNd):
    """What the transposed convolutions share."""

    _ndim: int
    _function: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        spread = _ntuple(self._ndim)
        super().__init__(
            in_channels,
            out_channels,
            spread(kernel_size),
            spread(stride),
            spread(padding),
            spread(dilation),
            True,
            spread(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: list[int] | None) -> Any:
        """The padding that makes the output ``output_size``; several sizes map to one input size when strided."""
        if output_size is None:
            return self.output_padding
        n = self._ndim
        batched = input.dim() == n + 2
        lead = 2 if batched else 1
        wanted = list(output_size)
        if len(wanted) == lead + n:
            wanted = wanted[lead:]
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {lead + n} elements "
                f"(got {len(output_size)})"
            )
        low = [
            (input.size(d + lead) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(n)
        ]
        high = [low[d] + self.stride[d] - 1 for d in range(n)]
        if any(not a <= size <= b for a, size, b in zip(low, wanted, high, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range "
                f"from {low} to {high} (for an input of {input.size()[2:]})"
            )
        return [size - a for size, a in zip(wanted, low, strict=True)]

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        output_padding = self._output_padding(input, output_size)
        return type(self)._function(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    r"""The gradient of :class:`Conv1d` with respect to its input, used as a layer that lengthens a signal.

    Args:
        in_channels, out_channels, kernel_size, stride, groups, bias, dilation: as for :class:`Conv1d`.
        padding: ``dilation * (kernel_size - 1) - padding`` zeros are added on both sides of the input.
        output_padding: extra size on one side of the output, less than the stride or the dilation.

    Shape:
        input ``(N, C_in, L)`` or ``(C_in, L)``, output ``(N, C_out, L_out)`` with
        ``L_out = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``; weight
        ``(in_channels, out_channels / groups, kernel_size)``. ``forward`` also takes ``output_size``.

    Raises:
        ValueError: ``output_size`` cannot be reached, or ``padding_mode`` is not ``"zeros"``.

    Example::

        >>> nn.ConvTranspose1d(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).shape
        mashal.Size([20, 33, 101])
    """

    _ndim = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    r"""The gradient of :class:`Conv2d` with respect to its input, used as a layer that enlarges an image.

    Args:
        in_channels, out_channels, kernel_size, stride, groups, bias, dilation: as for :class:`Conv2d`.
        padding: ``dilation * (kernel_size - 1) - padding`` zeros are added on both sides of the input.
        output_padding: extra size on one side of the output, less than the stride or the dilation.

    Shape:
        input ``(N, C_in, H, W)`` or ``(C_in, H, W)``, output ``(N, C_out, H_out, W_out)`` with
        ``H_out = (H - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``; weight
        ``(in_channels, out_channels / groups, kH, kW)``. ``forward`` also takes ``output_size``.

    Raises:
        ValueError: ``output_size`` cannot be reached, or ``padding_mode`` is not ``"zeros"``.

    Example::

        >>> down, up = nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.ConvTranspose2d(16, 16, 3, stride=2, padding=1)
        >>> x = torch.randn(1, 16, 12, 12)
        >>> up(down(x), output_size=x.size()).shape
        mashal.Size([1, 16, 12, 12])
    """

    _ndim = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    r"""The three-dimensional form of :class:`ConvTranspose2d`; the same arguments, with triples for pairs.

    Shape:
        input ``(N, C_in, D, H, W)`` or ``(C_in, D, H, W)``;
        weight ``(in_channels, out_channels / groups, kD, kH, kW)``.

    Example::

        >>> nn.ConvTranspose3d(16, 33, 3, stride=2)(torch.randn(2, 16, 4, 5, 6)).shape
        mashal.Size([2, 33, 9, 11, 13])
    """

    _ndim = 3
    _function = staticmethod(F.conv_transpose3d)
