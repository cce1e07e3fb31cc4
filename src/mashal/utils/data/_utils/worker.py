"""What a loading process knows about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """One loading process.

    Attributes:
        id: its number, from 0.
        num_workers: how many there are.
        seed: the seed of its random numbers.
        dataset: its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


# Set by a loading process when it starts.
_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return what this process is to its loader; None in the main process.

    Iterable datasets use it to divide their stream, so that samples do not come once from each process.
    """
    return _worker_info
