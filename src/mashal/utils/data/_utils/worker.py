"""What a loading worker does, and knows about itself."""

from __future__ import annotations

import importlib.util
import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .... import Generator, _core, manual_seed
from ...._exceptions import ExceptionWrapper
from . import blocks, wire

__all__ = ["ManagerWatchdog", "WorkerInfo", "get_worker_info"]

HAS_NUMPY = importlib.util.find_spec("numpy") is not None


@dataclass(frozen=True, slots=True)
class _RNG:
    """Sources of random numbers for one worker thread, since the global ones belong to all threads.

    Attributes:
        random_generator: a ``random.Random``, in the state of a worker process's ``random``.
        torch_generator: the thread's default generator.
        numpy_generator: a NumPy ``RandomState``, in the state of a worker process's ``numpy.random``; None without
            NumPy.
    """

    random_generator: random.Random
    torch_generator: Generator
    numpy_generator: object | None = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One loading worker.

    Attributes:
        id: its number, from 0.
        num_workers: how many there are.
        seed: the seed of its random numbers.
        dataset: its copy of the dataset.
        rng: random numbers of a worker thread; None in a process.
        worker_method: "multiprocessing" or "thread".
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: _RNG | None = None
    worker_method: str | None = "multiprocessing"


class _ThreadState(threading.local):
    info: WorkerInfo | None = None


_worker_info: WorkerInfo | None = None  # of a worker process
_thread_state = _ThreadState()  # of worker threads


def get_worker_info() -> WorkerInfo | None:
    """Return what this process, or thread, is to its loader; None in the main process.

    Iterable datasets use it to divide their stream, so that samples do not come once from each worker.
    """
    return _thread_state.info or _worker_info


class ManagerWatchdog:
    """Tells a worker process whether the process that started it still runs."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()

    def is_alive(self) -> bool:
        """Whether it does."""
        return os.getppid() == self.manager_pid


def _numpy_state(base_seed: int, worker_id: int) -> Any:
    """The NumPy seed of a worker, unrelated to that of ``random`` although both come from one number."""
    from numpy.random import SeedSequence

    low, high = base_seed & 0xFFFFFFFF, base_seed >> 32
    return SeedSequence([worker_id, low, high, 0]).generate_state(4)


@dataclass(frozen=True)
class Job:
    """What all workers of a loader are told when they start."""

    dataset_kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    num_workers: int
    shared_seed: int | None = None

    def fetcher(self, dataset: Any) -> Any:
        """What gets the samples for the sampler's indices."""
        from .._base_iter import _DatasetKind

        return _DatasetKind.create_fetcher(
            self.dataset_kind, dataset, self.auto_collation, self.collate_fn, self.drop_last
        )


class Worker:
    """The part of a worker that does not depend on how it runs: one fetch per task, errors wrapped.

    Args:
        job: what to load.
        worker_id: its number.
        dataset: its own dataset.
        where: how messages call it.
    """

    def __init__(self, job: Job, worker_id: int, dataset: Any, where: str) -> None:
        self.job = job
        self.worker_id = worker_id
        self.dataset = dataset
        self.where = where
        self.ended = False
        self._fetcher: Any = None
        self._failure: ExceptionWrapper | None = None

    def begin(self, first: bool, shared_seed: int | None) -> None:
        """Begin a pass; an error here is the answer to its first task."""
        self.ended = False
        try:
            self._prepare_pipes(first, shared_seed)
            if first and self.job.init_fn is not None:
                self.job.init_fn(self.worker_id)
            self._fetcher = self.job.fetcher(self.dataset)
        except Exception:  # noqa: BLE001 - wrapped and raised in the loader
            self._failure = ExceptionWrapper(where=self.where)

    def _prepare_pipes(self, first: bool, shared_seed: int | None) -> None:
        from ..datapipes.datapipe import IterDataPipe, MapDataPipe
        from ..graph_settings import apply_random_seed, apply_sharding

        if isinstance(self.dataset, IterDataPipe) and shared_seed is not None:
            apply_random_seed(self.dataset, Generator().manual_seed(shared_seed))
        if first and isinstance(self.dataset, (IterDataPipe, MapDataPipe)):
            apply_sharding(self.dataset, self.job.num_workers, self.worker_id)

    def fetch(self, index: Any) -> tuple[int, Any]:
        """Return a kind of message (data or end) and the batch."""
        from .._base_iter import _DatasetKind

        if self._failure is not None:
            failure, self._failure = self._failure, None
            return wire.DATA, failure
        try:
            return wire.DATA, self._fetcher.fetch(index)
        except Exception as error:  # noqa: BLE001 - wrapped and raised in the loader
            if isinstance(error, StopIteration) and self.job.dataset_kind == _DatasetKind.Iterable:
                self.ended = True
                return wire.END, None
            return wire.DATA, ExceptionWrapper(where=self.where)


