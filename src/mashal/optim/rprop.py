"""Resilient backpropagation."""

from __future__ import annotations

from .. import Tensor, full_like, ones_like, where, zeros_like
from ._group import Group, GroupOptimizer, ParamsT, State, check_lr, kept, number, require, step_counter

__all__ = ["Rprop"]


class Rprop(GroupOptimizer):
    r"""Steps by the gradient's sign only, of a size that each element adapts for itself.

    Let :math:`s = g_t\, g_{t-1}`. The step size :math:`\eta` is multiplied by :math:`\eta^+` where :math:`s > 0` and by
    :math:`\eta^-` where :math:`s < 0`, and kept within ``step_sizes``; where :math:`s < 0` the gradient counts as
    zero, now and as :math:`g_{t-1}` of the next step. Then :math:`p \leftarrow p - \eta\, \mathrm{sign}(g)`. Meant
    for full batches.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: first step size.
        etas: :math:`(\eta^-, \eta^+)`.
        step_sizes: smallest and largest step size.
        capturable, foreach, maximize, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: an option is out of range.

    Source:
        Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm", 1993.

    Example:
        >>> optimizer = Rprop(model.parameters())  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        require(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        lr = number(group["lr"])
        return {
            "step": step_counter(p if group["capturable"] else None),
            "prev": zeros_like(p, requires_grad=False),
            "step_size": full_like(p, complex(lr, lr) if p.is_complex() else lr, requires_grad=False),
        }

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        shrink, grow = group["etas"]
        prev, step_size = state["prev"], state["step_size"]
        state["step"] += 1
        agreement = grad * kept(prev, group)
        turned = agreement < 0
        factor = ones_like(step_size).masked_fill(turned, shrink).masked_fill(agreement > 0, grow)
        step_size.mul_(factor).clamp_(*group["step_sizes"])
        grad = where(turned, zeros_like(grad), grad)
        p.addcmul_(grad.sign(), kept(step_size, group), value=-1)
        prev.copy_(grad)
