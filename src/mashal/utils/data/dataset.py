"""Datasets: by index or by iteration, and combinations of them."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from ... import Generator, Tensor, default_generator, randperm

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """A collection of samples with keys; the base class of datasets.

    A subclass defines ``__getitem__`` and, for most samplers and loaders, ``__len__``. It may define
    ``__getitems__(indices)``, which returns the list of samples of one batch, where that is faster.

    ``a + b`` is the concatenation of two datasets.
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """A stream of samples: a subclass defines ``__iter__``.

    With several loading processes each process iterates over its own copy: use
    :func:`~mashal.utils.data.get_worker_info` to divide the stream.

    ``a + b`` is the chain of two streams.
    """

    @abstractmethod
    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples are the slices of tensors along their first dimension.

    Args:
        *tensors: tensors with equal first sizes.

    Raises:
        AssertionError: the first sizes differ.

    Example:
        >>> inputs, target = TensorDataset(mashal.rand(10, 3), mashal.arange(10))[4]  # doctest: +SKIP
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.size(0) != tensors[0].size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([t[index] for t in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


def _get_items(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """Return the samples of one batch, in one call where the dataset offers it."""
    get_items = getattr(dataset, "__getitems__", None)
    if not callable(get_items):
        return [dataset[i] for i in indices]
    items: list[Any] = get_items(indices)
    return items


class StackDataset(Dataset[Any]):
    """Several datasets side by side: a sample is a tuple, or a dictionary, of their samples.

    Args:
        *args: datasets of equal length; samples are tuples.
        **kwargs: datasets of equal length; samples are dictionaries. Give one or the other.

    Raises:
        ValueError: both kinds are given, or none, or the lengths differ.

    Example:
        >>> StackDataset(image=images, text=texts)[0]  # {"image": ..., "text": ...}  # doctest: +SKIP
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, "
                "but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        parts = self._parts()
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, values: Sequence[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, values, strict=True))
        return tuple(values)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([part[index] for part in self._parts()])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = []
        for part in self._parts():
            items = _get_items(part, indices)
            if len(items) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
            columns.append(items)
        return [self._sample(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """Datasets one after the other.

    Args:
        datasets: datasets with lengths.

    Raises:
        AssertionError: there is none, or one is iterable only.

    Example:
        >>> both = ConcatDataset([first, second])  # the same as first + second  # doctest: +SKIP
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return the running sum of lengths."""
        return list(accumulate(len(part) for part in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(part, IterableDataset) for part in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> _T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        part = bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[part - 1] if part > 0 else 0
        sample: _T_co = self.datasets[part][idx - start]
        return sample

    @property
    def cummulative_sizes(self) -> list[int]:
        """``cumulative_sizes`` under its old, misspelt name."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`", category=FutureWarning, stacklevel=2
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other.

    Args:
        datasets: iterable datasets; checked when their turn comes.

    Raises:
        AssertionError: one is not an :class:`IterableDataset`.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield part

    def __iter__(self) -> Iterator[Any]:
        for part in self._checked():
            yield from part

    def __len__(self) -> int:
        return sum(len(part) for part in self._checked())  # type: ignore[arg-type]


class Subset(Dataset[_T_co]):
    """The samples of a dataset at given indices.

    Args:
        dataset: the whole.
        indices: which samples, in which order.

    Raises:
        NotImplementedError: a subclass overrides ``__getitem__`` but not ``__getitems__``, which loaders would call.

    Example:
        >>> first_half = Subset(dataset, range(len(dataset) // 2))  # doctest: +SKIP
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your "
                "custom logic. A simple implementation:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[_T_co]:
        return _get_items(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[_T], lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[_T]]:
    """Divide a dataset at random into parts that do not overlap.

    Args:
        dataset: the whole, with a length.
        lengths: sizes that add up to ``len(dataset)``, or fractions that add up to 1; what rounding down leaves over
            goes one by one to the first parts.
        generator: source of the permutation.

    Returns:
        One :class:`Subset` per length.

    Raises:
        ValueError: the lengths do not add up, or a fraction is out of range.

    Example:
        >>> train, test = random_split(dataset, [0.8, 0.2])  # doctest: +SKIP
    """
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        sizes = []
        for i, fraction in enumerate(lengths):
            if fraction < 0 or fraction > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
            sizes.append(math.floor(total * fraction))
        for i in range(total - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if size == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
        lengths = sizes
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = randperm(total, generator=generator).tolist()
    ends = list(accumulate(lengths))
    return [Subset(dataset, indices[end - size : end]) for end, size in zip(ends, lengths, strict=True)]
