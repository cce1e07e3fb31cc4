"""Adamax."""

from __future__ import annotations

from .. import Tensor, maximum, zeros_like
from ._group import (
    Group,
    GroupOptimizer,
    ParamsT,
    State,
    average_,
    check_lr,
    count,
    descend_ratio,
    kept,
    live,
    require,
    step_counter,
)

__all__ = ["Adamax"]


class Adamax(GroupOptimizer):
    r"""Adam with the infinity norm in place of the second moment.

    .. math::
        g_t &\leftarrow g_t + \lambda p \\
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1) g_t \\
        u_t &= \max(\beta_2 u_{t-1}, |g_t| + \epsilon) \\
        p &\leftarrow p - \frac{\gamma}{1 - \beta_1^t} \frac{m_t}{u_t}

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate :math:`\gamma`.
        betas: :math:`(\beta_1, \beta_2)`.
        eps: :math:`\epsilon`.
        weight_decay: :math:`\lambda`.
        foreach, maximize, differentiable, capturable: as in :class:`Adam`.

    Raises:
        ValueError: an option is out of range.

    Source:
        Kingma and Ba, "Adam: a method for stochastic optimization", 2014, section 7.1.

    Example:
        >>> optimizer = Adamax(model.parameters())  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas):
            require(0.0 <= beta < 1.0, f"Invalid beta parameter at index {i}: {beta}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        return {
            "step": step_counter(p if group["capturable"] else None),
            "exp_avg": zeros_like(p, requires_grad=False),
            "exp_inf": zeros_like(p, requires_grad=False),
        }

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        exp_avg, exp_inf = state["exp_avg"], state["exp_inf"]
        state["step"] += 1
        step = count(state["step"], group)
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        average_(exp_avg, grad, 1 - beta1)
        exp_inf.copy_(maximum(exp_inf * beta2, grad.abs().add_(group["eps"])))
        rate = live(group["lr"], group) / (1 - beta1**step)
        descend_ratio(p, kept(exp_avg, group), kept(exp_inf, group), rate)
