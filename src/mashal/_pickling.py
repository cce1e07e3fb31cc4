"""Tensors and storages taken apart for ``pickle``, and put together again.

The functions that put together have the names and arguments of PyTorch's, because files name them. They check what they
are given: a file may claim anything.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from . import _core
from ._core import Tensor
from ._tensor import _DTYPES
from .storage import TypedStorage, UntypedStorage

DTYPE_OF_STORAGE = {f"{d._legacy_name}Storage": d for d in _DTYPES}
DTYPE_NAMES = {repr(d).split(".")[1]: d for d in _DTYPES}


def memory(flat: Tensor) -> memoryview:
    """The bytes of a contiguous tensor, for reading and writing.

    Unlike the buffer protocol this leaves no mark on the storage, which stays resizable: for short use only.
    """
    import ctypes

    size = flat.numel() * flat.element_size()
    if size == 0:
        return memoryview(bytearray())
    array = (ctypes.c_ubyte * size).from_address(flat.data_ptr())
    array.tensor = flat  # type: ignore[attr-defined]  # the view keeps the memory alive
    return memoryview(array).cast("B")


def reach(size: Any, stride: Any) -> int:
    """How many elements of memory a geometry spans."""
    if 0 in size:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))


# ---- taking apart ----


def window(t: Tensor) -> TypedStorage:
    """The part of its storage that a tensor looks at; it shares the memory."""
    t = t.detach()
    span = reach(t.shape, t.stride())
    return TypedStorage._over(t.as_strided((span,), (1,), t.storage_offset()))


def object_state(obj: Any) -> Any:
    """The attributes that a user has put on a tensor, in the form of ``__getstate__``; None without any."""
    return obj.__getstate__() or None


def with_type(obj: Tensor, function: Any, arguments: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Adds to a reduction what makes ``obj`` more than a plain tensor: its class and its attributes."""
    state = object_state(obj)
    if type(obj) is Tensor and not state:
        return function, arguments
    return _rebuild_from_type_v2, (function, type(obj), arguments, state)


def reduce_meta(self: Tensor) -> tuple[Any, tuple[Any, ...]]:
    return _rebuild_meta_tensor_no_storage, (self.dtype, tuple(self.shape), tuple(self.stride()), self.requires_grad)


def reduce_tensor(self: Tensor, protocol: Any) -> Any:
    """``Tensor.__reduce_ex__``: for ``pickle`` and ``copy.copy``; :func:`mashal.save` has its own form."""
    if self.is_meta:
        return with_type(self, *reduce_meta(self))
    geometry = (tuple(self.shape), tuple(self.stride()), self.requires_grad, OrderedDict())
    return with_type(self, _rebuild_tensor_v2, (window(self), 0, *geometry))


def reduce_parameter(self: Tensor) -> tuple[Any, tuple[Any, ...]]:
    # Backward hooks are not saved, but the function's signature has a place for them.
    arguments = (self.data, self.requires_grad, OrderedDict())
    state = object_state(self)
    return (_rebuild_parameter_with_state, (*arguments, state)) if state else (_rebuild_parameter, arguments)


def reduce_storage(self: Any, protocol: Any) -> Any:
    """``__reduce_ex__`` of both kinds of storage. From protocol 5 on the memory may travel outside of the pickle."""
    if self._flat.is_meta:
        return _rebuild_storage, (type(self), self._flat.dtype, self._flat.numel())
    data = memory(self._flat)
    if int(protocol) >= 5:
        # As an array that keeps the tensor: an out-of-band buffer outlives this call.
        return _rebuild_storage, (type(self), self._flat.dtype, pickle.PickleBuffer(_bytes_of(self._flat)))
    return _rebuild_storage, (type(self), self._flat.dtype, bytes(data))


def _bytes_of(flat: Tensor) -> Any:
    return memoryview(flat.view(_core.uint8)) if flat.numel() else bytearray()


# ---- putting together ----


