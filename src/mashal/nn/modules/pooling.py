"""Pooling layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple, _single

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(Module):
    _function: Callable[..., Any]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if (stride is not None) else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    r"""The maximum over a sliding window.

    Args:
        kernel_size: length of the window.
        stride: step of the window; default: ``kernel_size``.
        padding: implicit minus infinities on both sides, at most half the window.
        dilation: distance between the window's elements.
        return_indices: also return where the maxima stand, for :class:`MaxUnpool1d`.
        ceil_mode: round the output length up, so that every input element is in a window.

    Shape:
        ``(N, C, L)`` or ``(C, L)`` to ``(N, C, L_out)``,
        ``L_out = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1)``.

    Example::

        >>> nn.MaxPool1d(3, stride=2)(torch.randn(20, 16, 50)).shape
        mashal.Size([20, 16, 24])
    """

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    r"""The maximum over a sliding window of an image.

    Args:
        kernel_size, stride, padding, dilation: int or pair (height, width); the stride defaults to ``kernel_size``.
            Padding stands for minus infinity and is at most half the window.
        return_indices: also return where the maxima stand (index into the flattened image).
        ceil_mode: round the output size up.

    Shape:
        ``(N, C, H, W)`` or ``(C, H, W)`` to ``(N, C, H_out, W_out)``,
        ``H_out = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1)``.

    Example::

        >>> nn.MaxPool2d((3, 2), stride=(2, 1))(torch.randn(20, 16, 50, 32)).shape
        mashal.Size([20, 16, 24, 31])
    """

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    r"""The maximum over a sliding window of a volume; the three-dimensional form of :class:`MaxPool2d`.

    Example::

        >>> nn.MaxPool3d(3, stride=2)(torch.randn(2, 4, 10, 11, 12)).shape
        mashal.Size([2, 4, 4, 5, 5])
    """

    _function = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    _ndim: int
    _function: Callable[..., Any]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        spread = _ntuple(self._ndim)
        self.kernel_size = spread(kernel_size)
        self.stride = spread(stride if (stride is not None) else kernel_size)
        self.padding = spread(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return type(self)._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    r"""Puts maxima back where :class:`MaxPool1d` found them; all other elements are zero.

    Args:
        kernel_size, stride, padding: those of the pooling.

    ``forward`` takes the values, the indices and optionally ``output_size``, which settles the rounding.

    Raises:
        ValueError: ``output_size`` is more than one stride away from the default.

    Example::

        >>> pool, unpool = nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2)
        >>> unpool(*pool(torch.tensor([[[1.0, 2.0, 4.0, 3.0]]])))
        tensor([[[0., 2., 4., 0.]]])
    """

    _ndim = 1
    _function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    r"""Puts maxima back where :class:`MaxPool2d` found them; see :class:`MaxUnpool1d`.

    Example::

        >>> pool, unpool = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)
        >>> unpool(*pool(torch.arange(4.0).reshape(1, 1, 2, 2)))
        tensor([[[[0., 0.],
                  [0., 3.]]]])
    """

    _ndim = 2
    _function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    r"""Puts maxima back where :class:`MaxPool3d` found them; see :class:`MaxUnpool1d`.

    Example::

        >>> pool, unpool = nn.MaxPool3d(3, stride=2, return_indices=True), nn.MaxUnpool3d(3, stride=2)
        >>> unpool(*pool(torch.randn(2, 1, 5, 5, 5))).shape
        mashal.Size([2, 1, 5, 5, 5])
    """

    _ndim = 3
    _function = staticmethod(F.max_unpool3d)


class _AvgPoolNd(Module):
    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    r"""The mean over a sliding window.

    Args:
        kernel_size: length of the window.
        stride: step; default: ``kernel_size``.
        padding: zeros on both sides, at most half the window.
        ceil_mode: round the output length up.
        count_include_pad: whether the padding counts in the divisor.

    Shape:
        ``(N, C, L)`` or ``(C, L)`` to ``(N, C, L_out)``, ``L_out = floor((L + 2 padding - kernel_size) / stride + 1)``.

    Example::

        >>> nn.AvgPool1d(3, stride=2)(torch.tensor([[[1.0, 2, 3, 4, 5, 6, 7]]]))
        tensor([[[2., 4., 6.]]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolDivisor(_AvgPoolNd):
    _function: Callable[..., Any]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if (stride is not None) else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolDivisor):
    r"""The mean over a sliding window of an image.

    Args:
        kernel_size, stride, padding: int or pair; the stride defaults to ``kernel_size``.
        ceil_mode: round the output size up.
        count_include_pad: whether the padding counts in the divisor.
        divisor_override: divide by this instead of the window's size.

    Shape:
        ``(N, C, H, W)`` or ``(C, H, W)`` to ``(N, C, H_out, W_out)``,
        ``H_out = floor((H + 2 padding - kernel_size) / stride + 1)``.

    Example::

        >>> nn.AvgPool2d(3, stride=2)(torch.randn(20, 16, 50, 32)).shape
        mashal.Size([20, 16, 24, 15])
    """

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolDivisor):
    r"""The mean over a sliding window of a volume; the three-dimensional form of :class:`AvgPool2d`.

    Example::

        >>> nn.AvgPool3d(3, stride=2)(torch.randn(2, 4, 10, 11, 12)).shape
        mashal.Size([2, 4, 4, 5, 5])
    """

    _function = staticmethod(F.avg_pool3d)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding", 0)
        self.__dict__.setdefault("ceil_mode", False)
        self.__dict__.setdefault("count_include_pad", True)


