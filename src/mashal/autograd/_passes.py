"""What kind of backward pass runs in this thread: checkpointing works only in some."""

from __future__ import annotations

import threading
from typing import Any

from .. import _core


class _State(threading.local):
    """Whether the pass leaves some leaves out: ``grad``, or ``backward`` with ``inputs``."""

    partial = False


_state = _State()


def run_backward(roots: Any, grads: Any, inputs: Any, keep: bool, create_graph: bool, accumulate: bool) -> Any:
    """The engine's pass."""
    before, _state.partial = _state.partial, not accumulate or inputs is not None
    try:
        return _core.run_backward(roots, grads, inputs, keep, create_graph, accumulate)
    finally:
        _state.partial = before


def _is_checkpoint_valid() -> bool:
    """Whether a backward pass may start inside the one that runs now and reach the same leaves."""
    return not _state.partial
