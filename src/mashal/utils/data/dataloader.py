"""The loader: batches from a dataset, by a sampler."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ... import Generator
from ._base_iter import _BaseDataLoaderIter, _DatasetKind, _SingleProcessDataLoaderIter
from ._parallel import _ThreadDataLoaderIter
from ._processes import _MultiProcessingDataLoaderIter
from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .datapipes.datapipe import IterDataPipe
from .dataset import Dataset, IterableDataset
from .graph_settings import apply_shuffle_settings
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)


class _InfiniteConstantSampler(Sampler[None]):
    """The sampler of streams: they have no indices, so it never ends."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[_T_co]):
    r"""Iterate over a dataset in batches.

    Args:
        dataset: a dataset with keys, or an :class:`IterableDataset`.
        batch_size: samples per batch; None gives single samples, or what ``dataset`` itself has made into batches.
        shuffle: new random order in every pass.
        sampler: which indices, in which order; excludes ``shuffle``.
        batch_sampler: gives lists of indices; excludes ``batch_size``, ``shuffle``, ``sampler`` and ``drop_last``.
        num_workers: number of workers that load ahead; 0 loads in this process, when a batch is asked for.
        collate_fn: makes a batch of a list of samples; :func:`default_collate` if None, or :func:`default_convert`
            without batches.
        pin_memory: copy batches to page-locked memory, where there is a device that gains from it.
        drop_last: leave out the last batch if it would be smaller.
        timeout: seconds to wait for a batch from a worker; 0 waits for ever.
        worker_init_fn: called with its number in every worker when it starts, after seeding.
        multiprocessing_context: how worker processes are started: "fork", "spawn", "forkserver" or a context.
        generator: source of randomness for ``shuffle`` and for the seeds of workers.
        prefetch_factor: batches loaded ahead by each worker; 2 if None.
        persistent_workers: keep workers from one pass to the next.
        pin_memory_device: deprecated.
        in_order: give batches in the sampler's order even if a later one is loaded first.
        worker_method: "multiprocessing", or "thread" for workers that share this process: nothing is pickled, and
            they run side by side as far as the dataset releases the interpreter lock.

    Raises:
        ValueError: options exclude each other or are out of range.
        TypeError: ``multiprocessing_context`` is neither a name nor a context.
        RuntimeError: in iteration: a worker died or exceeded ``timeout``. An exception in a worker is raised as one of
            its class, with the worker's traceback as its message.

    Note:
        Every pass draws one number from ``generator``, or the default generator, even without shuffling, as PyTorch
        does: random numbers drawn between passes stay the same. Worker ``i`` is seeded with that number plus ``i``;
        ``random`` and NumPy get seeds made of the same two.

        Worker processes write batches into blocks of shared memory, which the loader sees without a copy; a block is
        used again when all tensors of its batch are gone. Worker threads draw from a generator of their own with a
        process's seed; for ``random`` and NumPy, whose global generators all threads share, they use
        ``get_worker_info().rng``. Each thread iterates over a shallow copy of an iterable dataset.

    Example:
        >>> loader = DataLoader(dataset, batch_size=64, shuffle=True)  # doctest: +SKIP
        >>> for inputs, targets in loader:  # doctest: +SKIP
        ...     train(inputs, targets)
    """

    dataset: Dataset[_T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler[Any] | Iterable[Any]
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: Any
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        worker_method: str = "multiprocessing",
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if worker_method not in ("multiprocessing", "thread"):
            raise ValueError(
                f"worker_method option should be 'multiprocessing' or 'thread', but got worker_method={worker_method!r}"
            )
        if worker_method == "thread" and multiprocessing_context is not None:
            raise ValueError("multiprocessing_context can only be used with worker_method='multiprocessing'")

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.worker_method = worker_method

        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            if isinstance(dataset, IterDataPipe):
                # With pipes, shuffle=True and False turn their shufflers on and off.
                self.dataset = apply_shuffle_settings(dataset, shuffle)
                shuffle = None
            for name, given, bad in (
                ("shuffle", shuffle, shuffle not in (False, None)),
                ("sampler", sampler, sampler is not None),
                ("batch_sampler", batch_sampler, batch_sampler is not None),
            ):
                if bad:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}"
                    )
        else:
            self._dataset_kind = _DatasetKind.Map
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
            drop_last = False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")

        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None

    def __setattr__(self, attr: str, val: Any) -> None:
        # These have been built into the sampler: setting them would have no effect.
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
        if self.__initialized and attr in fixed:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    @property
    def multiprocessing_context(self) -> Any:
        """How loading processes are started."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                        f"multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            elif not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={context}"
                )
        self.__multiprocessing_context = context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """What gives the keys of one fetch: lists of indices, or single ones without batches."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        if self.worker_method == "thread":
            return _ThreadDataLoaderIter(self)
        return _MultiProcessingDataLoaderIter(self)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        if not self.num_workers:
            return
        checked = hasattr(os, "sched_getaffinity")
        available = len(os.sched_getaffinity(0)) if checked else os.cpu_count()
        if available is not None and self.num_workers <= available:
            return
        suggestion = (
            "DataLoader is not able to compute a suggested max number of worker in current system."
            if available is None
            else f"Our suggested max number of worker in current system is {available}"
            f"{'' if checked else ' (`cpuset` is not taken into account)'}, which is smaller than what this "
            "DataLoader is going to create."
        )
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {suggestion} Please be aware "
            "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number "
            "to avoid potential slowness/freeze if necessary.",
            stacklevel=4,
        )

    def __iter__(self) -> _BaseDataLoaderIter:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        # Workers belong to the process that started them; a fork of it needs its own.
        if self._iterator is None or self._iterator._pid != os.getpid():
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        # Remembered, because the length is a promise of the dataset's that iteration may find broken.
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)
