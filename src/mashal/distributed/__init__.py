"""Several processes: not here (yet). One process is its own world: rank 0 of 1.

``is_available()`` is False, as in a PyTorch that was built without this. What programs ask without asking that first is
answered for the single process; what needs others raises.
"""

from __future__ import annotations

import enum
import os
from typing import Any, NoReturn

__all__ = [
    "Backend", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "GroupMember", "ProcessGroup",
    "ReduceOp", "Store", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce",
    "all_to_all",
    "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "destroy_process_group", "gather",
    "gather_object", "get_backend", "get_node_local_rank", "get_rank", "get_world_size", "group", "init_device_mesh",
    "init_process_group", "irecv", "is_available", "is_backend_available", "is_gloo_available", "is_initialized",
    "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
    "isend", "monitored_barrier", "new_group", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter",
    "scatter_object_list", "send",
]  # fmt: skip


class DistError(RuntimeError):
    """An error of communication."""


class DistBackendError(DistError):
    """An error of the library that communicates."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of the store by which processes find each other."""


class ReduceOp(enum.IntEnum):
    """How the values of several processes are combined."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class Backend(str):
    """The name of a library that communicates."""

    __slots__ = ()
    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


# Never made here: for annotations and ``isinstance``.
class ProcessGroup:
    """A group of processes."""


class Store:
    """Where processes find each other."""


class Work:
    """A communication that is under way."""


class group:
    """The groups by name: there are none."""

    WORLD: ProcessGroup | None = None


class GroupMember:
    """The groups of this process: none."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


def is_available() -> bool:
    """Whether processes can communicate: False.

    Example:
        >>> import mashal
        >>> mashal.distributed.is_available(), mashal.distributed.get_world_size()
        (False, 1)
    """
    return False


def is_initialized() -> bool:
    """Whether a group of processes was made: False."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether a launcher started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def is_backend_available(backend: str) -> bool:
    """Whether a library that communicates is here: False."""
    return False


def is_gloo_available() -> bool:
    """Whether Gloo is here: False."""
    return False


def is_nccl_available() -> bool:
    """Whether NCCL is here: False."""
    return False


def is_mpi_available() -> bool:
    """Whether MPI is here: False."""
    return False


def is_ucc_available() -> bool:
    """Whether UCC is here: False."""
    return False


def is_xccl_available() -> bool:
    """Whether XCCL is here: False."""
    return False


def get_rank(group: Any = None) -> int:
    """The number of this process: 0."""
    return 0


def get_world_size(group: Any = None) -> int:
    """The number of processes: 1."""
    return 1


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine: ``LOCAL_RANK`` of the environment, ``fallback_rank`` without it.

    Raises:
        RuntimeError: there is neither.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank.")
    return int(fallback_rank)


def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> NoReturn:
    """Joins other processes: not here (yet). Raises: RuntimeError."""
    raise RuntimeError(
        "distributed.init_process_group: mashal does not run on several processes (yet), see docs/supported.md: "
        f"torch.distributed.is_available() is False, got backend {backend!r}. Run the program as one process."
    )


def _needs_a_group(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(
            f"distributed.{name}: the default process group has not been initialized, and mashal cannot make "
            "one (yet): see docs/supported.md. Guard the call by torch.distributed.is_initialized()."
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Needs a group of processes. Raises: ValueError, as there is none."
    return call


all_gather = _needs_a_group("all_gather")
all_gather_into_tensor = _needs_a_group("all_gather_into_tensor")
all_gather_object = _needs_a_group("all_gather_object")
all_reduce = _needs_a_group("all_reduce")
all_to_all = _needs_a_group("all_to_all")
all_to_all_single = _needs_a_group("all_to_all_single")
barrier = _needs_a_group("barrier")
broadcast = _needs_a_group("broadcast")
broadcast_object_list = _needs_a_group("broadcast_object_list")
destroy_process_group = _needs_a_group("destroy_process_group")
gather = _needs_a_group("gather")
gather_object = _needs_a_group("gather_object")
get_backend = _needs_a_group("get_backend")
init_device_mesh = _needs_a_group("init_device_mesh")
irecv = _needs_a_group("irecv")
isend = _needs_a_group("isend")
monitored_barrier = _needs_a_group("monitored_barrier")
new_group = _needs_a_group("new_group")
recv = _needs_a_group("recv")
reduce = _needs_a_group("reduce")
reduce_scatter = _needs_a_group("reduce_scatter")
reduce_scatter_tensor = _needs_a_group("reduce_scatter_tensor")
scatter = _needs_a_group("scatter")
scatter_object_list = _needs_a_group("scatter_object_list")
send = _needs_a_group("send")
