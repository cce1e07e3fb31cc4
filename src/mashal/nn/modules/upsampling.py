"""Upsampling layers."""

from __future__ import annotations

from typing import Any

from ... import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    r"""Resizes ``(N, C, L)``, ``(N, C, H, W)`` or ``(N, C, D, H, W)``; see :func:`mashal.nn.functional.interpolate`.

    Args:
        size: spatial output size, or
        scale_factor: factor(s) of the spatial sizes.
        mode: ``"nearest"``, ``"linear"`` (3-D), ``"bilinear"`` or ``"bicubic"`` (4-D), ``"trilinear"`` (5-D).
        align_corners: whether the corner elements of input and output coincide (not for ``"nearest"``).
        recompute_scale_factor: whether to use the factor that the rounded output size implies.

    Raises:
        ValueError: both or neither of ``size`` and ``scale_factor`` are given.

    Example::

        >>> nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        what = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    r""":class:`Upsample` with ``mode="nearest"``, for images.

    Example::

        >>> nn.UpsamplingNearest2d(scale_factor=2)(torch.zeros(1, 1, 2, 2)).shape
        mashal.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    r""":class:`Upsample` with ``mode="bilinear"`` and ``align_corners=True``, for images.

    Example::

        >>> nn.UpsamplingBilinear2d(scale_factor=2)(torch.zeros(1, 1, 2, 2)).shape
        mashal.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
