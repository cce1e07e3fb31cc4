"""Activation functions, each with a fused derivative that is differentiable again.

The names under ``mashal._ops`` only (gelu, silu, ...) are offered by ``mashal.nn.functional``.
"""

from __future__ import annotations

import math

from .. import _core
from .._core import Tensor
from ._pointwise import in_place, pointwise, zeros
from ._registry import composite
from .extrema import where


def _backward(schema: str, summary: str, loop: str | None = None) -> _core.Primitive:
    """The fused derivative of an activation: linear in ``grad``, with the point in ``input``."""
    return pointwise(schema, "same", f"The gradient of {summary}.", loop=loop or schema[1 : schema.index("(")])


# ---- pieces of straight lines: the second derivative is zero ----

relu = pointwise(
    "relu(Tensor input) -> Tensor",
    "same",
    "``max(x, 0)``.",
    gradient="g where ``x > 0``, else 0; so 0 at 0.",
    example="mashal.relu(mashal.tensor([-1.0, 2.0]))\ntensor([0., 2.])",
    inplace=True,
)
_threshold_backward = _backward(
    "_threshold_backward(Tensor grad, Tensor input, Number threshold) -> Tensor", "threshold"
)
_threshold_backward.vjp(grad=lambda g, input, threshold: _threshold_backward(g, input, threshold), input=zeros)
relu.vjp(input=lambda g, out: _threshold_backward(g, out, 0))

threshold = pointwise(
    "threshold(Tensor input, Number threshold, Number value) -> Tensor",
    "same",
    "x where ``x > threshold``, else ``value``.",
    gradient="g where ``x > threshold``, else 0.",
    example="mashal.threshold(mashal.tensor([0.5, 2.0]), 1, 9)\ntensor([9., 2.])",
    method=False,
    inplace=True,
)
threshold.vjp(input=lambda g, input, threshold: _threshold_backward(g, input, threshold))

hardtanh = pointwise(
    "hardtanh(Tensor input, Number min_val=-1.0, Number max_val=1.0) -> Tensor",
    "same",
    "``min(max(x, min_val), max_val)``.",
    gradient="g where ``min_val < x < max_val``, else 0.",
    example="mashal.nn.functional.hardtanh(mashal.tensor([-2.0, 0.5, 2.0]))\ntensor([-1.0000,  0.5000,  1.0000])",
    inplace=True,
    namespace="nn",
)
_hardtanh_backward = _backward(
    "_hardtanh_backward(Tensor grad, Tensor input, Number min_val, Number max_val) -> Tensor", "hardtanh"
)
_hardtanh_backward.vjp(
    grad=lambda g, input, min_val, max_val: _hardtanh_backward(g, input, min_val, max_val), input=zeros
)
# The result lies within the limits where the input does: saving it spares in-place calls a copy.
hardtanh.vjp(input=lambda g, out, min_val, max_val: _hardtanh_backward(g, out, min_val, max_val))

leaky_relu = pointwise(
    "leaky_relu(Tensor input, Number negative_slope=0.01) -> Tensor",
    "same",
    "x where ``x > 0``, else ``negative_slope * x``.",
    gradient="g where ``x > 0``, else ``negative_slope * g``.",
    example="mashal.nn.functional.leaky_relu(mashal.tensor([-1.0, 2.0]), 0.1)\ntensor([-0.1000,  2.0000])",
    inplace=True,
    namespace="nn",
)
_leaky_relu_backward = _backward(
    "_leaky_relu_backward(Tensor grad, Tensor input, Number negative_slope) -> Tensor", "leaky_relu"
)
_leaky_relu_backward.vjp(
    grad=lambda g, input, negative_slope: _leaky_relu_backward(g, input, negative_slope), input=zeros
)
leaky_relu.vjp(input=lambda g, input, negative_slope: _leaky_relu_backward(g, input, negative_slope))

