"""Pipes that join several sources, or divide one."""

from __future__ import annotations

import copy as copying
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, _check_picklable, _length

__all__ = [
    "ConcaterIterDataPipe",
    "DemultiplexerIterDataPipe",
    "ForkerIterDataPipe",
    "MultiplexerIterDataPipe",
    "ZipperIterDataPipe",
]


def _check_sources(name: str, datapipes: tuple[Any, ...]) -> None:
    if not datapipes:
        raise ValueError(f"Expected at least one DataPipe, but got nothing for {name}")
    if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
        raise TypeError("Expected all inputs to be `IterDataPipe`")


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """One source after the other."""

    def __init__(self, *datapipes: Any) -> None:
        _check_sources("concat", datapipes)
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(_length(self, pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[Any]):
    """Tuples of a sample of each source, up to the end of the shortest."""

    def __init__(self, *datapipes: Any) -> None:
        _check_sources("zip", datapipes)
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(_length(self, pipe) for pipe in self.datapipes)


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """A sample of each source in turn, up to the end of the shortest."""

    def __init__(self, *datapipes: Any) -> None:
        _check_sources("mux", datapipes)
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for row in zip(*self.datapipes, strict=False):
            yield from row

    def __len__(self) -> int:
        return min(_length(self, pipe) for pipe in self.datapipes) * len(self.datapipes)


class _Splitter:
    """One source read by several pipes at their own speed; what some have not read yet is kept.

    Args:
        datapipe: the source.
        count: number of readers.
        buffer_size: how far one may be ahead; -1 for any.
        targets: which readers get a sample.
        copy: applied to what each of them gets.
    """

    def __init__(
        self,
        datapipe: Any,
        count: int,
        buffer_size: int,
        targets: Callable[[Any], Any],
        copy: Callable[[Any], Any] | None,
    ) -> None:
        self.datapipe = datapipe
        self.count = count
        self.buffer_size = buffer_size
        self.targets = targets
        self.copy = copy
        self._begin()

    def _begin(self) -> None:
        self._source: Iterator[Any] | None = None
        self._waiting: list[deque[Any]] = [deque() for _ in range(self.count)]
        self._started = [False] * self.count

    def __getstate__(self) -> Any:
        return self.datapipe, self.count, self.buffer_size, self.targets, self.copy

    def __setstate__(self, state: Any) -> None:
        self.datapipe, self.count, self.buffer_size, self.targets, self.copy = state
        self._begin()

    def read(self, reader: int) -> Iterator[Any]:
        """A pass of one reader. A second pass of any begins a new one for all."""
        if self._started[reader] or self._source is None:
            self._begin()
            self._source = iter(self.datapipe)
        self._started[reader] = True
        source, waiting = self._source, self._waiting
        while True:
            if source is not self._source:
                raise RuntimeError(
                    "This child DataPipe has been invalidated, because another pass over a DataPipe of the same "
                    "fork or demux has begun. There is a single iterator per IterDataPipe constraint."
                )
            if waiting[reader]:
                yield waiting[reader].popleft()
                continue
            try:
                sample = next(source)
            except StopIteration:
                return
            for target in self.targets(sample):
                waiting[target].append(sample if self.copy is None else self.copy(sample))
            if 0 <= self.buffer_size < max(map(len, waiting)):
                raise BufferError(
                    f"A DataPipe of a fork or demux is more than buffer_size={self.buffer_size} samples ahead of "
                    "another. Read them side by side, or make buffer_size larger (-1 for no limit)."
                )


class _Branch(IterDataPipe[Any]):
    def __init__(self, splitter: _Splitter, reader: int, same_length: bool) -> None:
        self.main_datapipe = splitter
        self.instance_id = reader
        self._same_length = same_length

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.read(self.instance_id)

    def __len__(self) -> int:
        if not self._same_length:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return _length(self, self.main_datapipe.datapipe)


class _All:
    """Every reader gets every sample."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, sample: Any) -> Any:
        return range(self.count)


class _Classified:
    """The reader that a function names gets the sample."""

    def __init__(self, count: int, function: Callable[[Any], Any], drop_none: bool) -> None:
        self.count = count
        self.function = function
        self.drop_none = drop_none

    def __call__(self, sample: Any) -> Any:
        target = self.function(sample)
        if target is None and self.drop_none:
            return ()
        if target is None or not 0 <= target < self.count:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.count - 1}. {target} is returned."
            )
        return (int(target),)


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Several pipes with the same samples; building it gives their list.

    Args:
        datapipe: the source.
        num_instances: number of pipes.
        buffer_size: how many samples one may be ahead of another; -1 for any number.
        copy: "shallow" or "deep" copies of each sample; None for the sample itself.
    """

    def __new__(cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        if copy not in (None, "shallow", "deep"):
            raise ValueError(f"Unknown copy method `{copy}`: use None, 'shallow' or 'deep'")
        if num_instances == 1:
            return [datapipe]
        function = {None: None, "shallow": copying.copy, "deep": copying.deepcopy}[copy]
        splitter = _Splitter(datapipe, num_instances, buffer_size, _All(num_instances), function)
        return [_Branch(splitter, i, True) for i in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Several pipes, each with its class of samples; building it gives their list.

    Args:
        datapipe: the source.
        num_instances: number of pipes.
        classifier_fn: says which pipe gets a sample.
        drop_none: leave out samples for which it says None.
        buffer_size: how many samples may wait for a pipe; -1 for any number.
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], Any],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        _check_picklable(classifier_fn)
        targets = _Classified(num_instances, classifier_fn, drop_none)
        splitter = _Splitter(datapipe, num_instances, buffer_size, targets, None)
        return [_Branch(splitter, i, False) for i in range(num_instances)]
