"""Normalisation by the mean and variance of layers, groups, batches and instances.

Forward kernels return the statistics they used, backward kernels take them: one pass each. When the gradient itself is
to be differentiated (``create_graph``), it is composed of ordinary ops instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._dtype_info import finfo
from ._registry import composite, op

Tensor = _core.Tensor


def _wide(t: Tensor) -> Tensor:
    return t.float() if t.dtype in (_core.float16, _core.bfloat16) else t


def _composed(
    g: Tensor,
    x: Tensor,
    weight: Tensor | None,
    dims: Sequence[int],
    weight_dims: Sequence[int],
    eps: float,
    centred: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of ``(x - mean) * rstd * weight + bias`` over ``dims``, ``weight`` repeating over ``weight_dims``."""
    g, x = _wide(g), _wide(x)
    shifted = x - x.mean(dims, True) if centred else x
    rstd = ((shifted * shifted).mean(dims, True) + eps).rsqrt()
    scaled = shifted * rstd
    gw = g if weight is None else g * _wide(weight)
    inner = gw - gw.mean(dims, True) if centred else gw
    dx = rstd * (inner - scaled * (gw * scaled).mean(dims, True))
    return dx, (g * scaled).sum(weight_dims, True), g.sum(weight_dims, True)


# ---- layer_norm and rms_norm ----


@op(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps)"
    " -> (Tensor, Tensor, Tensor)",
    method=False,
)
def native_layer_norm() -> None:
    """:func:`layer_norm` with the mean and 1 / deviation it used, of the leading shape and in at least float32.

    Gradient: of the first result only.

    Example:
        >>> import mashal
        >>> mashal.native_layer_norm(mashal.tensor([1., 3.]), [2], None, None, 0.)[1]
        tensor([2.])
    """


@op("_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float eps) -> (Tensor, Tensor)")
def _rms_norm() -> None:
    """:func:`rms_norm` with the 1 / root mean square it used.

    Example:
        >>> import mashal
        >>> mashal._ops._rms_norm(mashal.tensor([2., 2.]), [2], None, 0.)[1]
        tensor([0.5000])
    """


@op(
    "_layer_norm_backward(Tensor grad, Tensor input, int[] normalized_shape, Tensor? mean, Tensor rstd, Tensor? weight,"
    " bool need_input, bool need_weight, bool need_bias) -> (Tensor, Tensor, Tensor)"
)
def _layer_norm_backward() -> None:
    """The gradients of layer_norm, or (``mean`` None) of rms_norm; those not needed have no elements.

    Example:
        >>> import mashal
        >>> x, one = mashal.tensor([1., 3.]), mashal.tensor([1.])
        >>> mashal._ops._layer_norm_backward(x, x, [2], 2 * one, one, None, False, False, True)[2]
        tensor([1., 3.])
    """


_layer_norm_backward.nondifferentiable("used only where its result need not be differentiated")


def _rows_gradient(
    g: Tensor, x: Tensor, shape: Sequence[int], mean: Any, rstd: Tensor, weight: Any, eps: float, needs: Any
) -> tuple[Any, Any, Any]:
    if _core.is_grad_enabled():
        split = x.ndim - len(shape)
        # One leading dimension at least: () would mean all of them.
        g, rows = g.unsqueeze(0), x.unsqueeze(0)
        dims, leading = tuple(range(split + 1, x.ndim + 1)), tuple(range(split + 1))
        dx, dw, db = _composed(g, rows, weight, dims, leading, eps, mean is not None)
        return dx.squeeze(0), dw.reshape(shape), db.reshape(shape)
    need_input, need_weight, need_bias = needs
    return tuple(_layer_norm_backward(g, x, shape, mean, rstd, weight, need_input, need_weight, need_bias))


@native_layer_norm.vjp
def _(gs: Any, input: Tensor, normalized_shape: Any, weight: Any, eps: float, out1: Any, out2: Any, needs: Any) -> Any:
    flags = _three(needs, weight is not None)
    return _rows_gradient(gs[0], input, normalized_shape, out1, out2, weight, eps, flags)


