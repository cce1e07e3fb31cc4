"""Modules on several processes: not here (yet)."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over processes. The class is here to be imported.

    Raises:
        RuntimeError: when it is made: mashal does not run on several processes (yet).
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        raise RuntimeError(
            "DistributedDataParallel: mashal does not run on several processes (yet), see docs/supported.md: "
            "torch.distributed.is_available() is False. Run the program as one process, without it."
        )
