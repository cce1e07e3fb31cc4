"""Adafactor."""

from __future__ import annotations

from .. import Tensor, finfo, zeros
from ._group import Group, GroupOptimizer, ParamsT, State, average_, number, require, step_counter

__all__ = ["Adafactor"]


class Adafactor(GroupOptimizer):
    r"""Adam-like scaling whose second moment of a matrix is kept as a row and a column.

    For a matrix gradient :math:`G` of shape (n, m), with :math:`\hat\beta_t = 1 - t^{\tau}`:

    .. math::
        R &\leftarrow \hat\beta_t R + (1 - \hat\beta_t)\, \mathrm{mean}_{\text{columns}}(G^2), \qquad
        C \leftarrow \hat\beta_t C + (1 - \hat\beta_t)\, \mathrm{mean}_{\text{rows}}(G^2) \\
        V &= R C / \max(\mathrm{mean}(R), \epsilon_1), \qquad U = G / \sqrt{\max(V, \epsilon_1^2)} \\
        \alpha &= \max(\epsilon_2, \mathrm{RMS}(p)) \min(\gamma, 1 / \sqrt{t}) \\
        p &\leftarrow p - \gamma \lambda p - \alpha U / \max(1, \mathrm{RMS}(U) / d)

    Vectors keep the whole moment. Tensors of more dimensions are stacks of matrices.

    Args:
        params: real parameters, named parameters or parameter groups.
        lr: largest relative step size :math:`\gamma`.
        beta2_decay: :math:`\tau`, not above 0.
        eps: :math:`(\epsilon_1, \epsilon_2)`; :math:`\epsilon_1` is the dtype's machine epsilon if None.
        d: clipping threshold.
        weight_decay: :math:`\lambda`.
        foreach: accepted.
        maximize: ascend instead of descending.

    Raises:
        ValueError: an option is out of range.
        RuntimeError: a parameter is complex.

    Source:
        Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost", 2018.

    Example:
        >>> optimizer = Adafactor(model.parameters())  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        require(lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}")
        require(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        require(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        require(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        require(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        require(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        state: State = {"step": step_counter()}
        shape = tuple(p.shape)
        if len(shape) > 1:
            state["row_var"] = zeros((*shape[:-1], 1), dtype=p.dtype, device=p.device)
            state["col_var"] = zeros((*shape[:-2], 1, shape[-1]), dtype=p.dtype, device=p.device)
        else:
            state["variance"] = zeros(shape, dtype=p.dtype, device=p.device)
        return state

    def _step_param(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        super()._step_param(p, grad, state, group)

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = finfo(p.dtype).eps
        lr = number(group["lr"])
        state["step"] += 1
        step = state["step"].item()
        weight = step ** group["beta2_decay"]
        rate = max(eps2, _rms(p)) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            row_var, col_var = state["row_var"], state["col_var"]
            average_(row_var, _mean_square(grad, -1), weight)
            average_(col_var, _mean_square(grad, -2), weight)
            variance = (row_var @ col_var) / row_var.mean(dim=-2, keepdim=True).clamp(min=eps1)
        else:
            average_(state["variance"], grad * grad, weight)
            variance = state["variance"]
        update = variance.clamp(min=eps1 * eps1).rsqrt() * grad
        p.add_(update, alpha=-rate / max(1.0, _rms(update) / group["d"]))


def _rms(x: Tensor) -> float:
    return float(x.norm(2).item()) / x.numel() ** 0.5


def _mean_square(x: Tensor, dim: int) -> Tensor:
    return x.norm(dim=dim, keepdim=True).square().div(x.size(dim))
