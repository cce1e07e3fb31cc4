"""One pass over a loader: what is the same however samples are loaded, and loading in the caller's process."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ... import Generator, _core, empty, int64
from ._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .graph_settings import apply_random_seed, apply_sharding


class _DatasetKind:
    """Whether a dataset is asked by key or iterated over."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> _MapDatasetFetcher | _IterableDatasetFetcher:
        """Return what gets the samples of a dataset of this kind."""
        cls = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return cls(dataset, auto_collation, collate_fn, drop_last)


class _BaseDataLoaderIter:
    """One pass over a loader: what is the same however samples are loaded."""

    def __init__(self, loader: Any) -> None:
        self._dataset = loader.dataset
        self._shared_seed: int | None = None
        self._seed_pipes(loader)
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the device,"
                f"ignore pin_memory_device='{loader.pin_memory_device}'.",
                stacklevel=4,
            )
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=4,
            )
        self._pin_memory = False
        self._sampler_iter = iter(self._index_sampler)
        # Drawn even when no process needs a seed: the stream of random numbers must not depend on `num_workers`.
        self._base_seed = int(empty((), dtype=int64).random_(generator=loader.generator).item())
        self._num_yielded = 0

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _reset(self, loader: Any) -> None:
        """Begin another pass."""
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._seed_pipes(loader)

    def _seed_pipes(self, loader: Any) -> None:
        """Seed the random pipes of a pass; all workers get the same seed, so that their shards fit together."""
        if isinstance(self._dataset, IterDataPipe):
            self._shared_seed = int(empty((), dtype=int64).random_(generator=loader.generator).item())
            apply_random_seed(self._dataset, Generator().manual_seed(self._shared_seed))

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _length_warning(self) -> str:
        """What may be the reason for more samples than promised."""
        return ""

    def __next__(self) -> Any:
        if not _core.profiler_on():
            data = self._next_data()
        else:
            entered = _core.profiler_push(f"enumerate(DataLoader)#{type(self).__name__}.__next__")
            try:
                data = self._next_data()
            finally:
                _core.profiler_pop(entered)
        self._num_yielded += 1
        promised = self._IterableDataset_len_called
        if promised is not None and self._dataset_kind == _DatasetKind.Iterable and self._num_yielded > promised:
            warnings.warn(
                f"Length of IterableDataset {self._dataset} was reported to be {promised}(when accessing "
                f"len(dataloader)), but {self._num_yielded} samples have been fetched. " + self._length_warning(),
                stacklevel=2,
            )
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass that loads in this process, each batch when it is asked for."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            apply_sharding(self._dataset, 1, 0)
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())