@_rms_norm.vjp
def _(gs: Any, input: Tensor, normalized_shape: Any, weight: Any, eps: float, out1: Any, needs: Any) -> Any:
    flags = (needs[0], needs[1], False)
    return _rows_gradient(gs[0], input, normalized_shape, None, out1, weight, eps, flags)[:2]


@composite()
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions.

    Args: ``input``: ``(*, normalized_shape)``, floating; ``weight``, ``bias``: of shape ``normalized_shape``;
    ``cudnn_enable`` is accepted and has no meaning. Raises: RuntimeError for ill-fitting shapes.

    Example:
        >>> import mashal
        >>> mashal.layer_norm(mashal.tensor([1., 3.]), [2], eps=0.)
        tensor([-1.,  1.])
    """
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


@composite()
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Computes x / sqrt(mean(x^2) + eps) * weight over the last dimensions. ``eps`` None: machine epsilon.

    Source: Zhang, Sennrich, "Root Mean Square Layer Normalization", 2019.

    Example:
        >>> import mashal
        >>> mashal.rms_norm(mashal.tensor([3., -3.]), [2])
        tensor([ 1., -1.])
    """
    return _rms_norm(input, normalized_shape, weight, finfo(input.dtype).eps if eps is None else eps)[0]


# ---- group_norm ----


@op(
    "_group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
)
def _group_norm() -> None:
    """:func:`group_norm` with the mean and 1 / deviation it used, of shape (N, num_groups).

    Example:
        >>> import mashal
        >>> mashal._ops._group_norm(mashal.tensor([[1., 3.]]), 1, None, None, 0.)[1]
        tensor([[2.]])
    """


@op(
    "_group_norm_backward(Tensor grad, Tensor input, int num_groups, Tensor mean, Tensor rstd, Tensor? weight,"
    " bool need_input, bool need_weight, bool need_bias) -> (Tensor, Tensor, Tensor)"
)
def _group_norm_backward() -> None:
    """The gradients of group_norm; those not needed have no elements.

    Example:
        >>> import mashal
        >>> x, one = mashal.tensor([[1., 3.]]), mashal.tensor([[1.]])
        >>> mashal._ops._group_norm_backward(x, x, 1, 2 * one, one, None, False, False, True)[2]
        tensor([1., 3.])
    """


_group_norm_backward.nondifferentiable("used only where its result need not be differentiated")


