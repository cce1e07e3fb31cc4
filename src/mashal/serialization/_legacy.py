"""The formats of PyTorch before 1.6 (a stream of pickles, then the bytes of the storages) and before 0.1.10 (tar)."""

from __future__ import annotations

import inspect
import mmap
import struct
import tarfile
import warnings
from typing import Any

from .. import _core, _pickling
from .._pickling import short
from ..storage import TypedStorage, UntypedStorage
from . import _options
from ._load import _UNSAFE, ascii_text, storage_dtype, swap_bytes, unpickler
from ._locations import restorer
from ._modules import SourceChangeWarning
from ._reader import PickleReader
from ._save import MAGIC_NUMBER, PROTOCOL_VERSION


def load_legacy(stream: Any, map_location: Any, pickle_module: Any, arguments: dict[str, Any]) -> Any:
    """Loads an old file. Without ``pickle_module`` it is read by the reader that runs nothing."""
    start = stream.tell()
    if start == 0 and _is_tar(stream):
        if pickle_module is None:
            raise RuntimeError(
                f"load: Cannot use ``weights_only=True`` with files saved in the legacy .tar format. {_UNSAFE}"
            )
        return _load_tar(stream, map_location, pickle_module, arguments)
    stream.seek(start)
    data, position = _contents(stream, start)
    name = str(getattr(stream, "name", "") or f"a {type(stream).__name__}")
    try:
        return _Stream(data, position, map_location, pickle_module, arguments).load()
    except EOFError as error:
        raise EOFError(f"load: {name} ended early: {error}. It is truncated.") from None
    except RuntimeError as error:
        if not str(error).startswith("load: "):
            raise
        raise RuntimeError(f"load: {name}: {str(error)[6:]}") from None


def _is_tar(stream: Any) -> bool:
    head = bytes(stream.read(512))
    stream.seek(0)
    return head[257:262] == b"ustar"


def _contents(stream: Any, start: int) -> tuple[Any, int]:
    """(bytes, where the checkpoint begins in them): a map of a real file, otherwise what can be read."""
    try:
        # The map must be of what read() gives: not of the compressed bytes of a gzip file.
        if type(stream).__module__ in ("_io", "io", "tempfile") and stream.fileno() >= 0:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), start
    except (OSError, AttributeError, ValueError):
        pass
    return stream.read(), 0


class _File:
    """A file object over part of some bytes, for unpicklers."""

    def __init__(self, data: Any, position: int) -> None:
        self.data, self.position = data, position

    def read(self, n: int = -1) -> bytes:
        end = len(self.data) if n < 0 else min(self.position + n, len(self.data))
        out = bytes(self.data[self.position : end])
        self.position = end
        return out

    def readline(self) -> bytes:
        end = self.data.find(b"\n", self.position) + 1
        return self.read((end or len(self.data)) - self.position)

    def readinto(self, out: Any) -> int:
        view = memoryview(out)
        data = self.read(view.nbytes)
        view[: len(data)] = data
        return len(data)


