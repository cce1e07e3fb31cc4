"""Order along a dimension: sorting, the k largest, the k-th, the most frequent.

nan counts as larger than every number. All sorts are stable.
"""

from __future__ import annotations

from typing import Any

from .. import _core, return_types
from ._reduced import put_selected
from ._registry import composite, op

Tensor = _core.Tensor


def _put_back(g: Tensor, shape: Any, dim: int, indices: Tensor) -> Tensor:
    return g.new_zeros(shape).scatter(dim, indices, g) if len(shape) else g


@op("_sort(Tensor input, int dim, bool descending) -> (Tensor, Tensor)")
def _sort() -> None:
    """Sorted values and their positions; see ``sort``. Radix sort of order-preserving keys.

    Example:
        >>> import mashal
        >>> mashal._ops._sort(mashal.tensor([3, 1, 2]), 0, False)[1]
        tensor([1, 2, 0])
    """


_sort.vjp(input=lambda gs, input_shape, dim, out1: _put_back(gs[0], input_shape, dim, out1))


@composite(method=True, out=True)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements in order along ``dim``, as a named tuple ``(values, indices)``.

    Args: ``input``: real Tensor; ``stable``: equal elements keep their order (they always do).
    Raises: RuntimeError for complex input. Gradient: goes back to where the elements came from.

    Example:
        >>> import mashal
        >>> mashal.tensor([3, 1, 2]).sort(descending=True).values
        tensor([3, 2, 1])
    """
    return return_types.sort(_sort(input, dim, descending))


@composite(method=True, out=True)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The positions that sort the elements along ``dim``; see :func:`sort`.

    Example:
        >>> import mashal
        >>> mashal.tensor([3, 1, 2]).argsort()
        tensor([1, 2, 0])
    """
    return _sort(input, dim, descending)[1]


@composite(method=True, out=True)
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension.

    Example:
        >>> import mashal
        >>> mashal.tensor([3, 1, 2]).msort()
        tensor([1, 2, 3])
    """
    return _sort(input, 0, False)[0]


@op("topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor, Tensor)")
def topk() -> None:
    """The k largest (or smallest) elements along ``dim``, as a named tuple ``(values, indices)``.

    Args: ``sorted``: in order, best first. Raises: RuntimeError for k beyond the size of ``dim``.
    Gradient: to the chosen elements. The first of equal elements is chosen.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 4, 2, 3]).topk(2).values
        tensor([4, 3])
    """


topk.vjp(input=lambda gs, input_shape, dim, out1: _put_back(gs[0], input_shape, dim, out1))
topk.returns(return_types.topk)


@op("kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)")
def kthvalue() -> None:
    """The k-th smallest element (from 1) along ``dim``, as a named tuple ``(values, indices)``.

    Raises: RuntimeError for k outside [1, size]. Gradient: to the chosen element.

    Example:
        >>> import mashal
        >>> mashal.tensor([4, 1, 3]).kthvalue(2).values
        tensor(3)
    """


@op("mode(Tensor input, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)")
def mode() -> None:
    """The most frequent element along ``dim``, the smallest of several, as a named tuple ``(values, indices)``.

    Returns: the position is that of its last occurrence. Gradient: to the chosen element.

    Example:
        >>> import mashal
        >>> mashal.tensor([2, 3, 2]).mode().indices
        tensor(2)
    """


for _primitive, _type in ((kthvalue, return_types.kthvalue), (mode, return_types.mode)):
    _primitive.vjp(
        input=lambda gs, input_shape, dim, keepdim, out1: put_selected(gs[0], input_shape, dim, keepdim, out1)
    )
    _primitive.returns(_type)