hardsigmoid = pointwise(
    "hardsigmoid(Tensor input) -> Tensor",
    "same",
    "``min(max(x + 3, 0), 6) / 6``.",
    gradient="``g / 6`` where ``-3 < x < 3``, else 0.",
    example="mashal.nn.functional.hardsigmoid(mashal.tensor([-4.0, 0.0, 1.5]))\ntensor([0.0000, 0.5000, 0.7500])",
    inplace=True,
    namespace="nn",
)
_hardsigmoid_backward = _backward("_hardsigmoid_backward(Tensor grad, Tensor input) -> Tensor", "hardsigmoid")
_hardsigmoid_backward.vjp(grad=lambda g, input: _hardsigmoid_backward(g, input), input=zeros)
hardsigmoid.vjp(input=lambda g, input: _hardsigmoid_backward(g, input))

hardswish = pointwise(
    "hardswish(Tensor input) -> Tensor",
    "same",
    "``x * min(max(x + 3, 0), 6) / 6`` (Howard et al. 2019).",
    gradient="0 where ``x <= -3``, g where ``x >= 3``, ``g (x / 3 + 1 / 2)`` between.",
    example="mashal.nn.functional.hardswish(mashal.tensor([-4.0, 1.0, 4.0]))\ntensor([-0.0000, 0.6667, 4.0000])",
    inplace=True,
    namespace="nn",
)
_hardswish_backward = _backward("_hardswish_backward(Tensor grad, Tensor input) -> Tensor", "hardswish")
_hardswish_backward.vjp(
    grad=lambda g, input: _hardswish_backward(g, input),
    input=lambda g, grad, input: where((input > -3) & (input < 3), g * grad / 3, 0),
)
hardswish.vjp(input=lambda g, input: _hardswish_backward(g, input))

hardshrink = pointwise(
    "hardshrink(Tensor input, Number lambd=0.5) -> Tensor",
    "same",
    "0 where ``|x| <= lambd``, else x.",
    gradient="0 where ``|x| <= lambd``, else g.",
    example="mashal.hardshrink(mashal.tensor([0.25, -2.0]))\ntensor([ 0., -2.])",
)
_shrink_backward = _backward(
    "_shrink_backward(Tensor grad, Tensor input, Number lambd) -> Tensor", "hardshrink and softshrink"
)
_shrink_backward.vjp(grad=lambda g, input, lambd: _shrink_backward(g, input, lambd), input=zeros)
hardshrink.vjp(input=lambda g, input, lambd: _shrink_backward(g, input, lambd))

_softshrink = pointwise(
    "_softshrink(Tensor input, Number lambd) -> Tensor",
    "same",
    "x moved towards 0 by ``lambd``, 0 within that distance.",
    gradient="0 where ``|x| <= lambd``, else g.",
    loop="softshrink",
)
_softshrink.vjp(input=lambda g, input, lambd: _shrink_backward(g, input, lambd))


