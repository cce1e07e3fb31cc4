"""Writing checkpoints: the pickle of the objects, and the memory of their tensors."""

from __future__ import annotations

import bisect
import io
import os
import pickle
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core, _files, _pickling
from .._core import Tensor
from .._legacy_types import layout
from .._pickling import reach
from ..nn.parameter import Parameter
from ..storage import TypedStorage, UntypedStorage, _Storage
from . import _options
from ._archive import Writer
from ._globals import torch_name
from ._locations import location_tag
from ._opcodes import rewrite
from ._storage_types import MARKS

DEFAULT_PROTOCOL = 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001

# Bytes of memory that no saved tensor sees are left out where they are more than this and more than a quarter.
_SLACK = 4096


class _Place:
    """A value in the pickle that is known only when all objects have been seen: see :func:`._opcodes.rewrite`."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class _View:
    """A tensor, or a whole storage, that looks at a memory; and the places of its numbers in the pickle."""

    __slots__ = ("high", "key", "low", "memory", "numel", "offset", "stride", "tensor")

    def __init__(self, memory: _Memory, tensor: Tensor | None, low: int, high: int, places: list[_Place]) -> None:
        self.memory, self.tensor, self.low, self.high = memory, tensor, low, high
        self.key, self.numel, self.offset, self.stride = places


class _Memory:
    """A storage that is to be saved: its bytes, and who looks at them."""

    def __init__(self, flat: Tensor, dtype: Any, location: str) -> None:
        self.flat, self.dtype, self.location = flat, dtype, location
        self.whole = False
        self.views: list[_View] = []

    @property
    def nbytes(self) -> int:
        return self.flat.numel()

    def pieces(self) -> list[_Piece]:
        """The stretches of bytes to save, in order. Tensors that overlap lie in one."""
        everything = [_Piece(0, self.nbytes)]
        if self.whole or self.nbytes <= _SLACK:
            return everything
        pieces: list[_Piece] = []
        for view in sorted(self.views, key=lambda v: v.low):
            if view.low == view.high:
                continue
            if not pieces or view.low - pieces[-1].high > _SLACK:
                pieces.append(_Piece(view.low, view.high))
            pieces[-1].high = max(pieces[-1].high, view.high)
            pieces[-1].views.append(view)
        for piece in pieces:
            piece.find_gaps()
        unused = self.nbytes - sum(piece.size for piece in pieces)
        return pieces if unused > max(_SLACK, self.nbytes // 4) else everything


def _low(piece: _Piece) -> int:
    return piece.low


class _Piece:
    """A stretch of a memory that becomes a record."""

    __slots__ = ("dense", "high", "low", "size", "views")

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high, self.size = low, high, high - low
        self.views: list[_View] = []
        self.dense = False  # only the elements are saved, not what lies between them

    def find_gaps(self) -> None:
        """A tensor that has the piece for itself, such as a column, is saved without large gaps."""
        self.size = self.high - self.low
        t = self.views[0].tensor if len(self.views) == 1 else None
        if t is not None and 0 not in t.stride():
            used = t.numel() * t.element_size()
            self.dense = self.size - used > max(_SLACK, used)
            self.size = used if self.dense else self.size


class Plan:
    """What goes into a file: collected while the objects are pickled, then laid out."""

    def __init__(self) -> None:
        self.memories: dict[Any, _Memory] = {}
        self.views: list[_View] = []
        self.places: list[Any] = []
        # (key, bytes, dtype) of the records, in the order of their first use.
        self.records: list[tuple[str, Tensor, Any]] = []

    # ---- collecting ----

    def _memory(self, flat: Tensor, dtype: Any) -> _Memory:
        """The entry of the storage that ``flat`` belongs to."""
        key = flat._storage_key()[0]
        found = self.memories.get(key)
        if found is None:
            raw = flat._storage_bytes()
            found = self.memories[key] = _Memory(raw, dtype, location_tag(UntypedStorage._over(raw)))
        elif found.dtype is not dtype and found.nbytes:
            raise RuntimeError(
                f"save: Cannot save multiple tensors or storages that view the same data as different types: "
                f"{found.dtype} and {dtype}. Use clone() for one of them."
            )
        return found

    def _add(self, memory: _Memory, tensor: Tensor | None, low: int, high: int) -> _View:
        places = [_Place(len(self.places) + i) for i in range(4)]
        self.places += [None] * 4
        view = _View(memory, tensor, low, high, places)
        memory.views.append(view)
        self.views.append(view)
        return view

    def tensor(self, t: Tensor) -> tuple[Any, tuple[Any, ...]]:
        """The reduction of a plain tensor."""
        t, requires_grad = t.detach(), t.requires_grad
        if t.is_meta:
            function, arguments = _pickling.reduce_meta(t)
            return function, (*arguments[:-1], requires_grad)
        item = t.element_size()
        memory = self._memory(t, t.dtype)
        low = t.storage_offset() * item if t.numel() else 0
        view = self._add(memory, t, low, low + reach(t.shape, t.stride()) * item)
        arguments = (view, view.offset, tuple(t.shape), view.stride, requires_grad, OrderedDict())
        return _pickling._rebuild_tensor_v2, arguments

    def reduce(self, obj: Any) -> Any:
        """For ``Pickler.reducer_override``."""
        if isinstance(obj, Tensor):
            own = type(obj).__reduce_ex__
            if own is Parameter.__reduce_ex__:
                return _pickling.reduce_parameter(obj)
            if own is Tensor.__reduce_ex__:
                return _pickling.with_type(obj, *self.tensor(obj))
        elif type(obj) is layout:
            return _pickling._get_layout, (f"torch.{obj._name}",)
        return NotImplemented

    def persistent_id(self, obj: Any) -> Any:
        """For ``Pickler.persistent_id``: storages are named, not pickled."""
        kind = type(obj)
        if kind is _Place:
            return obj.number
        if kind is _View:
            return ("storage", MARKS[obj.memory.dtype], obj.key, obj.memory.location, obj.numel)
        if isinstance(obj, _Storage):
            return self._storage(obj)
        return None

    def _storage(self, obj: Any) -> Any:
        flat = obj._flat
        dtype = obj.dtype if isinstance(obj, TypedStorage) else _core.uint8
        memory = self._memory(flat, dtype)
        start, size = flat.storage_offset() * flat.element_size(), flat.numel() * flat.element_size()
        if start == 0 and size == memory.nbytes - memory.nbytes % dtype.itemsize:
            memory.whole = True
            view = self._add(memory, None, 0, memory.nbytes)
        else:
            # A slice of a storage is a storage of its own in the file.
            part = _Memory(memory.flat[start : start + size], dtype, memory.location)
            part.whole = True
            self.memories[len(self.memories), "slice"] = part
            view = self._add(part, None, 0, size)
        mark = MARKS[dtype] if isinstance(obj, TypedStorage) else UntypedStorage
        return ("storage", mark, view.key, memory.location, view.numel)

    # ---- laying out ----

    def lay_out(self) -> list[Any]:
        """Fills the places: every view learns its record, and where it lies in it."""
        layouts = {id(memory): memory.pieces() for memory in self.memories.values()}
        keys: dict[tuple[int, int], str] = {}
        nothing = _Piece(0, 0)
        for view in self.views:
            pieces = layouts[id(view.memory)]
            if view.low == view.high and (len(pieces) != 1 or pieces[0].low):
                piece = nothing
            else:
                piece = pieces[bisect.bisect_right(pieces, view.low, key=_low) - 1]
            self._fill(view, piece, keys)
        return self.places

    def _fill(self, view: _View, piece: _Piece, keys: dict[tuple[int, int], str]) -> None:
        memory, item = view.memory, view.memory.dtype.itemsize
        where = (id(memory), piece.low if piece.high else -1)
        offset = (view.low - piece.low) // item
        stride = tuple(view.tensor.stride()) if view.tensor is not None else ()
        if where not in keys:
            keys[where] = str(len(keys))
            data = memory.flat[piece.low : piece.high]
            if piece.dense and view.tensor is not None:
                dense = _without_gaps(view.tensor)
                data, stride = dense._storage_bytes(), tuple(dense.stride())
            self.records.append((keys[where], data, memory.dtype))
        numel = self.records[int(keys[where])][1].numel() // item
        values = (keys[where], numel, offset, stride)
        for place, value in zip((view.key, view.numel, view.offset, view.stride), values, strict=True):
            self.places[place.number] = value


def _without_gaps(t: Tensor) -> Tensor:
    """A copy whose dimensions lie in memory in the same order."""
    order = sorted(range(t.dim()), key=lambda d: -t.stride()[d])
    stride = [1] * t.dim()
    step = 1
    for d in reversed(order):
        stride[d] = step
        step *= t.shape[d]
    out = _core.empty(tuple(t.shape), tuple(stride), t.dtype, None)
    return out.copy_(t)  # type: ignore[no-any-return]


def _pickled(obj: Any, plan: Plan, pickle_module: Any, protocol: int, persistent_id: Callable[[Any], Any]) -> bytes:
    buffer = io.BytesIO()
    own = getattr(pickle_module.Pickler, "reducer_override", None)

    class Pickler(pickle_module.Pickler):  # type: ignore[name-defined,misc]
        def persistent_id(self, obj: Any) -> Any:
            return persistent_id(obj)

        def reducer_override(self, obj: Any) -> Any:
            reduced = plan.reduce(obj)
            if reduced is NotImplemented and own is not None:
                return own(self, obj)
            return reduced

    Pickler(buffer, protocol=protocol).dump(obj)
    return buffer.getvalue()


def _host(data: Tensor) -> memoryview:
    return _pickling.memory(data.cpu())


def _write_archive(plan: Plan, pickled: bytes, writer: Writer, byteorder: bool) -> None:
    writer.record("data.pkl", pickled)
    writer.record(".format_version", b"1")
    writer.record(".storage_alignment", str(_options.save.storage_alignment).encode())
    if byteorder:
        writer.record("byteorder", sys.byteorder.encode())
    for key, data, _ in plan.records:
        if _options.local.skip_data or data.is_meta:
            writer.record(f"data/{key}", b"", hole=data.numel() if _options.local.skip_data else 0)
        else:
            writer.record(f"data/{key}", _host(data))
    writer.close()


@contextmanager
def _opened(f: Any) -> Iterator[Any]:
    """The file to write to. Errors of the operating system are told in PyTorch's class, with what is left."""
    if not isinstance(f, (str, os.PathLike)):
        yield f
        flush = getattr(f, "flush", None)
        if flush is not None:
            flush()
        return
    path = os.fspath(f)
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise RuntimeError(f"save: Parent directory {os.path.dirname(path)} does not exist.")
    try:
        with _files.replaced(path) as stream:
            yield stream
    except OSError as error:
        raise RuntimeError(
            f"save: File {path} cannot be opened or written: {error.strerror or error}. What was there is unchanged."
        ) from error


