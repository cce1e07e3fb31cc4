"""Methods about a tensor's memory and about single elements: resize_, set_, storages, new, apply_, diagonals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from ._dims import spread_ints
from ._registry import composite

# ---- new tensors of the same type ----


@composite(method=True, function=False)
def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The legacy constructor with the dtype of this tensor: ``x.new(2, 3)``, ``x.new([1, 2])``.

    Example:
        >>> import mashal
        >>> mashal.tensor([1]).new([2, 3])
        tensor([2, 3])
    """
    from .._tensor import legacy_new

    return legacy_new(self.dtype, args, kwargs)


@composite(method=True, function=False)
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A copy of the data with the dtype and device of this tensor unless others are given.

    Example:
        >>> import mashal
        >>> mashal.ones(1).new_tensor([1, 2])
        tensor([1., 2.])
    """
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor.new_tensor(sourceTensor).",
            stacklevel=2,
        )
    out = _core.tensor_from_data(data, dtype or self.dtype).to(self.device if device is None else device)
    return out.requires_grad_() if requires_grad else out


# ---- memory ----


def _strides(shape: tuple[int, ...], memory_format: Any) -> tuple[int, ...]:
    layout = _core.empty(shape, None, None, _core.device("meta"))
    if memory_format is None or memory_format is _core.contiguous_format:
        return layout.stride()
    if memory_format is _core.preserve_format:
        raise RuntimeError("resize_: unsupported memory format, got memory_format mashal.preserve_format")
    return layout.contiguous(memory_format=memory_format).stride()


@composite(method=True, function=False)
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Gives this tensor another shape in place, with more memory where needed; new elements are unspecified.

    Elements keep their places in memory. Raises: RuntimeError if this tensor requires grad, or if more memory is
    needed than another library, such as NumPy, shares with it.

    Example:
        >>> import mashal
        >>> mashal.arange(4).resize_(2, 1)
        tensor([[0],
                [1]])
    """
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = spread_ints(size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"resize_: sizes must not be negative, got size {shape}")
    if shape == tuple(self.shape) and memory_format is None:
        return self
    return self._set(self, shape, _strides(shape, memory_format), self.storage_offset())


@composite(method=True, function=True)
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """``resize_`` to the shape of another tensor.

    Example:
        >>> import mashal
        >>> mashal.arange(4).resize_as_(mashal.zeros(2, 2)).shape
        mashal.Size([2, 2])
    """
    return resize_(input, tuple(the_template.shape), memory_format=memory_format)


@composite(method=True, function=False)
def resize(self: Tensor, *size: Any) -> Tensor:
    """Deprecated: ``reshape`` to as many elements.

    Example:
        >>> import mashal, warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     mashal.arange(4).resize(2, 2).shape
        mashal.Size([2, 2])
    """
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    shape = spread_ints(size)
    wanted = 1
    for n in shape:
        wanted *= n
    if wanted != self.numel():
        raise RuntimeError(
            f"resize: the number of elements must not change, got size {shape} ({wanted} elements) and a tensor "
            f"{tuple(self.shape)} ({self.numel()} elements)."
        )
    return self.reshape(shape)


