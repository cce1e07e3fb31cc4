"""Views: results that share their input's memory."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op


def _indices(n: int) -> Tensor:
    from .creation import arange

    return arange(n)


@op("view(Tensor input, int[*] size) -> Tensor", family="view", function=False)
def view() -> None:
    """The same elements, in order, under another shape, without a copy.

    Args:
        size: the new sizes; one of them may be -1, which is then inferred. Or a dtype: the bytes read as another type.

    Raises:
        RuntimeError: if the strides of ``input`` cannot express the shape (use :func:`reshape`), or the number of
            elements differs.

    Example:
        >>> import mashal
        >>> mashal.arange(6).view(2, -1).shape
        mashal.Size([2, 3])
    """


@view.overloaded
def _view_overload(input: Tensor, dtype: Any = None, *, size: Any = None) -> Tensor:
    if isinstance(dtype, _core.dtype):
        return view_dtype(input, dtype)
    raise TypeError(
        "view(): argument 'size' must be tuple of ints or a dtype, not "
        f"{type(dtype if size is None else size).__name__}"
    )


@op("_view_dtype(Tensor input, dtype dtype) -> Tensor", family="view")
def view_dtype() -> None:
    """The bytes of ``input`` read as another type (``Tensor.view(dtype)``)."""


view_dtype.nondifferentiable("bits have no derivative")


@op("reshape(Tensor input, int[*] shape) -> Tensor", family="view")
def reshape() -> None:
    """The same elements, in order, under another shape: a view where the memory allows one, else a copy.

    Args:
        shape: the new sizes; one of them may be -1, which is then inferred.

    Raises:
        RuntimeError: if the number of elements differs.

    Example:
        >>> import mashal
        >>> mashal.reshape(mashal.arange(4), (2, 2))
        tensor([[0, 1],
                [2, 3]])
    """


def _unreshape(g: Tensor, input_shape: Sequence[int]) -> Tensor:
    return reshape(g, input_shape)


view.vjp(input=_unreshape)
reshape.vjp(input=_unreshape)


@op("as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor", family="view")
def as_strided() -> None:
    """A view with any sizes, strides and offset over the storage of ``input``.

    Raises:
        RuntimeError: if the geometry reaches outside the storage.

    Example:
        >>> import mashal
        >>> mashal.as_strided(mashal.arange(4), (3, 2), (1, 1))
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
    """


@as_strided.vjp("input")
def _(g: Tensor, input_geometry: Any, size: Any, stride: Any, storage_offset: int | None) -> Tensor:
    # The storage's gradient first, in which overlapping parts of the view add up; then what of it the input reads.
    in_size, in_stride, in_offset = input_geometry
    offset = in_offset if storage_offset is None else storage_offset
    start = min(in_offset, offset)
    ends = [
        o - start + sum((n - 1) * k for n, k in zip(s, st, strict=True))
        for s, st, o in ((in_size, in_stride, in_offset), (size, stride, offset))
    ]
    if 0 in size or 0 in in_size:
        return g.new_zeros(in_size)
    places = _indices(max(ends) + 1)
    flat = g.new_zeros((max(ends) + 1,)).index_add(
        0, as_strided(places, size, stride, offset - start).reshape(-1), g.reshape(-1)
    )
    if any(n > 1 and k == 0 for n, k in zip(in_size, in_stride, strict=True)):
        # Elements of the input that are one number in memory share its gradient.
        read = as_strided(places, in_size, in_stride, in_offset - start).reshape(-1)
        flat = flat / flat.detach().new_zeros(flat.shape).index_add(0, read, flat.new_ones(read.shape)).clamp(min=1)
    return as_strided(flat, in_size, in_stride, in_offset - start)


@op("transpose(Tensor input, int dim0, int dim1) -> Tensor", family="view")
def transpose() -> None:
    """Exchanges two dimensions.

    Example:
        >>> import mashal
        >>> mashal.zeros(2, 3).transpose(0, 1).shape
        mashal.Size([3, 2])
    """


transpose.vjp(input=lambda g, dim0, dim1: transpose(g, dim0, dim1))


@op("permute(Tensor input, int[*] dims) -> Tensor", family="view")
def permute() -> None:
    """Reorders the dimensions: dimension i of the result is ``dims[i]`` of ``input``.

    Example:
        >>> import mashal
        >>> mashal.zeros(2, 3, 4).permute(2, 0, 1).shape
        mashal.Size([4, 2, 3])
    """


@permute.vjp("input")
def _(g: Tensor, dims: Sequence[int]) -> Tensor:
    n = len(dims)
    inverse = [0] * n
    for i, d in enumerate(dims):
        inverse[d % n] = i
    return permute(g, inverse)


@op("expand(Tensor input, int[*] size, *, bool implicit=False) -> Tensor", family="view", function=False)
def expand() -> None:
    """Repeats dimensions of size 1 without a copy (stride 0); -1 keeps a size, new leading dimensions are allowed.

    Example:
        >>> import mashal
        >>> mashal.ones(3, 1).expand(-1, 4).shape
        mashal.Size([3, 4])
    """


# The tape sums over what was broadcast.
expand.vjp(input=lambda g: g)


@op("select(Tensor input, int dim, int index) -> Tensor", family="view")
def select() -> None:
    """One index of a dimension, which disappears.

    Raises:
        IndexError: if the index is out of range.

    Example:
        >>> import mashal
        >>> mashal.arange(6).view(2, 3).select(1, 0)
        tensor([0, 3])
    """


@select.vjp("input")
def _(g: Tensor, input_shape: Sequence[int], dim: int, index: int) -> Tensor:
    return select_scatter(g.new_zeros(input_shape), g, dim, index)


@op("_slice(Tensor input, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor", family="view")
def slice_() -> None:
    """``input[start:end:step]`` along one dimension."""


@slice_.vjp("input")
def _(g: Tensor, input_shape: Sequence[int], dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    return slice_scatter(g.new_zeros(input_shape), g, dim, start, end, step)


@op("narrow(Tensor input, int dim, int start, int length) -> Tensor", family="view")
def narrow() -> None:
    """``length`` indices of a dimension, from ``start``.

    Example:
        >>> import mashal
        >>> mashal.arange(5).narrow(0, 1, 3)
        tensor([1, 2, 3])
    """


@narrow.vjp("input")
def _(g: Tensor, input_shape: Sequence[int], dim: int, start: int, length: int) -> Tensor:
    if start < 0:
        start += input_shape[dim]
    return slice_scatter(g.new_zeros(input_shape), g, dim, start, start + length)


@op("squeeze(Tensor input, int[]? dim=None) -> Tensor", family="view", inplace=False)
def squeeze() -> None:
    """Drops dimensions of size 1: all, or those given.

    Example:
        >>> import mashal
        >>> mashal.zeros(1, 2, 1).squeeze().shape
        mashal.Size([2])
    """


squeeze.vjp(input=_unreshape)


@op("unsqueeze(Tensor input, int dim) -> Tensor", family="view")
def unsqueeze() -> None:
    """Inserts a dimension of size 1.

    Example:
        >>> import mashal
        >>> mashal.zeros(2).unsqueeze(0).shape
        mashal.Size([1, 2])
    """


unsqueeze.vjp(input=_unreshape)


@op("diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor", family="view")
def diagonal() -> None:
    """A view of the elements ``input[..., i, ..., i + offset, ...]``; their dimension comes last.

    Example:
        >>> import mashal
        >>> mashal.arange(9).view(3, 3).diagonal(1)
        tensor([1, 5])
    """


@diagonal.vjp("input")
def _(g: Tensor, input_shape: Sequence[int], offset: int, dim1: int, dim2: int) -> Tensor:
    return diagonal_scatter(g.new_zeros(input_shape), g, offset, dim1, dim2)


@op("unfold(Tensor input, int dimension, int size, int step) -> Tensor", family="view", function=False)
def unfold() -> None:
    """All windows of ``size`` elements, ``step`` apart, along a dimension; the window's elements come last.

    Example:
        >>> import mashal
        >>> mashal.arange(4).unfold(0, 2, 1)
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
    """


@unfold.vjp("input")
def _(g: Tensor, input_shape: Sequence[int], dimension: int, size: int, step: int) -> Tensor:
    if not input_shape:
        return g.reshape(())
    dim = dimension % len(input_shape)
    index = unfold(_indices(input_shape[dim]), 0, size, step).reshape(-1)
    # Bring the window beside its dimension and merge the two: then each entry belongs to one index of the input.
    moved = g.movedim(-1, dim + 1)
    merged = moved.reshape(*moved.shape[:dim], index.numel(), *moved.shape[dim + 2 :])
    return g.new_zeros(input_shape).index_add(dim, index, merged)


@op("unbind(Tensor input, int dim=0) -> Tensor[]", family="view")
def unbind() -> None:
    """All indices of a dimension, as a tuple of views.

    Example:
        >>> import mashal
        >>> mashal.arange(4).view(2, 2).unbind()
        (tensor([0, 1]), tensor([2, 3]))
    """


@unbind.vjp
def _(gs: tuple[Tensor, ...], dim: int) -> tuple[Tensor]:
    from .joining import stack

    return (stack(gs, dim),)


@op("split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]", family="view")
def split_with_sizes() -> None:
    """Consecutive parts of a dimension, of the given sizes, as a tuple of views.

    Raises:
        RuntimeError: if the sizes do not add up to the dimension's.

    Example:
        >>> import mashal
        >>> mashal.arange(3).split_with_sizes([1, 2])
        (tensor([0]), tensor([1, 2]))
    """


@split_with_sizes.vjp
def _(gs: tuple[Tensor, ...], dim: int) -> tuple[Tensor]:
    from .joining import cat

    return (cat(gs, dim),)


@op("_alias(Tensor input) -> Tensor", family="view")
def alias() -> None:
    """The tensor itself, as a new view."""


alias.vjp(input=lambda g: g)


@op("view_as_real(Tensor input) -> Tensor", family="view", method=False)
def view_as_real() -> None:
    """A complex tensor as a real one with a last dimension of size 2 (real and imaginary part).

    Example:
        >>> import mashal
        >>> mashal.view_as_real(mashal.tensor([1 + 2j]))
        tensor([[1., 2.]])
    """


@op("view_as_complex(Tensor input) -> Tensor", family="view", method=False)
def view_as_complex() -> None:
    """A real tensor with a last dimension of size 2 as a complex one.

    Example:
        >>> import mashal
        >>> mashal.view_as_complex(mashal.tensor([[1., 2.]]))
        tensor([1.+2.j])
    """


view_as_real.vjp(input=lambda g: view_as_complex(g.contiguous()))
view_as_complex.vjp(input=lambda g: view_as_real(g))


@op("real(Tensor input) -> Tensor", family="view", method=False)
def real() -> None:
    """The real part of a complex tensor, as a view; a real tensor itself.

    Example:
        >>> import mashal
        >>> mashal.real(mashal.tensor([1 + 2j]))
        tensor([1.])
    """


@op("imag(Tensor input) -> Tensor", family="view", method=False)
def imag() -> None:
    """The imaginary part of a complex tensor, as a view.

    Example:
        >>> import mashal
        >>> mashal.imag(mashal.tensor([1 + 2j]))
        tensor([2.])
    """


real.vjp(input=lambda g: g.to(g.dtype.to_complex()))
imag.vjp(input=lambda g: g * 1j)


# ---- composites ----


@composite(method=True)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.view(other.shape)``."""
    return view(input, other.shape)