def _check(f: Any, pickle_module: Any) -> None:
    if not isinstance(f, (str, os.PathLike)):
        if not hasattr(f, "write"):
            raise AttributeError(
                "save: expected 'f' to be string, path, or a file-like object with a 'write' attribute, got "
                f"{type(f).__name__}"
            )
        if not callable(f.write):
            raise TypeError(f"save: f has no callable attribute 'write', got {type(f).__name__}")
    if pickle_module.__name__ == "dill":
        from ._modules import check_module_version_greater_or_equal

        if not check_module_version_greater_or_equal(pickle_module, (0, 3, 1), False):
            raise ValueError(f"save: dill must be 0.3.1 or later, got {pickle_module.__version__}.")


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Saves an object to a file, which PyTorch can load too.

    Tensors that share memory share it again after loading. Memory that no saved tensor looks at is left out, so a small
    slice of a large tensor makes a small file.

    Args:
        obj: anything that ``pickle`` takes: tensors, ``state_dict()``, lists and dicts of them, modules.
        f: a path, or an object with ``write``. A path is replaced as a whole at the end: whatever happens before, what
            was there stays as it was.
        pickle_module: makes the pickle; its ``Pickler`` is used.
        pickle_protocol: of the pickle.
        _use_new_zipfile_serialization: False writes the format of PyTorch before 1.6.

    Raises:
        RuntimeError: for a file that cannot be written, e.g. because the disk is full; for tensors of different dtypes
            over the same memory.
        AttributeError: if ``f`` is neither a path nor has ``write``.

    Example:
        >>> import io, mashal
        >>> buffer = io.BytesIO()
        >>> mashal.save({"weight": mashal.arange(3)}, buffer)
        >>> _ = buffer.seek(0)
        >>> mashal.load(buffer)
        {'weight': tensor([0, 1, 2])}
    """
    _check(f, pickle_module)
    if not _use_new_zipfile_serialization:
        _save_stream(obj, f, pickle_module, pickle_protocol)
        return
    plan = Plan()
    pickled = rewrite(
        _pickled(obj, plan, pickle_module, pickle_protocol, plan.persistent_id), torch_name, plan.lay_out()
    )
    with _opened(f) as stream:
        is_path = stream is not f
        folder = "archive"
        if is_path:
            name = os.path.basename(os.fspath(f))
            folder = os.path.splitext(name)[0] or "archive"
        skip = (lambda n: stream.seek(n, os.SEEK_CUR)) if is_path and stream.seekable() else None
        _write_archive(plan, pickled, Writer(stream.write, skip, folder), not _disable_byteorder_record)


def _save_stream(obj: object, f: Any, pickle_module: Any, protocol: int) -> None:
    """The format before PyTorch 1.6: pickles, then for each storage its length and bytes."""
    if _options.local.skip_data:
        raise RuntimeError("save: Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    plan = Plan()
    seen: set[type] = set()

    def persistent_id(value: Any) -> Any:
        if isinstance(value, type) and _is_module(value) and value not in seen:
            seen.add(value)
            return ("module", value, *_source(value))
        pid = plan.persistent_id(value)
        return (*pid, None) if isinstance(pid, tuple) else pid

    pickled = rewrite(_pickled(obj, plan, pickle_module, protocol, persistent_id), torch_name, plan.lay_out())
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    records = sorted(plan.records, key=lambda record: record[0])
    with _opened(f) as stream:
        for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
            stream.write(pickle.dumps(part, protocol))
        stream.write(pickled)
        stream.write(pickle.dumps([key for key, _, _ in records], protocol))
        for _, data, dtype in records:
            stream.write(struct.pack("<q", data.numel() // dtype.itemsize))
            stream.write(_host(data))


def _is_module(cls: type) -> bool:
    from ..nn import Module

    return issubclass(cls, Module)


def _source(cls: type) -> tuple[str | None, str | None]:
    """The file and text of a class, which the old format keeps to warn of changes."""
    import inspect

    try:
        return inspect.getsourcefile(cls), inspect.getsource(cls)
    except (OSError, TypeError):
        return None, None
