"""Where values belong, how often they occur, which are distinct."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ._dims import wrap_dim
from ._registry import composite, op
from .creation import full


@op("_searchsorted(Tensor sorted_sequence, Tensor input, bool out_int32, bool right, Tensor? sorter) -> Tensor")
def _searchsorted() -> None:
    """Positions in sorted rows; see ``searchsorted``.

    Example:
        >>> import mashal
        >>> mashal._ops._searchsorted(mashal.tensor([1, 3]), mashal.tensor([2]), False, False, None)
        tensor([1])
    """


_searchsorted.nondifferentiable("integer output")


@composite(out=True)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where values would stand in a sorted sequence: how many elements are smaller (``right``: not larger).

    Args: ``sorted_sequence``: 1-d, or rows ``(..., n)`` for an ``input`` of the same leading shape; ``input``: Tensor
    of the same dtype or a number; ``side``: "left" or "right"; ``sorter``: positions that sort ``sorted_sequence``.
    Returns: int64 (``out_int32``: int32) Tensor of the shape of ``input``. NaN goes to the end.
    Raises: RuntimeError for ill-fitting shapes or dtypes.

    Example:
        >>> import mashal
        >>> mashal.searchsorted(mashal.tensor([1, 3, 5]), mashal.tensor([3, 6]))
        tensor([1, 3])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted: side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "searchsorted: side and right can't be set to opposites, got side of left while right was True"
        )
    if not isinstance(input, Tensor):
        input = full((), input, dtype=sorted_sequence.dtype, device=sorted_sequence.device)
    return _searchsorted(sorted_sequence, input, out_int32, right or side == "right", sorter)


@composite(method=True, out=True)
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Which of the intervals between sorted ``boundaries`` each value falls into.

    ``right``: intervals contain their left boundary instead of the right one.
    Returns: int64 (``out_int32``: int32) Tensor of the shape of ``input``. Raises: RuntimeError unless ``boundaries``
    is 1-d.

    Example:
        >>> import mashal
        >>> mashal.bucketize(mashal.tensor([1, 4]), mashal.tensor([1, 3, 5]))
        tensor([0, 2])
    """
    if boundaries.dim() != 1:
        raise RuntimeError(f"bucketize: boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@op("bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor", dynamic="as long as the largest number")
def bincount() -> None:
    """How often each number occurs in a vector of non-negative ints; with ``weights``, the sums of the weights.

    Returns: Tensor with ``max(max(input) + 1, minlength)`` elements: int64, or with weights float64 (float32 weights:
    float32).
    Raises: RuntimeError for negative numbers, other dtypes or shapes.

    Example:
        >>> import mashal
        >>> mashal.bincount(mashal.tensor([0, 2, 2]))
        tensor([1, 0, 2])
    """


bincount.nondifferentiable("PyTorch defines no gradient for the weights")


@op("histc(Tensor input, int bins=100, Number min=0, Number max=0) -> Tensor")
def histc() -> None:
    """How many elements fall into each of ``bins`` equal intervals from ``min`` to ``max`` (equal: the data's range).

    Elements outside are not counted. Returns: 1-d Tensor of the dtype of ``input``.
    Raises: RuntimeError for integer input, a range that is not finite, or ``bins`` below 1.

    Example:
        >>> import mashal
        >>> mashal.histc(mashal.tensor([1., 2., 1.]), bins=4, min=0, max=3)
        tensor([0., 2., 1., 0.])
    """


histc.nondifferentiable("counts are piecewise constant")


@op(
    "_unique(Tensor input, bool return_inverse, bool return_counts) -> (Tensor, Tensor, Tensor)",
    dynamic="as long as there are distinct elements",
)
def _unique() -> None:
    """Sorted distinct elements, and if wanted where each went and how often it occurs (else empty); see ``unique``.

    Example:
        >>> import mashal
        >>> mashal._ops._unique(mashal.tensor([2, 1, 2]), False, True)[2]
        tensor([1, 2])
    """


@op("_unique_dim(Tensor input, int dim) -> (Tensor, Tensor, Tensor)", dynamic="as long as there are distinct elements")
def _unique_dim() -> None:
    """Distinct slices in lexicographic order, where each went, and how often it occurs; see ``unique``.

    Example:
        >>> import mashal
        >>> mashal._ops._unique_dim(mashal.tensor([[2], [1], [2]]), 0)[0]
        tensor([[1],
                [2]])
    """


@op(
    "_unique_consecutive(Tensor input, int? dim=None) -> (Tensor, Tensor, Tensor)",
    dynamic="as long as there are distinct elements",
)
def _unique_consecutive() -> None:
    """The first of every run of equal elements or slices, its number, and its length; see ``unique_consecutive``.

    Example:
        >>> import mashal
        >>> mashal._ops._unique_consecutive(mashal.tensor([1, 1, 2]))[2]
        tensor([2, 1])
    """


for _primitive in (_unique, _unique_dim, _unique_consecutive):
    _primitive.nondifferentiable("PyTorch defines no gradient for unique")


def _wanted(results: tuple[Tensor, ...], inverse: bool, counts: bool) -> Any:
    kept = (results[0], *([results[1]] if inverse else []), *([results[2]] if counts else []))
    return kept if len(kept) > 1 else kept[0]


@composite(method=True)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements of ``input`` (with ``dim``: its distinct slices), in ascending order.

    Returns: Tensor, followed, if wanted, by the position in it of every element of ``input`` and by the number of
    occurrences (int64). The result is sorted whatever ``sorted`` says. NaNs are distinct from each other.

    Example:
        >>> import mashal
        >>> mashal.unique(mashal.tensor([2, 1, 2]), return_counts=True)
        (tensor([1, 2]), tensor([1, 2]))
    """
    if dim is None:
        results = _unique(input, return_inverse, return_counts)
    else:
        results = _unique_dim(input, wrap_dim("unique", dim, input.dim()))
    return _wanted(results, return_inverse, return_counts)


@composite(method=True)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """``input`` (with ``dim``: its slices) without elements that equal the one before them.

    Returns: Tensor, followed, if wanted, by the position in it of every element and by the lengths of the runs
    (int64).

    Example:
        >>> import mashal
        >>> mashal.unique_consecutive(mashal.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
    """
    return _wanted(_unique_consecutive(input, dim), return_inverse, return_counts)


@composite(namespace="nn")
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Class numbers as rows with a single one, ``num_classes`` long (default: the largest number plus one).

    Raises: RuntimeError for another dtype than int64, negative numbers, or numbers not below ``num_classes``.

    Example:
        >>> import mashal
        >>> mashal._ops.one_hot(mashal.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    if input.dtype != _core.int64:
        raise RuntimeError(f"one_hot: is only applicable to index tensor of type LongTensor, got {input.dtype}")
    if input.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("one_hot: Can not infer total number of classes from empty tensor.")
        return input.new_zeros((*input.shape, num_classes))
    if int(input.min()) < 0:
        raise RuntimeError("one_hot: Class values must be non-negative.")
    largest = int(input.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif num_classes <= largest:
        raise RuntimeError(f"one_hot: Class values must be smaller than num_classes, got {largest} and {num_classes}.")
    return input.new_zeros((*input.shape, num_classes)).scatter_(-1, input.unsqueeze(-1), 1)
