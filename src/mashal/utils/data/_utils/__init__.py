"""The parts of a loader: fetching samples, making batches of them, knowing one's process."""

from . import collate, fetch, worker

__all__ = ["collate", "fetch", "worker"]
