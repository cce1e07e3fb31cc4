"""Adam for sparse gradients."""

from __future__ import annotations

from typing import Any

from .. import Tensor, no_grad, zeros_like
from ._group import Group, GroupOptimizer, ParamsT, State, require

__all__ = ["SparseAdam"]


class SparseAdam(GroupOptimizer):
    """Adam that updates the rows that are in a sparse gradient, and their moments, and leaves the others alone.

    Args:
        params: strided parameters whose gradients are sparse (of ``Embedding(sparse=True)``).
        lr: the rate. betas: decay of the two moments. eps: added to the denominator.
        maximize: ascend.

    Raises:
        ValueError: for options out of range, and sparse parameters.
        RuntimeError: in ``step``, for strided gradients.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        require(lr > 0.0, f"Invalid learning rate: {lr}")
        require(eps > 0.0, f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas):
            require(0.0 <= beta < 1.0, f"Invalid beta parameter at index {i}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        wrong = [
            [g, i] for g, group in enumerate(self.param_groups) for i, p in enumerate(group["params"]) if p.is_sparse
        ]
        require(not wrong, f"Sparse params at indices {wrong}: SparseAdam requires dense parameter tensors")

    def _new_state(self, p: Tensor, group: Group) -> State:
        return {"step": 0, "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # Unlike the other algorithms', its count is a plain number.
        for value in self.state.values():
            if isinstance(value.get("step"), Tensor):
                value["step"] = int(value["step"].item())

    @no_grad()
    def _step_param(self, p: Tensor, grad: Any, state: State, group: Group) -> None:
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        state["step"] += 1
        grad = grad.coalesce()
        at, g = tuple(grad.indices()), grad.values()
        if g.numel() == 0:
            return
        if group["maximize"]:
            g = -g
        beta1, beta2 = group["betas"]
        step, lr = state["step"], float(group["lr"])
        first, second = state["exp_avg"], state["exp_avg_sq"]
        mean = first[at].lerp(g, 1 - beta1)
        square = second[at].lerp(g * g, 1 - beta2)
        first[at], second[at] = mean, square
        rate = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        p.index_put_(at, mean / (square.sqrt() + group["eps"]) * -rate, accumulate=True)
