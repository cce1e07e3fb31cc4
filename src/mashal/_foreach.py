"""``torch._foreach_*``: one op over lists of tensors. Private in PyTorch, and used by programs all the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core, _ops
from ._core import Tensor

_BINARY = ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_min", "clamp_max")
_WRITTEN_AS = {"maximum": "clamp_min", "minimum": "clamp_max"}  # these take numbers, too
_UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma",
    "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
)  # fmt: skip
_TERNARY = ("addcmul", "addcdiv")


def _spread(name: str, value: Any, count: int) -> Sequence[Any]:
    """One value for each of ``count`` tensors: ``value`` is a list of as many, or serves for all."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise RuntimeError(f"{name}: Tensor lists must have the same number of tensors, got {count} and {len(value)}")
    return value


def _forms(op: str, rest: int) -> tuple[Callable[..., Any], Callable[..., None]]:
    """The form that gives new tensors and the one that writes into the first list; ``rest`` lists go with it."""
    name = f"_foreach_{op}"
    method = _WRITTEN_AS.get(op, op)
    new, over = getattr(_ops, method), getattr(Tensor, f"{method}_")

    def apply(self: Sequence[Tensor], *others: Any, **options: Any) -> list[Tensor]:
        columns, each = _columns(self, others, options)
        return [new(*row, **each) for row in zip(*columns, strict=True)]

    def apply_(self: Sequence[Tensor], *others: Any, **options: Any) -> None:
        columns, each = _columns(self, others, options)
        for row in zip(*columns, strict=True):
            over(*row, **each)

    def _columns(self: Sequence[Tensor], others: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if len(others) == rest + 1:  # addcmul's value, add's alpha by position
            options = {"value" if op in _TERNARY else "alpha": others[-1]}
            others = others[:rest]
        if len(others) != rest:
            raise TypeError(f"{name}() takes {rest + 1} lists, got {len(others) + 1}")
        return [self, *(_spread(name, other, len(self)) for other in others)], options

    apply.__name__, apply_.__name__ = name, f"{name}_"
    apply.__doc__ = f"``{op}`` of every tensor."
    apply_.__doc__ = f"``{op}`` of every tensor, in place."
    return apply, apply_


for _group, _rest in ((_UNARY, 0), (_BINARY, 1), (_TERNARY, 2)):
    for _op in _group:
        globals()[f"_foreach_{_op}"], globals()[f"_foreach_{_op}_"] = _forms(_op, _rest)


def _foreach_lerp(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Any) -> list[Tensor]:
    """``self + weight * (tensors1 - self)`` of every pair."""
    weights = _spread("_foreach_lerp", weight, len(self))
    return [_ops.lerp(a, b, w) for a, b, w in zip(self, tensors1, weights, strict=True)]


def _foreach_lerp_(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Any) -> None:
    """As :func:`_foreach_lerp`, in place."""
    for a, b, w in zip(self, tensors1, _spread("_foreach_lerp_", weight, len(self)), strict=True):
        a.lerp_(b, w)


def _foreach_copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> None:
    """Copies every tensor of ``src`` into its partner."""
    for a, b in zip(self, _spread("_foreach_copy_", src, len(self)), strict=True):
        a.copy_(b, non_blocking)


def _foreach_zero_(self: Sequence[Tensor]) -> None:
    """Fills every tensor with zeros."""
    for t in self:
        t.zero_()


def _foreach_norm(self: Sequence[Tensor], ord: float = 2, dtype: _core.dtype | None = None) -> list[Tensor]:
    """The vector norm of every tensor."""
    return [_ops.linalg_vector_norm(t, ord, dtype=dtype) for t in self]