@_group_norm.vjp
def _(gs: Any, input: Tensor, num_groups: int, weight: Any, eps: float, out1: Any, out2: Any, needs: Any) -> Any:
    if not _core.is_grad_enabled():
        flags = _three(needs, weight is not None)
        return tuple(_group_norm_backward(gs[0], input, num_groups, out1, out2, weight, *flags))
    n, channels = input.shape[:2]
    split = (n, num_groups, channels // num_groups, -1)
    scale = None if weight is None else weight.reshape(1, num_groups, channels // num_groups, 1)
    dx, dw, db = _composed(gs[0].reshape(split), input.reshape(split), scale, (2, 3), (0, 3), eps, True)
    return dx.reshape(input.shape), dw.reshape(channels), db.reshape(channels)


@composite()
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias over groups of channels of each sample.

    Args: ``input``: ``(N, C, *)``, C divisible by ``num_groups``; ``weight``, ``bias``: ``(C,)``; ``cudnn_enabled`` is
    accepted and has no meaning. Raises: RuntimeError for ill-fitting shapes.
    Source: Wu, He, "Group Normalization", 2018.

    Example:
        >>> import mashal
        >>> mashal.group_norm(mashal.tensor([[1., 3.]]), 1, eps=0.)
        tensor([[-1.,  1.]])
    """
    return _group_norm(input, num_groups, weight, bias, eps)[0]


# ---- batch_norm and instance_norm ----


@op(
    "_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training,"
    " float eps) -> (Tensor, Tensor, Tensor, Tensor)"
)
def _batch_norm() -> None:
    """Normalisation of channels with the mean, 1 / deviation and variance (in training: unbiased) it used.

    Example:
        >>> import mashal
        >>> mashal._ops._batch_norm(mashal.tensor([[1.], [3.]]), None, None, None, None, True, 0.)[3]
        tensor([2.])
    """


@op(
    "_batch_norm_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, bool training,"
    " bool need_input, bool need_weight, bool need_bias) -> (Tensor, Tensor, Tensor)"
)
def _batch_norm_backward() -> None:
    """The gradients of batch_norm; those not needed have no elements.

    Example:
        >>> import mashal
        >>> x, one = mashal.tensor([[1.], [3.]]), mashal.tensor([1.])
        >>> mashal._ops._batch_norm_backward(x, x, None, 2 * one, one, True, False, False, True)[2]
        tensor([4.])
    """


_batch_norm_backward.nondifferentiable("used only where its result need not be differentiated")


@_batch_norm.vjp
def _(gs: Any, input: Tensor, weight: Any, training: bool, eps: float, out1: Any, out2: Any, needs: Any) -> Any:
    mean, rstd = out1, out2
    if not _core.is_grad_enabled():
        flags = _three(needs, weight is not None)
        return tuple(_batch_norm_backward(gs[0], input, weight, mean, rstd, training, *flags))
    shape = [1, -1] + [1] * (input.ndim - 2)
    dims = (0, *range(2, input.ndim))
    scale = None if weight is None else weight.reshape(shape)
    if training:
        dx, dw, db = _composed(gs[0], input, scale, dims, dims, eps, True)
    else:
        g, mean, rstd = _wide(gs[0]), mean.detach().reshape(shape), rstd.detach().reshape(shape)
        dx = g * rstd if scale is None else g * rstd * _wide(scale)
        dw, db = (g * (_wide(input) - mean) * rstd).sum(dims), g.sum(dims)
    return dx, dw.reshape(-1), db.reshape(-1)


def _three(needs: Sequence[bool], has_weight: bool) -> tuple[bool, bool, bool]:
    """Which of input, weight and bias need a gradient."""
    return bool(needs[0]), bool(needs[1]) and has_weight, bool(needs[2])


@composite()
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias for each channel over batch and positions.

    Args: ``input``: ``(N, C, *)``; the others: ``(C,)``. ``training``: statistics of the batch, which also move
    ``running_mean`` and ``running_var`` (unbiased) by ``momentum`` towards them, in place; otherwise the running ones.
    ``cudnn_enabled`` is accepted and has no meaning.
    Raises: RuntimeError for ill-fitting shapes or missing running statistics, ValueError for one value per channel.
    Source: Ioffe, Szegedy, "Batch Normalization", 2015.

    Example:
        >>> import mashal
        >>> mashal.batch_norm(mashal.tensor([[1.], [3.]]), None, None, None, None, True, 0.1, 0.)
        tensor([[-1.],
                [ 1.]])
    """
    out, mean, _, var = _batch_norm(input, weight, bias, running_mean, running_var, training, eps)
    if training:
        with _core.no_grad_guard():
            for running, value in ((running_mean, mean), (running_var, var)):
                if running is not None:
                    running.lerp_(value.to(running.dtype), momentum)
    return out


@composite()
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """:func:`batch_norm` of every sample by itself; running statistics move by the average over samples.

    Source: Ulyanov, Vedaldi, Lempitsky, "Instance Normalization", 2016.

    Example:
        >>> import mashal
        >>> mashal.instance_norm(mashal.tensor([[[1., 3.]]]), None, None, None, None, True, 0.1, 0.)
        tensor([[[-1.,  1.]]])
    """
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    n, channels = input.shape[:2]

    def tiled(t: Tensor | None) -> Tensor | None:
        return None if t is None else t.repeat(n)

    mean, var = tiled(running_mean), tiled(running_var)
    flat = input.reshape(1, n * channels, *input.shape[2:])
    out = batch_norm(flat, tiled(weight), tiled(bias), mean, var, use_input_stats, momentum, eps)
    with _core.no_grad_guard():
        for running, moved in ((running_mean, mean), (running_var, var)):
            if running is not None and moved is not None and use_input_stats:
                running.copy_(moved.reshape(n, channels).mean(0))
    return out.reshape(input.shape)
