"""NAdam."""

from __future__ import annotations

from .. import Tensor, ones_like, zeros_like
from ._group import (
    Group,
    GroupOptimizer,
    ParamsT,
    State,
    average_,
    check_lr,
    count,
    decay,
    descend_ratio,
    kept,
    live,
    require,
    step_counter,
)

__all__ = ["NAdam"]


class NAdam(GroupOptimizer):
    r"""Adam with Nesterov momentum.

    With moments :math:`m_t, v_t` as in :class:`Adam` and the momentum schedule
    :math:`\mu_t = \beta_1 (1 - \tfrac12\, 0.96^{t \psi})`:

    .. math::
        p \leftarrow p - \frac{\gamma}{\sqrt{v_t / (1 - \beta_2^t)} + \epsilon} \left(
            \frac{(1 - \mu_t)\, g_t}{1 - \prod_{i \le t} \mu_i} +
            \frac{\mu_{t+1}\, m_t}{1 - \prod_{i \le t+1} \mu_i} \right)

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate :math:`\gamma`.
        betas: :math:`(\beta_1, \beta_2)`.
        eps: :math:`\epsilon`.
        weight_decay: an L2 penalty, or the decay of ``p`` itself if ``decoupled_weight_decay``.
        momentum_decay: :math:`\psi`.
        decoupled_weight_decay: as in :class:`AdamW`.
        foreach, maximize, capturable, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: an option is out of range.

    Source:
        Dozat, "Incorporating Nesterov momentum into Adam", 2016.

    Example:
        >>> optimizer = NAdam(model.parameters())  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas):
            require(0.0 <= beta < 1.0, f"Invalid beta parameter at index {i}: {beta}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        require(momentum_decay >= 0.0, f"Invalid momentum_decay value: {momentum_decay}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        step = step_counter(p if group["capturable"] else None)
        return {
            "step": step,
            "mu_product": ones_like(step),
            "exp_avg": zeros_like(p, requires_grad=False),
            "exp_avg_sq": zeros_like(p, requires_grad=False),
        }

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        psi = group["momentum_decay"]
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        lr = live(group["lr"], group)
        state["step"] += 1
        step = count(state["step"], group)
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                decay(p, lr, group["weight_decay"])
            else:
                grad = grad.add(p, alpha=group["weight_decay"])
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * psi))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * psi))
        state["mu_product"] *= mu
        mu_product = count(state["mu_product"], group)
        average_(exp_avg, grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denominator = exp_avg_sq.div(1 - beta2**step).sqrt() + group["eps"]
        descend_ratio(p, grad, denominator, lr * (1.0 - mu) / (1.0 - mu_product))
        descend_ratio(p, kept(exp_avg, group), denominator, lr * mu_next / (1.0 - mu_product * mu_next))
