"""Saving: what goes into a file, and what happens to the file that was there."""

from __future__ import annotations

import errno
import io
import os
import pickle
import stat
import subprocess
import sys
import threading
import time
import warnings

import pytest
import torch

import mashal


def size_of(obj, lib=mashal):
    buffer = io.BytesIO()
    lib.save(obj, buffer)
    return len(buffer.getvalue())


def again(obj, reader=mashal):
    buffer = io.BytesIO()
    mashal.save(obj, buffer)
    buffer.seek(0)
    return reader.load(buffer)


# ---- slices of large tensors ----

BIG = mashal.arange(1_000_000)


@pytest.mark.parametrize("reader", [mashal, torch])
@pytest.mark.parametrize(
    "part",
    [BIG[5:15], BIG[500_000:500_010], BIG[-10:], BIG[::100_000], BIG[7], BIG[3:3], BIG.reshape(1000, 1000)[:10, 3],
     BIG.reshape(1000, 1000)[:2, :5].t(), BIG[4:5].expand(10)],
    ids=lambda t: f"{tuple(t.shape)}{t.stride()}",
)  # fmt: skip
def test_a_small_part_makes_a_small_file(part, reader):
    assert size_of(part) < 4000
    got = again(part, reader)
    assert got.tolist() == part.tolist()
    assert tuple(got.shape) == tuple(part.shape)
    assert got.untyped_storage().nbytes() < 1000


def test_parts_that_overlap_stay_together():
    a, b, far = again([BIG[0:10], BIG[5:15], BIG[900_000:900_010]])
    a[7] = -1
    assert b[2] == -1
    assert far.tolist() == list(range(900_000, 900_010))
    assert size_of([BIG[0:10], BIG[5:15], BIG[900_000:900_010]]) < 5000


def test_neighbours_stay_together():
    """Parameters that are views of one flat buffer share it after loading."""
    flat = mashal.zeros(100_000)
    parts = again([flat[0:10], flat[10:30]])
    assert parts[0].untyped_storage() == parts[1].untyped_storage()
    assert parts[1].storage_offset() == 10


def test_columns_that_overlap_keep_their_strides():
    grid = mashal.arange(1_000_000).reshape(1000, 1000)
    a, b = again([grid[:10, 3], grid[:10, 3]])
    a[0] = -5
    assert b[0] == -5
    assert a.stride() == (1000,)


def test_dense_copy_keeps_the_order_of_dimensions():
    grid = mashal.arange(1_000_000).reshape(1000, 1000)
    got = again(grid[:50, :20].t())
    assert got.stride() == (1, 20)
    assert got.tolist() == grid[:50, :20].t().tolist()


def test_whole_storages_are_whole():
    x = mashal.zeros(10_000)
    with warnings.catch_warnings(action="ignore"):  # typed storages are deprecated
        part, storage = again([x[:5], x.storage()])
    assert storage.nbytes() == 40_000
    assert part.untyped_storage().nbytes() == 40_000
    # Most of it is used: the storage stays as it is, as in PyTorch.
    assert again(x[100:]).untyped_storage().nbytes() == 40_000
    assert again(x[100:]).storage_offset() == 100


def test_slices_of_storages():
    x = mashal.arange(8, dtype=mashal.uint8)
    got = again(x.untyped_storage()[2:5])
    assert got.tolist() == [2, 3, 4]


def test_one_memory_two_dtypes():
    x = mashal.ones(4)
    for lib in (mashal, torch):
        y = lib.ones(4)
        with pytest.raises(RuntimeError, match="view the same data as different types"):
            lib.save([y, y.view(lib.int32)], io.BytesIO())
    x.view(mashal.int32)
    assert again([mashal.empty(0), mashal.empty(0, dtype=mashal.int8)])[1].dtype is mashal.int8


def test_saving_leaves_the_tensor_resizable():
    x = mashal.ones(4)
    mashal.save(x, io.BytesIO())
    x.resize_(100)


