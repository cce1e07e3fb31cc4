"""Getting the samples that a sampler asks for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..dataset import _get_items

Collate = Callable[[Any], Any]


class _MapDatasetFetcher:
    """Samples of a dataset with keys: a batch for a list of indices, or one sample for an index."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Collate, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the batch, or the sample, for what the sampler gave."""
        if self.auto_collation:
            return self.collate_fn(_get_items(self.dataset, possibly_batched_index))
        return self.collate_fn(self.dataset[possibly_batched_index])


class _IterableDatasetFetcher:
    """Samples of a stream: the indices only say how many."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Collate, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the next batch, or the next sample."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        wanted = len(possibly_batched_index)
        samples = list(itertools.islice(self.dataset_iter, wanted))
        if len(samples) < wanted:
            self.ended = True
            if not samples or self.drop_last:
                raise StopIteration
        return self.collate_fn(samples)