def _rebuild_storage(cls: type, dtype: Any, data: Any) -> Any:
    if isinstance(data, int):
        return cls._over(_core.empty((data,), None, dtype, _core.device("meta")))  # type: ignore[attr-defined]
    view = memoryview(data)
    if view.readonly or view.nbytes == 0:
        flat = _core.empty((view.nbytes,), None, _core.uint8, None)
        memory(flat)[:] = view
    else:
        flat = _core.from_buffer(view)
    return cls._over(flat.view(dtype))  # type: ignore[attr-defined]


def _ints(what: str, values: Any) -> tuple[int, ...]:
    if not isinstance(values, (tuple, list)) or any(type(v) is not int or v < 0 for v in values):
        raise RuntimeError(f"load: {what} of a tensor must be a tuple of numbers >= 0, got {short(values)}.")
    return tuple(values)


def short(value: Any) -> str:
    """A value for an error message: a hostile file must not make it long."""
    if isinstance(value, (int, float, bool, type(None))):
        return str(value) if not isinstance(value, int) or value.bit_length() < 200 else "a huge number"
    if isinstance(value, (str, bytes)):
        return repr(value[:80])
    if isinstance(value, (tuple, list)) and len(value) <= 8 and all(type(v) is int for v in value):
        return f"({', '.join(short(v) for v in value)})"
    return f"a {type(value).__name__}"


