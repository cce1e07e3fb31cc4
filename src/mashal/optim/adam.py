"""Adam, and the class that AdamW shares with it."""

from __future__ import annotations

from typing import Any

from .. import Tensor, _ops, maximum, zeros_like
from ._fused import fits
from ._group import (
    Group,
    GroupOptimizer,
    ParamsT,
    State,
    average_,
    check_fused,
    check_lr,
    count,
    decay,
    descend_ratio,
    kept,
    live,
    number,
    require,
    step_counter,
)

__all__ = ["Adam"]


class Adam(GroupOptimizer):
    r"""Adam: steps scaled by estimates of the gradient's first two moments.

    With gradient :math:`g_t`, moments started at zero, and weight decay :math:`\lambda`:

    .. math::
        g_t &\leftarrow g_t + \lambda p \\
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1) g_t \\
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2) g_t^2 \\
        p &\leftarrow p - \gamma \frac{m_t / (1 - \beta_1^t)}{\sqrt{v_t / (1 - \beta_2^t)} + \epsilon}

    ``amsgrad`` replaces :math:`v_t` in the last line by its maximum over all steps so far.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate :math:`\gamma`, a number or a one-element tensor.
        betas: :math:`(\beta_1, \beta_2)`.
        eps: :math:`\epsilon`.
        weight_decay: :math:`\lambda`.
        amsgrad: use the AMSGrad variant.
        foreach: accepted; every step already handles all parameters together.
        maximize: ascend instead of descending.
        capturable: keep step counts as tensors that are never read on the host.
        differentiable: record the step for autograd, so that one can differentiate through it.
        fused: accepted, as ``foreach``.
        decoupled_weight_decay: decay ``p`` itself rather than adding to the gradient; this makes it AdamW.

    Raises:
        ValueError: an option is out of range.

    Source:
        Kingma and Ba, "Adam: a method for stochastic optimization", 2014; Reddi, Kale and Kumar, "On the convergence of
        Adam and beyond", 2018, for AMSGrad.

    Example:
        >>> optimizer = Adam(model.parameters(), lr=1e-3)  # doctest: +SKIP
        >>> loss.backward(); optimizer.step(); optimizer.zero_grad()  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor):
            require(not foreach or capturable, "lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas):
            require(0.0 <= beta < 1.0, f"Invalid beta parameter at index {i}: {beta}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        kinds = {isinstance(beta, Tensor) for beta in betas}
        require(len(kinds) == 1, "betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                require(
                    not foreach or capturable,
                    f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True",
                )
                require(beta.numel() == 1, f"Tensor betas[{i}] must be 1-element")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _new_state(self, p: Tensor, group: Group) -> State:
        on_device = group["capturable"] or group["fused"]
        state = {
            "step": step_counter(p if on_device else None),
            "exp_avg": zeros_like(p, requires_grad=False),
            "exp_avg_sq": zeros_like(p, requires_grad=False),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(p, requires_grad=False)
        return state

    def _step_group(self, group: Group) -> None:
        # One kernel call per dtype. The loop is the whole cost of a step over many small tensors: keep it lean.
        batches: dict[Any, tuple[list[Tensor], ...]] = {}
        fusable = not (group["differentiable"] or group["capturable"])
        amsgrad = group["amsgrad"]
        state_of = self.state
        dtype = batch = None
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            state = state_of[p] or self._state_of(p, group)
            exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
            if not (fusable and fits(p, grad, exp_avg, exp_avg_sq)):
                self._step_param(p, grad, state, group)
                continue
            if batch is None or p.dtype != dtype:
                dtype = p.dtype
                batch = batches.setdefault(dtype, ([], [], [], [], [], []))
            params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps = batch
            params.append(p)
            grads.append(grad)
            exp_avgs.append(exp_avg)
            exp_avg_sqs.append(exp_avg_sq)
            if amsgrad:
                max_exp_avg_sqs.append(state["max_exp_avg_sq"])
            steps.append(state["step"])
        beta1, beta2 = group["betas"]
        for lists in batches.values():
            _ops._fused_adam(
                *lists,
                lr=number(group["lr"]),
                beta1=number(beta1),
                beta2=number(beta2),
                eps=group["eps"],
                weight_decay=number(group["weight_decay"]),
                decoupled=group["decoupled_weight_decay"],
                maximize=group["maximize"],
            )

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        state["step"] += 1
        step = count(state["step"], group)
        lr = live(group["lr"], group)
        beta1, beta2 = (live(beta, group) for beta in group["betas"])
        weight_decay = group["weight_decay"]
        if weight_decay != 0:
            if group["decoupled_weight_decay"]:
                decay(p, lr, weight_decay)
            else:
                grad = grad.add(p, alpha=weight_decay)
        average_(exp_avg, grad, 1 - beta1)
        if isinstance(beta2, Tensor):
            exp_avg_sq.mul_(beta2).add_((1 - beta2) * grad * grad)
        else:
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        second = exp_avg_sq
        if group["amsgrad"]:
            second = state["max_exp_avg_sq"]
            second.copy_(maximum(kept(second, group), kept(exp_avg_sq, group)))
        denominator = kept(second, group).sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
        descend_ratio(p, kept(exp_avg, group), denominator, lr / (1 - beta1**step))
