"""Data loading and other tools around the tensor library."""

from __future__ import annotations

from .. import _missing
from ._swap import swap_tensors as swap_tensors
from .backend_registration import generate_methods_for_privateuse1_backend as generate_methods_for_privateuse1_backend
from .backend_registration import rename_privateuse1_backend as rename_privateuse1_backend

# Imported on first use, so that `torch.utils.data` needs no import of its own.
_LAZY = frozenset(
    (
        "_pytree", "backend_registration", "checkpoint", "collect_env", "data", "dlpack", "hooks", "model_zoo",
        "safetensors", "serialization",
    )
)  # fmt: skip

__getattr__ = _missing.hook(__name__, _LAZY)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
