"""Fused optimizer steps: one call updates all parameters of a group in place."""

from __future__ import annotations

from ._registry import op


@op(
    "_fused_adam(Tensor[] params, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] max_exp_avg_sqs, "
    "Tensor[] steps, *, float lr, float beta1, float beta2, float eps, float weight_decay, bool decoupled, bool "
    "maximize) -> Tensor[]",
    dynamic="no result: its arguments are written",
)
def fused_adam() -> None:
    """One step of Adam or AdamW (``decoupled``); with amsgrad where ``max_exp_avg_sqs`` is not empty.

    Parameters, averages and step counts are written in place. Source: Kingma and Ba, 2015; Loshchilov and Hutter, 2019;
    Reddi et al., 2018.
    """


fused_adam.nondifferentiable("an update of parameters in place")


@op(
    "_fused_sgd(Tensor[] params, Tensor[] grads, Tensor[] momentum_buffers, *, float lr, float momentum, float "
    "dampening, float weight_decay, bool nesterov, bool maximize, bool first_step) -> Tensor[]",
    dynamic="no result: its arguments are written",
)
def fused_sgd() -> None:
    """One step of stochastic gradient descent; with momentum where ``momentum_buffers`` is not empty.

    ``first_step`` says that the buffers are uninitialised. Source: Sutskever et al., 2013.
    """


fused_sgd.nondifferentiable("an update of parameters in place")
