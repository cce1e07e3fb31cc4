"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

import mashal

from ... import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    r"""Returns its input. It accepts any constructor arguments, so that it can stand in for another layer.

    Example::

        >>> nn.Identity(54, unused=True)(torch.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    r"""``y = x A^T + b``.

    Args:
        in_features: size of the last dimension of the input.
        out_features: size of the last dimension of the output.
        bias: whether to add ``b``.
        device, dtype: of the parameters.

    Shape:
        input ``(*, in_features)``, output ``(*, out_features)``, weight ``(out_features, in_features)``, bias
        ``(out_features,)``. Both are drawn from U(-k, k) with ``k = 1 / sqrt(in_features)``.

    Raises:
        RuntimeError: the last size of the input is not ``in_features``.

    Example::

        >>> nn.Linear(20, 30)(torch.randn(128, 20)).shape
        mashal.Size([128, 30])
    """

    in_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(mashal.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(mashal.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        # a = sqrt(5) in the Kaiming formula is U(-1/sqrt(fan_in), 1/sqrt(fan_in)).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear whose class tells quantisation tools to leave it alone (attention's output projection)."""


class Bilinear(Module):
    r"""``y_k = x1^T A_k x2 + b_k``.

    Args:
        in1_features, in2_features: last sizes of the two inputs.
        out_features: last size of the output.
        bias: whether to add ``b``.

    Shape:
        input1 ``(*, in1)``, input2 ``(*, in2)``, output ``(*, out)``, weight ``(out, in1, in2)``.

    Raises:
        ValueError: ``in1_features`` is not positive.

    Example::

        >>> nn.Bilinear(20, 30, 40)(torch.randn(8, 20), torch.randn(8, 30)).shape
        mashal.Size([8, 40])
    """

    in1_features: int
    in2_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(mashal.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(mashal.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
