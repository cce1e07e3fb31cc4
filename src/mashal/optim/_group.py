"""The optimizers whose step treats each parameter by itself, and what their algorithms share."""

from __future__ import annotations

from typing import Any

from .. import Tensor, enable_grad, float32, float64, get_default_dtype, set_grad_enabled, view_as_real, zeros
from .optimizer import Closure, Group, Optimizer, ParamsT, State

__all__ = ["Group", "GroupOptimizer", "ParamsT", "State"]


class GroupOptimizer(Optimizer):
    """An optimizer whose step treats each parameter by itself: everything but the algorithm.

    A subclass defines :meth:`_new_state` and :meth:`_update`; one that updates many tensors in one call
    overrides :meth:`_step_group` as well.
    """

    def step(self, closure: Closure | None = None) -> Any:
        """Update all parameters that have a gradient.

        Args:
            closure: recomputes the gradients and returns the loss; called once, before the update.

        Returns:
            What ``closure`` returned, or None.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(self.defaults.get("differentiable", False)):
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # Old checkpoints count steps in plain numbers.
        for value in self.state.values():
            if isinstance(value, dict) and isinstance(value.get("step"), (int, float)):
                value["step"] = step_counter() + value["step"]

    def _step_group(self, group: Group) -> None:
        for p in group["params"]:
            grad = p.grad
            if grad is not None:
                self._step_param(p, grad, self._state_of(p, group), group)

    def _state_of(self, p: Tensor, group: Group) -> State:
        state: State = self.state[p]
        if not state:
            state.update(self._new_state(p, group))
        return state

    def _step_param(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """Hand over to :meth:`_update`, with complex tensors seen as pairs of reals: each component for itself."""
        if grad.is_sparse:
            self._step_sparse(p, grad, state, group)
            return
        if group["maximize"]:
            grad = -grad
        if p.is_complex():
            p, grad = view_as_real(p), view_as_real(grad)
            # Views: the algorithm writes through them into the tensors that the real state keeps.
            state = {
                key: view_as_real(value) if isinstance(value, Tensor) and value.is_complex() else value
                for key, value in state.items()
            }
        self._update(p, grad, state, group)

    def _step_sparse(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """Update ``p`` by a sparse gradient, in an optimizer that can."""
        name = type(self).__name__
        hint = ", please consider SparseAdam instead" if name in ("Adam", "Adamax") else ""
        raise RuntimeError(f"{name} does not support sparse gradients{hint}")

    def _new_state(self, p: Tensor, group: Group) -> State:
        """Return the state of a parameter before its first step."""
        raise NotImplementedError

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """Update ``p`` and the tensors of ``state`` in place; ``grad`` is to be minimised along and not changed."""
        raise NotImplementedError


# -- helpers for the algorithms ----------------------------------------------------------------------------------------


def require(condition: object, message: str) -> None:
    """Raise ValueError unless an option is valid."""
    if not condition:
        raise ValueError(message)


def check_lr(lr: float | Tensor) -> None:
    """Check a learning rate as every optimizer does."""
    require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
    require(lr >= 0.0, f"Invalid learning rate: {lr}")


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Check the options that choose an implementation. They change no result here: the fast one is always used."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def step_counter(p: Tensor | None = None) -> Tensor:
    """Return a step count of zero: a tensor, as in PyTorch's checkpoints, on the device of ``p`` if given."""
    dtype = float64 if get_default_dtype() == float64 else float32
    return zeros((), dtype=dtype) if p is None else zeros((), dtype=float32, device=p.device)


def number(value: Any) -> Any:
    """Return the number in a one-element tensor, or ``value`` itself."""
    return value.item() if isinstance(value, Tensor) else value


def live(value: Any, group: Group) -> Any:
    """Return ``value`` as a number, unless the step is to be differentiated or captured: then as it is.

    The formulas are written so that both kinds of operand go through them.
    """
    if not isinstance(value, Tensor):
        return value
    if group.get("differentiable"):
        return value.clone()
    return value if group.get("capturable") else value.item()


def count(value: Tensor, group: Group) -> Any:
    """Return a step count, or what follows from it alone, as a number, unless the step is to be captured.

    It never needs a gradient.
    """
    return value if group.get("capturable") else value.item()


def kept(value: Tensor, group: Group) -> Tensor:
    """Return a state tensor as an operand that backward may need: a copy, since the next step overwrites the state."""
    return value.clone() if group.get("differentiable") else value


def descend(p: Tensor, direction: Tensor, rate: Any) -> None:
    """``p -= rate * direction``, in place."""
    if isinstance(rate, Tensor):
        p.addcmul_(direction, rate.to(p.dtype), value=-1)
    else:
        p.add_(direction, alpha=-rate)


def descend_ratio(p: Tensor, numerator: Tensor, denominator: Tensor, rate: Any) -> None:
    """``p -= rate * numerator / denominator``, in place."""
    if isinstance(rate, Tensor):
        p.sub_(rate.to(p.dtype) * numerator / denominator)
    else:
        p.addcdiv_(numerator, denominator, value=-rate)


def decay(p: Tensor, rate: Any, weight_decay: Any) -> None:
    """Decoupled weight decay (Loshchilov and Hutter, 2019): ``p *= 1 - rate * weight_decay``, in place."""
    if isinstance(rate, Tensor):
        p.copy_(p.clone() * (1 - rate * weight_decay))  # backward needs the old `p` for the rate's gradient
    else:
        p.mul_(1 - rate * weight_decay)


def average_(average: Tensor, value: Tensor, weight: Any) -> None:
    """Exponential moving average: ``average += weight * (value - average)``, in place."""
    average.lerp_(value, weight)
