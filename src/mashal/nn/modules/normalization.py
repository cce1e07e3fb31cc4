"""Layer, group and RMS normalisation, and response normalisation across channels."""

from __future__ import annotations

import numbers
from typing import Any

import mashal

from ... import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    r"""``b_c = a_c / (k + alpha / n * sum of a_j^2 over the n channels around c)^beta`` (Krizhevsky et al. 2012).

    Args:
        size: n, the number of neighbouring channels.
        alpha, beta, k: constants of the formula.

    Shape:
        ``(N, C, *)``, and the same for the output.

    Example::

        >>> nn.LocalResponseNorm(2)(torch.randn(32, 5, 24, 24)).shape
        mashal.Size([32, 5, 24, 24])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    r"""The older form of :class:`LocalResponseNorm`, for images ``(N, C, H, W)``.

    The window spans ``(size - 1) // 2`` channels before and as many after; missing neighbours count as zero.
    This formula is PyTorch's too; its code differs from it: there the first channel's square is never taken out of
    the running sum, and the gradient is not that of the sum.

    Example::

        >>> nn.CrossMapLRN2d(3)(torch.ones(1, 1, 1, 1)).item()  # (1 + 1e-4 / 3) ** -0.75
        0.9999...
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = (self.size - 1) // 2
        channels = input.size(1)
        squares = F.pad(input * input, (0, 0, 0, 0, reach, reach))
        total = squares.narrow(1, 0, channels)
        for shift in range(1, 2 * reach + 1):
            total = total + squares.narrow(1, shift, channels)
        return input * (total * (self.alpha / self.size) + self.k).pow(-self.beta)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LayerNorm(Module):
    r"""``y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias`` over the last dimensions (Ba et al. 2016).

    Mean and (biased) variance are taken over the dimensions of ``normalized_shape``, for each sample alone.

    Args:
        normalized_shape: int, or the last sizes of the input.
        eps: added to the variance.
        elementwise_affine: whether to learn ``weight`` and ``bias``, each of shape ``normalized_shape``.
        bias: whether to learn ``bias`` (with ``elementwise_affine``).

    Shape:
        ``(N, *)``, and the same for the output.

    Raises:
        RuntimeError: the input's last sizes are not ``normalized_shape``.

    Example::

        >>> nn.LayerNorm([5, 10])(torch.randn(20, 3, 5, 10)).shape
        mashal.Size([20, 3, 5, 10])
    """

    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            self.register_parameter(
                name,
                Parameter(mashal.empty(self.normalized_shape, device=device, dtype=dtype)) if wanted else None,
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Module):
    r"""``y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias`` over groups of channels (Wu and He 2018).

    Args:
        num_groups: number of groups; mean and (biased) variance are taken over each group of one sample.
        num_channels: number of channels C.
        eps: added to the variance.
        affine: whether to learn ``weight`` and ``bias``, each of shape ``(C,)``.
        bias: whether to learn ``bias`` (with ``affine``).

    Shape:
        ``(N, C, *)``, and the same for the output.

    Raises:
        ValueError: ``num_channels`` is not divisible by ``num_groups``.

    Example::

        >>> nn.GroupNorm(3, 6)(torch.randn(20, 6, 10, 10)).shape
        mashal.Size([20, 6, 10, 10])
    """

    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(
                name, Parameter(mashal.empty(num_channels, device=device, dtype=dtype)) if wanted else None
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    r"""``y = x / sqrt(mean(x^2) + eps) * weight`` over the last dimensions (Zhang and Sennrich 2019).

    Args:
        normalized_shape: int, or the last sizes of the input.
        eps: added to the mean square; ``None`` takes the machine epsilon of the input's dtype.
        elementwise_affine: whether to learn ``weight``.

    Shape:
        ``(N, *)``, and the same for the output.

    Example::

        >>> nn.RMSNorm([2, 3])(torch.randn(2, 2, 3)).shape
        mashal.Size([2, 2, 3])
    """

    normalized_shape: tuple[int, ...]
    eps: float | None
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter(
            "weight",
            Parameter(mashal.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
