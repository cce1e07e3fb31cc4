"""Which results a checkpoint keeps: the policies are accepted, and everything is computed again."""

from __future__ import annotations

import enum
from typing import Any


class CheckpointPolicy(enum.Enum):
    """What a policy says about a result: keep it, or compute it again."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is told: whether this is the second pass."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Contexts for ``checkpoint(context_fn=...)``. Nothing is kept: the results are the same, at the cost of time.

    Raises:
        TypeError: for what is neither a function nor a list of operations.
    """
    from .checkpoint import noop_context_fn

    if not callable(policy_fn_or_list) and not isinstance(policy_fn_or_list, list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    return noop_context_fn()


class DefaultDeviceType:
    """The device type whose random state a checkpoint keeps when its arguments are on the CPU."""

    _kind = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Sets it."""
        DefaultDeviceType._kind = device

    @staticmethod
    def get_device_type() -> str:
        """What it is."""
        return DefaultDeviceType._kind


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The numbers and random states of the accelerators that tensors lie on: none."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Sets the random states of accelerators: there are none."""


def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """A block for debugging: ``checkpoint(debug=True)`` does it for one call."""
    import contextlib

    return contextlib.nullcontext()
