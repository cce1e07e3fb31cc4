"""Activation functions."""

from __future__ import annotations

import warnings
from typing import Any

import mashal

from ... import Tensor, _ops

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``x if x > threshold else value``; see :class:`~mashal.nn.Threshold`."""
    if inplace:
        return mashal.threshold_(input, threshold, value)
    return mashal.threshold(input, threshold, value)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place :func:`threshold`."""
    return mashal.threshold_(input, threshold, value)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(0, x)``; see :class:`~mashal.nn.ReLU`."""
    return mashal.relu_(input) if inplace else mashal.relu(input)


def relu_(input: Tensor) -> Tensor:
    """In-place :func:`relu`."""
    return mashal.relu_(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(0, x), 6)``; see :class:`~mashal.nn.ReLU6`."""
    return _ops.hardtanh_(input, 0, 6) if inplace else _ops.hardtanh(input, 0, 6)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """``a * sigmoid(b)`` for the halves of the input along ``dim``; see :class:`~mashal.nn.GLU`."""
    if input.dim() == 0:
        raise RuntimeError(
            "glu does not support scalars because halving size must be even: "
            f"input must have at least 1 dimension, got input {tuple(input.shape)} {input.dtype}."
        )
    return _ops.glu(input, dim)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``min(max(x, min_val), max_val)``; see :class:`~mashal.nn.Hardtanh`."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _ops.hardtanh_(input, min_val, max_val) if inplace else _ops.hardtanh(input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place :func:`hardtanh`."""
    return _ops.hardtanh_(input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where x > 0, else ``alpha (exp(x) - 1)``; see :class:`~mashal.nn.ELU`."""
    return _ops.elu_(input, alpha) if inplace else _ops.elu(input, alpha)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place :func:`elu`."""
    return _ops.elu_(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Scaled exponential linear unit; see :class:`~mashal.nn.SELU`."""
    return mashal.selu_(input) if inplace else mashal.selu(input)


def selu_(input: Tensor) -> Tensor:
    """In-place :func:`selu`."""
    return mashal.selu_(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Continuously differentiable exponential linear unit; see :class:`~mashal.nn.CELU`."""
    return mashal.celu_(input, alpha) if inplace else mashal.celu(input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place :func:`celu`."""
    return mashal.celu_(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``max(0, x) + negative_slope * min(0, x)``; see :class:`~mashal.nn.LeakyReLU`."""
    return _ops.leaky_relu_(input, negative_slope) if inplace else _ops.leaky_relu(input, negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place :func:`leaky_relu`."""
    return _ops.leaky_relu_(input, negative_slope)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``max(0, x) + weight * min(0, x)`` with one weight, or one per channel; see :class:`~mashal.nn.PReLU`."""
    return mashal.prelu(input, weight)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Leaky ReLU with a random slope in training; see :class:`~mashal.nn.RReLU`."""
    if inplace:
        return mashal.rrelu_(input, lower, upper, training)
    return mashal.rrelu(input, lower, upper, training)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """In-place :func:`rrelu`."""
    return mashal.rrelu_(input, lower, upper, training)


def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(x))`` without overflow; see :class:`~mashal.nn.LogSigmoid`."""
    return _ops.log_sigmoid(input)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``x * Phi(x)``; see :class:`~mashal.nn.GELU`."""
    return _ops.gelu(input, approximate=approximate)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 where ``|x| <= lambd``, else x; see :class:`~mashal.nn.Hardshrink`."""
    return mashal.hardshrink(input, lambd)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta x)) / beta``; see :class:`~mashal.nn.Softplus`."""
    return _ops.softplus(input, beta, threshold)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """X moved towards 0 by ``lambd``; see :class:`~mashal.nn.Softshrink`."""
    return _ops.softshrink(input, lambd)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return input.tanh()


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Piecewise linear sigmoid; see :class:`~mashal.nn.Hardsigmoid`."""
    return _ops.hardsigmoid_(input) if inplace else _ops.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``; see :class:`~mashal.nn.Hardswish`."""
    return _ops.hardswish_(input) if inplace else _ops.hardswish(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``; see :class:`~mashal.nn.SiLU`."""
    return _ops.silu_(input) if inplace else _ops.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``; see :class:`~mashal.nn.Mish`."""
    return _ops.mish_(input) if inplace else _ops.mish(input)


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension to use when the caller named none."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``exp(x_i) / sum_j exp(x_j)`` along ``dim``; with ``dtype`` the input is converted first."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """:func:`softmax` of ``-input``."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``log(softmax(input))`` along ``dim``, computed without overflow."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution (Jang et al. 2016; Maddison et al. 2016).

    Args:
        logits: unnormalised log-probabilities.
        tau: temperature.
        hard: return a one-hot tensor whose gradient is that of the soft sample.
        eps: without effect.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    gumbels = -mashal.empty_like(logits, memory_format=mashal.contiguous_format).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = mashal.zeros_like(logits, memory_format=mashal.contiguous_format).scatter_(dim, index, 1.0)
    # The soft sample cancels in value and remains in the gradient.
    return one_hot - soft.detach() + soft
