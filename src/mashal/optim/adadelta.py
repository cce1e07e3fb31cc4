"""Adadelta."""

from __future__ import annotations

from .. import Tensor, zeros_like
from ._group import Group, GroupOptimizer, ParamsT, State, check_lr, descend, live, require, step_counter

__all__ = ["Adadelta"]


class Adadelta(GroupOptimizer):
    r"""Steps whose units match the parameters': running sizes of past steps over those of gradients.

    .. math::
        g &\leftarrow g + \lambda p \\
        v &\leftarrow \rho v + (1 - \rho) g^2 \\
        \Delta &= g \sqrt{u + \epsilon} / \sqrt{v + \epsilon} \\
        u &\leftarrow \rho u + (1 - \rho) \Delta^2 \\
        p &\leftarrow p - \gamma \Delta

    Args:
        params: parameters, named parameters or parameter groups.
        lr: factor :math:`\gamma` on the step.
        rho: smoothing constant :math:`\rho`.
        eps: :math:`\epsilon`, added under the roots.
        weight_decay: :math:`\lambda`.
        foreach, capturable, maximize, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: an option is out of range.

    Source:
        Zeiler, "ADADELTA: an adaptive learning rate method", 2012.

    Example:
        >>> optimizer = Adadelta(model.parameters())  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        require(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        return {
            "step": step_counter(p if group["capturable"] else None),
            "square_avg": zeros_like(p, requires_grad=False),
            "acc_delta": zeros_like(p, requires_grad=False),
        }

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        rho, eps = group["rho"], group["eps"]
        square_avg, acc_delta = state["square_avg"], state["acc_delta"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = acc_delta.add(eps).sqrt() / square_avg.add(eps).sqrt() * grad
        acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        descend(p, delta, live(group["lr"], group))
