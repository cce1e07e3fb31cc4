"""Pipes over files."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, _length
from .utils import IterableWrapperIterDataPipe

__all__ = ["FileListerIterDataPipe", "FileOpenerIterDataPipe", "StreamReaderIterDataPipe"]


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe[str]):
    """Paths of the files in folders.

    Args:
        root: a folder, several, or a pipe of them.
        masks: patterns for names; any of them, or all files if there is none.
        recursive: also folders within.
        abspath: absolute paths.
        non_deterministic: in the order of the file system instead of by name.
        length: what ``len`` says; -1 for nothing.
    """

    def __init__(
        self,
        root: Any = ".",
        masks: str | Sequence[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        if isinstance(root, str):
            root = [root]
        self.datapipe = root if isinstance(root, IterDataPipe) else IterableWrapperIterDataPipe(root)
        self.masks = [masks] if isinstance(masks, str) else list(masks)
        self.recursive = recursive
        self.abspath = abspath
        self.non_deterministic = non_deterministic
        self.length = length

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            base = os.path.abspath(root) if self.abspath else root
            for folder, folders, names in os.walk(base):
                if not self.non_deterministic:
                    folders.sort()
                    names.sort()
                if not self.recursive:
                    folders.clear()
                for name in names:
                    if not any(self.masks) or any(fnmatch.fnmatch(name, mask) for mask in self.masks):
                        yield os.path.join(folder, name)

    def __len__(self) -> int:
        if self.length < 0:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(IterDataPipe[Any]):
    """(path, open file) for each path.

    Args:
        datapipe: the paths.
        mode, encoding: as for ``open``.
        length: what ``len`` says; -1 for nothing.
    """

    def __init__(self, datapipe: Any, mode: str = "r", encoding: str | None = None, length: int = -1) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        self.datapipe = datapipe
        self.mode = mode if "r" in mode else f"r{mode}"
        self.encoding = encoding
        self.length = length

    def __iter__(self) -> Iterator[Any]:
        for path in self.datapipe:
            yield path, open(path, self.mode, encoding=self.encoding)  # noqa: SIM115 - the reader closes it

    def __len__(self) -> int:
        if self.length < 0:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[Any]):
    """(path, contents) for each (path, open file), which is closed at its end.

    Args:
        datapipe: the files.
        chunk: bytes of each piece; None for all at once.
    """

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe = datapipe
        self.chunk = chunk

    def __iter__(self) -> Iterator[Any]:
        for path, file in self.datapipe:
            with file:
                while data := file.read(self.chunk) if self.chunk else file.read():
                    yield path, data

    def __len__(self) -> int:
        return _length(self, self.datapipe)
