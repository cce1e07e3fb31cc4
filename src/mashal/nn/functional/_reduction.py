"""The ``reduction`` argument of the losses."""

from __future__ import annotations

import warnings
from typing import Any

from ... import Tensor


def legacy_reduction(size_average: Any, reduce: Any, emit_warning: bool = True) -> str:
    """The ``reduction`` that the deprecated pair (size_average, reduce) stands for; ``None`` counts as true."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = ("mean" if size_average else "sum") if reduce else "none"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    return reduction


def resolve_reduction(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction to use, the deprecated arguments going first."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_reduction(size_average, reduce)


def check_reduction(reduction: str) -> str:
    if reduction not in ("mean", "none", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduction_code(reduction: str) -> int:
    """The number by which kernels know a reduction."""
    return ("none", "mean", "sum").index(check_reduction(reduction))


def apply_reduction(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    check_reduction(reduction)
    return loss