@composite(method=True, function=False)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.reshape(other.shape)``."""
    return reshape(input, other.shape)


@composite(method=True, function=False)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.expand(other.shape)``."""
    return expand(input, other.shape)


@composite(method=True)
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; vectors and scalars as they are.

    Raises:
        RuntimeError: for more than two dimensions.
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"t: expects a tensor with <= 2 dimensions, got input {tuple(input.shape)}. Use .mT for batches"
        )
    return transpose(input, 0, -1) if input.ndim == 2 else alias(input)


@composite(method=True)
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, conjugated."""
    return input.mH


def _exchange(name: str) -> None:
    def exchange(input: Tensor, axis0: int, axis1: int) -> Tensor:
        return transpose(input, axis0, axis1)

    exchange.__doc__ = "Another name of :func:`transpose`."
    composite(method=True, name=name)(exchange)


_exchange("swapaxes")
_exchange("swapdims")


@composite(method=True)
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Moves dimensions to new places; the others keep their order.

    Raises:
        RuntimeError: if ``source`` and ``destination`` differ in length or repeat a dimension.

    Example:
        >>> import mashal
        >>> mashal.zeros(2, 3, 4).movedim(0, -1).shape
        mashal.Size([3, 4, 2])
    """
    src = [source] if isinstance(source, int) else list(source)
    dst = [destination] if isinstance(destination, int) else list(destination)
    n = input.ndim
    if len(src) != len(dst):
        raise RuntimeError(
            f"movedim: source {tuple(src)} and destination {tuple(dst)} dims must have the same number of elements"
        )
    src = [_wrap(d, n, "movedim") for d in src]
    dst = [_wrap(d, n, "movedim") for d in dst]
    if len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise RuntimeError(f"movedim: repeated dim in source {tuple(src)} or destination {tuple(dst)}")
    if n == 0:
        return alias(input)
    order = [-1] * n
    for s, d in zip(src, dst, strict=True):
        order[d] = s
    rest = iter(d for d in range(n) if d not in src)
    return permute(input, [next(rest) if d < 0 else d for d in order])


