"""Getting the samples that a sampler asks for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from .... import Tensor, index_select, tensor
from ..dataset import Subset, TensorDataset, _get_items
from . import blocks, collate

Collate = Callable[[Any], Any]


def _columns(dataset: Any) -> tuple[Tensor, ...] | None:
    """The tensors whose rows are a dataset's samples, if taking rows together gives what collating them would."""
    if type(dataset) is not TensorDataset:
        return None
    plain = all(type(t) is Tensor and not t.requires_grad and t.device.type == "cpu" for t in dataset.tensors)
    return dataset.tensors if plain and dataset.tensors else None


def _take_rows(columns: tuple[Tensor, ...], indices: list[int]) -> list[Tensor]:
    rows = tensor(indices)
    batch = []
    for column in columns:
        out = blocks.empty((len(indices), *column.shape[1:]), column.dtype)
        batch.append(index_select(column, 0, rows) if out is None else index_select(column, 0, rows, out=out))
    return batch


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
            if self.collate_fn is collate.default_collate:
                batch = self._fetch_rows(possibly_batched_index)
                if batch is not None:
                    return batch
            return self.collate_fn(_get_items(self.dataset, possibly_batched_index))
        return self.collate_fn(self.dataset[possibly_batched_index])

    def _fetch_rows(self, indices: Any) -> Any:
        """The batch of a dataset of tensors in one step; None if it has to be made sample by sample."""
        dataset = self.dataset
        if collate.default_collate_fn_map.get(Tensor) is not collate.collate_tensor_fn or type(indices) is not list:
            return None
        try:
            while type(dataset) is Subset:
                dataset, indices = dataset.dataset, [dataset.indices[i] for i in indices]
            columns = _columns(dataset)
            if columns is None or set(map(type, indices)) != {int}:
                return None
            # Negative indices count from the end, and wrong ones raise: both as samples do.
            if min(indices) < 0 or max(indices) >= min(len(column) for column in columns):
                return None
        except Exception:  # noqa: BLE001 - samples raise it again, with the usual traceback
            return None
        return _take_rows(columns, indices)


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
