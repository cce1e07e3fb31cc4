"""The base class of learning-rate schedules."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ... import Tensor
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)
_ORDER_PAGE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def copy_value(value: Any) -> Any:
    """Return a number as it is, a tensor as a copy that later updates do not reach."""
    return value.clone() if isinstance(value, Tensor) else value


def group_values(optimizer: Optimizer, key: str) -> list[Any]:
    """Return what the groups have under ``key``."""
    return [copy_value(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; a tensor keeps its identity, because captured steps read that very tensor."""
    if isinstance(group[key], Tensor):
        if isinstance(value, Tensor):
            group[key].copy_(value.reshape(group[key].shape))
        else:
            group[key].fill_(value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return ``value`` once per parameter group, or the given list of that length."""
    groups = optimizer.param_groups
    if not isinstance(value, (list, tuple)):
        return [copy_value(value) for _ in groups]
    if len(value) != len(groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {len(groups)}."
        )
    return [copy_value(v) for v in value]


class LRScheduler:
    r"""Base class of schedules.

    A subclass defines :meth:`get_lr`, which computes the learning rates of epoch ``last_epoch``, usually from the
    current ones, so that several schedules can act on one optimizer. It may define ``_get_closed_form_lr``, which
    computes them from ``base_lrs`` alone; ``step(epoch)`` uses it.

    Args:
        optimizer: the optimizer whose groups' ``"lr"`` is set.
        last_epoch: index of the last epoch when resuming; -1 starts, and stores ``"initial_lr"`` in each group.

    Raises:
        TypeError: ``optimizer`` is not an :class:`Optimizer`.
        KeyError: resuming, but a group lacks ``"initial_lr"``.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_value(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    f"last_epoch >= 0. Load the optimizer's state first, or start with last_epoch=-1."
                )
        self.base_lrs: list[Any] = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._watch_optimizer_step()
        self._initial_step()

    def _watch_optimizer_step(self) -> None:
        """Make the optimizer note that it has stepped, to warn when the two steps come in the wrong order."""
        optimizer = self.optimizer
        if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
            return
        # The wrapper sits on the optimizer: a strong reference back to it would be a cycle.
        optimizer_ref = weakref.ref(optimizer)
        function = optimizer.step.__func__

        @functools.wraps(function)
        def step(*args: Any, **kwargs: Any) -> Any:
            this = optimizer_ref()
            this._opt_called = True  # type: ignore[union-attr]
            return function.__get__(this, type(this))(*args, **kwargs)

        step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
        optimizer.step = step  # type: ignore[method-assign]

    def _initial_step(self) -> None:
        """Set the learning rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned, mashal's or PyTorch's. Load the optimizer's state as well."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the learning rates that the last :meth:`step` set, one per group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of epoch ``last_epoch``. Called by :meth:`step`."""
        raise NotImplementedError

    def _warn_if_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    @contextmanager
    def _within_step(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set its learning rates.

        Args:
            epoch: deprecated: go to this epoch instead.
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. " + _ORDER_PAGE,
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite "
                    "order: otherwise the first value of the learning rate schedule is skipped. " + _ORDER_PAGE,
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._within_step():
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
                values = closed_form()
        self._apply(values)

    def _apply(self, values: Sequence[Any]) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=False):
            set_value(group, "lr", value)
        self._last_lr: list[Any] = group_values(self.optimizer, "lr")

    def _current(self) -> list[Any]:
        return group_values(self.optimizer, "lr")

    def _scaled(self, factor: Any) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """The base class under its old name."""
