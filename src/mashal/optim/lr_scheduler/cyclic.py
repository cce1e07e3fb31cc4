"""Schedules that rise and fall: cyclic, one-cycle and cosine with restarts."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, per_group, set_value


def _momentum_kind(optimizer: Optimizer) -> bool:
    """Return whether the momentum of ``optimizer`` is its first beta rather than ``"momentum"``."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], momentum: float, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CyclicLR(LRScheduler):
    r"""Let the learning rate go up and down between two bounds; step it after every batch.

    In cycle :math:`c = 1, 2, \dots` the learning rate rises linearly from ``base_lr`` for ``step_size_up`` steps and
    falls back for ``step_size_down``. The height ``max_lr - base_lr`` is scaled by 1 (``"triangular"``),
    :math:`2^{1 - c}` (``"triangular2"``), :math:`\mathrm{gamma}^t` (``"exp_range"``) or ``scale_fn``. With
    ``cycle_momentum`` the momentum moves between its bounds the other way round.

    Args:
        optimizer: the optimizer.
        base_lr: lower bound, or a list with one per parameter group.
        max_lr: upper bound, likewise.
        step_size_up: steps of the rising half.
        step_size_down: steps of the falling half; ``step_size_up`` if None.
        mode: ``"triangular"``, ``"triangular2"`` or ``"exp_range"``; not used with ``scale_fn``.
        gamma: base of ``"exp_range"``.
        scale_fn: function of the cycle or the step (see ``scale_mode``) into [0, 1].
        scale_mode: ``"cycle"`` or ``"iterations"``.
        cycle_momentum: move the momentum as well.
        base_momentum: lower bound of the momentum.
        max_momentum: upper bound of the momentum.
        last_epoch: index of the last batch when resuming.

    Raises:
        TypeError: ``optimizer`` is not an :class:`Optimizer`.
        ValueError: ``mode`` is unknown, or the optimizer has no momentum to cycle.

    Source:
        Smith, "Cyclical learning rates for training neural networks", 2017.

    Example:
        >>> scheduler = CyclicLR(optimizer, base_lr=0.01, max_lr=0.1)  # doctest: +SKIP
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _momentum_kind(optimizer)
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                bounds = zip(self.max_momentums, self.base_momentums, optimizer.param_groups, strict=True)
                for high, low, group in bounds:
                    _set_momentum(group, high, self.use_beta1)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of a cycle, relative to the first one."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        if self.mode == "triangular2":
            return 1 / (2.0 ** (x - 1))
        return self.gamma**x

    def get_lr(self) -> list[Any]:
        """Compute the learning rates, and set the momentums if they are cycled."""
        self._warn_if_outside_step()
        position = 1.0 + self.last_epoch / self.total_size
        cycle = math.floor(position)
        x = position - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        values = [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in bounds:
                _set_momentum(group, high - (high - low) * height * scale, self.use_beta1)
        return values

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer; a ``scale_fn`` object by its attributes, a plain function not."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        plain = function is None or isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = None if plain else function.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned."""
        attributes = state_dict.get("_scale_fn_custom")
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class CosineAnnealingWarmRestarts(LRScheduler):
    r"""Half a cosine wave, begun anew after ``T_0``, then ``T_0 * T_mult``, then ``T_0 * T_mult**2`` ... epochs.

    .. math:: \gamma = \eta_{min} + \tfrac12 (\gamma_0 - \eta_{min}) \left(1 + \cos(\pi T_{cur} / T_i)\right)

    Args:
        optimizer: the optimizer.
        T_0: epochs until the first restart.
        T_mult: factor by which the time between restarts grows.
        eta_min: smallest learning rate.
        last_epoch: index of the last epoch when resuming.

    Raises:
        ValueError: an option is out of range.

    Source:
        Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.

    Example:
        >>> scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=10, T_mult=2)  # doctest: +SKIP
        >>> scheduler.step(epoch + batch / batches)  # a fraction of an epoch  # doctest: +SKIP
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_if_outside_step()
        wave = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * wave / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # type: ignore[override]
        """Go to the next epoch, or to a given one, which may be a fraction.

        Args:
            epoch: where to go; the next epoch if None.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            if epoch < self.T_0:
                self.T_i, self.T_cur = self.T_0, epoch
            elif self.T_mult == 1:
                self.T_i, self.T_cur = self.T_0, epoch % self.T_0
            else:
                # Restart n comes after T_0 (T_mult^n - 1) / (T_mult - 1) epochs: a geometric sum, inverted.
                n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
                self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
                self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        with self._within_step():
            values = self.get_lr()
        self._apply(values)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.step(epoch)


