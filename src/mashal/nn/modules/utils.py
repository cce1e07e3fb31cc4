"""Small helpers of the layers: repeated tuples, prefixes of state dictionaries, type names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from ... import Tensor

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        if isinstance(x, Iterable):
            return tuple(x)
        return tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """``(a, b)`` becomes ``(b, b, a, a)`` for n = 2: the order in which ``F.pad`` wants per-side amounts."""
    return tuple(x for x in reversed(tuple(t)) for _ in range(n))


def _list_with_default(out_size: list[Any], defaults: list[int]) -> Any:
    """Fills the ``None`` entries of ``out_size`` from the last entries of ``defaults``."""
    if isinstance(out_size, int | Tensor):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    tail = defaults[-len(out_size) :]
    return [default if size is None else size for size, default in zip(out_size, tail, strict=True)]


def _typename(obj: Any) -> str:
    """The type's name for error messages: a tensor's legacy type, else the qualified class name."""
    if isinstance(obj, Tensor):
        return obj.type()
    if isinstance(obj, type):
        cls = obj
    else:
        cls = type(obj)
    module = getattr(cls, "__module__", "")
    if not module or module == "builtins":
        return cls.__qualname__
    return f"{module}.{cls.__qualname__}"


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strips ``prefix`` from the keys of ``state_dict`` (and of its ``_metadata``), in place.

    Keys without the prefix stay as they are. Meant for weights saved from a wrapper such as ``DataParallel``
    (prefix ``"module."``).
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        # "module" names the wrapper itself and "" the inner module after stripping.
        if len(key) == 0:
            continue
        name = key.replace(".", "") if key == prefix.rstrip(".") else key
        if key == prefix.rstrip("."):
            metadata[""] = metadata.pop(key)
        elif name.startswith(prefix):
            metadata[name[len(prefix) :]] = metadata.pop(key)
