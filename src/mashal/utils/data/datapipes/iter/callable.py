"""Pipes that call a function on each sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..._utils.collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, _check_picklable, _length

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


def _call(function: Callable[..., Any], data: Any, columns: Any) -> Any:
    """The function of a sample, or of one or several of its columns."""
    if columns is None:
        return function(data)
    if isinstance(columns, (list, tuple)):
        return function(*(data[column] for column in columns))
    return function(data[columns])


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """``fn`` of every sample.

    Args:
        datapipe: the source.
        fn: the function.
        input_col: column, or columns, of a sample that are given to ``fn``; all of it if None.
        output_col: column for the result; -1 adds one; None replaces ``input_col``.
    """

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        _check_picklable(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.datapipe = datapipe
        self.fn = fn
        self.input_col = input_col
        self.output_col = output_col

    def _apply(self, data: Any) -> Any:
        result = _call(self.fn, data, self.input_col)
        if self.input_col is None:
            return result
        was_tuple = isinstance(data, tuple)
        if was_tuple:
            data = list(data)
        if self.output_col == -1:
            data.append(result)
        elif self.output_col is not None:
            data[self.output_col] = result
        elif isinstance(self.input_col, (list, tuple)):
            data[self.input_col[0]] = result
            for column in sorted(self.input_col[1:], reverse=True):
                del data[column]
        else:
            data[self.input_col] = result
        return tuple(data) if was_tuple else data

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply(data)

    def __len__(self) -> int:
        return _length(self, self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches made of lists of samples.

    Args:
        datapipe: the source, of lists.
        conversion: ignored without data frames.
        collate_fn: makes a batch; :func:`~mashal.utils.data.default_collate` if not given.
    """

    def __init__(
        self, datapipe: Any, conversion: Any = default_collate, collate_fn: Callable[..., Any] | None = None
    ) -> None:
        if isinstance(conversion, dict):
            raise NotImplementedError("collate: a conversion by column is for data frames. Use collate_fn.")
        super().__init__(datapipe, fn=conversion if collate_fn is None else collate_fn)
