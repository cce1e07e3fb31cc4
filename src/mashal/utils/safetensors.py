"""The safetensors format: a table in JSON, then the bytes of the tensors. Nothing in such a file can run.

The functions are those of the package ``safetensors.torch``, which is not needed here (and which works as it is where
``torch`` is mashal).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from .. import _core, _files, _pickling
from .._core import Tensor

__all__ = ["SafetensorError", "load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]

# In the order of the format's own list: files have the last first, so that large elements are aligned.
_DTYPES = {
    "BOOL": _core.bool,
    "U8": _core.uint8,
    "I8": _core.int8,
    "I16": _core.int16,
    "F16": _core.float16,
    "BF16": _core.bfloat16,
    "I32": _core.int32,
    "F32": _core.float32,
    "C64": _core.complex64,
    "F64": _core.float64,
    "I64": _core.int64,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_MAX_HEADER = 100_000_000


class SafetensorError(RuntimeError):
    """A file is not in the format, or damaged."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise SafetensorError("safetensors: a name occurs twice in the header.")
    return found


class _Entry:
    """What the header says about a tensor; the bytes are counted from the end of the header."""

    __slots__ = ("begin", "dtype", "end", "shape")

    def __init__(self, name: str, info: Any, available: int) -> None:
        try:
            dtype, shape, (begin, end) = info["dtype"], info["shape"], info["data_offsets"]
        except (KeyError, TypeError, ValueError):
            raise SafetensorError(f"safetensors: the header says nothing sensible about {name[:80]!r}.") from None
        if not isinstance(dtype, str) or dtype not in _DTYPES:
            raise SafetensorError(f"safetensors: {name[:80]!r} has dtype {dtype!r:.40}; known: {', '.join(_DTYPES)}.")
        self.dtype = _DTYPES[dtype]
        numbers = [*shape, begin, end] if isinstance(shape, list) else [None]
        if any(type(n) is not int or not 0 <= n < 1 << 62 for n in numbers):
            raise SafetensorError(f"safetensors: {name[:80]!r} has an invalid shape or place.")
        size = self.dtype.itemsize
        for n in shape:
            size *= n
        if end - begin != size or end > available:
            raise SafetensorError(
                f"safetensors: {name[:80]!r} needs {size} bytes, but lies at {begin} to {end} of {available}. "
                "The file is truncated or corrupted."
            )
        self.shape, self.begin, self.end = tuple(shape), begin, end


class _Table:
    """The header of a file, checked, over its bytes."""

    def __init__(self, data: memoryview) -> None:
        length = int.from_bytes(data[:8], "little")
        if data.nbytes < 8 or length > min(_MAX_HEADER, data.nbytes - 8):
            raise SafetensorError(f"safetensors: invalid header of {length} bytes in a file of {data.nbytes}.")
        try:
            header = json.loads(str(data[8 : 8 + length], "utf-8"), object_pairs_hook=_unique)
        except (ValueError, RecursionError) as error:
            raise SafetensorError(f"safetensors: invalid header: {error}") from None
        if not isinstance(header, dict):
            raise SafetensorError("safetensors: invalid header: it is no table.")
        self.data = data[8 + length :]
        self.metadata = header.pop("__metadata__", None)
        if self.metadata is not None and not (
            isinstance(self.metadata, dict) and all(isinstance(v, str) for v in self.metadata.values())
        ):
            raise SafetensorError("safetensors: the metadata must be a table of strings.")
        self.entries = {name: _Entry(name, info, self.data.nbytes) for name, info in header.items()}
        position = 0
        for entry in sorted(self.entries.values(), key=lambda e: (e.begin, e.end)):
            if entry.begin != position:
                raise SafetensorError(
                    "safetensors: the tensors do not lie one behind the other. The file is corrupted."
                )
            position = entry.end
        if position != self.data.nbytes:
            raise SafetensorError(f"safetensors: {self.data.nbytes - position} bytes belong to no tensor.")

    def tensor(self, name: str) -> Tensor:
        entry = self.entries.get(name)
        if entry is None:
            raise SafetensorError(f"safetensors: the file does not contain tensor {name[:80]!r}.")
        if entry.begin == entry.end:
            return _core.empty(entry.shape, None, entry.dtype, None)  # type: ignore[no-any-return]
        flat = _core.from_buffer(self.data[entry.begin : entry.end])
        if flat.data_ptr() % entry.dtype.itemsize:
            flat = flat.clone()
        return flat.view(entry.dtype).view(entry.shape)  # type: ignore[no-any-return]


