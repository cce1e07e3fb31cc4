"""Views that are copies: ``transpose_copy`` and its kin; scattering into a strided view; sums back to a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, entries, write_out

Ints = Sequence[int]

# Views with a form that copies.
_COPIES = (
    "as_strided",
    "detach",
    "diagonal",
    "expand",
    "permute",
    "select",
    "split",
    "split_with_sizes",
    "squeeze",
    "t",
    "transpose",
    "unbind",
    "unfold",
    "unsqueeze",
    "view",
    "view_as_complex",
    "view_as_real",
)


def _of(view: Any) -> Any:
    """A copy of each tensor, in memory of its own."""
    if isinstance(view, (tuple, list)):
        return tuple(part.clone(memory_format=_core.contiguous_format) for part in view)
    return view.clone(memory_format=_core.contiguous_format)


def _declare(name: str) -> None:
    def copy(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        view = entries[name].call if name in entries else getattr(Tensor, name)
        parts = view(input, *args, **kwargs)
        return _of(parts) if out is None else write_out(f"{name}_copy", out, parts)

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"``{name}``, as a copy rather than a view. The gradient is that of the view."
    composite()(copy)


for _name in _COPIES:
    _declare(_name)


@composite()
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of a tensor."""
    return _of(input) if out is None else write_out("alias_copy", out, input)


@composite()
def slice_copy(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *, out: Any = None
) -> Tensor:
    """A copy of ``input[start:end:step]`` along ``dim``."""
    view = input[(slice(None),) * (dim % input.dim()) + (slice(start, end, step),)]
    return _of(view) if out is None else write_out("slice_copy", out, view)


@composite(method=True, out=True)
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of ``input.narrow(dim, start, length)``."""
    return _of(input.narrow(dim, start, length))


@composite(method=True)
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None
) -> Tensor:
    """A copy of ``input`` with ``src`` written through ``as_strided(size, stride, storage_offset)``.

    Example:
        >>> import mashal
        >>> mashal.as_strided_scatter(mashal.zeros(4), mashal.ones(2), (2,), (2,))
        tensor([1., 0., 1., 0.])
    """
    if tuple(src.shape) != tuple(size):
        raise RuntimeError(
            f"as_strided_scatter: expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(size)}"
        )
    out = input.clone(memory_format=_core.contiguous_format)
    out.as_strided(size, stride, storage_offset).copy_(src)
    return out


@composite(method=True)
def slice_inverse(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """What ``input`` was sliced from, if ``src`` has its size: a view of ``input``'s memory."""
    offset = (start or 0) * src.stride(dim)
    return input.as_strided(src.shape, src.stride(), input.storage_offset() - offset)


@composite(function=False, method=True)
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over what was broadcast from ``size``.

    Example:
        >>> import mashal
        >>> mashal.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
    """
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    lead = self.dim() - len(shape)
    fits = lead >= 0 and all(n in (1, m) for n, m in zip(shape, self.shape[lead:], strict=True))
    if not fits:
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(self.shape)}}}.")
    over = [*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and self.shape[lead + i] != 1)]
    return self.sum(over, keepdim=True).reshape(shape) if over else self


@composite(method=True)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """``chunk``, whose results may be written to without telling ``input``: here they are copies."""
    return tuple(part.clone() for part in input.chunk(chunks, dim))


@composite(method=True)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Ints, dim: int = 0) -> Any:
    """``split_with_sizes``, whose results may be written to without telling ``input``: here they are copies."""
    return tuple(part.clone() for part in input.split(list(split_sizes), dim))


@composite(function=False, method=True)
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """``transpose_``."""
    return self.transpose_(axis0, axis1)


@composite(function=False, method=True)
def swapdims_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """``transpose_``."""
    return self.transpose_(dim0, dim1)


@composite()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether shapes are equal."""
    return input.shape == other.shape


@composite()
def empty_permuted(
    size: Ints,
    physical_layout: Ints,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Memory whose dimensions lie in the order of ``physical_layout``, the outermost first.

    Example:
        >>> import mashal
        >>> mashal.empty_permuted((2, 3), (1, 0)).stride()
        (1, 2)
    """
    order = [d % len(size) for d in physical_layout]
    if sorted(order) != list(range(len(size))):
        raise RuntimeError(
            f"empty_permuted: physical_layout must be a permutation of dimensions, got {physical_layout}"
        )
    from .creation import empty

    plain = empty([size[d] for d in order], dtype=dtype, device=device)
    out = plain.permute([order.index(d) for d in range(len(size))])
    return out.requires_grad_() if requires_grad else out
