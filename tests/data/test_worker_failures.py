"""What goes wrong around worker processes: deaths, hangs, too little memory, leaks, orphans."""

import ctypes
import faulthandler
import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
import time

import loading_parts
import pytest
import torch
import torch.utils.data

import mashal
import mashal.utils.data

HERE = os.path.dirname(__file__)


def kill(_):
    os.kill(os.getpid(), signal.SIGKILL)


def leave(_):
    os._exit(3)


def crash(_):
    faulthandler.disable()  # a crash that is meant: no report
    ctypes.string_at(0)


def bus(_):
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGBUS)


@pytest.mark.parametrize("end", [kill, leave, crash, bus])
def test_death(end):
    messages = []
    for lib in (mashal, torch):
        loader = lib.utils.data.DataLoader([1, 2], num_workers=1, collate_fn=end)
        with pytest.raises(RuntimeError) as caught:
            list(loader)
        texts = [str(caught.value)] + ([str(caught.value.__cause__)] if end is not crash else [])
        messages.append([re.sub(r"\d{3,}", "PID", text) for text in texts])
    ours, theirs = messages
    assert ours[0] == theirs[0] == "DataLoader worker (pid(s) PID) exited unexpectedly"
    assert ours[-1].startswith(theirs[-1][:60])


def test_death_says_how():
    loader = mashal.utils.data.DataLoader([1, 2], num_workers=1, collate_fn=crash)
    start = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        next(iter(loader))
    assert "is killed by signal: Segmentation fault" in str(caught.value.__cause__)
    assert time.monotonic() - start < 4  # seen at once


def test_death_behind_a_child():
    """A process that a worker forked keeps the worker's socket open."""

    def fork_and_die(_):
        if os.fork() == 0:
            time.sleep(3)
            os._exit(0)
        os._exit(5)

    loader = mashal.utils.data.DataLoader([1], num_workers=1, collate_fn=fork_and_die)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(iter(loader))
    assert time.monotonic() - start < 2.5


def test_threads_of_the_parent_before_fork():
    """GNU OpenMP, OpenBLAS and oneDNN have their pools running; children must not wait for them."""
    before = mashal.get_num_threads()
    mashal.set_num_threads(2)
    x = mashal.rand(700, 700)

    def work():
        conv = mashal.nn.functional.conv2d(mashal.rand(4, 8, 64, 64), mashal.rand(8, 8, 3, 3))
        big = mashal.rand(1 << 21)
        values = [(x @ x).sum(), big.exp().sum(), conv.sum(), mashal.linalg.svdvals(x[:200, :200]).sum()]
        values += [big.sort()[0][0], mashal.linalg.solve(x, x[:, :1]).sum()]
        return mashal.stack(values)

    try:
        expected = work()

        def collate(_):
            assert mashal.get_num_threads() == 1
            mashal.set_num_threads(4)  # not possible here, and harmless
            assert mashal.get_num_threads() == 1
            return work().shape

        loader = mashal.utils.data.DataLoader([1, 2], num_workers=2, collate_fn=collate)
        assert list(loader) == [expected.shape] * 2
        work()
    finally:
        mashal.set_num_threads(before)


def test_fork_while_other_threads_work():
    """Locks that a thread holds at the moment of the fork are free in the child."""
    import threading

    stop = threading.Event()

    def busy():
        generator_free = mashal.ones(300, 300)
        while not stop.is_set():
            mashal.rand(3000).sort()
            mashal.linalg.svdvals(generator_free[:40, :40])

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(8):
            loader = mashal.utils.data.DataLoader(
                [1], num_workers=1, collate_fn=lambda _: mashal.rand(5000).sum() + mashal.ones(90, 90).svd()[1][0]
            )
            list(loader)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


# ---- too little memory ----


def little_room(_):
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def test_shared_memory_is_short():
    rows = mashal.zeros(4, 1 << 20)
    loader = mashal.utils.data.DataLoader(rows, num_workers=1, worker_init_fn=little_room)
    with pytest.raises(RuntimeError) as caught:
        list(loader)
    text = str(caught.value)
    assert "Caught RuntimeError in DataLoader worker process 0" in text
    assert "unable to allocate shared memory(shm) of 4194304 bytes" in text
    assert "lower num_workers" in text


