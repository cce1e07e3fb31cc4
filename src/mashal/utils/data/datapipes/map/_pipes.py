"""The pipes over data with keys."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..... import empty, int64
from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe, MapDataPipe, _check_picklable


def _check_sources(datapipes: tuple[Any, ...]) -> None:
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(pipe, MapDataPipe) for pipe in datapipes):
        raise TypeError("Expected all inputs to be `MapDataPipe`")


class SequenceWrapperMapDataPipe(MapDataPipe[Any]):
    """The elements of a sequence, or the values of a mapping.

    Args:
        sequence: the sequence.
        deepcopy: keep a copy of it.
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of in-place modification would affect "
                    "source data",
                    stacklevel=2,
                )

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe[Any]):
    """``fn`` of every sample."""

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any]) -> None:
        _check_picklable(fn)
        self.datapipe = datapipe
        self.fn = fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe[Any]):
    """One source after the other, with keys counted on."""

    def __init__(self, *datapipes: Any) -> None:
        _check_sources(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe[Any]):
    """Tuples of the samples of all sources."""

    def __init__(self, *datapipes: Any) -> None:
        _check_sources(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe[Any]):
    """Lists of ``batch_size`` samples; keys count lists."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        start = index * self.batch_size
        end = min(start + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(start, end)])

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class ShufflerIterDataPipe(IterDataPipe[Any]):
    """A stream of the samples in random order.

    Args:
        datapipe: the source.
        indices: its keys; 0 to its length if None.
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()
        self._shuffled_indices = self.indices

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Turn shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """Seed the next pass."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        for index in self._shuffled_indices if self._enabled else self.indices:
            yield self.datapipe[index]

    def reset(self) -> None:
        if self._enabled:
            if self._seed is None:
                self._seed = int(empty((), dtype=int64).random_().item())
            self._rng.seed(self._seed)
            self._seed = None
            # From the end of the sample: PyTorch pops them off.
            self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))[::-1]

    def __len__(self) -> int:
        return len(self.datapipe)


def _shuffle(source: Any, *, indices: list[Any] | None = None) -> ShufflerIterDataPipe:
    """``pipe.shuffle()``: a stream, unlike the other methods."""
    return ShufflerIterDataPipe(source, indices=indices)


MapDataPipe.register_function("shuffle", _shuffle)
