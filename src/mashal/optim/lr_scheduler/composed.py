"""Schedules made of schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, group_values, set_value
from .plateau import ReduceLROnPlateau


def _check(owner: str, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{owner} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{owner} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{owner} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                f"{type(optimizer).__name__}."
            )


class _ComposedLR(LRScheduler):
    """A schedule whose state is that of its parts."""

    _schedulers: Sequence[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer, with the parts' own dictionaries under ``"_schedulers"``."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_ComposedLR):
    r"""Run schedules one after the other; each starts at epoch 0 when its turn comes.

    Args:
        optimizer: the optimizer.
        schedulers: the schedules in order.
        milestones: the epochs at which the second and later ones start.
        last_epoch: index of the last epoch when resuming.

    Raises:
        ValueError: numbers of schedules and milestones do not fit, or the schedules do not share the optimizer.

    Example:
        >>> warmup = LinearLR(optimizer, start_factor=0.1, total_iters=5)  # doctest: +SKIP
        >>> main = CosineAnnealingLR(optimizer, T_max=95)  # doctest: +SKIP
        >>> scheduler = SequentialLR(optimizer, [warmup, main], milestones=[5])  # doctest: +SKIP
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        owner = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{owner} expects at least one scheduler, but got no scheduler.")
        _check(owner, schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Every part has already made its first step; only the first one's may count.
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        self._schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back one step of the count of every schedule, parts of parts included."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:
                self.recursive_undo(part)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch and let the schedule in charge set its learning rates."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_ComposedLR):
    r"""Apply several chainable schedules in every epoch.

    Args:
        schedulers: the schedules, in order of application.
        optimizer: the optimizer; the first schedule's if None.

    Raises:
        ValueError: there is no schedule, or they do not share the optimizer.

    Example:
        >>> scheduler = ChainedScheduler([ConstantLR(optimizer), ExponentialLR(optimizer, 0.9)])  # doctest: +SKIP
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        owner = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{owner} expects at least one scheduler to be chained, but got no scheduler.")
        if optimizer is None:
            optimizer = getattr(schedulers[0], "optimizer", None)
        _check(owner, schedulers, optimizer)  # type: ignore[arg-type]
        self._schedulers = schedulers
        self.optimizer = optimizer  # type: ignore[assignment]
        self._last_lr = group_values(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch in every schedule."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = group_values(self.optimizer, "lr")
