"""AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from .. import Tensor
from .adam import Adam
from .optimizer import Group, ParamsT

__all__ = ["AdamW"]


class AdamW(Adam):
    r"""Adam whose weight decay acts on the parameters, not through the gradient's moments.

    The step is :class:`Adam`'s with :math:`\lambda = 0`, after

    .. math:: p \leftarrow p - \gamma \lambda p

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate :math:`\gamma`.
        betas: decay rates of the two moments.
        eps: added to the denominator.
        weight_decay: :math:`\lambda`.
        amsgrad, maximize, foreach, capturable, differentiable, fused: as in :class:`Adam`.

    Raises:
        ValueError: an option is out of range.

    Source:
        Loshchilov and Hutter, "Decoupled weight decay regularization", 2019.

    Example:
        >>> optimizer = AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        # Checkpoints from before the option existed, or from Adam, must not turn the decay into an L2 penalty.
        groups: list[Group] = self.param_groups
        for group in groups:
            group["decoupled_weight_decay"] = True
