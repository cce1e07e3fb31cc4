"""Muon."""

from __future__ import annotations

from .. import Tensor, bfloat16, zeros_like
from ._group import Group, GroupOptimizer, ParamsT, State, average_, decay, number, require

__all__ = ["Muon"]


def _orthogonalise(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Approximate the nearest semi-orthogonal matrix by a quintic Newton-Schulz iteration in bfloat16.

    The coefficients are chosen to push small singular values up fast; the result's lie around 1, not at it.
    """
    require(steps < 100, "Number of steps must be less than 100 for computational efficiency")
    require(matrix.dim() == 2, "Input tensor gradient must be a 2D matrix")
    require(len(coefficients) == 3, "Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = matrix.to(bfloat16)
    tall = matrix.size(0) > matrix.size(1)
    if tall:
        x = x.T
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        polynomial = gram.addmm(gram, gram, beta=b, alpha=c)
        x = x.addmm(polynomial, x, beta=a)
    return x.T if tall else x


class Muon(GroupOptimizer):
    r"""Momentum whose update is orthogonalised, for the weight matrices of hidden layers.

    .. math::
        b &\leftarrow \mu b + (1 - \mu) g \\
        p &\leftarrow p - \gamma \lambda p - \gamma'\, \mathrm{orth}\big((1 - \mu) g + \mu b\big)

    (plain :math:`b` without ``nesterov``), with :math:`\gamma' = \gamma \sqrt{\max(1, n / m)}` for an n x m matrix, or
    :math:`\gamma' = 0.2\, \gamma \sqrt{\max(n, m)}` if ``adjust_lr_fn="match_rms_adamw"``, which lets it take over
    AdamW's learning rate and weight decay.

    Args:
        params: matrices. Give embeddings, heads, biases and convolutions to another optimizer.
        lr: learning rate :math:`\gamma`.
        weight_decay: :math:`\lambda`, decoupled.
        momentum: :math:`\mu`.
        nesterov: look ahead along the momentum.
        ns_coefficients, eps, ns_steps: of the Newton-Schulz iteration.
        adjust_lr_fn: ``"original"`` (the same as None) or ``"match_rms_adamw"``.

    Raises:
        ValueError: an option is out of range, or a parameter is not a matrix.

    Source:
        Jordan, "Muon: an optimizer for hidden layers in neural networks", 2024; Liu et al., "Muon is scalable for LLM
        training", 2025, for ``match_rms_adamw``.

    Example:
        >>> optimizer = Muon([p for p in model.parameters() if p.ndim == 2], lr=1e-3)  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        require(lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}")
        require(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        require(weight_decay >= 0.0, f"weight decay should be >= 0 but is: {weight_decay}")
        require(
            adjust_lr_fn in (None, "original", "match_rms_adamw"),
            f"Adjust learning rate function {adjust_lr_fn} is not supported",
        )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                require(
                    p.dim() == 2, f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                )

    def _new_state(self, p: Tensor, group: Group) -> State:
        return {"momentum_buffer": zeros_like(p, requires_grad=False)}

    def _step_param(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        self._update(p, grad, state, group)

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        require(grad.dim() == 2, "Param gradient must be a 2D matrix")
        momentum, lr = group["momentum"], number(group["lr"])
        buffer = state["momentum_buffer"]
        average_(buffer, grad, 1 - momentum)
        direction = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonalise(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = p.size(0), p.size(1)
        if group["adjust_lr_fn"] == "match_rms_adamw":
            adjusted = lr * 0.2 * max(rows, columns) ** 0.5
        else:
            adjusted = lr * max(1.0, rows / columns) ** 0.5
        decay(p, lr, group["weight_decay"])
        p.add_(update, alpha=-adjusted)