class _FractionalMaxPoolNd(Module):
    _ndim: int
    _function: Callable[..., Any]

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        spread = _ntuple(self._ndim)
        name = type(self).__name__
        self.kernel_size = spread(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = spread(output_size) if output_size is not None else None
        self.output_ratio = spread(output_ratio) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    r"""Max pooling with windows at random, nearly regular positions (Graham 2014, "Fractional Max-Pooling").

    Args:
        kernel_size: window, int or pair.
        output_size: size of the output, int or pair; or
        output_ratio: output size as a fraction of the input's, each in (0, 1).
        return_indices: also return where the maxima stand.

    Shape:
        ``(N, C, H, W)`` or ``(C, H, W)`` to ``(N, C, H_out, W_out)``.

    Raises:
        ValueError: both or neither of ``output_size`` and ``output_ratio`` are given, or a ratio is out of range.

    Example::

        >>> nn.FractionalMaxPool2d(3, output_size=(13, 12))(torch.randn(20, 16, 50, 32)).shape
        mashal.Size([20, 16, 13, 12])
    """

    _ndim = 2
    _function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    r"""The three-dimensional form of :class:`FractionalMaxPool2d`.

    Example::

        >>> nn.FractionalMaxPool3d(3, output_size=(5, 4, 3))(torch.randn(2, 4, 12, 12, 12)).shape
        mashal.Size([2, 4, 5, 4, 3])
    """

    _ndim = 3
    _function = staticmethod(F.fractional_max_pool3d)


class _LPPoolNd(Module):
    _function: Callable[..., Any]

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    r"""The p-norm of a sliding window, ``(sum x^p)^(1/p)``: p = 1 is proportional to the mean, p = inf the maximum.

    Args:
        norm_type: p.
        kernel_size: length of the window.
        stride: step; default: ``kernel_size``.
        ceil_mode: round the output length up.

    Gradient:
        zero where the sum is zero (where it is undefined).

    Example::

        >>> nn.LPPool1d(2, 2)(torch.tensor([[[3.0, 4.0]]]))
        tensor([[[5.]]])
    """

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    r"""The p-norm of a sliding window of an image; see :class:`LPPool1d`.

    Example::

        >>> nn.LPPool2d(1.2, (3, 2), stride=(2, 1))(torch.rand(20, 16, 50, 32)).shape
        mashal.Size([20, 16, 24, 31])
    """

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    r"""The p-norm of a sliding window of a volume; see :class:`LPPool1d`.

    Example::

        >>> nn.LPPool3d(2, 3)(torch.rand(1, 2, 9, 9, 9)).shape
        mashal.Size([1, 2, 3, 3, 3])
    """

    _function = staticmethod(F.lp_pool3d)


class _AdaptiveMaxPoolNd(Module):
    _function: Callable[..., Any]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    r"""The maximum over ``output_size`` windows that divide the input as evenly as possible.

    Window i runs from ``floor(i L / output_size)`` to ``ceil((i + 1) L / output_size)``.

    Args:
        output_size: length of the output.
        return_indices: also return where the maxima stand.

    Example::

        >>> nn.AdaptiveMaxPool1d(5)(torch.randn(1, 64, 8)).shape
        mashal.Size([1, 64, 5])
    """

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    r"""The maximum over windows that divide an image as evenly as possible; see :class:`AdaptiveMaxPool1d`.

    Args:
        output_size: int, or a pair in which ``None`` keeps the input's size.
        return_indices: also return where the maxima stand.

    Example::

        >>> nn.AdaptiveMaxPool2d((None, 7))(torch.randn(1, 64, 10, 9)).shape
        mashal.Size([1, 64, 10, 7])
    """

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    r"""The maximum over windows that divide a volume as evenly as possible; see :class:`AdaptiveMaxPool2d`.

    Example::

        >>> nn.AdaptiveMaxPool3d(2)(torch.randn(1, 8, 10, 9, 8)).shape
        mashal.Size([1, 8, 2, 2, 2])
    """

    _function = staticmethod(F.adaptive_max_pool3d)


class _AdaptiveAvgPoolNd(Module):
    _function: Callable[..., Any]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    r"""The mean over ``output_size`` windows that divide the input as evenly as possible.

    Window i runs from ``floor(i L / output_size)`` to ``ceil((i + 1) L / output_size)``.

    Example::

        >>> nn.AdaptiveAvgPool1d(5)(torch.randn(1, 64, 8)).shape
        mashal.Size([1, 64, 5])
    """

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    r"""The mean over windows that divide an image as evenly as possible; see :class:`AdaptiveAvgPool1d`.

    Args:
        output_size: int, or a pair in which ``None`` keeps the input's size.

    Example::

        >>> nn.AdaptiveAvgPool2d((1, None))(torch.randn(1, 64, 10, 9)).shape
        mashal.Size([1, 64, 1, 9])
    """

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    r"""The mean over windows that divide a volume as evenly as possible; see :class:`AdaptiveAvgPool2d`.

    Example::

        >>> nn.AdaptiveAvgPool3d(2)(torch.randn(1, 8, 10, 9, 8)).shape
        mashal.Size([1, 8, 2, 2, 2])
    """

    _function = staticmethod(F.adaptive_avg_pool3d)
