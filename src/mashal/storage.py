"""Storages: the memory behind tensors, as bytes (:class:`UntypedStorage`) or as elements (:class:`TypedStorage`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from . import _core
from ._core import Tensor

__all__ = ["TypedStorage", "UntypedStorage", "is_storage"]


def _flat(kind: str, args: tuple[Any, ...], dtype: Any, device: Any) -> Tensor:
    """The memory of a new storage: so many elements, or those of a sequence."""
    if len(args) > 1:
        raise TypeError(f"{kind}() takes a size or a sequence, got {len(args)} arguments")
    given = args[0] if args else 0
    if isinstance(given, int):
        if given < 0:
            raise RuntimeError(f"{kind}: size must not be negative, got {given}")
        return _core.empty((given,), None, dtype, None if device is None else _core.device(device))
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise TypeError(f"{kind}() takes a size or a sequence of numbers, not {type(given).__name__}")
    out = _core.tensor_from_data(list(given), dtype)
    return out if device is None else out.to(device)


def _named() -> bool:
    """Whether new shared memory gets a name, by multiprocessing's sharing strategy."""
    from .multiprocessing import get_sharing_strategy

    return get_sharing_strategy() == "file_system"


def _share(tensor: Tensor) -> None:
    """Moves a tensor's storage to shared memory."""
    if tensor.device.type == "cpu" and not _core.shared_is(tensor):
        _core.shared_move(tensor, _named())


class _Storage:
    """What both kinds share: a 1-d tensor over the whole of the memory."""

    _flat: Tensor

    @classmethod
    def _over(cls, flat: Tensor) -> Any:
        """A storage of the elements of a 1-d contiguous tensor, which may be a part of a larger storage."""
        self = cls.__new__(cls)
        self._flat = flat
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        from ._pickling import reduce_storage

        return reduce_storage(self, protocol)

    def __copy__(self) -> Any:
        return self.clone()  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        # The memory once: tensors and storages that share it share the copy too.
        shared = memo.setdefault("mashal_storages", {})  # type: ignore[call-overload]
        key = self._flat._storage_key()
        if key not in shared:
            shared[key] = None if self._flat.is_meta else self._flat._storage_bytes().clone()
        if shared[key] is None or not self._flat.numel():
            out = self.clone()  # type: ignore[attr-defined]
        else:
            whole = shared[key]
            size, dtype = self._flat.element_size(), self._flat.dtype
            whole = whole[: whole.numel() // size * size].view(dtype).detach()
            out = self._over(whole.as_strided((self._flat.numel(),), (1,), self._flat.storage_offset()))
        memo[id(self)] = out
        return out

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._flat.data_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._flat.numel() * self._flat.element_size()

    def size(self) -> int:
        """The number of elements."""
        return self._flat.numel()

    def __len__(self) -> int:
        return self._flat.numel()

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._flat.element_size()

    @property
    def device(self) -> Any:
        return self._flat.device

    @property
    def is_cuda(self) -> bool:
        return False

    def get_device(self) -> int:
        return self._flat.get_device()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._flat.tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat[index] = value

    def fill_(self, value: Any) -> Any:
        """Writes a number to every element."""
        self._flat.fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> Any:
        """Copies the elements of another storage of the same length."""
        self._flat.copy_(source._flat)
        return self

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def is_shared(self) -> bool:
        """Whether other processes may see what is written here."""
        return bool(_core.shared_is(self._flat))

    def share_memory_(self) -> Any:
        """Moves the memory to shared memory, together with all tensors that look at it; nothing if it is there.

        It cannot be resized from then on.
        """
        _share(self._flat)
        return self

    def pin_memory(self, device: Any = None) -> Any:
        return self

    def cpu(self) -> Any:
        return self.to(device="cpu")

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """This storage on a device; a copy, unless it is there already."""
        flat = self._flat.to(device)
        return self if flat is self._flat else self._over(flat)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """A copy on a CUDA device."""
        return self._over(self._flat.cuda(device))

    def resizable(self) -> bool:
        """Whether :meth:`resize_` may make it larger (memory of another library cannot grow)."""
        return bool(self._flat._storage_resizable())

    def resize_(self, size: int) -> Any:
        """Makes room for so many elements.

        Raises:
            RuntimeError: to make it smaller: tensors that look at it would lose their memory. Also for memory that
                another library shares.
        """
        if size < self._flat.numel():
            raise RuntimeError(
                f"resize_: a storage cannot become smaller, got size {size} for a storage of {self._flat.numel()} "
                "elements. Use clone() of a part of it."
            )
        self._flat._set(self._flat, (size,), (1,), 0)
        return self

    def _text(self) -> str:
        values = "".join(f" {v}\n" for v in self.tolist()) if not self._flat.is_meta else "...\n"
        return f"{values}[mashal.storage.{type(self).__name__}("

    def __hash__(self) -> int:
        return hash(self._flat._storage_key()[0])


class UntypedStorage(_Storage):
    """Memory as bytes: ``UntypedStorage(8)``, ``UntypedStorage([1, 2])``, or of a tensor by ``untyped_storage()``.

    Example:
        >>> import mashal
        >>> mashal.tensor([1, 0], dtype=mashal.int16).untyped_storage().tolist()
        [1, 0, 0, 0]
    """

    def __init__(self, *args: Any, device: Any = None) -> None:
        self._flat = _flat("UntypedStorage", args, _core.uint8, device)

    @classmethod
    def _of(cls, tensor: Tensor) -> UntypedStorage:
        return cls._over(tensor._storage_bytes())  # type: ignore[no-any-return]

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0, *, size: int | None = None) -> Any:
        """The bytes of a file, mapped into memory.

        Args:
            shared: writes go to the file, which is made, or made longer, where needed. Otherwise they stay here.
            nbytes: how many bytes, also named ``size``; 0 is the whole file.

        Raises:
            RuntimeError: for a file that cannot be opened, or is too short and not ``shared``.
        """
        from ._files import map_file

        return cls._over(_core.from_buffer(map_file(filename, shared, nbytes if size is None else size)))

    @classmethod
    def _over(cls, memory: Tensor) -> UntypedStorage:
        """The storage whose bytes are those of a uint8 tensor."""
        self = cls.__new__(cls)
        self._flat = memory
        return self

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        """A new storage of so many bytes in shared memory."""
        if _core.device(device).type != "cpu":
            return cls(size, device=device)
        return cls._over(_core.shared_create(size, _named()))

    @property
    def _bytes(self) -> Tensor:
        return self._flat

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError("UntypedStorage: only slices of step 1 share memory, got step " + str(index.step))
            return UntypedStorage._over(self._flat[index])
        return self._flat[index].item()

    def untyped(self) -> UntypedStorage:
        return self

    def clone(self) -> UntypedStorage:
        """A copy in memory of its own."""
        return UntypedStorage._of(self._flat.clone())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._flat._storage_key() == other._flat._storage_key()

    __hash__ = _Storage.__hash__

    def __repr__(self) -> str:
        return f"{self._text()}device={self.device}) of size {self.nbytes()}]"


