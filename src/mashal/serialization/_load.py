"""Reading checkpoints."""

from __future__ import annotations

import io
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

from .. import _core, _files, _pickling
from .._pickling import short
from ..storage import TypedStorage, UntypedStorage
from . import _globals, _options
from ._archive import Reader, Source
from ._locations import restorer
from ._opcodes import globals_of
from ._reader import PickleReader
from ._storage_types import StorageType

_TRUE = ("1", "y", "yes", "true")
_UNSAFE = (
    "`weights_only=True` is the default of `torch.load`. With `weights_only=False` this load will likely succeed, but "
    "the file can then run any code: say so only for a file from a source that you trust."
)


def ascii_text(value: Any) -> str:
    """A string of a persistent id, which Python 2 wrote as bytes."""
    if isinstance(value, bytes):
        value = value.decode("ascii")
    if not isinstance(value, str):
        raise RuntimeError(f"load: a storage has an invalid name or place: {short(value)}. The file is corrupted.")
    return value


def storage_dtype(storage_type: Any) -> Any:
    """The dtype that the class of a storage in a persistent id stands for."""
    if storage_type is UntypedStorage:
        return _core.uint8
    dtype = getattr(storage_type, "dtype", None)
    if not isinstance(dtype, _core.dtype):
        raise RuntimeError(f"load: a storage has an invalid type: {short(storage_type)}. The file is corrupted.")
    return dtype


def swap_bytes(data: memoryview, dtype: Any) -> None:
    """Turns the bytes of every number around, in place."""
    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if size > 1:
        import numpy as np

        np.frombuffer(data, f"u{size}").byteswap(inplace=True)


class Storages:
    """The storages of an archive, read or mapped when they are first asked for."""

    def __init__(self, archive: Reader, map_location: Any, mapped: Any) -> None:
        self.archive = archive
        self.mapped = mapped
        self.restore = restorer(map_location)
        self.to_meta = str(map_location) == "meta" if isinstance(map_location, (str, _core.device)) else False
        self.found: dict[str, TypedStorage] = {}
        self.swap = self._byteorder() != sys.byteorder

    def _byteorder(self) -> str:
        if "byteorder" in self.archive:
            order = self.archive.text("byteorder")
            if order not in ("little", "big"):
                raise ValueError(f"Unknown endianness type: {order}")
            return order
        default = _options.load.endianness
        if default is _options.LoadEndianness.NATIVE:
            return sys.byteorder
        return "big" if default is _options.LoadEndianness.BIG else "little"

    def persistent_load(self, pid: Any) -> TypedStorage:
        if not isinstance(pid, tuple) or len(pid) != 5 or ascii_text(pid[0]) != "storage":
            raise pickle.UnpicklingError(f"a persistent id must describe a storage, got {short(pid)}")
        _, storage_type, key, location, numel = pid
        key, dtype = ascii_text(key), storage_dtype(storage_type)
        if type(numel) is not int or numel < 0:
            raise RuntimeError(f"load: a storage has an invalid size: {short(numel)}. The file is corrupted.")
        if key not in self.found:
            bytes_ = self._bytes(key, ascii_text(location), numel * dtype.itemsize, dtype)
            self.found[key] = TypedStorage(wrap_storage=bytes_, dtype=dtype)
        found = self.found[key]
        if found.dtype is not dtype:
            raise RuntimeError(f"load: storage {key!r} is said to be {found.dtype} and {dtype}. The file is corrupted.")
        return found

    def _bytes(self, key: str, location: str, nbytes: int, dtype: Any) -> Any:
        if self.to_meta or location == "meta":
            # No memory is needed: whatever size is claimed, it costs nothing.
            flat = _core.empty((nbytes,), None, _core.uint8, _core.device("meta"))
            return self.restore(UntypedStorage._over(flat), "meta")
        record = self.archive.find(f"data/{key}")
        if record.size < nbytes:
            raise RuntimeError(
                f"load: record data/{key[:80]} has {record.size} bytes, but {nbytes} are used. The file is corrupted."
            )
        if self.mapped is not None and record.method == 0 and record.start % dtype.itemsize == 0 and not self.swap:
            flat = _core.from_buffer(self.mapped[record.start : record.start + record.size])
        else:
            flat = _core.empty((record.size,), None, _core.uint8, None)
            memory = _pickling.memory(flat)
            if _options.local.skip_data:
                flat.zero_()
            else:
                self.archive.read_into(f"data/{key}", memory)
            if self.swap:
                swap_bytes(memory[: record.size - record.size % dtype.itemsize], dtype)
        return self.restore(UntypedStorage._over(flat), location)


