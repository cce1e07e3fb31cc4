"""The zip archives of checkpoints: written as PyTorch writes them, read with every claim checked.

Records are stored uncompressed, each under one folder, their bytes aligned to 64 so that they can be mapped. Sizes and
checksums follow the bytes, in a data descriptor: a writer needs only ``write``.
"""

from __future__ import annotations

import hashlib
import os
import queue
import struct
import threading
import zlib
from collections.abc import Callable
from typing import Any

from . import _options

_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END = struct.Struct("<IHHHHIIH")
_END64 = struct.Struct("<IQHHIIQQQQ")
_LOCATOR64 = struct.Struct("<IIQI")
_LIMIT = 0xFFFFFFFF
_CHUNK = 4 << 20  # a piece stays in the cache between its checksum and its copy
_FLAGS_UTF8, _FLAGS_DESCRIPTOR = 0x0800, 0x0008
# Deflate cannot do better: a record that claims to is a bomb.
_MOST_DEFLATED = 1032


class _Checksum:
    """The CRC-32 of chunks: that of large records is computed beside the writing or reading, by another thread."""

    def __init__(self, size: int) -> None:
        self._crc = 0
        self._chunks: queue.SimpleQueue[memoryview | None] = queue.SimpleQueue()
        self._thread = None
        if size > 2 * _CHUNK:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (chunk := self._chunks.get()) is not None:
            self._crc = zlib.crc32(chunk, self._crc)

    def add(self, chunk: memoryview) -> None:
        if self._thread is None:
            self._crc = zlib.crc32(chunk, self._crc)
        else:
            self._chunks.put(chunk)

    def value(self) -> int:
        if self._thread is not None:
            self._chunks.put(None)
            self._thread.join()
        return self._crc


class Writer:
    """Writes records one after another.

    Args:
        write: takes bytes or a memoryview.
        skip: leaves a hole of so many bytes; None where that is impossible (zeros are written).
        folder: the name of the archive inside of itself.
    """

    def __init__(
        self, write: Callable[[Any], Any], skip: Callable[[int], Any] | None = None, folder: str = "archive"
    ) -> None:
        self._write_bytes = write
        self._skip = skip
        self._folder = folder
        self._position = 0
        self._central: list[bytes] = []
        self._digest = hashlib.sha256()
        self._align = max(1, int(_options.save.storage_alignment))

    def _write(self, data: Any) -> None:
        """Files without buffering may take less than they are given."""
        view = memoryview(data)
        self._position += view.nbytes
        written = self._write_bytes(view)
        while isinstance(written, int) and 0 <= written < view.nbytes:
            view = view[written:]
            written = self._write_bytes(view)

    def record(self, name: str, data: Any, hole: int | None = None) -> None:
        """One record; with ``hole``, room for so many bytes instead of ``data``."""
        path = f"{self._folder}/{name}".encode()
        size = memoryview(data).nbytes if hole is None else hole
        start = self._position
        extra = b""
        if size >= _LIMIT or start >= _LIMIT:
            sizes = struct.pack("<QQ", size, size) if size >= _LIMIT else b""
            offset = struct.pack("<Q", start) if start >= _LIMIT else b""
            extra = struct.pack("<HH", 1, len(sizes + offset)) + sizes + offset
        padding = -(start + _LOCAL.size + len(path) + len(extra) + 4) % self._align
        filler = extra + struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        flags = _FLAGS_UTF8 | (_FLAGS_DESCRIPTOR if size else 0)
        self._write(_LOCAL.pack(0x04034B50, 0, flags, 0, 0, 0, 0, 0, 0, len(path), len(filler)) + path + filler)
        crc = self._hole(size) if hole is not None else self._bytes(memoryview(data).cast("B"))
        if size:
            form = "<IIQQ" if size >= _LIMIT or start >= _LIMIT else "<IIII"
            self._write(struct.pack(form, 0x08074B50, crc, size, size))
        short, where = min(size, _LIMIT), min(start, _LIMIT)
        entry = _CENTRAL.pack(
            0x02014B50, 0, 0, flags, 0, 0, 0, crc, short, short, len(path), len(extra), 0, 0, 0, 0, where
        )
        self._central.append(entry + path + extra)
        self._digest.update(path + struct.pack("<IQ", crc, size))

    def _bytes(self, view: memoryview) -> int:
        checksum = _Checksum(view.nbytes) if _options.save.compute_crc32 else None
        try:
            for i in range(0, view.nbytes, _CHUNK):
                chunk = view[i : i + _CHUNK]
                if checksum is not None:
                    checksum.add(chunk)
                self._write(chunk)
        finally:  # the memory must stay until the other thread has seen it
            crc = checksum.value() if checksum is not None else 0
        return crc

    def _hole(self, size: int) -> int:
        if self._skip is not None and size:
            self._skip(size - 1)
            self._position += size - 1
            self._write(b"\0")
            return 0
        zeros = bytes(min(size, _CHUNK))
        for i in range(0, size, _CHUNK):
            self._write(memoryview(zeros)[: size - i])
        return 0

    def close(self) -> None:
        """The last records and the table of contents."""
        self.record("version", b"3\n")
        # Equal content gives an equal number.
        self.record(".data/serialization_id", b"%040d" % (int.from_bytes(self._digest.digest()) % 10**40))
        table, start, count = b"".join(self._central), self._position, len(self._central)
        end64 = start + len(table)
        self._write(
            table
            + _END64.pack(0x06064B50, _END64.size - 12, 0x031E, 45, 0, 0, count, count, len(table), start)
            + _LOCATOR64.pack(0x07064B50, 0, end64, 1)
            + _END.pack(
                0x06054B50, 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), min(len(table), _LIMIT), min(start, _LIMIT), 0
            )
        )


