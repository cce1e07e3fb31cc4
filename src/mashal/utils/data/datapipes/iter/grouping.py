"""Pipes that make batches, and undo them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe, _check_picklable, _length

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[Any]):
    """Lists of ``batch_size`` samples.

    Args:
        datapipe: the source.
        batch_size: samples per list.
        drop_last: leave out a shorter last list.
        wrapper_class: what a list is made into.
    """

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = _length(self, self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The samples of lists.

    Args:
        datapipe: the source.
        unbatch_level: levels of lists to open; -1 for all.
    """

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for element in self.datapipe:
            yield from self._open(element, self.unbatch_level)

    def _open(self, element: Any, level: int) -> Iterator[Any]:
        is_list = isinstance(element, list)
        if level == 0 or (level < 0 and not is_list):
            yield element
        elif not is_list:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        else:
            for item in element:
                yield from self._open(item, level - 1 if level > 0 else level)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Lists of samples with the same key.

    Args:
        datapipe: the source.
        group_key_fn: the key of a sample.
        keep_key: give (key, list).
        buffer_size: samples that wait for their group to be complete; when there are more, the largest group goes.
        group_size: samples of a complete group; None to wait until the end.
        guaranteed_group_size: what a group must have to go before it is complete.
        drop_remaining: drop smaller ones then, instead of raising.
    """

    def __init__(
        self,
        datapipe: Any,
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        _check_picklable(group_key_fn)
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and not (group_size and 0 < guaranteed_group_size <= group_size):
            raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.group_size = group_size
        self.guaranteed_group_size = guaranteed_group_size or group_size
        self.drop_remaining = drop_remaining

    def __iter__(self) -> Iterator[Any]:
        groups: dict[Any, list[Any]] = {}
        count = 0

        def taken(key: Any) -> Any:
            nonlocal count
            chunk = DataChunk(groups.pop(key))
            count -= len(chunk)
            return (key, chunk) if self.keep_key else chunk

        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            groups.setdefault(key, []).append(sample)
            count += 1
            if len(groups[key]) == self.group_size:
                yield taken(key)
            if count == self.max_buffer_size:
                largest = max(groups, key=lambda k: len(groups[k]))
                size, wanted = len(groups[largest]), self.guaranteed_group_size
                if wanted is None or size >= wanted:
                    yield taken(largest)
                elif not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(groups[largest]))
                else:
                    taken(largest)
        for key in list(groups):
            yield taken(key)