@composite(method=True, function=False)
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Deprecated: ``reshape`` to the shape of another tensor of as many elements.

    Example:
        >>> import mashal, warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     mashal.arange(2).resize_as(mashal.zeros(2, 1)).shape
        mashal.Size([2, 1])
    """
    return resize(self, tuple(tensor.shape))


@composite(method=True, function=False)
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Makes this tensor look at the memory of ``source``, a tensor or a storage, with the given geometry.

    ``size``: by default the source's; ``stride``: by default that of contiguous elements. Without ``source`` this
    tensor becomes empty. Raises: RuntimeError for a source of another dtype, or a leaf that requires grad.

    Example:
        >>> import mashal
        >>> mashal.zeros(1).set_(mashal.arange(6.), 1, (2, 2), (3, 1))
        tensor([[1., 2.],
                [4., 5.]])
    """
    from ..storage import TypedStorage, UntypedStorage

    if self.requires_grad and self.is_leaf and _core.is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if source is None:
        return self._set(_core.empty((0,), None, self.dtype, self.device), (0,), (1,), 0)
    if isinstance(source, TypedStorage):
        if source.dtype is not self.dtype:
            raise RuntimeError(f"set_: source must have dtype {self.dtype}, got source {source.dtype}")
        source = source.untyped()
    if isinstance(source, UntypedStorage):
        elements = source.nbytes() // self.element_size()
        source = source._bytes[: elements * self.element_size()].view(self.dtype)
        storage_offset += source.storage_offset()  # a slice of a storage begins inside of it
        if size is None:
            size = (elements,)
    elif source.dtype is not self.dtype:
        raise RuntimeError(f"set_: source must have dtype {self.dtype}, got source {source.dtype}")
    if size is None:
        return self._set(source, tuple(source.shape), source.stride(), source.storage_offset())
    shape = spread_ints((size,))
    steps = _strides(shape, None) if stride is None or (len(stride) == 0 and shape) else tuple(stride)
    if len(steps) != len(shape):
        raise RuntimeError(f"set_: size {shape} and stride {steps} must be of one length.")
    if any(n < 0 for n in (*shape, *steps)):
        raise RuntimeError(f"set_: size and stride must not be negative, got size {shape} and stride {steps}.")
    return self._set(source, shape, steps, int(storage_offset))


@composite(method=True, function=False)
def untyped_storage(self: Tensor) -> Any:
    """The memory that this tensor looks at, as bytes.

    Example:
        >>> import mashal
        >>> mashal.ones(2).untyped_storage().nbytes()
        8
    """
    from ..storage import UntypedStorage

    return UntypedStorage._of(self)


@composite(method=True, function=False, name="storage")
def storage_(self: Tensor) -> Any:
    """The memory that this tensor looks at, as elements of its dtype. Deprecated in favour of ``untyped_storage``.

    Example:
        >>> import mashal, warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     mashal.ones(2).storage().tolist()
        [1.0, 1.0]
    """
    warnings.warn(
        "TypedStorage is deprecated: tensor.storage() will go, and UntypedStorage be the only storage class. Use "
        "tensor.untyped_storage() instead.",
        stacklevel=2,
    )
    return _typed_storage(self)


def _typed_storage(self: Tensor) -> Any:
    from ..storage import TypedStorage

    return TypedStorage._of(self)


setattr(Tensor, "_typed_storage", _typed_storage)  # noqa: B010 (an assignment would be a type error)


@composite(method=True, function=False)
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """This tensor itself: without an accelerator all memory is equally near.

    Example:
        >>> import mashal
        >>> mashal.ones(1).pin_memory()
        tensor([1.])
    """
    return self


@composite(method=True, function=False)
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """False: see ``pin_memory``.

    Example:
        >>> import mashal
        >>> mashal.ones(1).is_pinned()
        False
    """
    return False


@composite(method=True, function=False)
def is_shared(self: Tensor) -> bool:
    """Whether the memory is shared between processes: see ``share_memory_``.

    Example:
        >>> import mashal
        >>> mashal.ones(1).is_shared()
        False
    """
    return bool(_core.shared_is(self))


@composite(method=True, function=False)
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """This tensor, whose layout is dense already.

    Example:
        >>> import mashal
        >>> mashal.ones(1).to_dense()
        tensor([1.])
    """
    return self if dtype is None else self.to(dtype)


# ---- a Python function of each element ----


def _check_plain(name: str, self: Tensor) -> None:
    if self.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")


@composite(method=True, function=False)
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replaces every element by a Python function of it. Slow.

    Example:
        >>> import mashal
        >>> mashal.arange(3).apply_(lambda v: v * 2)
        tensor([0, 2, 4])
    """
    _check_plain("apply_", self)
    values = [callable(v) for v in self.reshape(-1).tolist()]
    return self.copy_(_core.tensor_from_data(values, self.dtype).view(self.shape))


@composite(method=True, function=False)
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replaces every element by a Python function of it and of the element of ``tensor``, which broadcasts. Slow.

    Raises: TypeError if the dtypes differ.

    Example:
        >>> import mashal
        >>> mashal.arange(3).map_(mashal.tensor(10), lambda a, b: a + b)
        tensor([10, 11, 12])
    """
    return _map("map_", self, (tensor,), callable)


