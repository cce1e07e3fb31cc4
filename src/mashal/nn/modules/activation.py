"""Activation functions as layers."""

from __future__ import annotations

import warnings
from typing import Any

import mashal

from ... import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .multihead import MultiheadAttention as MultiheadAttention  # noqa: PLC0414 (where PyTorch has it)

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class Threshold(Module):
    r"""``y = x if x > threshold else value``.

    Args:
        threshold, value: constants of the formula.
        inplace: change the input itself.

    Example::

        >>> nn.Threshold(0, 20)(torch.tensor([-1.0, 1.0]))
        tensor([20.,  1.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class ReLU(Module):
    r"""``max(0, x)``.

    Args:
        inplace: change the input itself.

    Gradient:
        0 at x = 0.

    Example::

        >>> nn.ReLU()(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class RReLU(Module):
    r"""``x`` where x >= 0, else ``a x``, with a drawn per element from U(lower, upper) in training mode and
    ``(lower + upper) / 2`` in evaluation mode. (Xu et al. 2015.)

    Example::

        >>> nn.RReLU(0.1, 0.3).eval()(torch.tensor([-1.0, 2.0]))
        tensor([-0.2000,  2.0000])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class Hardtanh(Module):
    r"""``min(max(x, min_val), max_val)``.

    Args:
        min_val, max_val: the range. (``min_value`` and ``max_value`` are their deprecated names.)
        inplace: change the input itself.

    Raises:
        AssertionError: ``max_val`` is not greater than ``min_val``.

    Example::

        >>> nn.Hardtanh(-2, 2)(torch.tensor([-3.0, 1.0]))
        tensor([-2.,  1.])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            warnings.warn(
                "keyword argument `min_value` is deprecated and rename to `min_val`", FutureWarning, stacklevel=2
            )
            min_val = min_value
        if max_value is not None:
            warnings.warn(
                "keyword argument `max_value` is deprecated and rename to `max_val`", FutureWarning, stacklevel=2
            )
            max_val = max_value
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    r"""``min(max(0, x), 6)``.

    Example::

        >>> nn.ReLU6()(torch.tensor([-1.0, 8.0]))
        tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    r"""``1 / (1 + exp(-x))``.

    Example::

        >>> nn.Sigmoid()(torch.tensor([0.0]))
        tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return mashal.sigmoid(input)


class Hardsigmoid(Module):
    r"""0 where x <= -3, 1 where x >= 3, else ``x / 6 + 1 / 2``.

    Example::

        >>> nn.Hardsigmoid()(torch.tensor([-4.0, 0.0]))
        tensor([0.0000, 0.5000])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    r"""``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``.

    Example::

        >>> nn.Tanh()(torch.tensor([0.0]))
        tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return mashal.tanh(input)


class SiLU(Module):
    r"""``x * sigmoid(x)``, also called swish.

    Example::

        >>> nn.SiLU()(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7311])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Mish(Module):
    r"""``x * tanh(softplus(x))`` (Misra 2019).

    Example::

        >>> nn.Mish()(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8651])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Hardswish(Module):
    r"""0 where x <= -3, x where x >= 3, else ``x (x + 3) / 6`` (Howard et al. 2019).

    Example::

        >>> nn.Hardswish()(torch.tensor([-4.0, 1.0]))
        tensor([-0.0000,  0.6667])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class ELU(Module):
    r"""``x`` where x > 0, else ``alpha (exp(x) - 1)`` (Clevert et al. 2015).

    Example::

        >>> nn.ELU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(Module):
    r"""``max(0, x) + min(0, alpha (exp(x / alpha) - 1))`` (Barron 2017).

    Example::

        >>> nn.CELU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class SELU(Module):
    r"""``scale (max(0, x) + min(0, alpha (exp(x) - 1)))``, alpha = 1.67326..., scale = 1.05070... (Klambauer et al.
    2017). With LeCun initialisation, activations keep mean 0 and variance 1.

    Example::

        >>> nn.SELU()(torch.tensor([1.0]))
        tensor([1.0507])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class GLU(Module):
    r"""``a * sigmoid(b)``, where a and b are the halves of the input along ``dim`` (Dauphin et al. 2016).

    Raises:
        RuntimeError: the size along ``dim`` is odd.

    Example::

        >>> nn.GLU()(torch.tensor([2.0, 0.0]))
        tensor([1.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    r"""``x * Phi(x)`` with the normal distribution function (Hendrycks and Gimpel 2016).

    Args:
        approximate: ``"none"``, or ``"tanh"`` for
            ``x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))``.

    Raises:
        RuntimeError: ``approximate`` is anything else.

    Example::

        >>> nn.GELU()(torch.tensor([1.0]))
        tensor([0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    r"""0 where ``-lambd <= x <= lambd``, else x.

    Example::

        >>> nn.Hardshrink()(torch.tensor([-0.4, 0.6]))
        tensor([0.0000, 0.6000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class LeakyReLU(Module):
    r"""``max(0, x) + negative_slope * min(0, x)``.

    Args:
        negative_slope: slope for x < 0.
        inplace: change the input itself.

    Example::

        >>> nn.LeakyReLU(0.1)(torch.tensor([-1.0, 2.0]))
        tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class LogSigmoid(Module):
    r"""``log(1 / (1 + exp(-x)))``, computed without overflow.

    Example::

        >>> nn.LogSigmoid()(torch.tensor([0.0]))
        tensor([-0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    r"""``log(1 + exp(beta x)) / beta``, and x itself where ``beta x > threshold``.

    Example::

        >>> nn.Softplus()(torch.tensor([0.0]))
        tensor([0.6931])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    r"""``x - lambd`` where x > lambd, ``x + lambd`` where x < -lambd, else 0.

    Raises:
        RuntimeError: ``lambd`` is negative.

    Example::

        >>> nn.Softshrink()(torch.tensor([-0.4, 0.6]))
        tensor([0.0000, 0.1000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class PReLU(Module):
    r"""``max(0, x) + weight * min(0, x)`` with a learned weight (He et al. 2015).

    Args:
        num_parameters: 1 (shared), or the number of channels.
        init: initial value of the weight.

    Shape:
        ``(N, C, *)``, and the same for the output; weight ``(num_parameters,)``.

    Raises:
        RuntimeError: there are several weights, and not as many as channels.

    Example::

        >>> nn.PReLU()(torch.tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(mashal.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets every weight to ``init``."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    r"""``x / (1 + |x|)``.

    Example::

        >>> nn.Softsign()(torch.tensor([1.0]))
        tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    r"""``x - tanh(x)``.

    Example::

        >>> nn.Tanhshrink()(torch.tensor([1.0]))
        tensor([0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class _AlongDim(Module):
    """A function along one dimension; without ``dim`` it is chosen from the rank, with a warning."""

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    r"""``exp(-x_i) / sum_j exp(-x_j)`` along ``dim``.

    Example::

        >>> nn.Softmin(dim=0)(torch.tensor([0.0, 0.0]))
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    r"""``exp(x_i) / sum_j exp(x_j)`` along ``dim``: non-negative values that sum to 1.

    Example::

        >>> nn.Softmax(dim=0)(torch.tensor([0.0, 0.0]))
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    r"""``log(exp(x_i) / sum_j exp(x_j))`` along ``dim``, computed without overflow.

    Example::

        >>> nn.LogSoftmax(dim=0)(torch.tensor([0.0, 0.0]))
        tensor([-0.6931, -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    r"""Softmax over the channels of ``(N, C, H, W)`` or ``(C, H, W)``, at each place.

    Raises:
        ValueError: the input has another number of dimensions.

    Example::

        >>> nn.Softmax2d()(torch.zeros(2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