def unpickler(pickle_module: Any, persistent_load: Callable[[Any], Any]) -> Any:
    """The class that reads pickles which the user trusts. Globals of PyTorch become ours."""

    class Unpickler(pickle_module.Unpickler):  # type: ignore[name-defined,misc]
        def find_class(self, module: str, name: str) -> Any:
            if name.endswith("Storage") and module.startswith("torch"):
                try:
                    return StorageType(name)
                except KeyError:
                    pass
            if module == "torch" or module.startswith("torch."):
                return _globals.resolve(module, name)
            return super().find_class(module, name)

        def persistent_load(self, pid: Any) -> Any:
            return persistent_load(pid)

    return Unpickler


def _weights_only_message(message: str, is_global: bool) -> str:
    text = "Weights only load failed. "
    if is_global:
        text += (
            "This file can still be loaded, in two ways. Do that only if you trust the source of the checkpoint.\n"
            f"\t(1) {_UNSAFE}\n\t(2) Or keep `weights_only=True` and do what this error says:\n"
            f"\tWeightsUnpickler error: {message}"
        )
    else:
        text += f"{_UNSAFE}\n\n{message}"
    return f"{text}\n\nWhich types are accepted is told in docs/differences.md and in PyTorch's documentation of load."


def _weights_only_default(weights_only: bool | None, pickle_module: Any) -> bool:
    force = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    force_not = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    if force and force_not:
        raise RuntimeError(
            "load: Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, "
            "but both were set."
        )
    if force:
        return True
    if weights_only is None:
        if force_not:
            warnings.warn(
                "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, and `load` was not told "
                "`weights_only`: it is taken as False.",
                UserWarning,
                stacklevel=3,
            )
            return False
        return pickle_module is None
    return bool(weights_only)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Loads an object that :func:`save`, or PyTorch's, has written.

    Args:
        f: a path, or an object with ``read``, ``seek`` and ``tell``.
        map_location: where tensors go: None (where they were), a device or its name, a dict from the names in the file
            to others, or a function of a storage and a name that gives a storage or None.
        pickle_module: reads the pickle, with ``weights_only=False`` only.
        weights_only: True, the default: tensors, parameters, plain containers, NumPy's numbers and arrays, and what
            :func:`serialization.add_safe_globals` has registered; the file can run nothing. False: any object. Such a
            file can do anything to your computer: it must come from a source that you trust.
        mmap: the memory of the tensors is the file, read when it is used. For paths and the zip format.
        pickle_load_args: ``encoding`` of the strings of Python 2.

    Raises:
        UnpicklingError: if the file needs ``weights_only=False``, or its pickle is damaged.
        RuntimeError: for a file that is truncated or corrupted, or whose device is not there.

    Example:
        >>> import io, mashal
        >>> buffer = io.BytesIO()
        >>> mashal.save([mashal.ones(2), "text"], buffer)
        >>> _ = buffer.seek(0)
        >>> mashal.load(buffer)
        [tensor([1., 1.]), 'text']
    """
    weights_only = _weights_only_default(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("load: Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args.keys() - {"encoding"}:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    pickle_load_args.setdefault("encoding", "utf-8")
    mmap = _options.load.mmap if mmap is None else mmap
    is_path = isinstance(f, (str, os.PathLike))
    if is_path and os.fspath(f).endswith(".safetensors"):
        return _load_safetensors(f, map_location)
    if not is_path:
        _check_seekable(f)
        return _load_from(f, None, map_location, pickle_module or pickle, weights_only, mmap, pickle_load_args)
    with open(f, "rb") as stream:
        return _load_from(stream, f, map_location, pickle_module or pickle, weights_only, mmap, pickle_load_args)


def _load_safetensors(f: Any, map_location: Any) -> Any:
    from ..utils import safetensors

    if map_location is not None and not isinstance(map_location, (str, _core.device)):
        raise RuntimeError(
            "load: Loading safetensors file with dict or callable map_location is not supported. Use a device string "
            "or torch.device instead."
        )
    return safetensors.load_file(f, "cpu" if map_location is None else map_location)


def _check_seekable(f: Any) -> None:
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"load: {error}. You can only torch.load from a file that is seekable. Please pre-load the data into a "
            "buffer like io.BytesIO and try to load from it instead."
        ) from None


def is_zip(stream: Any) -> bool:
    """Whether a zip archive begins here."""
    start = stream.tell()
    head = stream.read(4)
    stream.seek(start)
    return bytes(head) == b"PK\3\4"


def _load_from(
    stream: Any,
    path: Any,
    map_location: Any,
    pickle_module: Any,
    weights_only: bool,
    mmap: bool,
    arguments: dict[str, Any],
) -> Any:
    try:
        if is_zip(stream):
            return _load_zip(stream, path, map_location, pickle_module, weights_only, mmap, arguments)
        if mmap:
            raise RuntimeError(
                "load: mmap can only be used with files saved with `torch.save(..., "
                "_use_new_zipfile_serialization=True)`, please torch.save your checkpoint with this option in order to "
                "use mmap."
            )
        from ._legacy import load_legacy

        return load_legacy(stream, map_location, None if weights_only else pickle_module, arguments)
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        is_global = " was not an allowed global by default" in str(error)
        raise pickle.UnpicklingError(_weights_only_message(str(error), is_global)) from None


def _load_zip(
    stream: Any,
    path: Any,
    map_location: Any,
    pickle_module: Any,
    weights_only: bool,
    mmap: bool,
    arguments: dict[str, Any],
) -> Any:
    if mmap and path is None:
        raise ValueError("load: f must be a file path in order to use the mmap argument")
    archive = Reader(Source(stream))
    if "constants.pkl" in archive:
        if weights_only:
            raise RuntimeError(
                f"load: Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. {_UNSAFE}"
            )
        raise NotImplementedError(
            "load: TorchScript archives are not supported. Save model.state_dict() in PyTorch instead."
        )
    mapped = None
    if mmap and not _options.local.skip_data:
        mapped = memoryview(_files.map_file(path, _options.load.mmap_flags != _private()))
    storages = Storages(archive, map_location, mapped)
    data = archive.read("data.pkl")
    if weights_only:
        return PickleReader(data, 0, storages.persistent_load, arguments["encoding"]).load()
    return unpickler(pickle_module, storages.persistent_load)(io.BytesIO(data), **arguments).load()


def _private() -> int:
    import mmap

    return mmap.MAP_PRIVATE


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The full names of classes and functions that a ``weights_only`` load of a file would refuse.

    The pickle is scanned, not run: names that it makes up while it runs are not found.

    Raises:
        ValueError: for a file that :func:`save` has not written.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            return get_unsafe_globals_in_checkpoint(stream)
    _check_seekable(f)
    if not is_zip(f):
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    archive = Reader(Source(f))
    if "constants.pkl" in archive:
        raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
    known = _globals.table().keys() | _globals.user_globals().keys()
    found = globals_of(archive.read("data.pkl")) - known
    if any(re.match(r"numpy\b", name) for name in found):
        from . import _numpy

        found -= _numpy.table().keys()
    return list(found)