@composite(method=True, function=False)
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """As ``map_``, with the elements of two more tensors.

    Example:
        >>> import mashal
        >>> one = mashal.ones(2)
        >>> mashal.zeros(2).map2_(one, one, lambda a, b, c: a + b + c)
        tensor([2., 2.])
    """
    return _map("map2_", self, (x, y), callable)


def _map(name: str, self: Tensor, others: tuple[Tensor, ...], callable: Callable[..., Any]) -> Tensor:
    for t in (self, *others):
        _check_plain(name, t)
        if t.dtype is not self.dtype:
            raise TypeError(f"{name}: all tensors must have one dtype, got self {self.dtype} and other {t.dtype}")
    columns = [t.expand(self.shape).reshape(-1).tolist() for t in (self, *others)]
    values = [callable(*row) for row in zip(*columns, strict=True)]
    return self.copy_(_core.tensor_from_data(values, self.dtype).view(self.shape))


# ---- diagonals ----


@composite(method=True)
def trace(input: Tensor) -> Tensor:
    """The sum of the main diagonal of a matrix.

    Args: ``input``: ``(n, m)``. Returns: ``()``, int64 for integers. Raises: RuntimeError for other ranks.
    Gradient: that of the sum, on the diagonal.

    Example:
        >>> import mashal
        >>> mashal.trace(mashal.tensor([[1., 2.], [3., 4.]]))
        tensor(5.)
    """
    if input.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.dim()}")
    if input.dtype is _core.bool:
        raise NotImplementedError("trace: not implemented for 'Bool'")
    return input.diagonal().sum()


@composite(method=True)
def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Writes a number to the main diagonal in place: of a matrix, or of a cube of any number of dimensions.

    ``wrap``: in a tall matrix the diagonal begins anew after one row without. Raises: RuntimeError for fewer than 2
    dimensions, or more than 2 of different sizes. Gradient: 0 on the diagonal.

    Example:
        >>> import mashal
        >>> mashal.zeros(2, 2).fill_diagonal_(3)
        tensor([[3., 0.],
                [0., 3.]])
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"fill_diagonal_: dimensions must larger than 1, got input with dimensions {tuple(input.shape)}"
        )
    if input.dim() > 2 and len(set(input.shape)) > 1:
        raise RuntimeError(f"fill_diagonal_: all dimensions of input must be of equal length, got {tuple(input.shape)}")
    step = sum(input.stride())
    size = min(input.shape)
    first = input.storage_offset()
    with_offset = input.as_strided((size,), (step,), first)
    with_offset.fill_(fill_value)
    rows, columns = input.shape[0], input.shape[1]
    if wrap and input.dim() == 2 and rows > columns + 1:
        start = columns + 1
        while start < rows:
            block = min(rows - start, columns)
            input.as_strided((block,), (step,), first + start * input.stride(0)).fill_(fill_value)
            start += columns + 1
    return input


@composite()
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates, in a tensor of the given shape, of positions in the flattened tensor.

    Raises: ValueError for a shape with negative sizes.

    Example:
        >>> import mashal
        >>> mashal.unravel_index(mashal.tensor([5, 3]), (2, 3))
        (tensor([1, 1]), tensor([2, 0]))
    """
    sizes = spread_ints((shape,)) if isinstance(shape, (tuple, list)) else (int(shape),)
    if any(n < 0 for n in sizes):
        raise ValueError(f"unravel_index: shape must not have negative values, but got {sizes}")
    coordinates = []
    rest: Any = indices
    for n in reversed(sizes):
        coordinates.append(rest % n)
        rest = rest.div(n, rounding_mode="floor")
    return tuple(reversed(coordinates))


@composite(name="detach")
def detach(input: Tensor) -> Tensor:
    """The same memory without history.

    Example:
        >>> import mashal
        >>> mashal.detach(mashal.ones(1, requires_grad=True))
        tensor([1.])
    """
    return input.detach()
