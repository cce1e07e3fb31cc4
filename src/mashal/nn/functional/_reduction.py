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


# ---- PyTorch's internal names, which programs use ----

_CODES = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number that stands for a reduction. ValueError for an unknown one."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        return 1
    if reduction not in _CODES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _CODES[reduction]


def legacy_get_string(size_average: Any, reduce: Any, emit_warning: bool = True) -> str:
    """The reduction that the deprecated pair of arguments means."""
    return legacy_reduction(size_average, reduce, emit_warning)


def legacy_get_enum(size_average: Any, reduce: Any, emit_warning: bool = True) -> int:
    """The same as a number."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
