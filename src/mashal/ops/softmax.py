"""softmax and log_softmax."""

from __future__ import annotations

from .. import _core
from ._registry import op

Tensor = _core.Tensor


@op("softmax(Tensor input, int dim, dtype? dtype=None) -> Tensor")
def softmax() -> None:
    """exp(x_i) / sum_j exp(x_j) along ``dim``; half types are computed in float32.

    Args: ``input``: floating Tensor, or any with a floating ``dtype``, to which it is converted first.
    Raises: IndexError for a dimension out of range, RuntimeError for integers.
    Gradient: y (g - sum(g y)).

    Example:
        >>> import mashal
        >>> mashal.tensor([0., 0.]).softmax(0)
        tensor([0.5000, 0.5000])
    """


@op("log_softmax(Tensor input, int dim, dtype? dtype=None) -> Tensor")
def log_softmax() -> None:
    """x_i - log(sum_j exp(x_j)) along ``dim``, without overflow; half types are computed in float32.

    Gradient: g - exp(y) sum(g).

    Example:
        >>> import mashal
        >>> mashal.tensor([0., 0.]).log_softmax(0)
        tensor([-0.6931, -0.6931])
    """


@op("_softmax_backward(Tensor grad, Tensor output, int dim) -> Tensor")
def _softmax_backward() -> None:
    """The gradient of softmax, from its result.

    Example:
        >>> import mashal
        >>> mashal._ops._softmax_backward(mashal.tensor([1., 0.]), mashal.tensor([0.5, 0.5]), 0)
        tensor([ 0.2500, -0.2500])
    """


@op("_log_softmax_backward(Tensor grad, Tensor output, int dim) -> Tensor")
def _log_softmax_backward() -> None:
    """The gradient of log_softmax, from its result.

    Example:
        >>> import mashal
        >>> mashal._ops._log_softmax_backward(mashal.tensor([1., 0.]), mashal.tensor([0.5, 0.5]).log(), 0)
        tensor([ 0.5000, -0.5000])
    """


softmax.vjp(input=lambda g, out, dim: _softmax_backward(g, out, dim))
log_softmax.vjp(input=lambda g, out, dim: _log_softmax_backward(g, out, dim))


@_softmax_backward.vjp("output")
def _(g: Tensor, grad: Tensor, output: Tensor, dim: int) -> Tensor:
    return g * (grad - (grad * output).sum(dim, True)) - grad * (g * output).sum(dim, True)


_softmax_backward.vjp(grad=lambda g, output, dim: _softmax_backward(g, output, dim))
_log_softmax_backward.vjp(
    grad=lambda g, output, dim: g - (g * output.exp()).sum(dim, True),
    output=lambda g, grad, output, dim: -g * output.exp() * grad.sum(dim, True),
)