def test_full_dev_shm():
    """In a mount namespace of its own, with a /dev/shm of 1 MiB."""
    program = """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        ids = os.getuid(), os.getgid()
        if libc.unshare(0x10000000 | 0x00020000):  # user, mounts
            raise SystemExit(77)
        try:
            open("/proc/self/setgroups", "w").write("deny")
            open("/proc/self/uid_map", "w").write(f"0 {ids[0]} 1")
            open("/proc/self/gid_map", "w").write(f"0 {ids[1]} 1")
        except OSError:
            raise SystemExit(77)
        if libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, b"size=1m"):
            raise SystemExit(77)
        import mashal, mashal.multiprocessing as mp
        from mashal.utils.data import DataLoader
        mp.set_sharing_strategy("file_system")
        mashal.ones(100).share_memory_()
        try:
            mashal.ones(1 << 20).share_memory_()
        except RuntimeError as e:
            assert "unable to allocate shared memory(shm)" in str(e) and "No space left" in str(e), e
        else:
            raise AssertionError("not refused")
        # Loaders do not need /dev/shm at all.
        assert [int(b.sum()) for b in DataLoader(mashal.ones(2, 1 << 20), num_workers=1)] == [1 << 20] * 2
        assert os.listdir("/dev/shm") == [], os.listdir("/dev/shm")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=50)
    if done.returncode == 77:
        pytest.skip("no user namespaces here")
    assert done.returncode == 0, done.stderr


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def mapped():
    with open("/proc/self/maps") as file:
        return sum("mashal" in line for line in file)


@pytest.mark.parametrize("persistent", [False, True])
def test_nothing_grows(persistent):
    loader = mashal.utils.data.DataLoader(
        loading_parts.Numbers(count=12, size=20000), batch_size=3, num_workers=1, persistent_workers=persistent
    )

    def epochs(n, loader=loader):
        for _ in range(n):
            assert sum(1 for _ in loader) == 4
        return resident(), len(os.listdir("/proc/self/fd")), mapped()

    memory, files, maps = epochs(5)
    more_memory, more_files, more_maps = epochs(50)
    assert more_memory - memory < 4 << 20
    assert more_files == files
    assert more_maps <= maps + 4
    assert not [name for name in os.listdir("/dev/shm") if name.startswith(f"mashal_{os.getpid()}_")]


def test_kept_batches_hold_no_descriptors():
    before = len(os.listdir("/proc/self/fd"))
    loader = mashal.utils.data.DataLoader(loading_parts.Numbers(count=300, size=20000), num_workers=1)
    kept = list(loader)
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    assert [int(b[1][0, 5]) for b in kept] == list(range(300))


def test_too_many_open_files():
    iterator = iter(mashal.utils.data.DataLoader(loading_parts.Numbers(count=9, size=20000), num_workers=1))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(fd) for fd in os.listdir("/proc/self/fd")) + 1
    holes = [os.dup(0) for _ in range(used)]  # so that no number below the limit is free
    resource.setrlimit(resource.RLIMIT_NOFILE, (used, before[1]))
    try:
        with pytest.raises(RuntimeError, match="Too many open files"):
            list(iterator)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for fd in holes:
            os.close(fd)


# ---- orphans ----

LONG_RUN = """
import os, sys, time
sys.path.insert(0, {here!r})
import mashal.utils.data as data
class Endless(data.Dataset):
    def __getitem__(self, i):
        return i
    def __len__(self):
        return 1 << 40
if __name__ == "__main__":
    loader = data.DataLoader(Endless(), num_workers=2, sampler=iter(range(1 << 40)), persistent_workers=True)
    iterator = iter(loader)
    next(iterator)
    print(*[w.pid for w in iterator._workers], flush=True)
    {then}
"""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("how", "busy"),
    [(signal.SIGKILL, True), (signal.SIGKILL, False), (signal.SIGINT, True), (signal.SIGTERM, False), (None, True)],
    ids=str,
)
def test_no_orphans(how, busy):
    then = "time.sleep(60)"
    if busy:
        then = "all(True for _ in iterator)"
    if how is None:
        then = "sys.exit(0)"
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_RUN.format(here=HERE, then=then)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert len(workers) == 2
    time.sleep(0.1)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as the terminal does
    elif how is not None:
        process.send_signal(how)
    _, errors = process.communicate(timeout=20)
    if how == signal.SIGINT:
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert errors.count("Traceback") == 1  # the workers say nothing
    end = time.monotonic() + 8
    while any(alive(pid) for pid in workers) and time.monotonic() < end:
        time.sleep(0.02)
    assert not [pid for pid in workers if alive(pid)]
