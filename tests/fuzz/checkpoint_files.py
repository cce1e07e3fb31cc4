"""Damaged and hostile checkpoints: each follows from its seed.

A sound file is taken, and changed in one or several ways: bytes anywhere, fields of the zip headers, opcodes of the
pickle with their arguments (the archive around it is sound then, so that the reader gets to them), or a pickle is made
up from nothing.
"""

from __future__ import annotations

import io
import json
import pickle
import random
import struct
import zipfile
from collections import Counter, OrderedDict
from functools import cache
from typing import Any

import numpy as np

import mashal
from mashal.serialization._archive import Reader, Source, Writer
from mashal.serialization._opcodes import emit, scan
from mashal.utils import safetensors

INTERESTING = (
    0, 1, 2, 3, 7, 8, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, 2**63,
    2**64 - 1, 10**30,
)  # fmt: skip

# What an attacker would like to reach.
HOSTILE = (
    "os system", "posix system", "builtins eval", "builtins exec", "builtins __import__", "builtins getattr",
    "builtins open", "subprocess Popen", "subprocess check_output", "shutil rmtree", "importlib import_module",
    "nt system", "sys exit", "webbrowser open", "timeit timeit", "runpy run_path", "pickle loads", "marshal loads",
    "types FunctionType", "types CodeType", "operator attrgetter", "functools partial", "builtins globals",
    "torch.hub load", "torch load", "torch.jit load", "torch.serialization load", "torch._C _jit_set_profiling_mode",
    "torch.storage _load_from_bytes", "torch.utils.data.DataLoader", "numpy.lib.npyio load", "numpy load",
    "numpy.core.multiarray set_string_function", "collections.OrderedDict __init__", "torch.nn.parameter sys.modules",
    "torch.nn.parameter mashal", "torch._utils importlib.import_module", "__builtin__ eval", "copy_reg _reconstructor",
    "builtins object", "builtins type", "asyncio run", "socket socket", "ctypes CDLL", "urllib.request urlopen",
    "mashal._core from_buffer", "mashal.serialization load", "torch.Tensor __init__", "_codecs lookup",
)  # fmt: skip

KNOWN = (
    "collections OrderedDict", "collections Counter", "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_tensor_v3", "torch._utils _rebuild_tensor", "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_parameter_with_state", "torch._utils _rebuild_meta_tensor_no_storage",
    "torch._utils _rebuild_device_tensor_from_cpu_tensor", "torch._utils _rebuild_device_tensor_from_numpy",
    "torch._utils _rebuild_sparse_tensor", "torch._tensor _rebuild_from_type_v2", "torch Tensor", "torch FloatStorage",
    "torch BoolStorage", "torch ComplexDoubleStorage", "torch.storage UntypedStorage", "torch Size", "torch device",
    "torch float32", "torch int64", "torch FloatTensor", "torch LongTensor", "torch.nn.parameter Parameter",
    "torch.serialization _get_layout", "_codecs encode", "builtins bytearray", "builtins set", "builtins complex",
    "numpy.core.multiarray scalar", "numpy.core.multiarray _reconstruct", "numpy._core.numeric _frombuffer",
    "numpy dtype", "numpy ndarray", "numpy.dtypes Float64DType", "numpy float64",
)  # fmt: skip


class Tagged(mashal.Tensor):
    """A subclass of tensors, which no file may name."""