def test_not_a_leaf():
    x = mashal.ones(2, requires_grad=True)
    y = again(x * 2)
    assert y.requires_grad
    assert y.is_leaf


# ---- files ----


def test_path_forms(tmp_path):
    for path in (tmp_path / "a.pt", str(tmp_path / "b.pt"), str(tmp_path / "größe.pt")):
        mashal.save({"a": mashal.ones(2)}, path)
        assert mashal.load(path)["a"].tolist() == [1, 1]
        assert torch.load(path)["a"].tolist() == [1, 1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pt", "b.pt", "größe.pt"]


def test_file_objects(tmp_path):
    class OnlyWrite:
        """Takes a little at a time, as files without buffering may."""

        def __init__(self):
            self.data = bytearray()

        def write(self, data):
            part = bytes(data)[:7]
            self.data += part
            return len(part)

    sink = OnlyWrite()
    mashal.save([mashal.arange(100)], sink)
    assert mashal.load(io.BytesIO(sink.data))[0].tolist() == list(range(100))
    with (tmp_path / "f").open("wb") as f:
        f.write(b"before")
        mashal.save(mashal.ones(2), f)
    with (tmp_path / "f").open("rb") as f:
        f.seek(6)
        assert mashal.load(f).tolist() == [1, 1]


@pytest.mark.parametrize("zipped", [True, False])
def test_what_was_there_stays_when_saving_fails(tmp_path, zipped):
    path = tmp_path / "a.pt"
    mashal.save(mashal.ones(2), path)
    before = path.read_bytes()
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        mashal.save([mashal.ones(3), lambda: 0], path, _use_new_zipfile_serialization=zipped)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]


