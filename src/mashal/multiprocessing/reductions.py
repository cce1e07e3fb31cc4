"""How multiprocessing pickles tensors and storages: as handles of shared memory."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from multiprocessing import reduction, util
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .. import _core
from .._core import Tensor
from ..nn.parameter import Parameter
from ..storage import TypedStorage, UntypedStorage

with contextlib.suppress(ImportError):  # where descriptors cannot be sent
    # Before a fork can come while a queue's thread imports it.
    import multiprocessing.resource_sharer  # noqa: F401

__all__ = [
    "ForkingPickler",
    "init_reductions",
    "rebuild_storage_empty",
    "rebuild_storage_fd",
    "rebuild_storage_filename",
    "rebuild_tensor",
    "rebuild_typed_storage",
    "reduce_storage",
    "reduce_tensor",
    "reduce_typed_storage",
]


def _check_sendable(tensor: Tensor) -> None:
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries. Call detach() before sending the tensor to another process."
        )


def rebuild_tensor(cls: type, storage: Any, metadata: tuple[Any, ...]) -> Any:
    """The tensor over a storage: ``metadata`` is (offset, size, stride, requires_grad, dtype)."""
    offset, size, stride, requires_grad, dtype = metadata
    tensor = _core.tensor_over(storage._bytes, dtype, size, stride, offset)
    if cls is Parameter:
        return Parameter(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def rebuild_meta_tensor(
    cls: type, dtype: Any, size: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool
) -> Any:
    """A tensor without contents."""
    tensor = _core.empty(size, stride, dtype, _core.device("meta"))
    if cls is Parameter:
        return Parameter(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def reduce_tensor(tensor: Tensor) -> Any:
    """A tensor as its storage and geometry.

    Raises:
        RuntimeError: the tensor is the result of recorded operations.
    """
    _check_sendable(tensor)
    size, stride = tuple(tensor.shape), tuple(tensor.stride())
    if tensor.is_meta:
        return rebuild_meta_tensor, (type(tensor), tensor.dtype, size, stride, tensor.requires_grad)
    metadata = (tensor.storage_offset(), size, stride, tensor.requires_grad, tensor.dtype)
    return rebuild_tensor, (type(tensor), UntypedStorage._of(tensor.detach()), metadata)


def rebuild_storage_empty(cls: Any) -> Any:
    """A storage of no bytes: there is nothing to map."""
    return cls()


def rebuild_storage_fd(cls: Any, descriptor: Any, size: int) -> UntypedStorage:
    """The storage behind a descriptor that another process sent."""
    fd = descriptor.detach()
    try:
        return UntypedStorage._over(_core.shared_attach(fd, size, True))
    finally:
        os.close(fd)


def rebuild_storage_filename(cls: Any, name: str, size: int) -> UntypedStorage:
    """The storage behind a name under ``/dev/shm``."""
    memory = _core.shared_attach_name(name, size)
    _core.shared_count_message(memory, -1)
    return UntypedStorage._over(memory)


def reduce_storage(storage: UntypedStorage) -> Any:
    """A storage as a handle: a descriptor or a name, by the sharing strategy."""
    from . import get_sharing_strategy

    if storage.device.type == "meta":
        raise RuntimeError("Cannot pickle meta storage; try pickling a meta tensor instead")
    if storage.nbytes() == 0:
        return rebuild_storage_empty, (type(storage),)
    memory = storage._bytes
    _core.shared_move(memory, get_sharing_strategy() == "file_system")
    fd, name, _ = _core.shared_handle(memory)
    if name:
        # Counted until the receiver has it: the sender may drop the storage before that.
        _core.shared_count_message(memory, 1)
        return rebuild_storage_filename, (type(storage), name, storage.nbytes())
    return rebuild_storage_fd, (type(storage), reduction.DupFd(fd), storage.nbytes())


def rebuild_typed_storage(storage: UntypedStorage, dtype: Any) -> TypedStorage:
    """The elements of a storage."""
    return TypedStorage(wrap_storage=storage, dtype=dtype)


def reduce_typed_storage(storage: TypedStorage) -> Any:
    """A typed storage as its bytes."""
    return rebuild_typed_storage, (storage.untyped(), storage.dtype)


def _forget_names_at_exit(_: Any = None) -> None:
    """Processes of multiprocessing end without destroying their objects, which would remove names from /dev/shm."""
    util.Finalize(None, _core.shared_forget_names, exitpriority=-100)


def init_reductions() -> None:
    """Teaches multiprocessing's pickler about tensors; importing :mod:`mashal.multiprocessing` does so."""
    _forget_names_at_exit()
    util.register_after_fork(_core.shared_forget_names, _forget_names_at_exit)  # the child has a list of its own
    ForkingPickler.register(UntypedStorage, reduce_storage)
    ForkingPickler.register(TypedStorage, reduce_typed_storage)
    ForkingPickler.register(Tensor, reduce_tensor)
    ForkingPickler.register(Parameter, reduce_tensor)
