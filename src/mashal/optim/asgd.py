"""Averaged stochastic gradient descent."""

from __future__ import annotations

from .. import Tensor, zeros_like
from ._group import (
    Group,
    GroupOptimizer,
    ParamsT,
    State,
    check_lr,
    count,
    decay,
    descend,
    live,
    require,
    step_counter,
)

__all__ = ["ASGD"]


class ASGD(GroupOptimizer):
    r"""Stochastic gradient descent that also keeps the average of its iterates.

    .. math::
        p &\leftarrow (1 - \lambda \eta_t)\, p - \eta_t g, \qquad \eta_{t+1} = \gamma / (1 + \lambda \gamma t)^\alpha \\
        a &\leftarrow a + \mu_t (p - a), \qquad \mu_{t+1} = 1 / \max(1, t - t_0)

    The average :math:`a` is ``state[p]["ax"]``.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate :math:`\gamma`.
        lambd: decay term :math:`\lambda`.
        alpha: power :math:`\alpha` of the step size's decrease.
        t0: step :math:`t_0` at which averaging starts.
        weight_decay: L2 penalty.
        foreach, maximize, differentiable, capturable: as in :class:`Adam`.

    Raises:
        ValueError: an option is out of range.

    Source:
        Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992; the schedules are Bottou's.

    Example:
        >>> optimizer = ASGD(model.parameters(), t0=1000)  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        step = step_counter(p if group["capturable"] else None)
        return {
            "step": step,
            "eta": (step + live(group["lr"], group)).to(step.dtype),
            "mu": step + 1.0,
            "ax": zeros_like(p, requires_grad=False),
        }

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        lambd, ax = group["lambd"], state["ax"]
        lr = live(group["lr"], group)
        state["step"] += 1
        step = count(state["step"], group)
        eta, mu = live(state["eta"], group), count(state["mu"], group)
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        decay(p, eta, lambd)
        descend(p, grad, eta)
        if isinstance(mu, Tensor):
            ax.add_((p - ax) * mu)
        elif mu == 1:
            # Before t0 the "average" is the last iterate, exactly.
            ax.copy_(p)
        else:
            ax.add_(p.sub(ax).mul_(mu))
        next_eta = lr / (1 + lambd * lr * step) ** group["alpha"]
        next_mu = 1 / (step - group["t0"]).clamp(min=1) if isinstance(step, Tensor) else 1 / max(1, step - group["t0"])
        for name, value in (("eta", next_eta), ("mu", next_mu)):
            if isinstance(value, Tensor):
                state[name].copy_(value)
            else:
                state[name].fill_(value)
