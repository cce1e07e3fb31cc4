"""Putting tensors together: cat, stack and their relatives."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Tensor
from ._dims import wrap_dim
from ._registry import composite, op
from .views import atleast_1d, atleast_2d, atleast_3d


@op("cat(Tensor[] tensors, int dim=0) -> Tensor", method=False)
def cat() -> None:
    """Joins tensors along ``dim``.

    Args: ``tensors``: at least one Tensor; all sizes but that of ``dim`` agree, dtypes are promoted together. An
    empty 1-d tensor is skipped. Returns: Tensor; channels-last if every input is.
    Raises: RuntimeError for an empty list, a 0-d tensor or sizes that do not match.
    Gradient: every tensor gets its slice.

    Example:
        >>> import mashal
        >>> mashal.cat([mashal.ones(2), mashal.zeros(1)])
        tensor([1., 1., 0.])
    """


@cat.vjp("tensors")
def _(g: Tensor, tensors_shape: list[tuple[int, ...]], dim: int) -> list[Tensor]:
    dim = wrap_dim("cat", dim, g.dim())
    grads, start = [], 0
    for shape in tensors_shape:
        if len(shape) == 1 and shape[0] == 0:
            grads.append(g.new_zeros(0))
            continue
        grads.append(g.narrow(dim, start, shape[dim]))
        start += shape[dim]
    return grads


@composite(out=True)
def concat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """``cat`` by another name.

    Example:
        >>> import mashal
        >>> mashal.concat([mashal.ones(1), mashal.zeros(1)])
        tensor([1., 0.])
    """
    return cat(tensors, dim)


@composite(out=True)
def concatenate(tensors: Sequence[Tensor], dim: int = 0, axis: int | None = None) -> Tensor:
    """``cat`` by NumPy's name.

    Example:
        >>> import mashal
        >>> mashal.concatenate([mashal.ones(1), mashal.zeros(1)])
        tensor([1., 0.])
    """
    return cat(tensors, dim if axis is None else axis)


@op("stack(Tensor[] tensors, int dim=0) -> Tensor", method=False)
def stack() -> None:
    """Joins tensors of one shape along a new dimension.

    Args: ``tensors``: at least one Tensor, all of one shape; ``dim``: where the new dimension stands.
    Raises: RuntimeError for an empty list or shapes that differ. Gradient: every tensor gets its slice.

    Example:
        >>> import mashal
        >>> mashal.stack([mashal.tensor([1, 2]), mashal.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """


stack.vjp(tensors=lambda g, dim: list(g.unbind(dim)))


@composite(out=True)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joins along dimension 1 (vectors and 0-d tensors: along 0).

    Example:
        >>> import mashal
        >>> mashal.hstack([mashal.tensor([1, 2]), mashal.tensor([3])])
        tensor([1, 2, 3])
    """
    lifted = atleast_1d(*_listed("hstack", tensors))
    parts = lifted if isinstance(lifted, tuple) else (lifted,)
    return cat(parts, 0 if parts[0].dim() == 1 else 1)


@composite(out=True)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joins along dimension 0, after vectors have become rows.

    Example:
        >>> import mashal
        >>> mashal.vstack([mashal.tensor([1, 2]), mashal.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    return cat([atleast_2d(t) for t in _listed("vstack", tensors)], 0)


@composite(out=True)
def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """``vstack`` by another name.

    Example:
        >>> import mashal
        >>> mashal.row_stack([mashal.tensor([1]), mashal.tensor([2])])
        tensor([[1],
                [2]])
    """
    return vstack(tensors)


@composite(out=True)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joins along dimension 2, after tensors have got three dimensions.

    Example:
        >>> import mashal
        >>> mashal.dstack([mashal.tensor([1]), mashal.tensor([2])])
        tensor([[[1, 2]]])
    """
    return cat([atleast_3d(t) for t in _listed("dstack", tensors)], 2)


@composite(out=True)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joins along dimension 1, after vectors have become columns.

    Example:
        >>> import mashal
        >>> mashal.column_stack([mashal.tensor([1, 2]), mashal.tensor([3, 4])])
        tensor([[1, 3],
                [2, 4]])
    """
    return cat([t.reshape(-1, 1) if t.dim() <= 1 else t for t in _listed("column_stack", tensors)], 1)


def _listed(op_name: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    items = list(tensors)
    if not items:
        raise RuntimeError(f"{op_name}: expects a non-empty TensorList")
    return items