# ---- reading ----


class safe_open:
    """A file whose tensors are read one by one: a context with ``keys``, ``metadata``, ``get_tensor``, ``get_slice``.

    Args:
        framework: accepted for PyTorch's sake: tensors are mashal's.
        device: where the tensors go. On the CPU their memory is the file's, read when it is used.
    """

    def __init__(self, filename: Any, framework: str = "pt", device: Any = "cpu", *, backend: str = "mmap") -> None:
        if framework not in ("pt", "torch", "pytorch"):
            raise SafetensorError(f"safe_open: framework must be 'pt', got {framework!r}.")
        if not os.path.exists(filename):
            raise FileNotFoundError(f"No such file or directory: {os.fspath(filename)}")
        self._device = _core.device(device)
        self._table = _Table(memoryview(_files.map_file(filename, shared=False)))

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        return sorted(self._table.entries)

    def offset_keys(self) -> list[str]:
        """The names of the tensors in the order of the file."""
        return sorted(self._table.entries, key=lambda name: self._table.entries[name].begin)

    def metadata(self) -> dict[str, str] | None:
        """What :func:`save_file` was given."""
        return self._table.metadata

    def get_tensor(self, name: str) -> Tensor:
        """One tensor."""
        return self._table.tensor(name).to(self._device)  # type: ignore[no-any-return]

    def get_tensors(self) -> dict[str, Tensor]:
        """All tensors by name."""
        return {name: self.get_tensor(name) for name in self.offset_keys()}

    def get_slice(self, name: str) -> _Slice:
        """A tensor of which only the part that is indexed is read."""
        return _Slice(self._table, name, self._device)


class _Slice:
    def __init__(self, table: _Table, name: str, device: Any) -> None:
        self._tensor, self._device = table.tensor(name), device

    def get_shape(self) -> list[int]:
        return list(self._tensor.shape)

    def get_dtype(self) -> str:
        return _NAMES[self._tensor.dtype]

    def __getitem__(self, index: Any) -> Tensor:
        return self._tensor[index].clone().to(self._device)  # type: ignore[no-any-return]


def load_file(filename: Any, device: Any = "cpu", *, backend: str = "mmap") -> dict[str, Tensor]:
    """All tensors of a file by name. On the CPU their memory is the file's, read when it is used.

    Raises:
        SafetensorError: for a file that is truncated or corrupted.
        FileNotFoundError: if there is none.
    """
    with safe_open(filename, "pt", device, backend=backend) as file:
        return file.get_tensors()


def load(data: bytes) -> dict[str, Tensor]:
    """All tensors of a file whose bytes are given, by name.

    Example:
        >>> import mashal
        >>> from mashal.utils import safetensors
        >>> safetensors.load(safetensors.save({"a": mashal.ones(2)}))
        {'a': tensor([1., 1.])}
    """
    table = _Table(memoryview(bytearray(data)))
    return {name: table.tensor(name) for name in table.entries}


# ---- writing ----


def _shared(tensors: dict[str, Tensor]) -> list[set[str]]:
    """Groups of names whose tensors overlap in memory."""
    areas = sorted(
        (t.data_ptr(), t.data_ptr() + t.numel() * t.element_size(), name)
        for name, t in tensors.items()
        if t.numel() and not t.is_meta
    )
    groups: list[set[str]] = []
    reached = 0
    for begin, end, name in areas:
        if groups and begin < reached:
            groups[-1].add(name)
        else:
            groups.append({name})
        reached = max(reached, end)
    return [group for group in groups if len(group) > 1]


