"""RAdam."""

from __future__ import annotations

from typing import Any

from .. import Tensor, where, zeros_like
from ._group import (
    Group,
    GroupOptimizer,
    ParamsT,
    State,
    average_,
    check_lr,
    count,
    decay,
    kept,
    live,
    require,
    step_counter,
)

__all__ = ["RAdam"]


class RAdam(GroupOptimizer):
    r"""Adam whose adaptive scaling waits until the second moment's variance is bounded.

    With :math:`m_t, v_t` as in :class:`Adam`, :math:`\hat m_t = m_t / (1 - \beta_1^t)` and

    .. math::
        \rho_\infty = \frac{2}{1 - \beta_2} - 1, \qquad
        \rho_t = \rho_\infty - \frac{2 t \beta_2^t}{1 - \beta_2^t}, \qquad
        r_t = \sqrt{\frac{(\rho_t - 4)(\rho_t - 2) \rho_\infty}{(\rho_\infty - 4)(\rho_\infty - 2) \rho_t}}

    the step is :math:`p \leftarrow p - \gamma \hat m_t\, r_t \sqrt{1 - \beta_2^t} / (\sqrt{v_t} + \epsilon)` where
    :math:`\rho_t > 5`, else :math:`p \leftarrow p - \gamma \hat m_t`.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate :math:`\gamma`.
        betas: :math:`(\beta_1, \beta_2)`.
        eps: :math:`\epsilon`.
        weight_decay: an L2 penalty, or the decay of ``p`` itself if ``decoupled_weight_decay``.
        decoupled_weight_decay: as in :class:`AdamW`.
        foreach, maximize, capturable, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: an option is out of range.

    Source:
        Liu et al., "On the variance of the adaptive learning rate and beyond", 2020; the threshold 5 is the authors'
        own program's.

    Example:
        >>> optimizer = RAdam(model.parameters())  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        return {
            "step": step_counter(p if group["capturable"] else None),
            "exp_avg": zeros_like(p, requires_grad=False),
            "exp_avg_sq": zeros_like(p, requires_grad=False),
        }

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        lr = live(group["lr"], group)
        state["step"] += 1
        step = count(state["step"], group)
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                decay(p, lr, group["weight_decay"])
            else:
                grad = grad.add(p, alpha=group["weight_decay"])
        average_(exp_avg, grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)

        correction2 = 1 - beta2**step
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * step * beta2**step / correction2

        def rectified(rho: Any) -> Any:
            r2 = (rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)
            return correction2**0.5 / (kept(exp_avg_sq, group).sqrt() + group["eps"]) * r2**0.5

        direction = exp_avg / (1 - beta1**step) * lr
        if isinstance(rho, Tensor):
            # The host must not look at the step, so both forms are computed.
            p.sub_(direction * where(rho > 5.0, rectified(rho.clamp(min=5.0)), 1.0))
        elif rho > 5.0:
            p.sub_(direction * rectified(rho))
        else:
            p.sub_(direction)