def _objects() -> list[Any]:
    x = mashal.arange(12.0).reshape(3, 4)
    parameter = mashal.nn.Parameter(mashal.ones(2, 2))
    parameter.tag = "kept"
    state = mashal.nn.Sequential(mashal.nn.Linear(3, 2), mashal.nn.BatchNorm1d(2)).state_dict()
    shared = {"a": x, "b": x[1], "c": x.t(), "d": mashal.nn.Parameter(x)}
    plain = {
        "n": None, "t": (1, (2.5, "three")), "l": [True, False, 2**70, -1], "s": {1, "x"}, "b": b"\x00\xff",
        "c": 1 + 2j, "y": bytearray(b"abc"), "o": OrderedDict(a=1), "k": Counter("aab"), "z": mashal.Size([1, 2]),
        "u": "é" * 3,
        "d": mashal.device("cpu"), "e": mashal.float16, "f": frozenset((1, 2)), "g": mashal.strided,
    }  # fmt: skip
    arrays = {"a": np.arange(6, dtype=">i4").reshape(2, 3), "f": np.float32(2), "s": np.array(["a", "bc"])}
    kinds = [mashal.ones(2, dtype=d) for d in (mashal.bfloat16, mashal.bool, mashal.complex64, mashal.int8)]
    return [
        x, shared, plain, state, arrays, kinds, [parameter, parameter], mashal.empty(2, 3, device="meta"),
        [mashal.empty(0), mashal.tensor(1)], x.untyped_storage(), list(range(300)), mashal.arange(90000)[5:9],
    ]  # fmt: skip


@cache
def corpus() -> tuple[tuple[str, bytes], ...]:
    """Sound files: (kind, bytes)."""
    files = []
    for i, obj in enumerate(_objects()):
        for protocol in (2, 4) if i % 2 else (3, 5):
            buffer = io.BytesIO()
            mashal.save(obj, buffer, pickle_protocol=protocol)
            files.append(("zip", buffer.getvalue()))
        buffer = io.BytesIO()
        mashal.save(obj, buffer, _use_new_zipfile_serialization=False)
        files.append(("stream", buffer.getvalue()))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out, zipfile.ZipFile(io.BytesIO(files[0][1])) as source:
        for info in source.infolist():
            out.writestr(info.filename, source.read(info))
    files.append(("zip", packed.getvalue()))
    tensors = {"a": mashal.arange(6.0).reshape(2, 3), "b": mashal.ones(3, dtype=mashal.int8)}
    files.append(("safetensors", safetensors.save(tensors, {"by": "test"})))
    return tuple(files)


# ---- bytes ----


