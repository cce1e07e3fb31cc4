"""The graph of a pipe and the pipes that it reads."""

from __future__ import annotations

import warnings
from typing import Any, TypeAlias

from .datapipes.datapipe import IterDataPipe, MapDataPipe, _children

__all__ = ["traverse", "traverse_dps"]

DataPipeGraph: TypeAlias = dict[int, tuple[Any, Any]]


def _traverse(pipe: Any, seen: frozenset[int]) -> DataPipeGraph:
    if not isinstance(pipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in seen:
        return {}
    below: DataPipeGraph = {}
    for child in _children(pipe):
        below.update(_traverse(child, seen | {id(pipe)}))
    return {id(pipe): (pipe, below)}


def traverse_dps(datapipe: Any) -> DataPipeGraph:
    """Return ``{id of the pipe: (the pipe, the graph of what it reads)}``.

    Raises:
        RuntimeError: ``datapipe`` is no pipe.
    """
    return _traverse(datapipe, frozenset())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> DataPipeGraph:
    """The old name of :func:`traverse_dps`."""
    warnings.warn(
        "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return _traverse(datapipe, frozenset())
