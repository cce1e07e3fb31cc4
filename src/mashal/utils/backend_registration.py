"""The name of the device type that is left to extensions."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"]

_names = ["privateuseone"]


def privateuse1_name() -> str:
    """The present name."""
    return _names[-1]


def rename_privateuse1_backend(backend_name: str) -> None:
    """Renames the device type "privateuseone", once. There is no device behind it.

    Raises:
        RuntimeError: it has another name already, or this one belongs to a device type.
    """
    if not isinstance(backend_name, str):
        raise TypeError(f"rename_privateuse1_backend: backend_name must be str, not {type(backend_name).__name__}")
    if backend_name in ("cpu", "cuda", "meta", "xpu", "mps", "mtia"):
        raise RuntimeError(f"Cannot register {backend_name} as the name of the privateuse1 backend: it is taken.")
    if len(_names) > 1 and _names[-1] != backend_name:
        raise RuntimeError(f"torch.register_privateuse1_backend() has already been set! Current backend: {_names[-1]}")
    if len(_names) == 1:
        _names.append(backend_name)


def generate_methods_for_privateuse1_backend(*args: Any, **kwargs: Any) -> NoReturn:
    """Methods for such a device: there is none. Raises: RuntimeError."""
    raise RuntimeError("generate_methods_for_privateuse1_backend: mashal takes no device extensions in C++ (yet).")