class TypedStorage(_Storage):
    """Memory as elements of one dtype; deprecated in favour of :class:`UntypedStorage`.

    Example:
        >>> import mashal
        >>> mashal.storage.TypedStorage([1, 2], dtype=mashal.int32).nbytes()
        8
    """

    def __init__(
        self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: Any = None, device: Any = None
    ) -> None:
        dtype = dtype or _core.get_default_dtype()
        if wrap_storage is None:
            self._flat = _flat("TypedStorage", args, dtype, device)
        else:
            self._flat = _elements(wrap_storage._flat, dtype)

    @classmethod
    def _of(cls, tensor: Tensor) -> TypedStorage:
        return cls._over(_elements(tensor._storage_bytes(), tensor.dtype))  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self._flat.dtype

    def _new_shared(self, size: int, *, device: Any = None) -> TypedStorage:
        """A new storage of so many elements in shared memory."""
        memory = UntypedStorage._new_shared(size * self.element_size(), device="cpu" if device is None else device)
        return TypedStorage(wrap_storage=memory, dtype=self.dtype)

    @property
    def _untyped_storage(self) -> UntypedStorage:
        return self.untyped()

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage._over(self._flat.view(_core.uint8))  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._flat[index].item()

    def type(self, dtype: Any = None) -> Any:
        """The legacy type name, or a copy of another dtype."""
        if dtype is None:
            return f"torch.{self.dtype._legacy_name}Storage"
        return self._to(dtype)

    def resize_(self, size: int) -> None:
        """Makes room for so many elements; returns nothing, as PyTorch's."""
        super().resize_(size)

    def _to(self, dtype: Any) -> TypedStorage:
        return TypedStorage._of(self._flat.to(dtype)) if dtype is not self.dtype else self

    def clone(self) -> TypedStorage:
        """A copy in memory of its own."""
        return TypedStorage._of(self._flat.clone())

    def float(self) -> TypedStorage:
        return self._to(_core.float32)

    def double(self) -> TypedStorage:
        return self._to(_core.float64)

    def half(self) -> TypedStorage:
        return self._to(_core.float16)

    def bfloat16(self) -> TypedStorage:
        return self._to(_core.bfloat16)

    def long(self) -> TypedStorage:
        return self._to(_core.int64)

    def int(self) -> TypedStorage:
        return self._to(_core.int32)

    def short(self) -> TypedStorage:
        return self._to(_core.int16)

    def char(self) -> TypedStorage:
        return self._to(_core.int8)

    def byte(self) -> TypedStorage:
        return self._to(_core.uint8)

    def bool(self) -> TypedStorage:
        return self._to(_core.bool)

    def __eq__(self, other: object) -> Any:
        return isinstance(other, TypedStorage) and self.untyped() == other.untyped() and self.dtype is other.dtype

    __hash__ = _Storage.__hash__

    def __repr__(self) -> str:
        return f"{self._text()}dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def _elements(data: Tensor, dtype: Any) -> Tensor:
    size = dtype.itemsize
    return data[: data.numel() // size * size].view(dtype)


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage.

    Example:
        >>> import mashal
        >>> mashal.is_storage(mashal.ones(1).untyped_storage())
        True
    """
    return isinstance(obj, _Storage)


def _reduce_for_process(obj: Any) -> Any:
    from .multiprocessing import reductions

    if isinstance(obj, Tensor):
        return reductions.reduce_tensor(obj)
    return reductions.reduce_storage(obj) if isinstance(obj, UntypedStorage) else reductions.reduce_typed_storage(obj)


# A program that has imported Python's multiprocessing expects its queues to share tensors; mashal.multiprocessing,
# which is loaded when it is first needed, sees to the rest.
if "multiprocessing.reduction" in sys.modules:
    for _cls in (Tensor, UntypedStorage, TypedStorage):
        sys.modules["multiprocessing.reduction"].ForkingPickler.register(_cls, _reduce_for_process)
