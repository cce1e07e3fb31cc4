"""All operations. Importing a room declares its ops; :func:`publish` offers them under their public names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import _core
from . import _registry

# The rooms, in order of dependence. Every room is named here once; what it holds is known to the registry alone.
_ROOMS = (
    "views",
    "copy",
    "casting",
    "creation",
    "windows",
    "memory",
    "arithmetic",
    "power",
    "transcendental",
    "special",
    "rounding",
    "logic",
    "complex",
    "extrema",
    "activations",
    "polynomials",
    "joining",
    "indexing",
    "masking",
    "advanced",
    "searching",
    "rearrange",
    "grids",
    "embedding",
    "reduce",
    "scan",
    "sort",
    "statistics",
    "softmax",
    "norms",
    "losses",
    "pointwise_losses",
    "matmul",
    "einsum",
    "distance",
    "ctc",
    "padding",
    "convolution",
    "pooling",
    "interpolate",
    "shuffles",
    "random",
    "sampling",
    "dropout",
    "attention",
    "recurrent",
    "optimizers",
    "decompositions",
    "solvers",
    "linalg",
    "spectral",
    "short_time",
    "sparse",
    "view_copies",
    "histograms",
    "older",
)
for _room in _ROOMS:
    import_module(f"{__name__}.{_room}")


def _offered(call: Any, name: str) -> Any:
    """A composite as the user has it, known to pickle by its public place."""
    function = _registry.checked(call, name)
    if function.__module__ != "mashal":  # else it is offered under another name already
        function.__module__, function.__qualname__ = "mashal", name
    return function


def publish(namespace: dict[str, Any]) -> None:
    """Puts every op where its declaration says: into ``namespace`` and onto ``Tensor``."""
    for name, entry in _registry.entries.items():
        if entry.function:
            namespace[name] = entry.call if entry.primitive else _offered(entry.call, name)
        if entry.method:
            setattr(_core.Tensor, name, entry.call._method(name, False) if entry.primitive else entry.call)
        if entry.inplace:
            in_place = entry.call._method(f"{name}_", True) if entry.primitive else entry.inplace_call
            setattr(_core.Tensor, f"{name}_", in_place)
            if entry.function:
                namespace[f"{name}_"] = in_place
