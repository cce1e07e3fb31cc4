"""Where storages live: tags in files, and the way back to a device, which a user may extend."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .. import _core

_registry: list[tuple[int, Callable[[Any], str | None], Callable[[Any, str], Any]]] = []


def register_package(
    priority: int, tagger: Callable[[Any], str | None], deserializer: Callable[[Any, str], Any]
) -> None:
    """Adds a kind of place where storages live.

    Args:
        priority: the smallest is asked first.
        tagger: gives the tag of a storage that it knows, otherwise None.
        deserializer: gives the storage in the place that a tag names, or None for a tag that is not its own.
    """
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """The tag under which a file says where a storage was: ``cpu``, ``cuda:0``, ``meta``.

    Example:
        >>> import mashal
        >>> mashal.serialization.location_tag(mashal.ones(1).untyped_storage())
        'cpu'
    """
    for _, tagger, _ in _registry:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage in the place that a tag names.

    Raises:
        RuntimeError: for a device that is not there, or a tag that nobody knows.
    """
    for _, _, deserializer in _registry:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise RuntimeError(
        f"don't know how to restore data location of {type(storage).__name__} (tagged with {location[:80]}). Use "
        "map_location='cpu'."
    )


def restorer(map_location: Any) -> Callable[[Any, str], Any]:
    """The function from (storage, tag) to a storage that a ``map_location`` stands for."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, int) and not isinstance(map_location, bool):
        map_location = f"cuda:{map_location}"
    if isinstance(map_location, (str, _core.device)):
        place = str(map_location)
        return lambda storage, location: default_restore_location(storage, place)
    if not callable(map_location):
        raise TypeError(
            "load: map_location must be a device, a string, a dict, a function or None, got "
            f"{type(map_location).__name__}."
        )

    def restore(storage: Any, location: str) -> Any:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


def _validate(location: str, kind: str) -> Any:
    module = getattr(__import__("mashal"), kind, None)
    title = kind.upper()
    repair = (
        "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
        "your storages to the CPU."
    )
    if module is None:
        raise RuntimeError(f"The {title} device module is not registered. {repair}")
    if not module.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on a {title} device but torch.{kind}.is_available() is False. {repair}"
        )
    index = _core.device(location).index or 0
    if index >= module.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on {title} device {index} but torch.{kind}.device_count() is "
            f"{module.device_count()}. Please use torch.load with map_location to map your storages to an existing "
            "device."
        )
    return _core.device(kind, index)


def validate_cuda_device(location: str) -> int:
    """The number of the CUDA device that a tag names.

    Raises:
        RuntimeError: if it is not there.
    """
    return int(_validate(location, "cuda").index)


def validate_hpu_device(location: str) -> int:
    """The number of the HPU that a tag names.

    Raises:
        RuntimeError: if it is not there.
    """
    return int(_validate(location, "hpu").index)


def _same(kind: str) -> Callable[[Any], str | None]:
    def tag(storage: Any) -> str | None:
        device = storage.device
        if device.type != kind:
            return None
        return kind if device.index is None else f"{kind}:{device.index}"

    return tag


def _move(kind: str) -> Callable[[Any, str], Any]:
    pattern = re.compile(rf"{kind}(?::\d+)?")

    def restore(storage: Any, location: str) -> Any:
        return storage.to(device=_validate(location, kind)) if pattern.fullmatch(location) else None

    return restore


def _meta(storage: Any, location: str) -> Any:
    return storage.to(device="meta") if location == "meta" else None


register_package(10, _same("cpu"), lambda storage, location: storage if location == "cpu" else None)
register_package(22, _same("meta"), _meta)
for _priority, _kind in ((20, "cuda"), (21, "mps"), (24, "hpu"), (25, "xpu"), (26, "mtia")):
    register_package(_priority, _same(_kind), _move(_kind))