@composite(out=True, namespace="nn")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Moves x towards 0 by ``lambd``, 0 within that distance.

    Args:
        input: floating-point tensor of any shape.
        lambd: distance, not negative.

    Returns:
        a tensor of the same shape and type.

    Raises:
        RuntimeError: ``lambd`` is negative.

    Gradient:
        0 where ``|x| <= lambd``, else g.

    Example:
        >>> import mashal
        >>> mashal.nn.functional.softshrink(mashal.tensor([0.25, -2.0]))
        tensor([ 0.0000, -1.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"softshrink: lambd must be greater or equal to 0, but found to be {lambd}.")
    return _softshrink(input, lambd)


_prelu = pointwise(
    "_prelu(Tensor input, Tensor weight) -> Tensor",
    "same",
    "x where ``x > 0``, else ``weight * x``.",
    gradient="g where ``x > 0``, else ``weight g``; of the weight 0 where ``x > 0``, else ``g x``.",
    loop="prelu",
)
_prelu.vjp(
    input=lambda g, input, weight: where(input > 0, g, g * weight),
    weight=lambda g, input: where(input > 0, 0, g * input),
)


@composite(method=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The input where ``x > 0``, else ``weight * x`` with a learned weight (He et al. 2015).

    Args:
        input: (N, C, ...) floating-point tensor.
        weight: tensor of the same type with one element, or with C of them.

    Returns:
        a tensor of the shape and type of ``input``.

    Raises:
        RuntimeError: types differ, or the number of weights is neither 1 nor C.

    Gradient:
        g where ``x > 0``, else ``weight g``; of the weight the sum of ``g x`` where ``x <= 0``.

    Example:
        >>> import mashal
        >>> mashal.prelu(mashal.tensor([-4.0, 2.0]), mashal.tensor([0.25]))
        tensor([-1.,  2.])
    """
    if weight.dtype != input.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported, input and weight must have one type, got input {input.dtype} "
            f"and weight {weight.dtype}."
        )
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: weight must have at most 1 dimension, got weight {tuple(weight.shape)}.")
    count, ndim = weight.numel(), input.dim()
    if count != 1:
        channels = input.shape[1] if ndim > 1 else 1
        if ndim == 0 or count != channels:
            raise RuntimeError(
                f"prelu: weight must have 1 element or one for each channel of input ({count} vs {channels}), "
                f"got weight {tuple(weight.shape)} and input {tuple(input.shape)}."
            )
    if ndim > 1:
        weight = weight.reshape([1, count] + [1] * (ndim - 2))
    elif count == 1 and weight.dim() != ndim:
        weight = weight.reshape([1] * ndim)
    return _prelu(input, weight)


# ---- exponential units ----

elu = pointwise(
    "elu(Tensor input, Number alpha=1.0, Number scale=1.0, Number input_scale=1.0) -> Tensor",
    "same",
    "``scale x`` where ``x > 0``, else ``scale alpha (exp(input_scale x) - 1)`` (Clevert et al. 2015).",
    gradient="``scale g`` where ``x > 0``, else ``g scale alpha input_scale exp(input_scale x)``.",
    example="mashal.nn.functional.elu(mashal.tensor([-1.0, 2.0]))\ntensor([-0.6321,  2.0000])",
    inplace=True,
    namespace="nn",
)
_elu_backward = _backward(
    "_elu_backward(Tensor grad, Tensor input, Number alpha, Number scale, Number input_scale) -> Tensor", "elu"
)
elu.vjp(
    input=lambda g, input, alpha, scale, input_scale: _elu_backward(g, input, alpha, scale, input_scale),
)
_elu_backward.vjp(
    grad=lambda g, input, alpha, scale, input_scale: _elu_backward(g, input, alpha, scale, input_scale),
    input=lambda g, grad, input, alpha, scale, input_scale: where(
        input >= 0, 0, g * grad * (input * input_scale).exp() * (alpha * scale * input_scale * input_scale)
    ),
)

# The constants keep zero mean and unit variance (Klambauer et al. 2017).
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946
selu = pointwise(
    "selu(Tensor input) -> Tensor",
    "same",
    "``scale x`` where ``x > 0``, else ``scale alpha (exp(x) - 1)``.\n\n"
    "alpha = 1.6733 and scale = 1.0507 (Klambauer et al. 2017).",
    gradient="``scale g`` where ``x > 0``, else ``g scale alpha exp(x)``.",
    example="mashal.selu(mashal.tensor([-1.0, 2.0]))\ntensor([-1.1113,  2.1014])",
    method=False,
    inplace=True,
)
selu.vjp(input=lambda g, input: _elu_backward(g, input, _SELU_ALPHA, _SELU_SCALE, 1.0))
_elu_in_place = in_place(elu)


def _check_celu(alpha: float) -> None:
    if alpha == 0:
        raise RuntimeError("celu: alpha cannot be 0 (ZeroDivisionError).")


@composite()
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """The input where ``x > 0``, else ``alpha (exp(x / alpha) - 1)`` (Barron 2017).

    Args:
        input: floating-point tensor of any shape.
        alpha: number, not 0.

    Returns:
        a tensor of the same shape and type.

    Raises:
        RuntimeError: ``alpha`` is 0.

    Gradient:
        g where ``x > 0``, else ``g exp(x / alpha)``.

    Example:
        >>> import mashal
        >>> mashal.celu(mashal.tensor([-1.0, 2.0]), 0.5)
        tensor([-0.4323,  2.0000])
    """
    _check_celu(alpha)
    return elu(input, alpha, 1.0, 1.0 / alpha)


@composite()
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place :func:`celu`."""
    _check_celu(alpha)
    return _elu_in_place(input, alpha, 1.0, 1.0 / alpha)


# ---- smooth units ----

log_sigmoid = pointwise(
    "log_sigmoid(Tensor input) -> Tensor",
    "same",
    "``log(sigmoid(x))`` without overflow.",
    gradient="``g sigmoid(-x)``.",
    example="mashal.nn.functional.logsigmoid(mashal.tensor([0.0, 2.0]))\ntensor([-0.6931, -0.1269])",
    namespace="nn",
    loop="logsigmoid",
)
_log_sigmoid_backward = _backward(
    "_log_sigmoid_backward(Tensor grad, Tensor input) -> Tensor", "log_sigmoid", "logsigmoid_backward"
)
log_sigmoid.vjp(input=lambda g, input: _log_sigmoid_backward(g, input))


@_log_sigmoid_backward.vjp("input")
def _(g: Tensor, grad: Tensor, input: Tensor) -> Tensor:
    s = input.sigmoid()
    return g * grad * (s - 1) * s


_log_sigmoid_backward.vjp(grad=lambda g, input: _log_sigmoid_backward(g, input))

softplus = pointwise(
    "softplus(Tensor input, Number beta=1, Number threshold=20) -> Tensor",
    "same",
    "``log(1 + exp(beta x)) / beta``; x where ``beta x > threshold``.",
    gradient="``g sigmoid(beta x)``; g beyond the threshold.",
    example="mashal.nn.functional.softplus(mashal.tensor([0.0, 2.0]))\ntensor([0.6931, 2.1269])",
    namespace="nn",
)
_softplus_backward = _backward(
    "_softplus_backward(Tensor grad, Tensor input, Number beta, Number threshold) -> Tensor", "softplus"
)
softplus.vjp(input=lambda g, input, beta, threshold: _softplus_backward(g, input, beta, threshold))
_softplus_backward.vjp(grad=lambda g, input, beta, threshold: _softplus_backward(g, input, beta, threshold))


@_softplus_backward.vjp("input")
def _(g: Tensor, grad: Tensor, input: Tensor, beta: float, threshold: float) -> Tensor:
    z = input * beta
    s = z.sigmoid()
    return where(z >= threshold, 0, g * grad * (s * (1 - s)) * beta)


silu = pointwise(
    "silu(Tensor input) -> Tensor",
    "same",
    "``x sigmoid(x)`` (Hendrycks and Gimpel 2016).",
    gradient="``g s (1 + x (1 - s))`` with ``s = sigmoid(x)``.",
    example="mashal.nn.functional.silu(mashal.tensor([0.0, 2.0]))\ntensor([0.0000, 1.7616])",
    inplace=True,
    namespace="nn",
)
_silu_backward = _backward("_silu_backward(Tensor grad, Tensor input) -> Tensor", "silu")
silu.vjp(input=lambda g, input: _silu_backward(g, input))
_silu_backward.vjp(grad=lambda g, input: _silu_backward(g, input))


@_silu_backward.vjp("input")
def _(g: Tensor, grad: Tensor, input: Tensor) -> Tensor:
    s = input.sigmoid()
    return g * grad * (s * (1 - s) * (2 + input * (1 - 2 * s)))


mish = pointwise(
    "mish(Tensor input) -> Tensor",
    "same",
    "``x tanh(log(1 + exp(x)))`` (Misra 2019).",
    gradient="``g (t + x s (1 - t**2))`` with ``t = tanh(softplus(x))`` and ``s = sigmoid(x)``.",
    example="mashal.nn.functional.mish(mashal.tensor([0.0, 2.0]))\ntensor([0.0000, 1.9440])",
    inplace=True,
    namespace="nn",
)
_mish_backward = _backward("_mish_backward(Tensor grad, Tensor input) -> Tensor", "mish")
mish.vjp(input=lambda g, input: _mish_backward(g, input))
_mish_backward.vjp(grad=lambda g, input: _mish_backward(g, input))


@_mish_backward.vjp("input")
def _(g: Tensor, grad: Tensor, input: Tensor) -> Tensor:
    s, t = input.sigmoid(), softplus(input).tanh()
    return g * grad * ((1 - t * t) * s * (2 + input * (1 - s - 2 * t * s)))


_gelu = pointwise(
    "_gelu(Tensor input) -> Tensor",
    "same",
    "``x Phi(x)`` with the normal distribution function Phi.",
    gradient="``g (Phi(x) + x phi(x))``.",
    loop="gelu",
)
_gelu_backward = _backward("_gelu_backward(Tensor grad, Tensor input) -> Tensor", "gelu")
_gelu.vjp(input=lambda g, input: _gelu_backward(g, input))
_gelu_backward.vjp(
    grad=lambda g, input: _gelu_backward(g, input),
    input=lambda g, grad, input: (
        g * grad * ((input * input * -0.5).exp() * (2 - input * input)) * (1 / math.sqrt(2 * math.pi))
    ),
)

_gelu_tanh = pointwise(
    "_gelu_tanh(Tensor input) -> Tensor",
    "same",
    "gelu with a tanh in place of the normal distribution function.",
    gradient="that of ``x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``.",
    loop="gelu_tanh",
)
_gelu_tanh_backward = _backward("_gelu_tanh_backward(Tensor grad, Tensor input) -> Tensor", "gelu in its tanh form")
_gelu_tanh.vjp(input=lambda g, input: _gelu_tanh_backward(g, input))
_gelu_tanh_backward.vjp(grad=lambda g, input: _gelu_tanh_backward(g, input))


@_gelu_tanh_backward.vjp("input")
def _(g: Tensor, grad: Tensor, input: Tensor) -> Tensor:
    k, c = math.sqrt(2 / math.pi), 0.044715
    squared = input * input
    t = (input * (1 + c * squared) * k).tanh()
    inner = k * (1 + 3 * c * squared)  # derivative of tanh's argument; the second is 6 k c x
    slope = 1 - t * t
    return g * grad * slope * (inner + input * (input * (3 * k * c) - t * inner * inner))


@composite(out=True, namespace="nn")
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """``x Phi(x)`` with the normal distribution function Phi (Hendrycks and Gimpel 2016).

    Args:
        input: floating-point tensor of any shape.
        approximate: "none", or "tanh" for ``x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``.

    Returns:
        a tensor of the same shape and type.

    Raises:
        RuntimeError: ``approximate`` is neither.

    Gradient:
        ``g (Phi(x) + x phi(x))``; with "tanh" that of the approximation.

    Example:
        >>> import mashal
        >>> mashal.nn.functional.gelu(mashal.tensor([0.0, 2.0]))
        tensor([0.0000, 1.9545])
    """
    if approximate == "none":
        return _gelu(input)
    if approximate != "tanh":
        raise RuntimeError(f"gelu: approximate must be 'none' or 'tanh', got approximate {approximate!r}.")
    return _gelu_tanh(input)


@composite(out=True, namespace="nn")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """``a sigmoid(b)`` with a and b the halves of the input along ``dim`` (Dauphin et al. 2016).

    Args:
        input: floating-point tensor with an even size n along ``dim``.
        dim: dimension to halve.

    Returns:
        a tensor of the same type with size n / 2 along ``dim``.

    Raises:
        RuntimeError: the size is odd.

    Gradient:
        of a ``g sigmoid(b)``, of b ``g a s (1 - s)`` with ``s = sigmoid(b)``.

    Example:
        >>> import mashal
        >>> mashal.nn.functional.glu(mashal.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """
    size = input.size(dim)
    if size % 2 != 0:
        raise RuntimeError(
            f"glu: Halving dimension must be even, but dimension {dim} is size {size}, got input {tuple(input.shape)}."
        )
    half = size // 2
    return input.narrow(dim, 0, half) * input.narrow(dim, half, half).sigmoid()
