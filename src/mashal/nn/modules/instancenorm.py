"""Instance normalisation."""

from __future__ import annotations

import warnings
from typing import Any

from ... import Tensor
from .. import functional as F
from .batchnorm import _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_NormBase):
    _no_batch_dim: int  # number of dimensions of an input without batch dimension

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        # Before version 1 the layer kept statistics by default; files from then may hold them without use.
        if local_metadata.get("version") is None and not self.track_running_stats:
            stale = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if stale:
                listed = " and ".join(f'"{key}"' for key in stale)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {listed} for {type(self).__name__} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may be "
                    "expected because the layer does not track running stats by default since 0.4.0. "
                    "Please remove these keys from state_dict, or set track_running_stats=True."
                )
                for key in stale:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        feature_dim = input.dim() - self._no_batch_dim
        if input.size(feature_dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={feature_dim} to match num_features"
                    f" ({self.num_features}), but got: {input.size(feature_dim)}."
                )
            warnings.warn(
                f"input's size at dim={feature_dim} does not match num_features. "
                "You can silence this warning by not passing in num_features, "
                "which is not used because affine=False",
                stacklevel=2,
            )
        unbatched = feature_dim == 0
        out = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )
        return out.squeeze(0) if unbatched else out


class InstanceNorm1d(_InstanceNorm):
    r"""``y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias``, with statistics per sample and channel.

    Args:
        num_features: number of channels C.
        eps: added to the variance.
        momentum: weight of the newest batch in the running estimates.
        affine: whether to learn ``weight`` and ``bias``. Default: ``False``.
        track_running_stats: whether to keep running estimates and use them in evaluation mode. Default: ``False``.

    Shape:
        ``(N, C, L)`` or ``(C, L)``, and the same for the output.

    Raises:
        ValueError: wrong number of dimensions, or (with ``affine``) of channels.

    Example::

        >>> nn.InstanceNorm1d(100)(torch.randn(20, 100, 40)).shape
        mashal.Size([20, 100, 40])
    """

    _no_batch_dim = 2

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class InstanceNorm2d(_InstanceNorm):
    r"""Instance normalisation of images, ``(N, C, H, W)`` or ``(C, H, W)``; see :class:`InstanceNorm1d`.

    Example::

        >>> nn.InstanceNorm2d(100, affine=True)(torch.randn(20, 100, 35, 45)).shape
        mashal.Size([20, 100, 35, 45])
    """

    _no_batch_dim = 3

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (3, 4):
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")


class InstanceNorm3d(_InstanceNorm):
    r"""Instance normalisation of volumes, ``(N, C, D, H, W)`` or ``(C, D, H, W)``; see :class:`InstanceNorm1d`.

    Example::

        >>> nn.InstanceNorm3d(10)(torch.randn(2, 10, 3, 4, 5)).shape
        mashal.Size([2, 10, 3, 4, 5])
    """

    _no_batch_dim = 4

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (4, 5):
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")
