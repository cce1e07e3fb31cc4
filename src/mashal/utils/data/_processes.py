"""Passes that load in worker processes."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
import warnings
import weakref
from pickle import PicklingError
from typing import Any

from ... import _core
from ._parallel import _ParallelDataLoaderIter
from ._utils import MP_STATUS_CHECK_INTERVAL, blocks, wire, worker

# The loaders' ends of all sockets. A child of fork closes its copies, so that it does not keep workers alive which it
# has nothing to do with, not even the other workers of its own loader.
_loader_sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _close_inherited() -> None:
    for sock in list(_loader_sockets):
        sock.close()
    _loader_sockets.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


class _MultiProcessingDataLoaderIter(_ParallelDataLoaderIter):
    """Workers are processes that put batches into shared memory."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        from ... import multiprocessing  # its reductions carry the dataset's tensors

        context = loader.multiprocessing_context or multiprocessing
        self._workers: list[Any] = []
        self._channels: list[wire.LoaderChannel] = []
        self._exits: list[int] = []  # descriptors that can be read when a worker has ended
        if worker.HAS_NUMPY and context.get_start_method() == "fork":
            import numpy.random  # noqa: F401 - once here rather than in every worker (80 ms)
        try:
            for i in range(self._num_workers):
                self._start(context, i)
        except (TypeError, AttributeError, PicklingError):
            warnings.warn(
                "A worker process could not be started: its arguments (dataset, collate_fn, worker_init_fn) cannot be "
                f"pickled, which the start method '{context.get_start_method()}' requires. "
                "Use multiprocessing_context='fork', or functions and classes of a module's top level.",
                stacklevel=4,
            )
            self._shutdown_workers()
            raise
        except BaseException:
            self._shutdown_workers()
            raise
        self._reset(loader, first_iter=True)

    def _start(self, context: Any, i: int) -> None:
        count = min(blocks.MAX_BLOCKS, 4 * blocks.MAX_BLOCKS // self._num_workers)
        states = _core.shared_create(count, False)
        ours, theirs = socket.socketpair()
        _loader_sockets.add(ours)
        try:
            process = context.Process(target=worker.process_main, args=(self._job, i, theirs, states), daemon=True)
            process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        channel = wire.LoaderChannel(ours, blocks.BlockTable(states))
        self._channels.append(channel)
        self._workers.append(process)
        try:
            self._exits.append(os.pidfd_open(process.pid))
        except (AttributeError, OSError):  # an older system: a process that the worker forks may delay the news
            self._exits.append(os.dup(process.sentinel))

    # ---- talking to workers ----

    def _send(self, worker: int, task: int, index: Any) -> None:
        self._channels[worker].send(task, index)

    def _receive(self, worker: int | None) -> tuple[int, int, int, Any]:
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        sources = (worker,) if worker is not None else range(self._num_workers)
        while True:
            heard = False
            for i in sources:
                channel = self._channels[i]
                event = channel.next_event()
                if event is not None:
                    return i, *event
                if not channel.closed and channel.read():
                    heard = True
                    event = channel.next_event()
                    if event is not None:
                        return i, *event
                if channel.closed and self._active[i]:
                    self._report_death(i)
            if not heard:
                self._wait(sources, deadline)

    def _wait(self, sources: Any, deadline: float | None) -> None:
        """Wait until one of these workers sends something or ends; meanwhile send what had no room before."""
        poll = select.poll()
        for i, channel in enumerate(self._channels):
            if channel.closed:
                continue
            wanted = (select.POLLIN if i in sources else 0) | (select.POLLOUT if channel.is_behind else 0)
            if wanted:
                poll.register(channel.sock, wanted)
        for i in sources:
            # A process that the worker has forked may keep the worker's socket open after its death.
            if not self._channels[i].closed:
                poll.register(self._exits[i], select.POLLIN)
        if deadline is None:
            ready = poll.poll()
        else:
            ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not ready and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        numbers = {number for number, _ in ready}
        for channel in self._channels:
            if channel.is_behind and not channel.closed and channel.sock.fileno() in numbers:
                channel.flush()
        for i in sources:
            channel = self._channels[i]
            if not channel.closed and self._exits[i] in numbers:
                while channel.read():
                    pass
                channel.closed = True

    def _exit_code(self, i: int, seconds: float) -> int | None:
        """Wait for a worker's end. Process.join would also wait for the processes that it has forked."""
        poll = select.poll()
        poll.register(self._exits[i], select.POLLIN)
        poll.poll(max(0.0, seconds) * 1000)
        code: int | None = self._workers[i].exitcode
        return code

    def _report_death(self, i: int) -> None:
        """Raise: a worker has ended that should not have."""
        process = self._workers[i]
        code = self._exit_code(i, MP_STATUS_CHECK_INTERVAL)
        self._active[i] = False
        if code is None:
            cause = f"DataLoader worker (pid {process.pid}) has closed its connection but still runs."
        elif code < 0:
            cause = f"DataLoader worker (pid {process.pid}) is killed by signal: {_signal_text(-code)}. "
            if -code == getattr(signal, "SIGBUS", None):
                cause += (
                    "It is possible that dataloader's workers are out of shared memory. Please try to raise your "
                    "shared memory limit."
                )
            elif -code == getattr(signal, "SIGKILL", None):
                cause += "It is possible that the system has run out of memory."
        else:
            cause = (
                f"DataLoader worker (pid {process.pid}) exited unexpectedly with exit code {code}. Details are lost "
                "due to multiprocessing. Rerunning with num_workers=0 may give better error trace."
            )
        raise RuntimeError(f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly") from RuntimeError(cause)

    def _resume(self) -> None:
        for i in range(self._num_workers):
            self._send(i, -self._pass, self._shared_seed)
        for i, channel in enumerate(self._channels):
            while True:
                event = channel.next_event(wanted=False)
                if event is not None:
                    if event[:2] == (wire.RESUMED, -self._pass):
                        break
                elif channel.closed:
                    self._report_death(i)
                elif not channel.read():
                    self._wait((i,), None)

    # ---- the end ----

    def _retire(self, worker: int) -> None:
        self._channels[worker].close()

    def _shutdown_workers(self) -> None:
        if self._shutdown:
            return
        self._shutdown = True
        if os.getpid() != self._pid:
            return  # a copy made by fork: the workers are not this process's
        for channel in self._channels:
            channel.close()
        if not sys.is_finalizing():  # then multiprocessing ends them
            self._end_processes()
        for fd in self._exits:
            os.close(fd)

    def _end_processes(self) -> None:
        """Wait for workers that have been told to end; make them if they do not."""
        for stop in (None, "terminate", "kill"):
            running = [i for i, process in enumerate(self._workers) if process.exitcode is None]
            end = time.monotonic() + MP_STATUS_CHECK_INTERVAL
            for i in running:
                if stop is not None:
                    getattr(self._workers[i], stop)()
            for i in running:
                self._exit_code(i, end - time.monotonic())


def _signal_text(number: int) -> str:
    """What strsignal says: "Killed", "Segmentation fault"."""
    return signal.strsignal(number) or f"Unknown signal {number}"
