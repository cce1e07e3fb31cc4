"""Schedules whose next value follows from the current one, so that they can act together."""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler

Factor = Callable[[int], float]


class _FunctionLR(LRScheduler):
    """Schedules given by one function per parameter group."""

    lr_lambdas: list[Factor]

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != len(optimizer.param_groups):
                raise ValueError(f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * len(optimizer.param_groups)  # type: ignore[list-item]
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer and functions.

        Callable objects are saved by their attributes; plain functions and lambdas are not saved.
        """
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned."""
        saved = state_dict["lr_lambdas"]
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, saved, strict=False):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_FunctionLR):
    r"""The initial learning rate times a function of the epoch: :math:`\gamma_t = \gamma_0 f(t)`.

    Args:
        optimizer: the optimizer.
        lr_lambda: the function, or a list with one per parameter group.
        last_epoch: index of the last epoch when resuming.

    Raises:
        ValueError: the list has not one function per group.

    Example:
        >>> scheduler = LambdaLR(optimizer, lr_lambda=lambda epoch: 0.95**epoch)  # doctest: +SKIP
    """

    def get_lr(self) -> list[Any]:
        self._warn_if_outside_step()
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_FunctionLR):
    r"""The current learning rate times a function of the epoch: :math:`\gamma_t = \gamma_{t-1} f(t)`.

    Args:
        optimizer: the optimizer.
        lr_lambda: the function, or a list with one per parameter group.
        last_epoch: index of the last epoch when resuming.

    Raises:
        TypeError: something in the list is not callable.
        ValueError: the list has not one function per group.

    Example:
        >>> scheduler = MultiplicativeLR(optimizer, lr_lambda=lambda epoch: 0.95)  # doctest: +SKIP
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1) -> None:
        for f in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(f):
                raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_if_outside_step()
        if self._is_initial:
            return self._current()
        pairs = zip(self.optimizer.param_groups, self.lr_lambdas, strict=True)
        return [group["lr"] * f(self.last_epoch) for group, f in pairs]


class StepLR(LRScheduler):
    r"""Multiply the learning rate by ``gamma`` every ``step_size`` epochs.

    .. math:: \gamma_t = \gamma_0\, \mathrm{gamma}^{\lfloor t / \mathrm{step\_size} \rfloor}

    Args:
        optimizer: the optimizer.
        step_size: number of epochs between two decreases.
        gamma: factor.
        last_epoch: index of the last epoch when resuming.

    Example:
        >>> scheduler = StepLR(optimizer, step_size=30, gamma=0.1)  # doctest: +SKIP
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_if_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._current()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    r"""Multiply the learning rate by ``gamma`` at each of the given epochs.

    Args:
        optimizer: the optimizer.
        milestones: the epochs; one that occurs twice counts twice.
        gamma: factor.
        last_epoch: index of the last epoch when resuming.

    Example:
        >>> scheduler = MultiStepLR(optimizer, milestones=[30, 80], gamma=0.1)  # doctest: +SKIP
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_if_outside_step()
        if self.last_epoch not in self.milestones:
            return self._current()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    r"""Multiply the learning rate by ``factor`` for the first ``total_iters`` epochs.

    Args:
        optimizer: the optimizer.
        factor: in [0, 1].
        total_iters: number of epochs with the factor.
        last_epoch: index of the last epoch when resuming.

    Raises:
        ValueError: ``factor`` is out of range.

    Example:
        >>> scheduler = ConstantLR(optimizer, factor=0.5, total_iters=4)  # doctest: +SKIP
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_if_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch != self.total_iters:
            return self._current()
        return self._scaled(1.0 / self.factor)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    r"""Move the learning rate's factor linearly from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs.

    .. math:: \gamma_t = \gamma_0 \left(f_s + (f_e - f_s) \min(t, T) / T\right)

    Args:
        optimizer: the optimizer.
        start_factor: :math:`f_s`, in (0, 1].
        end_factor: :math:`f_e`, in [0, 1].
        total_iters: :math:`T`.
        last_epoch: index of the last epoch when resuming.

    Raises:
        ValueError: a factor is out of range.

    Example:
        >>> warmup = LinearLR(optimizer, start_factor=0.01, total_iters=500)  # doctest: +SKIP
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_if_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        change = self.end_factor - self.start_factor
        return self._scaled(1.0 + change / (self.total_iters * self.start_factor + (self.last_epoch - 1) * change))

    def _get_closed_form_lr(self) -> list[Any]:
        change = self.end_factor - self.start_factor
        progress = min(self.total_iters, self.last_epoch)
        return [base * (self.start_factor + change * progress / self.total_iters) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    r"""Multiply the learning rate by ``gamma`` every epoch: :math:`\gamma_t = \gamma_0\, \mathrm{gamma}^t`.

    Args:
        optimizer: the optimizer.
        gamma: factor.
        last_epoch: index of the last epoch when resuming.

    Example:
        >>> scheduler = ExponentialLR(optimizer, gamma=0.95)  # doctest: +SKIP
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_if_outside_step()
        return self._current() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    r"""Let the learning rate fall to zero along a power of the remaining time.

    .. math:: \gamma_t = \gamma_0 \left(1 - \min(t, T) / T\right)^{\mathrm{power}}

    Args:
        optimizer: the optimizer.
        total_iters: :math:`T`.
        power: the power.
        last_epoch: index of the last epoch when resuming.

    Example:
        >>> scheduler = PolynomialLR(optimizer, total_iters=90, power=0.9)  # doctest: +SKIP
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_if_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        now = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._scaled((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        remaining = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * remaining**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    r"""Let the learning rate follow half a cosine wave, down to ``eta_min`` after ``T_max`` epochs.

    .. math:: \gamma_t = \eta_{min} + \tfrac12 (\gamma_0 - \eta_{min}) \left(1 + \cos(\pi t / T_{max})\right)

    After ``T_max`` it rises again. The chainable form used by ``step()`` gives the same values up to rounding as long
    as nothing else changes the learning rate.

    Args:
        optimizer: the optimizer.
        T_max: epochs from the largest to the smallest learning rate.
        eta_min: smallest learning rate.
        last_epoch: index of the last epoch when resuming.

    Source:
        Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, without the restarts.

    Example:
        >>> scheduler = CosineAnnealingLR(optimizer, T_max=90)  # doctest: +SKIP
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _wave(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[Any]:
        self._warn_if_outside_step()
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The previous value was the minimum: a ratio to it would be 0 / 0.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (base - self.eta_min) * rise for base, group in zip(self.base_lrs, groups, strict=True)
            ]
        ratio = self._wave(self.last_epoch) / self._wave(self.last_epoch - 1)
        return [ratio * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        return [self.eta_min + (base - self.eta_min) * self._wave(self.last_epoch) / 2 for base in self.base_lrs]