class _Stream:
    """One file in the format of 0.1.10 to 1.5."""

    def __init__(self, data: Any, position: int, map_location: Any, pickle_module: Any, arguments: Any) -> None:
        self.data, self.position = data, position
        self.restore = restorer(map_location)
        self.pickle_module, self.arguments = pickle_module, arguments
        # By key: what tensors see, the memory to fill, and how many elements of which dtype that is.
        self.found: dict[Any, tuple[TypedStorage, Any, int, Any]] = {}
        self.views: dict[Any, TypedStorage] = {}
        self.promised = 0

    def unpickle(self, persistent_load: Any = None) -> Any:
        if self.pickle_module is None:
            reader = PickleReader(self.data, self.position, persistent_load, self.arguments["encoding"])
            value = reader.load()
            self.position = reader.position
            return value
        file = _File(self.data, self.position)
        value = unpickler(self.pickle_module, persistent_load)(file, **self.arguments).load()
        self.position = file.position
        return value

    def load(self) -> Any:
        if self.unpickle() != MAGIC_NUMBER:
            raise RuntimeError("load: Invalid magic number; corrupt file?")
        version = self.unpickle()
        if version != PROTOCOL_VERSION:
            raise RuntimeError(f"load: Invalid protocol version: {short(version)}")
        system = self.unpickle()
        swap = isinstance(system, dict) and system.get("little_endian") is False
        with _pickling.values_come_later() as finish:
            result = self.unpickle(self.persistent_load)
        keys = self.unpickle()
        if not isinstance(keys, list) or not all(isinstance(key, (str, bytes, int)) for key in keys):
            raise RuntimeError("load: the list of storages is invalid. The file is corrupted.")
        if not _options.local.skip_data:
            for key in keys:
                self._fill(key, swap)
        finish()
        return result

    def persistent_load(self, pid: Any) -> Any:
        if not isinstance(pid, tuple) or not pid:
            raise RuntimeError(f"load: invalid persistent id: {short(pid)}")
        kind = ascii_text(pid[0])
        if kind == "module" and len(pid) == 4 and self.pickle_module is not None:
            _compare_source(*pid[1:])
            return pid[1]
        if kind != "storage" or len(pid) != 6:
            raise RuntimeError(f"load: Unknown saved id type: {short(kind)}")
        return self._storage(*pid[1:])

    def _storage(self, storage_type: Any, key: Any, location: Any, numel: Any, view: Any) -> TypedStorage:
        dtype = storage_dtype(storage_type)
        if not isinstance(key, (str, bytes, int)) or type(numel) is not int or numel < 0:
            raise RuntimeError(f"load: a storage has an invalid key or size: {short(key)}, {short(numel)}.")
        if key not in self.found:
            nbytes = numel * dtype.itemsize
            self.promised += nbytes
            if self.promised > len(self.data) and not _options.local.skip_data:
                raise RuntimeError(
                    f"load: the storages are said to have {self.promised} bytes, more than the file. It is truncated "
                    "or corrupted."
                )
            flat = _core.empty((nbytes,), None, _core.uint8, None)
            if _options.local.skip_data:
                flat.zero_()
            # The bytes come later in the file. On another device than the CPU they are copied then.
            placed = self.restore(UntypedStorage._over(flat), ascii_text(location))
            self.found[key] = (TypedStorage(wrap_storage=placed, dtype=dtype), flat, numel, dtype)
        whole = self.found[key][0]
        if view is None:
            return whole
        if not isinstance(view, tuple) or len(view) != 3 or not isinstance(view[0], (str, bytes, int)):
            raise RuntimeError(f"load: invalid view of a storage: {short(view)}")
        view_key, offset, size = view
        if any(type(n) is not int or n < 0 for n in (offset, size)) or offset + size > len(whole):
            raise RuntimeError(f"load: a view of a storage is out of bounds: {short(offset)}, {short(size)}.")
        if view_key not in self.views:
            self.views[view_key] = TypedStorage._over(whole._flat[offset : offset + size])
        return self.views[view_key]

    def _fill(self, key: Any, swap: bool) -> None:
        if key not in self.found:
            raise RuntimeError(f"load: nothing uses storage {short(key)}, which is in the file. It is corrupted.")
        typed, flat, numel, dtype = self.found[key]
        head = bytes(self.data[self.position : self.position + 8])
        nbytes = numel * dtype.itemsize
        end = self.position + 8 + nbytes
        if len(head) < 8 or end > len(self.data):
            raise RuntimeError(
                f"load: unexpected end of file: storage {short(key)} needs {nbytes} bytes. The file is truncated."
            )
        (size,) = struct.unpack(">q" if swap else "<q", head)
        if size != numel:
            raise RuntimeError(
                f"load: storage {short(key)} has {size} elements, but {numel} are expected. The file is corrupted."
            )
        memory = _pickling.memory(flat)
        memory[:] = memoryview(self.data)[self.position + 8 : end]
        self.position = end
        if swap:
            swap_bytes(memory, dtype)
        if typed._flat._storage_key() != flat._storage_key() and not typed._flat.is_meta:
            typed._flat.copy_(flat.view(dtype))


def _compare_source(cls: Any, file: Any, source: Any) -> None:
    """Warns if the class of a saved module has another text now. Classes of PyTorch's always have."""
    if not source or cls.__module__.partition(".")[0] == "mashal":
        return
    try:
        same = inspect.getsource(cls) == source
    except (OSError, TypeError):
        return
    if not same:
        warnings.warn(
            f"source code of class '{cls.__module__}.{cls.__qualname__}' has changed since it was saved (in {file}).",
            SourceChangeWarning,
            stacklevel=2,
        )


# ---- tar ----


def _load_tar(stream: Any, map_location: Any, pickle_module: Any, arguments: dict[str, Any]) -> Any:
    restore = restorer(map_location)
    found: dict[Any, Any] = {}

    def persistent_load(pid: Any) -> Any:
        return pid[0] if isinstance(pid, tuple) else found[int(pid)]

    make = unpickler(pickle_module, persistent_load)
    with tarfile.open(fileobj=stream, mode="r:") as tar:
        parts = {}
        for name in ("storages", "tensors", "pickle"):
            member = tar.extractfile(name)
            if member is None:
                raise RuntimeError(f"load: the archive has no file {name!r}. It is corrupted.")
            parts[name] = _File(member.read(), 0)

    def numbers(file: _File, form: str) -> tuple[int, ...]:
        data = file.read(struct.calcsize(form))
        if len(data) != struct.calcsize(form):
            raise RuntimeError("load: unexpected end of file: the archive is truncated.")
        return struct.unpack(form, data)

    file = parts["storages"]
    for _ in range(make(file, **arguments).load()):
        key, location, storage_type = make(file, **arguments).load()
        dtype = storage_dtype(storage_type)
        (numel,) = numbers(file, "<q")
        data = bytearray(file.read(numel * dtype.itemsize))
        if len(data) != numel * dtype.itemsize:
            raise RuntimeError("load: unexpected end of file: the archive is truncated.")
        placed = restore(UntypedStorage._over(_core.from_buffer(data)), location)
        found[key] = TypedStorage(wrap_storage=placed, dtype=dtype)
    for target, root, offset, numel in make(file, **arguments).load():
        found[target] = TypedStorage._over(found[root]._flat[offset : offset + numel])
    file = parts["tensors"]
    for _ in range(make(file, **arguments).load()):
        key, storage, _ = make(file, **arguments).load()
        (ndim,) = numbers(file, "<i4x")
        size, stride = numbers(file, f"<{ndim}q"), numbers(file, f"<{ndim}q")
        (offset,) = numbers(file, "<q")
        found[key] = _pickling._rebuild_tensor(found[storage], offset, size, stride)
    return make(parts["pickle"], **arguments).load()
