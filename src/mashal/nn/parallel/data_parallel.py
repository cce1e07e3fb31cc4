"""A module whose batch is split over the GPUs of one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mashal

from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    r"""Splits its input along the batch over several GPUs, calls a copy of the module on each, and joins the results.

    Without a GPU it calls the module. The module's state is found under ``module.``.

    Args:
        module: the module to be called.
        device_ids: GPUs; default all of them.
        output_device: where results are joined; default the first.
        dim: the batch dimension.

    Example::

        >>> nn.DataParallel(nn.Linear(2, 3))(torch.ones(4, 2)).shape
        mashal.Size([4, 3])
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        if not mashal.cuda.is_available():
            self.module = module
            self.device_ids: list[Any] = []
            return
        self.dim = dim
        self.module = module
        self.device_ids = list(device_ids) if device_ids is not None else list(range(mashal.cuda.device_count()))
        self.output_device = self.device_ids[0] if output_device is None else output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        split, split_kwargs = self.scatter(inputs, kwargs, self.device_ids)
        if not split and not split_kwargs:
            split, split_kwargs = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*split[0], **split_kwargs[0])
        replicas = self.replicate(self.module, self.device_ids[: len(split)])
        return self.gather(self.parallel_apply(replicas, split, split_kwargs), self.output_device)

    def replicate(self, module: Module, device_ids: Sequence[Any]) -> list[Any]:
        """Copies of the module, one per device."""
        return replicate(module, device_ids, not mashal.is_grad_enabled())

    def scatter(self, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, device_ids: Sequence[Any]) -> Any:
        """Arguments per device."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Sequence[Any], kwargs: Any) -> list[Any]:
        """The copies' results."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """The results as one."""
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """The functional form of :class:`DataParallel`."""
    args = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*args, **(module_kwargs or {}))
