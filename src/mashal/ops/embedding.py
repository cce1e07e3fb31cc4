"""Rows of a table: embedding, its gradient, and bags of rows."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op
from .creation import arange
from .searching import bincount, searchsorted


@op(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)"
    " -> Tensor",
    method=False,
)
def embedding() -> None:
    """Rows of ``weight``: ``out[i...] = weight[indices[i...]]``.

    Args: ``weight``: ``(rows, width)``; ``indices``: int64 or int32 of any shape; ``padding_idx``: a row that gets no
    gradient; ``scale_grad_by_freq``: divides gradients by the number of times a row was read; ``sparse`` has no
    effect: gradients are dense. Raises: IndexError for an index outside ``[0, rows)``. Gradient: added up in the rows
    that were read.

    Example:
        >>> import mashal
        >>> mashal.embedding(mashal.tensor([[1., 2.], [3., 4.]]), mashal.tensor([1, 0]))
        tensor([[3., 4.],
                [1., 2.]])
    """


@embedding.vjp("weight")
def _(g: Tensor, weight_shape: tuple[int, ...], indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    return _embedding_backward(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


@op(
    "_embedding_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq)"
    " -> Tensor"
)
def _embedding_backward() -> None:
    """The gradient of ``embedding`` with respect to its table: rows of ``grad`` added up by index.

    Gradient: rows of the table's gradient, zero at the padding row.

    Example:
        >>> import mashal
        >>> mashal._ops._embedding_backward(mashal.ones(2, 1), mashal.tensor([1, 1]), 2, -1, False)
        tensor([[0.],
                [2.]])
    """


@_embedding_backward.vjp("grad")
def _(g: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    rows = embedding(g, indices)
    if scale_grad_by_freq:
        counts = bincount(indices.reshape(-1), minlength=num_weights)
        rows = rows / counts[indices.long()].unsqueeze(-1).to(rows.dtype)
    return rows.masked_fill((indices == padding_idx).unsqueeze(-1), 0) if padding_idx >= 0 else rows


@op(
    "embedding_renorm_(Tensor input, Tensor indices, float max_norm, float norm_type) -> Tensor",
    method=False,
    out=False,
)
def embedding_renorm_() -> None:
    """Shrinks the rows of ``input`` that ``indices`` names to ``max_norm`` where their norm is larger, in place.

    ``norm_type``: the p of the norm.

    Raises: IndexError for an index out of range.

    Example:
        >>> import mashal
        >>> mashal.embedding_renorm_(mashal.tensor([[3., 4.]]), mashal.tensor([0]), 1., 2.)
        tensor([[0.6000, 0.8000]])
    """


embedding_renorm_.nondifferentiable("PyTorch renormalises outside of the graph")

_MODES = ("sum", "mean", "max")


@composite()
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums (mode 0), means (1) or maxima (2) of bags of rows; bag k starts at ``offsets[k]`` of ``indices``.

    Args: ``weight``: ``(rows, width)``; ``indices``, ``offsets``: 1-d, int64 or int32; ``per_sample_weights``:
    factors for every index, mode 0 only; ``include_last_offset``: the last offset is the end; ``padding_idx``: a row
    that does not take part.
    Returns: bags ``(n, width)``, the bag of every index, the sizes of bags, and for mode 2 the rows that were
    largest.
    Raises: RuntimeError for factors in another mode; IndexError for an index out of range. Gradient: added up in the
    rows.

    Example:
        >>> import mashal
        >>> table = mashal.tensor([[1.], [2.], [4.]])
        >>> mashal.embedding_bag(table, mashal.tensor([0, 1, 2]), mashal.tensor([0, 2]))[0]
        tensor([[3.],
                [4.]])
    """
    if per_sample_weights is not None and mode != 0:
        raise RuntimeError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{_MODES[mode]}')"
        )
    bags = offsets.shape[0] - 1 if include_last_offset else offsets.shape[0]
    starts = offsets.to(_core.int64)
    if bags < 0:
        raise RuntimeError("embedding_bag: offsets must hold at least one number if include_last_offset, got none.")
    end = indices.shape[0] if bags > 0 else 0
    if starts.shape[0] > 0 and not starts.is_meta:
        _check_offsets(starts, indices.shape[0])
        if include_last_offset:
            end = int(starts[-1])
    if end < indices.shape[0]:  # what lies behind the last offset is in no bag
        indices = indices[:end]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[:end]
    # The bag of an index is the number of bags that start at or before it, less one.
    positions = arange(indices.shape[0], device=indices.device)
    offset2bag = searchsorted(starts[:bags], positions, right=True) - 1
    if padding_idx is not None and padding_idx >= 0:
        keep = (indices != padding_idx).nonzero().reshape(-1)
        indices, offset2bag = indices.index_select(0, keep), offset2bag.index_select(0, keep)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.index_select(0, keep)
    rows = embedding(weight, indices, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    width = weight.shape[1]
    sizes = starts.new_empty(bags) if starts.is_meta else bincount(offset2bag, minlength=bags)
    largest = sizes.new_empty(0)
    if mode == 2:
        spread = offset2bag.unsqueeze(-1).expand(rows.shape)
        bag_values, largest = _largest_rows(rows, indices, spread, bags)
    else:
        bag_values = rows.new_zeros(bags, width).index_add(0, offset2bag, rows)
        if mode == 1:
            bag_values = bag_values / sizes.clamp(min=1).unsqueeze(-1).to(bag_values.dtype)
    return bag_values, offset2bag, sizes, largest


def _check_offsets(offsets: Tensor, count: int) -> None:
    first, last = int(offsets[0]), int(offsets[-1])
    if first != 0:
        raise RuntimeError(f"embedding_bag: offsets[0] has to be 0, got {first}")
    if last > count:
        raise RuntimeError(
            f"embedding_bag: offsets[-1] can not be greater than the number of indices ({count}), got {last}."
        )
    if (offsets[1:] < offsets[:-1]).any().item():
        raise RuntimeError("embedding_bag: offsets must not decrease. Each is where a bag starts in indices.")


def _largest_rows(rows: Tensor, indices: Tensor, spread: Tensor, bags: int) -> tuple[Tensor, Any]:
    """Maxima over bags, and the index whose row holds each (the first one, which alone gets the gradient)."""
    width = rows.shape[1]
    best = rows.detach().new_zeros(bags, width).scatter_reduce(0, spread, rows.detach(), "amax", include_self=False)
    number = arange(rows.shape[0], device=rows.device).unsqueeze(-1).expand(rows.shape)
    none = rows.shape[0]
    candidate = number.masked_fill(rows.detach() != best.gather(0, spread), none)
    first = number.new_full((bags, width), none).scatter_reduce(0, spread, candidate, "amin")
    empty_bag = first == none
    first = first.masked_fill(empty_bag, 0)
    if rows.shape[0] == 0:
        return rows.new_zeros(bags, width), first
    values = rows.gather(0, first).masked_fill(empty_bag, 0)
    return values, indices.to(_core.int64)[first].masked_fill(empty_bag, 0)