def _bytes(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 30))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(out):
            out[at] = rng.randrange(256)
        elif kind == 2:
            out[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 3:
            del out[at : at + rng.randrange(1, 40)]
        elif kind == 4:
            out[at : at + 8] = rng.choice(INTERESTING).to_bytes(16, "little")[: rng.choice((1, 2, 4, 8))]
        elif rng.random() < 0.3:
            del out[at:]
        else:
            begin = rng.randrange(len(out) + 1)
            out[at:at] = out[begin : begin + rng.randrange(1, 60)]
        if not out:
            break
    return bytes(out)


def _zip_fields(rng: random.Random, data: bytes) -> bytes:
    """Numbers in the headers of an archive."""
    out = bytearray(data)
    starts = {b"PK\1\2": 46, b"PK\3\4": 30, b"PK\5\6": 22, b"PK\6\6": 56, b"PK\6\7": 20, b"PK\7\x08": 16}
    places = [
        (i, size)
        for mark, size in starts.items()
        for i in range(len(data))
        if data.startswith(mark, i)
    ] or [(0, 4)]  # fmt: skip
    for _ in range(rng.randrange(1, 4)):
        at, size = rng.choice(places)
        at += rng.randrange(4, size) if size > 4 else 0
        width = rng.choice((1, 2, 4, 8))
        value = rng.choice(INTERESTING) if rng.random() < 0.7 else rng.randrange(len(data) + 10)
        out[at : at + width] = (value % 256**width).to_bytes(width, "little")
    return bytes(out)


# ---- pickles ----


def _global(name: str) -> bytes:
    module, _, attribute = name.rpartition(" ") if " " in name else name.rpartition(".")
    return f"c{module}\n{attribute}\n".encode()


def _storage(rng: random.Random) -> bytes:
    key = rng.choice(("0", "1", "2", "x", "../0", "0" * 50))
    kind = rng.choice((KNOWN[13], KNOWN[14], KNOWN[15], "torch UntypedStorage", rng.choice(KNOWN)))
    numel = rng.choice((0, 1, 4, 12, *INTERESTING))
    location = rng.choice(("cpu", "cpu", "cpu", "meta", "cuda:0", "", "x" * 90))
    tail = b"N" if rng.random() < 0.3 else b""
    return b"(" + emit("storage") + _global(kind) + emit(key) + emit(location) + emit(numel) + tail + b"tQ"


def _value(rng: random.Random, depth: int = 0) -> bytes:
    """Opcodes that push one value."""
    kind = rng.randrange(16 if depth < 4 else 9)
    if kind == 0:
        return emit(rng.choice(INTERESTING))
    if kind == 1:
        return rng.choice((b"N", b"\x88", b"\x89", b")", b"]", b"}", b"\x8f"))
    if kind == 2:
        return emit(rng.choice(("cpu", "storage", "latin1", "torch.strided", "f8", "O8", "C", "", "__class__")))
    if kind == 3:
        return b"G" + struct.pack(">d", rng.choice((0.0, 1e300, float("nan"), -1.5)))
    if kind == 4:
        return _global(rng.choice(KNOWN))
    if kind == 5:
        return _storage(rng)
    if kind == 6:
        return b"h" + bytes((rng.randrange(12),))
    if kind == 7:
        size = rng.choice((0, 3, 8, 24, 255))
        return b"C" + bytes((size,)) + rng.randbytes(size)
    if kind == 8:
        return b"\x8a\x03" + rng.randbytes(3)
    parts = [_value(rng, depth + 1) for _ in range(rng.randrange(5))]
    if kind == 9:
        return b"(" + b"".join(parts) + b"t"
    if kind == 10:
        return b"](" + b"".join(parts) + b"e"
    if kind == 11:
        return b"}(" + b"".join(parts) + b"u"
    if kind == 12:
        return _tensor(rng)
    return _global(rng.choice(KNOWN)) + b"(" + b"".join(parts) + b"t" + rng.choice((b"R", b"R", b"\x81"))


def _tensor(rng: random.Random) -> bytes:
    dims = rng.choice((0, 1, 2, 2, 3, 9))
    number = lambda: emit(rng.choice((0, 1, 2, 3, 4, *INTERESTING)))  # noqa: E731
    sizes, strides = (b"(" + b"".join(number() for _ in range(dims)) + b"t" for _ in range(2))
    hooks = _global("collections OrderedDict") + b")R"
    return _global(rng.choice(KNOWN[2:5])) + b"(" + _storage(rng) + number() + sizes + strides + b"\x89" + hooks + b"tR"


def _attack(rng: random.Random) -> bytes:
    """Opcodes that call something."""
    name = rng.choice(HOSTILE)
    argument = rng.choice((emit("touch /tmp/owned"), emit("1+1"), emit("os"), _value(rng)))
    kind = rng.randrange(6)
    if kind == 0:
        return _global(name) + b"(" + argument + b"tR"
    if kind == 1:
        module, _, attribute = name.rpartition(" ")
        return b"(" + f"i{module}\n{attribute}\n".encode()
    if kind == 2:
        module, _, attribute = name.rpartition(" ")
        return emit(module) + emit(attribute) + b"\x93(" + argument + b"tR"
    if kind == 3:
        return _global("collections OrderedDict") + b")R}(" + emit("__class__") + _global(rng.choice(KNOWN)) + b"ub"
    if kind == 4:
        return b"(" + _global(name) + argument + b"o"
    return _global(name) + b"(" + argument + b"t\x81}b"


def _deep(rng: random.Random) -> bytes:
    """Little text, much work: deep nesting, tuples that hold themselves twice, long runs of marks."""
    kind = rng.randrange(5)
    n = rng.choice((100, 1000, 20000))
    if kind == 0:
        return b"]" * n + b"a" * (n - 1)
    if kind == 1:
        return b"}" + b")" + b"2\x86" * 60 + b"Ns"
    if kind == 2:
        return b"(" * n + b"t" * n
    if kind == 3:
        return b"\x8f(" + b")" + b"\x85" * n + b"\x90"
    return b"]" + b"2a" * 50


def _ops(rng: random.Random, data: bytes) -> bytes:
    """Changes of the opcodes of a pickle."""
    try:
        parts = [data[at:stop] for _, at, _, stop in scan(data)]
    except (pickle.UnpicklingError, EOFError):
        return _bytes(rng, data)
    for _ in range(rng.choice((1, 1, 2, 4, 10))):
        at = rng.randrange(len(parts))
        kind = rng.randrange(10)
        op = parts[at][:1]
        if kind == 0:
            del parts[at]
        elif kind == 1:
            parts.insert(at, rng.choice(parts))
        elif kind == 2:
            other = rng.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        elif kind == 3:
            parts[at] = bytes((rng.randrange(256),)) + parts[at][1:]
        elif kind == 4:
            parts.insert(at, _value(rng))
        elif kind == 5:
            parts.insert(at, _attack(rng))
        elif kind == 6 and op == b"c":
            parts[at] = _global(rng.choice(KNOWN if rng.random() < 0.6 else HOSTILE))
        elif kind == 7 and op in b"KMJ\x8a":
            parts[at] = emit(rng.choice(INTERESTING))
        elif kind == 8:
            parts.insert(at, _deep(rng))
        else:
            parts[at] = parts[at][:1] + rng.randbytes(max(len(parts[at]) - 1, 0))
        if not parts:
            break
    return b"".join(parts)


def _made_up(rng: random.Random) -> bytes:
    head = b"\x80" + bytes((rng.choice((2, 2, 4, 5)),))
    body = [rng.choice((_value, _value, _tensor, _attack, _deep))(rng) for _ in range(rng.randrange(1, 5))]
    joined = b"".join(part + rng.choice((b"", b"q" + bytes((i,)), b"\x94", b"0", b"b")) for i, part in enumerate(body))
    return head + joined + b"."


def _with_pickle(data: bytes, change: Any) -> bytes:
    """An archive with another ``data.pkl``, sound otherwise."""
    reader = Reader(Source(io.BytesIO(data)))
    out = io.BytesIO()
    writer = Writer(out.write)
    for name in reader.names():
        if name in ("version", ".data/serialization_id"):
            continue
        record = reader.read(name)
        writer.record(name, change(record) if name == "data.pkl" else record)
    writer.close()
    return out.getvalue()


def _stream(rng: random.Random, data: bytes) -> bytes:
    """The old format: its main pickle is changed."""
    at = 0
    for _ in range(3):
        at += max(stop for *_, stop in scan(data[at:]))
    end = at + max(stop for *_, stop in scan(data[at:]))
    changed = _ops(rng, data[at:end]) if rng.random() < 0.7 else _made_up(rng)
    return data[:at] + changed + data[end:]


def _json(rng: random.Random, data: bytes) -> bytes:
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    for _ in range(rng.randrange(1, 4)):
        entry = header.get(rng.choice(("a", "b")))
        value = rng.choice((*INTERESTING, -1, 1.5, None, "F32", "Q9", [], {}, [[[]]], [2, 3], [0, 12]))
        if isinstance(entry, dict) and rng.random() < 0.8:
            entry[rng.choice(("dtype", "shape", "data_offsets"))] = value
        else:
            header[rng.choice(("a", "b", "__metadata__", "z"))] = value
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def draw(seed: str) -> tuple[str, bytes]:
    """The file of a seed: (kind, bytes)."""
    rng = random.Random(seed)
    kind, data = rng.choice(corpus())
    way = rng.randrange(10)
    if way < 2:
        return kind, _bytes(rng, data)
    if kind == "safetensors":
        return kind, _json(rng, data)
    if kind == "stream":
        return kind, _stream(rng, data)
    if way < 4:
        return kind, _zip_fields(rng, data)
    if way < 8:
        return kind, _with_pickle(data, lambda old: _ops(rng, old))
    return kind, _with_pickle(data, lambda old: _made_up(rng))
