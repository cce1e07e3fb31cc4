"""Batch normalisation."""

from __future__ import annotations

from typing import Any

import mashal

from ... import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]


class _NormBase(Module):
    """Parameters and running statistics of batch and instance normalisation."""

    _version = 2
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(
                name, Parameter(mashal.empty(num_features, device=device, dtype=dtype)) if wanted else None
            )
        if track_running_stats:
            self.register_buffer("running_mean", mashal.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", mashal.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", mashal.tensor(0, dtype=mashal.long, device=device))
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, fresh statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

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
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        # Version 2 introduced the counter; older files get the one that is here.
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            here = self.num_batches_tracked
            state_dict[key] = here if here is not None and not here.is_meta else mashal.tensor(0, dtype=mashal.long)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = self.momentum
        training = self.training
        mean, var = self.running_mean, self.running_var
        if training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if momentum is None:  # the plain average over all batches so far
                momentum = 1.0 / float(self.num_batches_tracked)
        elif momentum is None:
            momentum = 0.0
        if training and not self.track_running_stats:
            # Statistics that exist but are not tracked must not be changed.
            mean = var = None
        return F.batch_norm(
            input,
            mean,
            var,
            self.weight,
            self.bias,
            training or (mean is None and var is None),
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    r"""``y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias`` per channel, over the batch (and length).

    In training mode mean and (biased) variance are those of the batch, and the running estimates move towards them:
    ``running = (1 - momentum) running + momentum batch`` (with the unbiased variance). In evaluation mode the running
    estimates are used. (Ioffe and Szegedy 2015.)

    Args:
        num_features: number of channels C.
        eps: added to the variance.
        momentum: weight of the newest batch; ``None`` averages all batches equally.
        affine: whether to learn ``weight`` and ``bias``.
        track_running_stats: whether to keep running estimates; without them the batch's are always used.
        bias: whether to learn ``bias`` (with ``affine``).

    Shape:
        ``(N, C)`` or ``(N, C, L)``, and the same for the output.

    Raises:
        ValueError: wrong number of dimensions, or only one value per channel in training mode.

    Example::

        >>> nn.BatchNorm1d(100)(torch.randn(20, 100)).shape
        mashal.Size([20, 100])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    r"""Batch normalisation of images, shape ``(N, C, H, W)``; see :class:`BatchNorm1d`.

    Example::

        >>> nn.BatchNorm2d(100)(torch.randn(20, 100, 35, 45)).shape
        mashal.Size([20, 100, 35, 45])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    r"""Batch normalisation of volumes, shape ``(N, C, D, H, W)``; see :class:`BatchNorm1d`.

    Example::

        >>> nn.BatchNorm3d(10)(torch.randn(2, 10, 3, 4, 5)).shape
        mashal.Size([2, 10, 3, 4, 5])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    r"""Batch normalisation with statistics shared by the processes of a group.

    In a single process it equals :class:`BatchNorm1d` for input of any shape ``(N, C, ...)``.

    Args:
        process_group: the group that shares statistics.
        num_features, eps, momentum, affine, track_running_stats, bias: as for :class:`BatchNorm1d`.

    Example::

        >>> nn.SyncBatchNorm(4)(torch.randn(2, 4, 8)).shape
        mashal.Size([2, 4, 8])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """A copy of ``module`` in which every batch normalisation is a SyncBatchNorm with the same tensors."""
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                result.weight = module.weight
                result.bias = module.bias
            result.running_mean = module.running_mean
            result.running_var = module.running_var
            result.num_batches_tracked = module.num_batches_tracked
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