class Source:
    """The bytes of a file or a file object, from its present position to its end."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.name = str(getattr(stream, "name", "") or f"a {type(stream).__name__}")
        self.base = stream.tell()
        self.size = stream.seek(0, os.SEEK_END)
        if not isinstance(self.size, int):
            self.size = stream.tell()
        self.size -= self.base
        stream.seek(self.base)

    def read_into(self, offset: int, out: memoryview) -> None:
        """Fills ``out`` from a position.

        Raises:
            RuntimeError: at the end of the file.
        """
        self._stream.seek(self.base + offset)
        done = 0
        into = getattr(self._stream, "readinto", None)
        while done < out.nbytes:
            if into is not None:
                n = into(out[done:])
            else:
                data = self._stream.read(out.nbytes - done)
                n = len(data)
                out[done : done + n] = data
            if not n:
                raise RuntimeError(f"load: {self.name} ended early: {offset + done} bytes. It is truncated.")
            done += n

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0 or offset + size > self.size:
            raise RuntimeError(
                f"load: {self.name} has {self.size} bytes, but a record is said to be at {offset}, {size} bytes long. "
                "The file is truncated or corrupted."
            )
        out = bytearray(size)
        self.read_into(offset, memoryview(out))
        return bytes(out)


class Record:
    """What the table of contents says about a record."""

    __slots__ = ("crc", "header", "method", "name", "packed", "size", "start")

    def __init__(self, name: str, method: int, crc: int, packed: int, size: int, header: int) -> None:
        self.name, self.method, self.crc = name, method, crc
        self.packed, self.size, self.header = packed, size, header
        self.start = -1  # of the bytes: known when the local header has been read


class Reader:
    """The records of an archive.

    Raises:
        RuntimeError: for a file that is truncated or corrupted, or whose records overlap.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._records: dict[str, Record] = {}
        self._read_table()
        version = self.text("version") if "version" in self else self.text(".data/version")
        if version is not None and (not version.strip().isdigit() or not 1 <= int(version.strip()[:9]) <= 10):
            raise RuntimeError(f"load: {source.name} has format version {version[:20]!r}, known are 1 to 10.")

    def _corrupt(self, what: str) -> RuntimeError:
        return RuntimeError(
            f"load: failed reading zip archive {self.source.name}: {what}. The file is truncated or corrupted: was it "
            "downloaded or copied to its end?"
        )

    def _read_table(self) -> None:
        size = self.source.size
        tail = self.source.read(max(0, size - 66000), min(size, 66000))
        at = tail.rfind(b"PK\5\6")
        if at < 0 or at + _END.size > len(tail):
            raise self._corrupt("failed finding central directory")
        _, _, _, _, count, length, start, _ = _END.unpack_from(tail, at)
        end = size - len(tail) + at
        if at >= _LOCATOR64.size and tail[at - _LOCATOR64.size : at - _LOCATOR64.size + 4] == b"PK\6\7":
            where = _LOCATOR64.unpack_from(tail, at - _LOCATOR64.size)[2]
            if where + _END64.size > size:
                raise self._corrupt("its 64-bit directory lies outside")
            fields = _END64.unpack(self.source.read(where, _END64.size))
            if fields[0] != 0x06064B50:
                raise self._corrupt("invalid 64-bit directory")
            count, length, start = fields[7:10]
            end = where
        if start + length > end or count * _CENTRAL.size > length:
            raise self._corrupt("invalid central directory")
        table = self.source.read(start, length)
        folder, entries, position = None, [], 0
        for _ in range(count):
            entry, position = self._entry(table, position)
            root, slash, name = entry.name.partition("/")
            folder = root if folder is None else folder
            if not slash or root != folder:
                raise self._corrupt(f"record {entry.name[:80]!r} is not in folder {folder[:80]!r}")
            if name in self._records:
                raise self._corrupt(f"two records are named {name[:80]!r}")
            entry.name = name
            self._records[name] = entry
            entries.append(entry)
        # One stretch of bytes must not serve as several records: that is how a small file becomes a huge one.
        entries.sort(key=lambda e: e.header)
        for entry, following in zip(entries, [*entries[1:], None], strict=True):
            limit = start if following is None else following.header
            if entry.header + _LOCAL.size + entry.packed > limit:
                raise self._corrupt(f"record {entry.name[:80]!r} overlaps what follows it")

    def _entry(self, table: bytes, at: int) -> tuple[Record, int]:
        if at + _CENTRAL.size > len(table):
            raise self._corrupt("invalid central directory")
        fields = _CENTRAL.unpack_from(table, at)
        signature, flags, method, crc, packed, size, n_name, n_extra, n_comment, header = (
            fields[i] for i in (0, 3, 4, 7, 8, 9, 10, 11, 12, 16)
        )
        at += _CENTRAL.size
        name, extra = table[at : at + n_name], table[at + n_name : at + n_name + n_extra]
        at += n_name + n_extra + n_comment
        if signature != 0x02014B50 or at > len(table):
            raise self._corrupt("invalid central directory")
        while len(extra) >= 4:
            kind, length = struct.unpack_from("<HH", extra)
            if kind == 1:
                values = [v for (v,) in struct.iter_unpack("<Q", extra[4 : 4 + length // 8 * 8])]
                try:
                    size = values.pop(0) if size == _LIMIT else size
                    packed = values.pop(0) if packed == _LIMIT else packed
                    header = values.pop(0) if header == _LIMIT else header
                except IndexError:
                    raise self._corrupt("invalid 64-bit sizes") from None
            extra = extra[4 + length :]
        if flags & 1 or method not in (0, 8):
            raise self._corrupt(f"record {name[:80]!r} is encrypted or compressed in an unknown way")
        if size != packed if method == 0 else size > packed * _MOST_DEFLATED + 64:
            raise self._corrupt(f"record {name[:80]!r} claims {size} bytes from {packed}")
        try:
            text = name.decode()
        except UnicodeDecodeError:
            raise self._corrupt("the name of a record is not UTF-8") from None
        return Record(text, method, crc, packed, size, header), at

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def names(self) -> list[str]:
        return list(self._records)

    def find(self, name: str) -> Record:
        """The record of a name, with the place of its bytes.

        Raises:
            RuntimeError: if there is none.
        """
        record = self._records.get(name)
        if record is None:
            raise RuntimeError(
                f"load: file not found: {name[:80]!r} is missing in {self.source.name}. The file is corrupted, or no "
                "checkpoint."
            )
        if record.start < 0:
            fields = _LOCAL.unpack(self.source.read(record.header, _LOCAL.size))
            start = record.header + _LOCAL.size + fields[9] + fields[10]
            if fields[0] != 0x04034B50 or start + record.packed > self.source.size:
                raise self._corrupt(f"invalid header of record {name[:80]!r}")
            record.start = start
        return record

    def _check(self, record: Record, crc: int) -> None:
        # 0: the file was written without checksums.
        if record.crc not in (0, crc):
            raise self._corrupt(
                f"the checksum of record {record.name[:80]!r} is wrong, as it is after writing through MAP_SHARED"
            )

    def read(self, name: str) -> bytes:
        """All bytes of a record."""
        record = self.find(name)
        data = self.source.read(record.start, record.packed)
        if record.method == 8:
            data = self._inflate(record, data)
        self._check(record, zlib.crc32(data))
        return data

    def _inflate(self, record: Record, data: bytes) -> bytes:
        stream = zlib.decompressobj(-15)
        try:
            out = stream.decompress(data, record.size + 1)
        except zlib.error as error:
            raise self._corrupt(f"record {record.name[:80]!r}: {error}") from None
        if len(out) != record.size:
            raise self._corrupt(f"record {record.name[:80]!r} does not have the {record.size} bytes that it claims")
        return out

    def read_into(self, name: str, out: memoryview) -> None:
        """The bytes of a record, whose size has been compared already, straight into memory."""
        record = self.find(name)
        if record.method == 8:
            out[:] = self.read(name)
            return
        checksum = _Checksum(out.nbytes) if record.crc else None
        try:
            for i in range(0, out.nbytes, _CHUNK):
                chunk = out[i : i + _CHUNK]
                self.source.read_into(record.start + i, chunk)
                if checksum is not None:
                    checksum.add(chunk)
        finally:
            crc = checksum.value() if checksum is not None else 0
        self._check(record, crc)

    def text(self, name: str) -> str | None:
        """A small record as text; None if there is none."""
        if name not in self or self.find(name).size > 4096:
            return None
        return self.read(name).decode("ascii", "replace")