class OneCycleLR(LRScheduler):
    r"""Raise the learning rate to ``max_lr`` and let it fall far below its start; step it after every batch.

    It starts at ``max_lr / div_factor``, is ``max_lr`` after the fraction ``pct_start`` of all steps and ends at
    ``max_lr / div_factor / final_div_factor``. With ``three_phase`` it comes back to its start as fast as it rose, and
    falls to its end in the rest of the time. The momentum moves the other way round.

    Args:
        optimizer: the optimizer.
        max_lr: the peak, or a list with one per parameter group.
        total_steps: number of all steps; ``epochs * steps_per_epoch`` if None.
        epochs, steps_per_epoch: given instead of ``total_steps``.
        pct_start: fraction of the rising part.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: move the momentum as well.
        base_momentum: lower bound of the momentum.
        max_momentum: upper bound of the momentum.
        div_factor: peak over start.
        final_div_factor: start over end.
        three_phase: add the phase that mirrors the first.
        last_epoch: index of the last batch when resuming.

    Raises:
        TypeError: ``optimizer`` is not an :class:`Optimizer`.
        ValueError: an option is out of range, or there are more steps than ``total_steps``.

    Source:
        Smith and Topin, "Super-convergence: very fast training of neural networks using large learning rates", 2018.

    Example:
        >>> scheduler = OneCycleLR(optimizer, max_lr=0.1, epochs=10, steps_per_epoch=len(loader))  # doctest: +SKIP
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if total_steps is not None:
            if total_steps <= 0 or not isinstance(total_steps, int):
                raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            if not isinstance(epochs, int) or epochs <= 0:
                raise ValueError(f"Expected positive integer epochs, but got {epochs}")
            if not isinstance(steps_per_epoch, int) or steps_per_epoch <= 0:
                raise ValueError(f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}")
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")

        def phase(end: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict[str, Any]:
            return {
                "end_step": end,
                "start_lr": start_lr,
                "end_lr": end_lr,
                "start_momentum": start_momentum,
                "end_momentum": end_momentum,
            }

        peak = float(pct_start * self.total_steps) - 1
        last = self.total_steps - 1
        self._schedule_phases = [phase(peak, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            back = float(2 * pct_start * self.total_steps) - 2
            self._schedule_phases += [
                phase(back, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            self._schedule_phases.append(phase(last, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        self._anneal_func_type = anneal_strategy

        if last_epoch == -1:
            max_lrs = per_group("max_lr", optimizer, max_lr)
            for group, high in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _momentum_kind(optimizer)
            highs = per_group("max_momentum", optimizer, max_momentum)
            lows = per_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                for high, low, group in zip(highs, lows, optimizer.param_groups, strict=True):
                    _set_momentum(group, high, self.use_beta1)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: float, end: float, progress: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * progress) + 1)
        if self._anneal_func_type == "linear":
            return (end - start) * progress + start
        raise ValueError(f"Unknown _anneal_func_type: {self._anneal_func_type}")

    def get_lr(self) -> list[Any]:
        """Compute the learning rates, and set the momentums if they are cycled."""
        self._warn_if_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        progress = (step - start) / (phase["end_step"] - start)
        values = []
        for group in self.optimizer.param_groups:
            values.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], progress))
            if self.cycle_momentum:
                low_high = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(group, self._anneal_func(*low_high, progress), self.use_beta1)
        return values
