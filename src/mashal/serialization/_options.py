"""Settings of saving and loading: those of ``torch.utils.serialization.config``, and the state of ``skip_data``."""

from __future__ import annotations

import mmap as _mmap
import threading
from enum import Enum


class LoadEndianness(Enum):
    """The byte order assumed for a file that does not say its own."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class load:
    """How files are read."""

    mmap: bool = False
    endianness: LoadEndianness | None = None
    mmap_flags: int | None = _mmap.MAP_PRIVATE
    calculate_storage_offsets: bool = False


class save:
    """How files are written."""

    compute_crc32: bool = True
    use_pinned_memory_for_d2h: bool = False
    storage_alignment: int = 64


class _Local(threading.local):
    skip_data = False


local = _Local()


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed for files without a mark; None means little endian."""
    return load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets the byte order assumed for files without a mark.

    Raises:
        TypeError: for anything but a :class:`LoadEndianness` or None.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            "set_default_load_endianness: endianness must be a LoadEndianness or None, got "
            f"{type(endianness).__name__}. Invalid argument type in function set_default_load_endianness"
        )
    load.endianness = endianness


def get_crc32_options() -> bool:
    """Whether :func:`save` writes a checksum for each record."""
    return save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Sets whether :func:`save` writes a checksum for each record; without, unzip programs may complain."""
    save.compute_crc32 = bool(compute_crc32)


def get_default_mmap_options() -> int | None:
    """The flags of ``load(mmap=True)``: ``mmap.MAP_PRIVATE`` unless set otherwise."""
    return load.mmap_flags


class set_default_mmap_options:
    """Sets the flags of ``load(mmap=True)``, for good or as a context.

    Args:
        flags: ``mmap.MAP_PRIVATE`` (writes to the tensors stay in this process) or ``mmap.MAP_SHARED`` (they go to the
            file).

    Raises:
        ValueError: for other flags.
    """

    def __init__(self, flags: int) -> None:
        if flags not in (_mmap.MAP_PRIVATE, _mmap.MAP_SHARED):
            raise ValueError(
                f"set_default_mmap_options: flags: expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev = load.mmap_flags
        load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        load.mmap_flags = self.prev


class skip_data:
    """Inside this context :func:`save` leaves room for the data without writing it, and :func:`load` does not read it.

    The file has its full size, with holes that another program may fill; loaded tensors hold zeros.

    Args:
        materialize_fake_tensors: accepted; there are no fake tensors.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = local.skip_data
        local.skip_data = True

    def __exit__(self, *exc: object) -> None:
        local.skip_data = self._before