@composite(method=True)
def moveaxis(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Another name of :func:`movedim`."""
    return movedim(input, source, destination)


def _wrap(dim: int, ndim: int, name: str) -> int:
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(f"{name}: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


@composite(method=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merges consecutive dimensions into one: a view where possible.

    Raises:
        RuntimeError: if ``start_dim`` comes after ``end_dim``.

    Example:
        >>> import mashal
        >>> mashal.zeros(2, 3, 4).flatten(1).shape
        mashal.Size([2, 12])
    """
    shape = input.shape
    n = len(shape)
    start, end = _wrap(start_dim, n, "flatten"), _wrap(end_dim, n, "flatten")
    if start > end:
        raise RuntimeError("flatten: start_dim cannot come after end_dim")
    if n == 0:
        return reshape(input, (1,))
    if start == end:
        return input
    size = 1
    for s in shape[start : end + 1]:
        size *= s
    return reshape(input, (*shape[:start], size, *shape[end + 1 :]))


@composite(method=True)
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension: a view where possible."""
    return view(input.contiguous(), (input.numel(),))


@composite(method=True)
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Splits one dimension into several; one of ``sizes`` may be -1.

    Raises:
        RuntimeError: if the sizes do not multiply to the dimension's.
    """
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    shape = input.shape
    d = _wrap(dim, len(shape), "unflatten")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = 1
    for s in sizes:
        known *= 1 if s == -1 else s
    fits = shape[d] == known if -1 not in sizes else known != 0 and shape[d] % known == 0
    if not fits:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in the "
            "input tensor"
        )
    sizes = tuple(shape[d] // known if s == -1 else s for s in sizes)
    return view(input, (*shape[:d], *sizes, *shape[d + 1 :]))


@composite(method=True)
def split(input: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of ``split_size`` (the last may be smaller), or of the given sizes, as views.

    Example:
        >>> import mashal
        >>> mashal.arange(5).split(2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if not isinstance(split_size_or_sections, int) and not hasattr(split_size_or_sections, "__index__"):
        return split_with_sizes(input, split_size_or_sections, dim)
    size = operator.index(split_size_or_sections)
    if input.ndim == 0:
        raise RuntimeError("split: expects at least a 1-dimensional tensor")
    total = input.size(dim)
    if size < 0 or (size == 0 and total != 0):
        raise RuntimeError(
            f"split: split_size can only be 0 if dimension size is 0, and must not be negative, got {size}"
        )
    if total == 0 or size == 0:
        return split_with_sizes(input, [total], dim)
    parts = [size] * (total // size)
    if total % size:
        parts.append(total % size)
    return split_with_sizes(input, parts, dim)


@composite(method=True)
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """:func:`split`."""
    return split(input, split_size, dim)


# A list of so many views of nothing is a mistake, and would fill the memory before it is noticed.
_MAX_PARTS = 1 << 20


@composite(method=True)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` parts of equal size (the last may be smaller), as views.

    Example:
        >>> import mashal
        >>> [c.tolist() for c in mashal.arange(5).chunk(3)]
        [[0, 1], [2, 3], [4]]
    """
    if input.ndim == 0:
        raise RuntimeError("chunk: expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk: expects `chunks` to be greater than 0, got: {chunks}")
    total = input.size(dim)
    if total == 0 and chunks > _MAX_PARTS:
        raise RuntimeError(f"chunk: the number of chunks is too large for 0 elements, got {chunks}")
    if total == 0:
        return split_with_sizes(input, [0] * chunks, dim)
    return split(input, -(-total // chunks), dim)


@composite(method=True)
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts at the given indices, or a given number of parts whose sizes differ by at most one, as views."""
    if input.ndim == 0:
        raise RuntimeError("tensor_split: expected at least a 1-dimensional tensor")
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    total = input.size(dim)
    if isinstance(indices_or_sections, int):
        n = indices_or_sections
        if n <= 0:
            raise RuntimeError(f"tensor_split: number of sections must be larger than 0, got {n}")
        if n > max(total, _MAX_PARTS):
            raise RuntimeError(f"tensor_split: number of sections is too large for {total} elements, got {n}")
        return split_with_sizes(input, [total // n + (i < total % n) for i in range(n)], dim)
    bounds = [0, *indices_or_sections, total]
    return tuple(slice_(input, dim, a, b) for a, b in itertools.pairwise(bounds))


def _split_along(name: str, least: int, axis: int) -> None:
    def parts(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        if input.ndim < least:
            raise RuntimeError(
                f"{name}: requires a tensor with at least {least} dimension(s), got input {tuple(input.shape)}"
            )
        dim = 0 if name == "hsplit" and input.ndim == 1 else axis
        if isinstance(indices_or_sections, int) and (indices_or_sections == 0 or input.size(dim) % indices_or_sections):
            raise RuntimeError(
                f"{name}: attempted to split along dimension {dim}, but the size of the dimension {input.size(dim)} is "
                f"not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, dim)

    parts.__doc__ = f":func:`tensor_split` along dimension {axis}, in equal parts."
    composite(method=True, name=name)(parts)


_split_along("hsplit", 1, 1)
_split_along("vsplit", 2, 0)
_split_along("dsplit", 3, 2)


@composite(method=True)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of ``input`` with one index of a dimension replaced by ``src``."""
    out = input.clone()
    if tuple(out.select(dim, index).shape) != tuple(src.shape):
        raise RuntimeError(
            f"select_scatter: expected src to have shape {tuple(out.select(dim, index).shape)}, got {tuple(src.shape)}"
        )
    out.select(dim, index).copy_(src)
    return out


@composite(method=True)
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy of ``input`` with a slice replaced by ``src``."""
    out = input.clone()
    slice_(out, dim, start, end, step).copy_(src)
    return out


@composite(method=True)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of ``input`` with a diagonal replaced by ``src``."""
    out = input.clone()
    diagonal(out, offset, dim1, dim2).copy_(src)
    return out


@composite(method=True)
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """``input.expand(size)``."""
    return expand(input, size)


@composite()
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape.

    Example:
        >>> import mashal
        >>> [t.shape for t in mashal.broadcast_tensors(mashal.zeros(3, 1), mashal.zeros(2))]
        [mashal.Size([3, 2]), mashal.Size([3, 2])]
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    shape = broadcast_shapes(*(x.shape for x in tensors))
    return tuple(expand(x, shape) for x in tensors)


@composite()
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of the given shapes broadcast to.

    Raises:
        RuntimeError: if they do not.
    """
    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    n = max((len(s) for s in sizes), default=0)
    out = [1] * n
    for s in sizes:
        for i, size in enumerate(s, n - len(s)):
            if size != 1 and out[i] not in (1, size):
                raise RuntimeError(
                    f"broadcast_shapes: shapes {', '.join(map(str, sizes))} do not broadcast, at dimension {i}"
                )
            if size != 1:
                out[i] = size
    return _core.Size(out)


@composite(method=False)
def atleast_1d(*tensors: Any) -> Any:
    """0-d tensors as tensors of one element; others as they are."""
    return _at_least(tensors, lambda x: reshape(x, (1,)) if x.ndim == 0 else x)


@composite(method=False)
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with leading dimensions added up to two."""
    return _at_least(tensors, lambda x: reshape(x, (1, 1)) if x.ndim == 0 else unsqueeze(x, 0) if x.ndim == 1 else x)


@composite(method=False)
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with dimensions added up to three, as NumPy places them."""

    def grow(x: Tensor) -> Tensor:
        if x.ndim == 0:
            return reshape(x, (1, 1, 1))
        if x.ndim == 1:
            return unsqueeze(unsqueeze(x, 0), -1)
        return unsqueeze(x, -1) if x.ndim == 2 else x

    return _at_least(tensors, grow)


def _at_least(tensors: Any, grow: Any) -> Any:
    if len(tensors) == 1:
        if isinstance(tensors[0], (list, tuple)):
            return tuple(grow(x) for x in tensors[0])
        return grow(tensors[0])
    return tuple(grow(x) for x in tensors)


def _write_geometry(name: str, view_op: Any) -> None:
    """``squeeze_`` and the like: the tensor itself takes the view's geometry."""

    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self._become_view(name, view_op(self, *args, **kwargs))

    change.__doc__ = f"In-place :func:`{name[:-1]}`: only the geometry changes."
    composite(method=True, function=False, name=name)(change)


for _name, _view in (
    ("squeeze_", squeeze),
    ("unsqueeze_", unsqueeze),
    ("transpose_", transpose),
    ("t_", t),
    ("as_strided_", as_strided),
):
    _write_geometry(_name, _view)
