"""Dropout layers."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    r"""In training mode sets each element to zero with probability p and scales the others by ``1 / (1 - p)``.

    In evaluation mode it is the identity. (Hinton et al. 2012.)

    Args:
        p: probability of zero.
        inplace: change the input itself.

    Raises:
        ValueError: p is outside [0, 1].

    Example::

        >>> nn.Dropout(0.2).eval()(torch.ones(3))
        tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    r"""Like :class:`Dropout`, but zeroes whole channels of ``(N, C, L)`` or ``(C, L)``.

    Example::

        >>> nn.Dropout1d(0.2)(torch.randn(20, 16, 32)).shape
        mashal.Size([20, 16, 32])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    r"""Like :class:`Dropout`, but zeroes whole channels of ``(N, C, H, W)`` or ``(N, C, L)``.

    Example::

        >>> nn.Dropout2d(0.2)(torch.randn(20, 16, 32, 32)).shape
        mashal.Size([20, 16, 32, 32])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    r"""Like :class:`Dropout`, but zeroes whole channels of ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example::

        >>> nn.Dropout3d(0.2)(torch.randn(2, 16, 4, 8, 8)).shape
        mashal.Size([2, 16, 4, 8, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    r"""Dropout that keeps mean 0 and variance 1, for networks of :class:`SELU` (Klambauer et al. 2017).

    Dropped elements take SELU's negative saturation value, then an affine map restores both moments.

    Example::

        >>> nn.AlphaDropout(0.2)(torch.randn(20, 16)).shape
        mashal.Size([20, 16])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    r"""Like :class:`AlphaDropout`, but drops whole channels.

    Example::

        >>> nn.FeatureAlphaDropout(0.2)(torch.randn(20, 16, 4, 32, 32)).shape
        mashal.Size([20, 16, 4, 32, 32])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