def process_main(job: Job, worker_id: int, sock: Any, states: Any) -> None:
    """The life of a worker process.

    It ends when the loader closes its side of the socket, which also happens if the loader's process dies.
    """
    global _worker_info
    try:
        _core.set_num_threads(1)
        seed = job.base_seed + worker_id
        random.seed(seed)
        manual_seed(seed)
        if HAS_NUMPY:
            import numpy as np

            np.random.seed(_numpy_state(job.base_seed, worker_id))  # noqa: NPY002 - the stream that users draw from
        _worker_info = WorkerInfo(worker_id, job.num_workers, seed, job.dataset)
        pool = blocks.enable(states)
        channel = wire.WorkerChannel(sock, pool)
        worker = Worker(job, worker_id, job.dataset, f"in DataLoader worker process {worker_id}")
        worker.begin(True, job.shared_seed)
        while True:
            message = channel.receive()
            if message is None:
                return
            task, index = message
            if task < 0:
                worker.begin(False, index)
                channel.send(wire.RESUMED, task, None)
            elif not worker.ended:
                kind, data = worker.fetch(index)
                try:
                    channel.send(kind, task, data)
                except (BrokenPipeError, ConnectionResetError):
                    raise
                except Exception:  # noqa: BLE001 - a batch that cannot be pickled, or finds no memory
                    channel.send(wire.DATA, task, ExceptionWrapper(where=worker.where))
                del data
            del message, index
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass  # the loader's process has been interrupted as well, or is gone


def thread_main(job: Job, worker_id: int, dataset: Any, tasks: Any, results: Any, grad_enabled: bool) -> None:
    """The life of a worker thread; it ends with the task None."""
    _core.keep_thread_serial()
    seed = job.base_seed + worker_id
    generator = Generator().manual_seed(seed)
    _core.set_thread_generator(generator)
    numpy_generator = None
    if HAS_NUMPY:
        import numpy as np

        numpy_generator = np.random.RandomState(_numpy_state(job.base_seed, worker_id))
    rng = _RNG(random.Random(seed), generator, numpy_generator)
    _thread_state.info = WorkerInfo(worker_id, job.num_workers, seed, dataset, rng, "thread")
    worker = Worker(job, worker_id, dataset, f"in DataLoader worker thread {worker_id}")
    try:
        with _core_grad_mode(grad_enabled):
            worker.begin(True, job.shared_seed)
            while (message := tasks.get()) is not None:
                task, index = message
                if task < 0:
                    worker.begin(False, index)
                    results.put((worker_id, wire.RESUMED, task, None))
                elif not worker.ended:
                    results.put((worker_id, *_with_task(worker.fetch(index), task)))
                del message, index
    finally:
        _core.set_thread_generator(None)


def _with_task(answer: tuple[int, Any], task: int) -> tuple[int, int, Any]:
    return answer[0], task, answer[1]


def _core_grad_mode(enabled: bool) -> Any:
    from ....autograd.grad_mode import set_grad_enabled

    return set_grad_enabled(enabled)