def _parts(tensors: dict[str, Tensor], metadata: dict[str, str] | None) -> Iterator[Any]:
    if not isinstance(tensors, dict):
        raise ValueError(f"safetensors: expected a dict of names and tensors, got {type(tensors).__name__}.")
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise ValueError(f"safetensors: {name!r} must be a tensor, got {type(t).__name__}.")
        if not t.is_contiguous():
            raise ValueError(
                f"safetensors: You are trying to save a non contiguous tensor: {name!r}. Call contiguous() on it first."
            )
        if t.dtype not in _NAMES:
            raise ValueError(f"safetensors: {name!r} has dtype {t.dtype}, which the format does not know.")
    shared = _shared(tensors)
    if shared:
        raise RuntimeError(
            f"safetensors: Some tensors share memory, this will lead to duplicate memory on disk: {shared}. Use "
            "save_model, or clone() all but one."
        )
    rank = {dtype: i for i, dtype in enumerate(_NAMES)}
    order = sorted(tensors, key=lambda name: (-rank[tensors[name].dtype], name))
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    position = 0
    for name in order:
        t = tensors[name]
        end = position + t.numel() * t.element_size()
        header[name] = {"dtype": _NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [position, end]}
        position = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        yield _pickling.memory(tensors[name].detach().cpu())


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a file; see :func:`save_file`."""
    return b"".join(_parts(tensors, metadata))


def save_file(tensors: dict[str, Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Writes contiguous tensors by name to a file, which takes the place of ``filename`` as a whole at the end.

    Raises:
        ValueError: for tensors that are not contiguous, or have a dtype that the format does not know.
        RuntimeError: for tensors that share memory.
    """
    parts = _parts(tensors, metadata)
    head = next(parts)
    with _files.replaced(filename) as stream:
        stream.write(head)
        for part in parts:
            stream.write(part)


def _aliases(state: dict[str, Tensor], preferred: Any = ()) -> dict[str, str]:
    """The names that are another name's tensor: which one is kept for each."""
    kept: dict[Any, str] = {}
    dropped = {}
    for name in sorted(state, key=lambda n: (n not in preferred, n)):
        t = state[name]
        key = (t.data_ptr(), tuple(t.shape), t.stride(), t.dtype)
        if t.numel() and key in kept:
            dropped[name] = kept[key]
        kept.setdefault(key, name)
    return dropped


def save_model(
    model: Any, filename: Any, metadata: dict[str, str] | None = None, force_contiguous: bool = True
) -> None:
    """Writes the state of a module. Parameters that are one tensor under several names are written once."""
    state = dict(model.state_dict())
    metadata = dict(metadata or {})
    for name, other in _aliases(state).items():
        metadata.setdefault(name, other)
        del state[name]
    if force_contiguous:
        state = {name: t.contiguous() for name, t in state.items()}
    save_file(state, filename, metadata or None)


def load_model(
    model: Any, filename: Any, strict: bool = True, device: Any = "cpu", *, backend: str = "mmap"
) -> tuple[list[str], list[str]]:
    """Fills a module from a file of :func:`save_model`.

    Returns:
        The names that the file lacks, and those that the module does not know.

    Raises:
        RuntimeError: with ``strict``, if there are any.
    """
    state = load_file(filename, device, backend=backend)
    aliases = _aliases(dict(model.state_dict()), state)
    missing, unexpected = model.load_state_dict(state, strict=False)
    missing = [name for name in missing if name not in aliases]
    if strict and (missing or unexpected):
        lines = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        if missing:
            lines.append(f"    Missing key(s) in state_dict: {', '.join(map(repr, sorted(missing)))}")
        if unexpected:
            lines.append(f"    Unexpected key(s) in state_dict: {', '.join(map(repr, sorted(unexpected)))}")
        raise RuntimeError("\n".join(lines))
    return missing, list(unexpected)
