"""RMSprop."""

from __future__ import annotations

from .. import Tensor, zeros_like
from ._group import (
    Group,
    GroupOptimizer,
    ParamsT,
    State,
    average_,
    check_lr,
    descend,
    descend_ratio,
    kept,
    live,
    require,
    step_counter,
)

__all__ = ["RMSprop"]


class RMSprop(GroupOptimizer):
    r"""Gradients divided by a running root mean square.

    .. math::
        g &\leftarrow g + \lambda p \\
        v &\leftarrow \alpha v + (1 - \alpha) g^2 \\
        p &\leftarrow p - \gamma\, g / (\sqrt{v} + \epsilon)

    ``centered`` subtracts the square of the running mean of :math:`g` from :math:`v`, which makes it a variance. With
    momentum :math:`\mu`, the quotient goes into :math:`b \leftarrow \mu b + g / (\sqrt v + \epsilon)` and
    :math:`p \leftarrow p - \gamma b`.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate :math:`\gamma`.
        alpha: smoothing constant :math:`\alpha`.
        eps: :math:`\epsilon`, added outside the root.
        weight_decay: :math:`\lambda`.
        momentum: :math:`\mu`.
        centered: divide by the standard deviation.
        capturable, foreach, maximize, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: an option is out of range.

    Source:
        Hinton's lecture 6e of "Neural networks for machine learning", 2012; Graves, "Generating sequences with
        recurrent neural networks", 2013, for the centred form.

    Example:
        >>> optimizer = RMSprop(model.parameters(), lr=1e-2)  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        require(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        require(alpha >= 0.0, f"Invalid alpha value: {alpha}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        state = {
            "step": step_counter(p if group["capturable"] else None),
            "square_avg": zeros_like(p, requires_grad=False),
        }
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(p, requires_grad=False)
        if group["centered"]:
            state["grad_avg"] = zeros_like(p, requires_grad=False)
        return state

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        alpha = group["alpha"]
        lr = live(group["lr"], group)
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        square_avg = state["square_avg"]
        square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        variance = square_avg
        if group["centered"]:
            average_(state["grad_avg"], grad, 1 - alpha)
            mean = kept(state["grad_avg"], group)
            variance = square_avg.addcmul(mean, mean, value=-1)
        scale = kept(variance, group).sqrt() + group["eps"]
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(grad, scale)
            descend(p, kept(buffer, group), lr)
        else:
            descend_ratio(p, grad, scale, lr)