def test_what_was_there_stays_when_writing_is_interrupted(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    mashal.save(mashal.ones(2), path)
    before = path.read_bytes()
    from mashal.serialization import _archive

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(_archive.Writer, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mashal.save(mashal.ones(300), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]


def test_what_was_there_stays_when_the_process_is_killed(tmp_path):
    path = tmp_path / "a.pt"
    mashal.save(mashal.ones(2), path)
    program = f"""
import mashal
from mashal.serialization import _archive
whole = _archive.Writer.record
def record(self, name, *rest, **options):
    whole(self, name, *rest, **options)
    if name == "data/0":
        print("half", flush=True)
        import time; time.sleep(60)
_archive.Writer.record = record
mashal.save(mashal.zeros(100000), {str(path)!r})
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"half\n"
    process.kill()
    process.wait()
    process.stdout.close()
    assert mashal.load(path).tolist() == [1, 1]


def test_a_full_disk_is_told(tmp_path):
    """A limit on the size of files stands for the disk."""
    path = tmp_path / "a.pt"
    mashal.save(mashal.ones(2), path)
    before = path.read_bytes()
    program = f"""
import resource, signal, mashal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
try:
    mashal.save(mashal.zeros(1000000), {str(path)!r})
except RuntimeError as error:
    print(error)
"""
    text = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert str(path) in text
    assert os.strerror(errno.EFBIG) in text
    assert "unchanged" in text
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]
    with pytest.raises(RuntimeError, match=os.strerror(errno.ENOSPC)):
        mashal.save(mashal.zeros(3_000_000), "/dev/full")


def test_permissions_and_links(tmp_path):
    target, link = tmp_path / "deep" / "a.pt", tmp_path / "link.pt"
    target.parent.mkdir()
    mashal.save(mashal.ones(1), target)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
    target.chmod(0o640)
    link.symlink_to(target)
    mashal.save(mashal.ones(2), link)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert mashal.load(target).tolist() == [1, 1]
    assert [p.name for p in target.parent.iterdir()] == ["a.pt"]


def test_a_pipe_is_written_directly(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got = []
    thread = threading.Thread(target=lambda: got.append(path.read_bytes()))
    thread.start()
    mashal.save(mashal.ones(2), path)
    thread.join()
    assert mashal.load(io.BytesIO(got[0])).tolist() == [1, 1]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_errors(tmp_path):
    for lib in (mashal, torch):
        with pytest.raises(RuntimeError, match="does not exist"):
            lib.save(1, tmp_path / "no" / "a.pt")
        with pytest.raises(RuntimeError, match="Is a directory"):
            lib.save(1, str(tmp_path))
        with pytest.raises(AttributeError, match="'write'"):
            lib.save(1, 5)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written(tmp_path):
    path = tmp_path / "a.pt"
    mashal.save(1, path)
    path.chmod(0o444)
    with pytest.raises(RuntimeError, match="Permission denied"):
        mashal.save(2, path)
    assert mashal.load(path) == 1


def test_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mashal.save(mashal.ones(1), "here.pt")
    assert mashal.load("here.pt").tolist() == [1]


def test_concurrent_saves_leave_one_whole_file(tmp_path):
    path = tmp_path / "a.pt"
    threads = [threading.Thread(target=mashal.save, args=(mashal.full((1000,), i), path)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values = set(mashal.load(path).tolist())
    assert len(values) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]


# ---- large files, holes ----


def test_files_of_more_than_4_gigabytes(tmp_path):
    """As holes: the headers need 64 bits, the disk does not."""
    path = tmp_path / "big.pt"
    # Memory that is never touched does not exist.
    big = mashal.empty((1 << 32) + 100, dtype=mashal.uint8)
    with mashal.serialization.skip_data():
        mashal.save([big, mashal.ones(3)], path)
    assert path.stat().st_size > 1 << 32
    assert path.stat().st_blocks * 512 < 1 << 20
    for lib in (mashal, torch):
        got = lib.load(path, mmap=True)
        assert got[0].numel() == big.numel()
        assert got[0][-1] == 0
        assert got[1].tolist() == [0, 0, 0]


def test_skip_data(tmp_path):
    path = tmp_path / "a.pt"
    with mashal.serialization.skip_data():
        mashal.save({"a": mashal.ones(3), "b": mashal.ones(2, dtype=mashal.int64)}, path)
        with pytest.raises(RuntimeError, match="skip_data"):
            mashal.save(1, path, _use_new_zipfile_serialization=False)
    for lib in (mashal, torch):
        assert lib.load(path)["a"].tolist() == [0, 0, 0]
    mashal.save(mashal.ones(3), path)
    with mashal.serialization.skip_data():
        assert mashal.load(path).tolist() == [0, 0, 0]
    assert mashal.load(path).tolist() == [1, 1, 1]


def test_checksums_can_be_left_out():
    assert mashal.serialization.get_crc32_options()
    mashal.serialization.set_crc32_options(False)
    try:
        assert again(mashal.ones(3)).tolist() == [1, 1, 1]
        assert again(mashal.ones(3), torch).tolist() == [1, 1, 1]
    finally:
        mashal.serialization.set_crc32_options(True)


def test_saving_copies_nothing():
    """200 MB are saved and loaded without a second copy of them in memory."""
    program = """
import io, os, resource, mashal
class Sink:
    def write(self, data): return len(data)
x = mashal.zeros(50_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
mashal.save(x, Sink())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    grown = int(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
    assert grown < 30_000  # kilobytes


def test_speed_is_that_of_the_file_system(tmp_path):
    """Not a benchmark: a guard against saving element by element."""
    x = mashal.zeros(10_000_000)
    start = time.perf_counter()
    mashal.save(x, tmp_path / "a.pt")
    mashal.load(tmp_path / "a.pt")
    assert time.perf_counter() - start < 10


def test_many_parts_of_one_storage():
    """Far apart, so that each is a record; with an empty one, which sees nothing."""
    big = mashal.arange(3_000_000, dtype=mashal.int32)
    parts = [big[i : i + 3] for i in range(0, 3_000_000, 10_000)]
    got = again([big[5:5], *parts, big[2_500_000:2_500_000]])
    assert [t.tolist() for t in got[1:-1]] == [t.tolist() for t in parts]
    assert (got[0].numel(), got[-1].numel()) == (0, 0)
    assert again(big[100:100]).shape == (0,)
