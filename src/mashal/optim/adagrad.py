"""Adagrad."""

from __future__ import annotations

from typing import Any

from .. import Tensor, full_like
from ._group import (
    Group,
    GroupOptimizer,
    ParamsT,
    State,
    check_fused,
    check_lr,
    count,
    descend_ratio,
    kept,
    live,
    require,
    step_counter,
)

__all__ = ["Adagrad"]


class Adagrad(GroupOptimizer):
    r"""Gradients divided by the root of the sum of all their squares so far.

    .. math::
        g &\leftarrow g + \lambda p, \qquad \tilde\gamma = \gamma / (1 + (t - 1) \eta) \\
        s &\leftarrow s + g^2 \\
        p &\leftarrow p - \tilde\gamma\, g / (\sqrt{s} + \epsilon)

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate :math:`\gamma`.
        lr_decay: :math:`\eta`.
        weight_decay: :math:`\lambda`.
        initial_accumulator_value: :math:`s` before the first step.
        eps: :math:`\epsilon`.
        foreach, maximize, differentiable, fused: as in :class:`Adam`.

    Raises:
        ValueError: an option is out of range.

    Source:
        Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011.

    Example:
        >>> optimizer = Adagrad(model.parameters(), lr=1e-2)  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        require(lr_decay >= 0.0, f"Invalid lr_decay value: {lr_decay}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        require(
            initial_accumulator_value >= 0.0,
            f"Invalid initial_accumulator_value value: {initial_accumulator_value}",
        )
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        # Unlike the other algorithms', this state exists from the start: it can be shared between processes.
        for group in self.param_groups:
            for p in group["params"]:
                self._state_of(p, group)

    def share_memory(self) -> None:
        """Move the sums and step counts to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()
                self.state[p]["step"].share_memory_()

    def _new_state(self, p: Tensor, group: Group) -> State:
        start = group["initial_accumulator_value"]
        return {
            "step": step_counter(p if group["fused"] else None),
            "sum": full_like(p, complex(start, start) if p.is_complex() else start, requires_grad=False),
        }

    def _step_sparse(self, p: Tensor, grad: Any, state: State, group: Group) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state["step"] += 1
        grad = grad.coalesce()
        at, g = tuple(grad.indices()), -grad.values() if group["maximize"] else grad.values()
        total = state["sum"].index_put_(at, g * g, accumulate=True)
        rate = float(group["lr"]) / (1 + (float(state["step"]) - 1) * group["lr_decay"])
        p.index_put_(at, g / (total[at].sqrt() + group["eps"]) * -rate, accumulate=True)

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        state["step"] += 1
        step = count(state["step"], group)
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        total = state["sum"]
        total.addcmul_(grad, grad, value=1)
        rate = live(group["lr"], group) / (1 + (step - 1) * group["lr_decay"])
        descend_ratio(p, grad, kept(total, group).sqrt() + group["eps"], rate)
