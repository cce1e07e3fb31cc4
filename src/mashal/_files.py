"""Files in memory, and files that are replaced as a whole."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
from collections.abc import Iterator
from typing import IO, Any


def map_file(path: Any, shared: bool, nbytes: int = 0) -> Any:
    """A writable map of the first bytes of a file, of all of it for 0. Writes reach the file only if ``shared``."""
    name = os.fspath(path)
    try:
        fd = os.open(name, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o666)
    except OSError as error:
        raise RuntimeError(
            f"unable to open file <{name}> in read-{'write' if shared else 'only'} mode: {error}"
        ) from None
    try:
        size = os.fstat(fd).st_size
        if nbytes > size:
            if not shared:
                raise RuntimeError(f"from_file: {name} has {size} bytes, less than the {nbytes} asked for.")
            os.ftruncate(fd, nbytes)
        if (nbytes or size) == 0:
            return bytearray()
        flags = mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE
        return mmap.mmap(fd, nbytes, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    finally:
        os.close(fd)


def _present(path: str) -> os.stat_result | None:
    """The file to be replaced; None if there is none.

    Raises:
        OSError: for a file that may not be written, or a folder.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    return status


def _temporary(folder: str, name: str, mode: int) -> tuple[int, str]:
    """A new file beside the one that it is to replace."""
    while True:
        path = os.path.join(folder, f".{name[:200]}.{os.urandom(6).hex()}.tmp")
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), path
        except FileExistsError:
            continue


@contextlib.contextmanager
def replaced(path: Any) -> Iterator[IO[bytes]]:
    """Opens a file for writing that takes the place of ``path`` at the end, when all its bytes are on the disk.

    If anything goes wrong before, the old file is as it was. Its owner and permissions stay; a symbolic link is
    followed. What is not a regular file (a pipe, a device) is written directly, and so is a file in a folder that takes
    no new ones.
    """
    target = os.path.realpath(os.fspath(path))
    old = _present(target)
    folder, name = os.path.split(target)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(target, "wb") as stream:
            yield stream
        return
    try:
        # Nobody may read in the new file what could not be read in the old one.
        fd, temporary = _temporary(folder, name, 0o666 if old is None else 0o600)
    except PermissionError:
        if old is None:
            raise
        with open(target, "wb") as stream:
            yield stream
        return
    try:
        with open(fd, "wb") as stream:
            yield stream
            stream.flush()
            if old is not None:
                with contextlib.suppress(OSError):  # only the superuser may give files away
                    os.fchown(fd, old.st_uid, old.st_gid)
                os.fchmod(fd, stat.S_IMODE(old.st_mode))
            os.fsync(fd)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    # The new name must be on the disk too; some file systems do not let a folder be opened for that.
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
