"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from .. import Tensor, _ops, empty_like
from ._fused import fits
from ._group import Group, GroupOptimizer, ParamsT, check_fused, check_lr, descend, kept, live, number, require

__all__ = ["SGD"]


class SGD(GroupOptimizer):
    r"""Stochastic gradient descent, optionally with (Nesterov) momentum.

    With gradient :math:`g`, momentum :math:`\mu`, dampening :math:`\tau` and weight decay :math:`\lambda`:

    .. math::
        g \leftarrow g + \lambda p, \qquad
        b \leftarrow \mu b + (1 - \tau) g, \qquad
        p \leftarrow p - \gamma \begin{cases} g + \mu b & \text{nesterov} \\ b & \text{otherwise} \end{cases}

    where the first step takes :math:`b = g`, and without momentum :math:`b = g` always.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate :math:`\gamma`, a number or a one-element tensor.
        momentum: :math:`\mu`.
        dampening: :math:`\tau`.
        weight_decay: :math:`\lambda`, an L2 penalty.
        nesterov: look ahead along the momentum; needs a momentum and no dampening.
        maximize: ascend instead of descending.
        foreach: accepted; every step already handles all parameters together.
        differentiable: record the step for autograd, so that one can differentiate through it.
        fused: accepted, as ``foreach``.

    Raises:
        ValueError: an option is out of range, or ``nesterov`` is combined wrongly.

    Source:
        Sutskever, Martens, Dahl and Hinton, "On the importance of initialization and momentum in deep learning", 2013.

    Example:
        >>> optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)  # doctest: +SKIP
        >>> loss.backward(); optimizer.step(); optimizer.zero_grad()  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        require(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        require(
            not nesterov or (momentum > 0 and dampening == 0),
            "Nesterov momentum requires a momentum and zero dampening",
        )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _step_group(self, group: Group) -> None:
        # Parameters on their first step are kept apart: they have no momentum yet. Dtypes, because one call takes one.
        # The loop is the whole cost of a step over many small tensors: keep it lean.
        batches: dict[Any, tuple[list[Tensor], list[Tensor], list[Tensor]]] = {}
        use_momentum = group["momentum"] != 0
        fusable = not group["differentiable"]
        state_of = self.state
        buffer = key = None
        batch: Any = None
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if use_momentum:
                state = state_of[p]
                buffer = state.get("momentum_buffer")
            if not (fusable and (fits(p, grad) if buffer is None else fits(p, grad, buffer))):
                self._update_alone(p, grad, buffer, group)
                continue
            if key != (p.dtype, buffer is None):
                key = p.dtype, buffer is None
                batch = batches.setdefault(key, ([], [], []))
            batch[0].append(p)
            batch[1].append(grad)
            if use_momentum:
                if buffer is None:
                    buffer = state["momentum_buffer"] = empty_like(p, requires_grad=False)
                batch[2].append(buffer)
                buffer = None
        for (_, first), (params, grads, buffers) in batches.items():
            _ops._fused_sgd(
                params,
                grads,
                buffers,
                lr=number(group["lr"]),
                momentum=group["momentum"],
                dampening=group["dampening"],
                weight_decay=number(group["weight_decay"]),
                nesterov=group["nesterov"],
                maximize=group["maximize"],
                first_step=first,
            )

    def _update_alone(self, p: Tensor, grad: Tensor, buffer: Tensor | None, group: Group) -> None:
        # Every operation is linear, so complex parameters need no special care.
        momentum = group["momentum"]
        weight_decay = live(group["weight_decay"], group)
        if group["maximize"]:
            grad = -grad
        if isinstance(weight_decay, Tensor):
            grad = grad + weight_decay.to(p.dtype) * p
        elif weight_decay != 0:
            grad = grad.add(p, alpha=weight_decay)
        if momentum != 0:
            if buffer is None:
                buffer = self.state[p]["momentum_buffer"] = grad.clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        descend(p, kept(grad, group), live(group["lr"], group))