def _rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any, dtype: Any = None) -> Tensor:
    """A tensor over a storage of elements of its dtype; ``dtype`` is for storages of bytes."""
    if not isinstance(storage, (TypedStorage, UntypedStorage)):
        raise RuntimeError(f"load: a tensor needs a storage, got {short(storage)}.")
    size, stride = _ints("the size", size), _ints("the stride", stride)
    (storage_offset,) = _ints("the offset", (storage_offset,))
    flat = storage._flat
    if dtype is not None and flat.dtype is not dtype:
        raw = flat.view(_core.uint8) if flat.dtype is not _core.uint8 else flat
        flat = raw[: raw.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
    if len(size) != len(stride):
        raise RuntimeError(f"load: size and stride must be equally long, got {short(size)} and {short(stride)}.")
    if storage_offset + reach(size, stride) > flat.numel():
        raise RuntimeError(
            f"load: a tensor of size {short(size)}, stride {short(stride)} and offset {short(storage_offset)} is out "
            f"of bounds for its storage of {flat.numel()} elements. The file is corrupted."
        )
    if 0 in size:
        return _core.empty(size, stride, flat.dtype, flat.device)
    return flat.as_strided(size, stride, flat.storage_offset() + storage_offset).detach()


class _Local(threading.local):
    later: list[tuple[Tensor, dict[str, Any]]] | None = None


_local = _Local()


@contextlib.contextmanager
def values_come_later() -> Iterator[Callable[[], None]]:
    """For a format in which the memory of tensors follows them: what depends on values waits for a call."""
    before, _local.later = _local.later, []
    waiting = _local.later

    def finish() -> None:
        for t, metadata in waiting:
            t.data = _resolved(t.detach(), metadata)

    try:
        yield finish
    finally:
        _local.later = before


def _resolved(t: Tensor, metadata: dict[str, Any]) -> Tensor:
    if metadata.get("conj"):
        t = t.conj().resolve_conj()
    return t.neg() if metadata.get("neg") else t


def _finish(t: Tensor, requires_grad: Any, metadata: Any) -> Tensor:
    if metadata:
        if not isinstance(metadata, dict):
            raise RuntimeError(f"load: the metadata of a tensor must be a dict, got {short(metadata)}.")
        # PyTorch's lazy conjugate and negative: the memory holds the other value.
        if _local.later is None:
            t = _resolved(t, metadata)
        else:
            _local.later.append((t, metadata))
    return t.requires_grad_() if requires_grad else t


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    return _finish(_rebuild_tensor(storage, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    return _finish(_rebuild_tensor(storage, storage_offset, size, stride, _dtype(dtype)), requires_grad, metadata)


def _dtype(dtype: Any) -> Any:
    if not isinstance(dtype, _core.dtype):
        raise RuntimeError(f"load: a dtype is needed, got {short(dtype)}.")
    return dtype


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    size, stride = _ints("the size", size), _ints("the stride", stride)
    if len(size) != len(stride):
        raise RuntimeError(f"load: size and stride must be equally long, got {short(size)} and {short(stride)}.")
    return _finish(_core.empty(size, stride, _dtype(dtype), _core.device("meta")), requires_grad, None)


def _rebuild_device_tensor_from_cpu_tensor(data: Any, dtype: Any, device: Any, requires_grad: Any) -> Tensor:
    return _finish(_plain(data).to(device=device, dtype=_dtype(dtype)), requires_grad, None)


def _rebuild_device_tensor_from_numpy(data: Any, dtype: Any, device: Any, requires_grad: Any) -> Tensor:
    return _finish(_core.tensor_from_data(data, _dtype(dtype)).to(device), requires_grad, None)


def _plain(data: Any) -> Tensor:
    if not isinstance(data, Tensor):
        raise RuntimeError(f"load: a parameter needs a tensor, got {short(data)}.")
    return data


def _rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Any:
    from .nn.parameter import Parameter

    return Parameter(_plain(data), bool(requires_grad))


def _rebuild_parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Any:
    return _set_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _set_state(obj: Any, state: Any) -> Any:
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for part in (attributes, slots):
        if part is None:
            continue
        if not isinstance(part, dict) or not all(isinstance(name, str) for name in part):
            raise RuntimeError(f"load: the attributes of a tensor must be a dict of names, got {short(state)}.")
        if part is attributes:
            obj.__dict__.update(part)
        else:
            for name, value in part.items():
                setattr(obj, name, value)
    return obj


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    """A tensor with attributes, or of a subclass."""
    if not isinstance(new_type, type) or not issubclass(new_type, Tensor):
        raise RuntimeError(f"load: a subclass of Tensor is needed, got {short(new_type)}.")
    t = _plain(func(*args))
    if type(t) is not new_type:
        t = t.as_subclass(new_type)
    if state is None:
        return t
    if getattr(new_type, "__setstate__", None) is not getattr(Tensor, "__setstate__", None):
        t.__setstate__(state)  # type: ignore[attr-defined]
        return t
    return _set_state(t, state)


def _get_layout(name: Any) -> Any:
    """The layout of a name such as ``torch.strided``."""
    from . import _legacy_types

    known = {f"torch.{kind}": getattr(_legacy_types, kind) for kind in ("strided", "sparse_coo", "sparse_csr")}
    if not isinstance(name, str) or name not in known:
        raise RuntimeError(f"load: tensors of layout {short(name)} are not supported. Save a dense tensor: to_dense().")
    return known[name]


def reduce_sparse(self: Any) -> tuple[Any, tuple[Any, ...]]:
    """Of a sparse tensor; its parts are reduced as other tensors are."""
    if self.is_sparse_csr:
        parts = (self.crow_indices(), self.col_indices(), self.values())
        return _rebuild_sparse_tensor, (self.layout, (*(p.detach() for p in parts), self.shape))
    parts = (self._indices(), self._values())
    return _rebuild_sparse_tensor, (self.layout, (*(p.detach() for p in parts), self.shape, self.is_coalesced()))


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    import mashal

    # In a format where the memory comes later the indices are not there yet to be checked.
    check = _local.later is None
    if layout is mashal.sparse_coo and isinstance(data, tuple) and len(data) in (3, 4):
        indices, values, size = (_plain(data[0]), _plain(data[1]), _ints("the size", tuple(data[2])))
        coalesced = bool(data[3]) if len(data) == 4 else None
        return mashal.sparse_coo_tensor(indices, values, size, is_coalesced=coalesced, check_invariants=check)
    if layout is mashal.sparse_csr and isinstance(data, tuple) and len(data) == 4 and check:
        rows, columns, values, size = (*(_plain(part) for part in data[:3]), _ints("the size", tuple(data[3])))
        return mashal.sparse_csr_tensor(rows, columns, values, size, check_invariants=True)
    raise RuntimeError(
        f"load: a sparse tensor of layout {short(str(layout))} cannot be loaded from this file. Save it as to_dense()."
    )


REBUILD_TENSOR = (
    _rebuild_parameter,
    _rebuild_parameter_with_state,
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_meta_tensor_no_storage,
    _rebuild_device_tensor_from_numpy,
    _rebuild_device_tensor_from_cpu_tensor,
    _rebuild_sparse_tensor,
)
