"""The sampler that divides a dataset among processes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeVar

from ... import Generator, randperm
from .sampler import Sampler

__all__ = ["DistributedSampler"]

_T_co = TypeVar("_T_co", covariant=True)


def _process_group() -> Any:
    try:
        from ... import distributed
    except ImportError:
        distributed = None
    if distributed is None or not distributed.is_available():
        raise RuntimeError("Requires distributed package to be available")
    return distributed


class DistributedSampler(Sampler[_T_co]):
    """Every process's share of a dataset: process ``rank`` takes every ``num_replicas``-th index.

    All shares have the same length: the indices are padded by repeating them from the start, or cut with ``drop_last``.

    Args:
        dataset: the dataset, of constant length.
        num_replicas: number of processes; that of the process group if None.
        rank: this process; its rank in the process group if None.
        shuffle: permute the indices, by ``seed`` and epoch alike in all processes. Call :meth:`set_epoch`.
        seed: seed of the permutation.
        drop_last: cut instead of padding.

    Raises:
        ValueError: ``rank`` is out of range.
        RuntimeError: there is no process group to ask.

    Example:
        >>> sampler = DistributedSampler(dataset, num_replicas=4, rank=1)  # doctest: +SKIP
        >>> for epoch in range(10):  # doctest: +SKIP
        ...     sampler.set_epoch(epoch)
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = int(_process_group().get_world_size())
        if rank is None:
            rank = int(_process_group().get_rank())
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[_T_co]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if len(indices) < self.total_size:
            indices = (indices * math.ceil(self.total_size / count))[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the permutation of the next pass; without this every epoch has the same order."""
        self.epoch = epoch
