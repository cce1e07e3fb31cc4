"""Passes that load in several workers: which worker gets which task, and in which order batches come back."""

from __future__ import annotations

import copy
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ... import is_grad_enabled
from ..._exceptions import ExceptionWrapper
from ._base_iter import _BaseDataLoaderIter, _DatasetKind
from ._utils import MP_STATUS_CHECK_INTERVAL, wire
from ._utils.worker import Job, thread_main
from .datapipes.datapipe import IterDataPipe


class _ParallelDataLoaderIter(_BaseDataLoaderIter):
    """A pass over a loader by several workers.

    Tasks are numbered and dealt out in turn, ``prefetch_factor`` ahead for each worker. A worker answers its tasks in
    order, so that with ``in_order`` only the worker that owes the next batch is listened to.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._in_order = loader.in_order
        self._persistent_workers = loader.persistent_workers
        self._shutdown = False
        self._pid = os.getpid()
        self._pass = 0
        self._job = Job(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            self._base_seed,
            loader.worker_init_fn,
            self._num_workers,
            self._shared_seed,
        )

    # ---- what kinds of workers differ in ----

    def _send(self, worker: int, task: int, index: Any) -> None:
        raise NotImplementedError

    def _receive(self, worker: int | None) -> tuple[int, int, int, Any]:
        """Wait for an event of this worker, or of any; return (worker, kind, task, batch)."""
        raise NotImplementedError

    def _retire(self, worker: int) -> None:
        """A worker has no more samples and will not be needed again."""
        raise NotImplementedError

    def _shutdown_workers(self) -> None:
        raise NotImplementedError

    # ---- dealing and collecting ----

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        super()._reset(loader)
        self._send_idx = 0  # number of the next task
        self._rcvd_idx = 0  # number of the task whose batch is due
        self._owner: dict[int, int] = {}
        self._active = [True] * self._num_workers
        self._load = [0] * self._num_workers
        self._turn = 0
        if not first_iter:
            self._pass += 1
            self._resume()
        for _ in range(self._prefetch_factor * self._num_workers):
            self._assign()

    def _resume(self) -> None:
        """Have all workers begin another pass; what they still send of the last one is dropped."""
        for worker in range(self._num_workers):
            self._send(worker, -self._pass, self._shared_seed)
        for worker in range(self._num_workers):
            while self._receive(worker)[1:3] != (wire.RESUMED, -self._pass):
                pass

    def _assign(self) -> None:
        """Give the sampler's next indices to the worker whose turn it is."""
        try:
            index = self._next_index()
        except StopIteration:
            return
        limit = 0
        if not self._in_order:
            limit = self._prefetch_factor * self._num_workers // max(sum(self._active), 1)
        for _ in range(self._num_workers):
            worker = self._turn
            self._turn = (worker + 1) % self._num_workers
            if self._active[worker] and (self._in_order or self._load[worker] < limit):
                break
        else:
            return
        self._send(worker, self._send_idx, index)
        self._owner[self._send_idx] = worker
        self._load[worker] += 1
        self._send_idx += 1

    def _next_data(self) -> Any:
        while True:
            # A worker that has ended does not answer the tasks it still had.
            while self._rcvd_idx < self._send_idx:
                worker = self._owner.get(self._rcvd_idx)
                if worker is not None:
                    if self._active[worker]:
                        break
                    del self._owner[self._rcvd_idx]
                self._rcvd_idx += 1
            else:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            sender, kind, task, data = self._receive(worker if self._in_order else None)
            if kind == wire.END:
                self._active[sender] = False
                if not self._persistent_workers:
                    self._retire(sender)
                self._assign()
                continue
            del self._owner[task]
            if task == self._rcvd_idx:
                self._rcvd_idx += 1
            self._load[sender] -= 1
            self._assign()
            if isinstance(data, ExceptionWrapper):
                data.reraise()
            return data

    def _length_warning(self) -> str:
        return (
            "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset "
            "replica at each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data."
            "IterableDataset for examples."
        )

    def __del__(self) -> None:
        if not self.__dict__.get("_shutdown", True):
            self._shutdown_workers()


class _ThreadDataLoaderIter(_ParallelDataLoaderIter):
    """Workers are threads: nothing is pickled or copied, for datasets that release the interpreter lock."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._results: list[queue.SimpleQueue[Any]] = []
        self._tasks: list[queue.SimpleQueue[Any]] = []
        self._workers: list[threading.Thread] = []
        anyone: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for i in range(self._num_workers):
            tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
            results: queue.SimpleQueue[Any] = queue.SimpleQueue() if self._in_order else anyone
            dataset = self._dataset
            if self._dataset_kind == _DatasetKind.Iterable:
                # So that worker_init_fn, or sharding, can give each its own part.
                pipe = isinstance(dataset, IterDataPipe)
                dataset = copy.deepcopy(dataset) if pipe else copy.copy(dataset)
            thread = threading.Thread(
                target=_run_thread,
                args=(thread_main, self._job, i, dataset, tasks, results, is_grad_enabled()),
                name=f"mashal-data-worker-{i}",
                daemon=True,
            )
            thread.start()
            self._tasks.append(tasks)
            self._results.append(results)
            self._workers.append(thread)
        self._reset(loader, first_iter=True)

    def _send(self, worker: int, task: int, index: Any) -> None:
        self._tasks[worker].put((task, index))

    def _receive(self, worker: int | None) -> tuple[int, int, int, Any]:
        results = self._results[worker or 0]
        try:
            event: tuple[int, int, int, Any] = results.get(timeout=self._timeout or None)
        except queue.Empty:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None
        if event[1] == _DIED:
            self._active[event[0]] = False
            raise RuntimeError(f"DataLoader worker thread {event[0]} exited unexpectedly") from event[3]
        return event

    def _resume(self) -> None:
        if self._in_order:
            super()._resume()
            return
        for worker in range(self._num_workers):
            self._send(worker, -self._pass, self._shared_seed)
        waiting = self._num_workers
        while waiting:
            waiting -= self._receive(None)[1:3] == (wire.RESUMED, -self._pass)

    def _retire(self, worker: int) -> None:
        self._tasks[worker].put(None)

    def _shutdown_workers(self) -> None:
        if self._shutdown or self._pid != os.getpid():
            return
        self._shutdown = True
        for tasks in self.__dict__.get("_tasks", ()):
            while not tasks.empty():  # tasks of a pass that was left early
                try:
                    tasks.get_nowait()
                except queue.Empty:
                    break
            tasks.put(None)
        if sys.is_finalizing():
            return  # daemons run no more
        end = time.monotonic() + MP_STATUS_CHECK_INTERVAL
        for thread in self.__dict__.get("_workers", ()):
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))


_DIED = -1


def _run_thread(
    main: Callable[..., None], job: Job, worker_id: int, dataset: Any, tasks: Any, results: Any, grad: bool
) -> None:
    try:
        main(job, worker_id, dataset, tasks, results, grad)
    except BaseException as error:  # noqa: BLE001 - SystemExit and the like: the loader must not wait for ever
        results.put((worker_id, _DIED, 0, error))
