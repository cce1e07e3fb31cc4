"""Copies, casts and fills."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op


@op("clone(Tensor input, *, memory_format? memory_format=None) -> Tensor")
def clone() -> None:
    """A copy of ``input`` in memory of its own.

    ``memory_format``: the layout of the copy; by default that of ``input`` if it is dense, else the same order of
    dimensions.
    Returns: Tensor of the shape and dtype of ``input``.
    Gradient: passes through unchanged.

    Example:
        >>> import mashal
        >>> a = mashal.tensor([1., 2.]); b = a.clone(); b[0] = 5
        >>> a
        tensor([1., 2.])
    """


clone.vjp(input=lambda g: g)


@op("_to_copy(Tensor input, *, dtype? dtype=None, memory_format? memory_format=None) -> Tensor")
def _to_copy() -> None:
    """A copy of ``input`` with elements of ``dtype``; what ``Tensor.to`` does when there is something to do.

    Floating numbers are cut towards zero on the way to integers; a complex number loses its imaginary part on the way
    to a real one. Returns: Tensor of the shape of ``input``. Gradient: cast back to the dtype of ``input``.

    Example:
        >>> import mashal
        >>> mashal._ops._to_copy(mashal.tensor([1.7, -1.7]), dtype=mashal.int64)
        tensor([ 1, -1])
    """


_to_copy.vjp(input=lambda g: g)


@op("copy_(Tensor input, Tensor src, bool non_blocking=False) -> Tensor", function=False, out=False)
def copy_() -> None:
    """Writes ``src``, broadcast and cast, into ``input``, and returns ``input``.

    Args: ``src``: any Tensor whose shape broadcasts to that of ``input``; ``non_blocking`` has no effect on CPU.
    Raises: RuntimeError if the shapes do not fit.
    Gradient: goes to ``src``; what ``input`` held before gets zero.

    Example:
        >>> import mashal
        >>> mashal.zeros(2, 2).copy_(mashal.tensor([1, 2]))
        tensor([[1., 2.],
                [1., 2.]])
    """


copy_.vjp(input=lambda g: g.new_zeros(g.shape), src=lambda g: g)


@op("_fill_(Tensor input, Number value) -> Tensor", out=False)
def _fill_() -> None:
    """Writes a number into every element of ``input``.

    Gradient: zero for ``input``.

    Example:
        >>> import mashal
        >>> mashal._ops._fill_(mashal.zeros(2), 3)
        tensor([3., 3.])
    """


_fill_.vjp(input=lambda g: g.new_zeros(g.shape))


def _number_or_tensor(op_name: str, value: Any) -> Any:
    """A 0-d tensor stays a tensor only where its gradient is wanted or it has no value."""
    if not isinstance(value, Tensor):
        return value
    if value.dim() != 0:
        raise RuntimeError(
            f"{op_name}: only supports a 0-dimensional value tensor, got value with {value.dim()} dimension(s)"
        )
    return value if value.requires_grad or value.is_meta else value.item()


@composite(method=True)
def fill_(input: Tensor, value: Any) -> Tensor:
    """Writes ``value``, a number or a 0-d Tensor, into every element of ``input``, and returns ``input``.

    Raises: RuntimeError if ``value`` is a Tensor with dimensions, or complex while ``input`` is real.
    Gradient: zero for ``input``, the sum for a Tensor ``value``.

    Example:
        >>> import mashal
        >>> mashal.zeros(2).fill_(3)
        tensor([3., 3.])
    """
    value = _number_or_tensor("fill_", value)
    return input.copy_(value) if isinstance(value, Tensor) else _fill_(input, value)


@composite(out=True)
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the shape and dtype of ``input`` with ``value`` everywhere.

    Gradient: as ``fill_``.

    Example:
        >>> import mashal
        >>> mashal.fill(mashal.zeros(2), 3)
        tensor([3., 3.])
    """
    return fill_(input.clone(), value)


@op("zero_(Tensor input) -> Tensor", out=False)
def zero_() -> None:
    """Sets every element of ``input`` to zero, and returns ``input``.

    Gradient: zero.

    Example:
        >>> import mashal
        >>> mashal.ones(2).zero_()
        tensor([0., 0.])
    """


zero_.vjp(input=lambda g: g.new_zeros(g.shape))


@composite(method=True, function=False)
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """``input`` itself if it is laid out as ``memory_format`` says (default: row-major), else a copy that is.

    Gradient: passes through unchanged.

    Example:
        >>> import mashal
        >>> mashal.zeros(2, 3).t().contiguous().stride()
        (2, 1)
    """
    if memory_format is None:
        memory_format = _core.contiguous_format
    elif memory_format == _core.preserve_format:
        raise RuntimeError("contiguous: preserve memory format is unsupported by the contiguous operator")
    if input.is_contiguous(memory_format=memory_format):
        return input
    return clone(input, memory_format=memory_format)
