"""Averages of weights along training: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

from .. import Tensor, no_grad, tensor
from .. import int64 as _int64
from ..nn import Module
from .lr_scheduler import LRScheduler
from .lr_scheduler.base import per_group
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

AvgFn = Callable[[Tensor, Tensor, "Tensor | int"], Tensor]
MultiAvgFn = Callable[[Sequence[Tensor], Sequence[Tensor], "Tensor | int"], None]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> AvgFn:
    """Return the update of an exponential moving average: ``decay * average + (1 - decay) * value``."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAvgFn:
    """Return the update of :func:`get_ema_avg_fn` for lists of tensors, in place."""
    _check_decay(decay)

    @no_grad()
    def ema_update(averages: Sequence[Tensor], values: Sequence[Tensor], num_averaged: Tensor | int) -> None:
        for average, value in zip(averages, values, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_avg_fn() -> AvgFn:
    """Return the update of the mean of all values so far."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> MultiAvgFn:
    """Return the update of :func:`get_swa_avg_fn` for lists of tensors, in place."""

    @no_grad()
    def swa_update(averages: Sequence[Tensor], values: Sequence[Tensor], num_averaged: Tensor | int) -> None:
        for average, value in zip(averages, values, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(value, float(1 / (num_averaged + 1)))
            else:
                average.copy_(average + (value - average) / (num_averaged + 1))

    return swa_update


class AveragedModel(Module):
    r"""A copy of a model whose parameters are averages of the model's, along training.

    Without a function given, the average is the plain mean (stochastic weight averaging). Batch-norm statistics
    belong to the averaged weights: call :func:`update_bn` at the end, or set ``use_buffers``.

    Args:
        model: the model to copy.
        device: where the averages are kept; the model's device if None.
        avg_fn: ``avg_fn(average, value, num_averaged)`` returns the new average of one parameter.
        multi_avg_fn: ``multi_avg_fn(averages, values, num_averaged)`` updates lists of parameters in place.
        use_buffers: average buffers as well, instead of copying them.

    Raises:
        AssertionError: both functions are given.

    Source:
        Izmailov et al., "Averaging weights leads to wider optima and better generalization", 2018.

    Example:
        >>> ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))  # doctest: +SKIP
        >>> optimizer.step(); ema.update_parameters(model)  # doctest: +SKIP
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AvgFn | None = None,
        multi_avg_fn: MultiAvgFn | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=_int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def _averaged_tensors(self, model: Module) -> list[Tensor]:
        buffers = model.buffers() if self.use_buffers else ()
        return [t.detach() for t in chain(model.parameters(), buffers)]

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of ``model`` into the average; the first call copies them."""
        averages = self._averaged_tensors(self.module)
        values = [
            value.to(average.device) for average, value in zip(averages, self._averaged_tensors(model), strict=True)
        ]
        if self.n_averaged == 0:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(averages, values, strict=True):
                average.copy_(self.avg_fn(average, value, self.n_averaged.to(average.device)))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            update(averages, values, self.n_averaged)
        if not self.use_buffers:
            for own, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(buffer.detach().to(own.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's batch-norm layers anew, in one pass over the data.

    Args:
        loader: gives batches: tensors, or lists and tuples whose first element is the input.
        model: the model; its training mode is the same afterwards.
        device: where inputs are moved before the call, if given.
    """
    momenta: dict[Any, float | None] = {}
    for module in model.modules():
        if hasattr(module, "running_mean") and hasattr(module, "num_batches_tracked") and hasattr(module, "momentum"):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    # Momentum None is the plain mean over all batches.
    for module in momenta:
        module.momentum = None
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    r"""Move the learning rate to a constant in ``anneal_epochs`` epochs and keep it there.

    With :math:`a` going from 0 to 1, along a cosine or a line: :math:`\gamma = a \gamma_{swa} + (1 - a) \gamma_0`.

    Args:
        optimizer: the optimizer.
        swa_lr: the constant, or a list with one per parameter group.
        anneal_epochs: epochs until it is reached.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: index of the last epoch when resuming.

    Raises:
        ValueError: an option is out of range or unknown.

    Example:
        >>> scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=20)  # doctest: +SKIP
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for value, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = value
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _anneal(self, step: int) -> float:
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        """Compute the learning rates, from the current ones: what they were before annealing is solved for."""
        self._warn_if_outside_step()
        # `_step_count` counts the first epoch as 1.
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._anneal(step - 1), self._anneal(step)
        values = []
        for group in self.optimizer.param_groups:
            lr, target = group["lr"], group["swa_lr"]
            start = target if before == 1 else (lr - before * target) / (1 - before)
            values.append(target * now + start * (1 - now))
        return values
