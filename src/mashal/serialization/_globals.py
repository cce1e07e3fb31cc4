"""The globals of checkpoints: which a ``weights_only`` load knows, their names here, and how they may be called.

A file names PyTorch's classes and functions (``torch._utils._rebuild_tensor_v2``). Here is the only table from those
names to ours and back.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import cache
from typing import Any

from .. import _core, _pickling
from .._core import Tensor
from .._pickling import DTYPE_NAMES, DTYPE_OF_STORAGE, short
from ..storage import TypedStorage, UntypedStorage
from ._storage_types import StorageType

# ---- names ----

_package = sys.modules["mashal"]

# Modules of ours that PyTorch calls otherwise.
_TO_TORCH = {
    "mashal._pickling": "torch._utils",
    "mashal.serialization._storage_types": "torch",
}
_TO_TORCH_NAMES = {
    ("mashal._pickling", "_rebuild_from_type_v2"): ("torch._tensor", "_rebuild_from_type_v2"),
    ("mashal._pickling", "_get_layout"): ("torch.serialization", "_get_layout"),
    ("mashal.nn.modules.shaping", "ChannelShuffle"): ("torch.nn.modules.channelshuffle", "ChannelShuffle"),
    ("mashal.nn.modules.shaping", "Flatten"): ("torch.nn.modules.flatten", "Flatten"),
    ("mashal.nn.modules.shaping", "Fold"): ("torch.nn.modules.fold", "Fold"),
    ("mashal.nn.modules.shaping", "PixelShuffle"): ("torch.nn.modules.pixelshuffle", "PixelShuffle"),
    ("mashal.nn.modules.shaping", "PixelUnshuffle"): ("torch.nn.modules.pixelshuffle", "PixelUnshuffle"),
    ("mashal.nn.modules.shaping", "Unflatten"): ("torch.nn.modules.flatten", "Unflatten"),
    ("mashal.nn.modules.shaping", "Unfold"): ("torch.nn.modules.fold", "Unfold"),
    ("mashal.nn.functional._linear_cross_entropy", "LinearCrossEntropyOptions"): (
        "torch.nn",
        "LinearCrossEntropyOptions",
    ),
}
_LAZY = {
    "Linear": "linear",
    **{f"{kind}{d}d": kind.lower() for kind in ("BatchNorm", "InstanceNorm") for d in (1, 2, 3)},
    **{f"{kind}{d}d": "conv" for kind in ("Conv", "ConvTranspose") for d in (1, 2, 3)},
}
_TO_TORCH_NAMES |= {
    ("mashal.nn.modules.lazy", f"Lazy{name}"): (f"torch.nn.modules.{module}", f"Lazy{name}")
    for name, module in _LAZY.items()
}
# The files of torch.nn.modules; a layer of ours in another file is known as torch.nn's.
_NN_MODULES = frozenset(
    (
        "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten",
        "fold", "instancenorm", "lazy", "linear", "loss", "module", "normalization", "padding", "pixelshuffle",
        "pooling", "rnn", "sparse", "transformer", "upsampling", "utils",
    )
)  # fmt: skip
# Folders whose classes PyTorch has in one module.
_FLAT = ("optim.lr_scheduler", "optim._")
_FROM_TORCH = {
    "torch._utils": "mashal._pickling",
    "torch.tensor": "mashal",  # PyTorch before 1.0
    "torch._tensor": "mashal._pickling",
    "torch._C._nn": "mashal.nn.functional",
}
_FROM_TORCH_NAMES = {
    ("torch.serialization", "_get_layout"): ("mashal._pickling", "_get_layout"),
    ("torch._tensor", "Tensor"): ("mashal", "Tensor"),
    # Its methods are the functions of the package: a file has ``getattr(_VariableFunctionsClass, "relu_")``.
    ("torch._C", "_VariableFunctionsClass"): (__name__, "_package"),
    ("torch._C._nn", "log_sigmoid"): ("mashal.nn.functional", "logsigmoid"),
    ("torch.nn.functional", "_threshold"): ("mashal.nn.functional", "threshold"),
}


def torch_name(module: str, name: str) -> tuple[str, str]:
    """The name under which a file should know a global of ours; others keep theirs."""
    if not module.startswith("mashal"):
        return module, name
    if (module, name) in _TO_TORCH_NAMES:
        return _TO_TORCH_NAMES[module, name]
    if module in _TO_TORCH:
        return _TO_TORCH[module], name
    root, _, rest = module.partition(".")
    if root != "mashal":
        return module, name
    if rest.startswith(_FLAT):
        rest = "optim.lr_scheduler" if rest.startswith("optim.lr") else "optim"
    if rest.startswith("nn.functional."):
        rest = "nn.functional"
    if rest.startswith("nn.modules.") and rest.split(".")[2] not in _NN_MODULES:
        rest = "nn"
    return (f"torch.{rest}" if rest else "torch"), name


def resolve(module: str, name: str) -> Any:
    """Our object for a global of PyTorch. It imports, so it is only for files that the user trusts.

    Raises:
        AttributeError: if there is none.
    """
    place, attribute = _FROM_TORCH_NAMES.get((module, name), (_FROM_TORCH.get(module, module), name))
    if place == "torch" or place.startswith("torch."):
        place = f"mashal{place[5:]}"
    # PyTorch may keep a class in a deeper module than we do: look in the packages above it, too.
    while True:
        try:
            found: Any = importlib.import_module(place)
            for part in attribute.split("."):
                found = getattr(found, part)
            return found
        except (ImportError, AttributeError):
            place, dot, _ = place.rpartition(".")
            if not dot:
                raise AttributeError(
                    f"load: the file names {module}.{name}, which mashal does not have: see docs/supported.md."
                ) from None


# ---- what the user has registered ----

_blocked = frozenset(("sys", "os", "posix", "nt"))
_registered: set[Any] = set()


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Lets ``weights_only`` loads make objects of these classes, and call these functions.

    Args:
        safe_globals: classes and functions, or tuples of one with the full name that files use for it.

    Example:
        >>> import mashal
        >>> mashal.serialization.add_safe_globals([range])
        >>> mashal.serialization.get_safe_globals()
        [<class 'range'>]
        >>> mashal.serialization.clear_safe_globals()
    """
    _registered.update(safe_globals)


def get_safe_globals() -> list[Any]:
    """What :func:`add_safe_globals` has registered."""
    return list(_registered)


def clear_safe_globals() -> None:
    """Forgets what :func:`add_safe_globals` has registered."""
    _registered.clear()


class safe_globals:
    """As :func:`add_safe_globals`, inside a context."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        _registered.difference_update(self.safe_globals)


def user_globals() -> dict[str, Any]:
    """What the user has registered, by the names that a file may use.

    Raises:
        ValueError, TypeError: for tuples that are not (object, name).
    """
    found = {}
    for item in _registered:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(
                    "add_safe_globals: Expected tuple of length 2 (global, str of callable full path), but got tuple "
                    f"of length: {len(item)}"
                )
            if type(item[1]) is not str:
                raise TypeError(
                    "add_safe_globals: Expected second item in tuple to be str of callable full path, but got: "
                    f"{type(item[1])}"
                )
            found[item[1]] = item[0]
            continue
        module, name = item.__module__, item.__qualname__
        found[f"{module}.{name}"] = item
        found[".".join(torch_name(module, name))] = item
    return found


# ---- what every weights_only load knows ----


def _no_more_than(what: str, arguments: tuple[Any, ...], *types: Any) -> tuple[Any, ...]:
    """The arguments of a call, if they are of these types. Fewer are fine."""
    if len(arguments) > len(types) or not all(isinstance(a, t) for a, t in zip(arguments, types, strict=False)):
        raise pickle.UnpicklingError(f"{what} is called with unexpected arguments")
    return arguments


def check_key(key: Any, budget: int = 10_000) -> Any:
    """A key of a dict, or an element of a set, from a file.

    Tuples that hold each other twice, many levels deep, are small in a file and take for ever to hash.
    """
    if type(key) is not tuple:
        return key
    waiting = [key]
    while waiting:
        for item in waiting.pop():
            budget -= 1
            if type(item) is tuple:
                waiting.append(item)
        if budget < 0 or len(waiting) > 1000:
            raise pickle.UnpicklingError("a key of a dict or set is nested too deeply")
    _check_depth(key)
    return key


def _check_depth(key: tuple[Any, ...]) -> None:
    level, depth = [key], 0
    while level:
        level = [item for t in level for item in t if type(item) is tuple]
        depth += 1
        if depth > 100:
            raise pickle.UnpicklingError("a key of a dict or set is nested too deeply")


def _ordered_dict(*arguments: Any) -> Any:
    (pairs,) = _no_more_than("OrderedDict", arguments, (list, tuple, dict)) or ((),)
    out: Any = OrderedDict()
    for pair in pairs.items() if isinstance(pairs, dict) else pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise pickle.UnpicklingError("OrderedDict is called with unexpected arguments")
        out[check_key(pair[0])] = pair[1]
    return out


def _counter(*arguments: Any) -> Any:
    _no_more_than("Counter", arguments, dict)
    return Counter(*arguments)


def _set(*arguments: Any) -> Any:
    (items,) = _no_more_than("set", arguments, (list, tuple, set)) or ((),)
    return {check_key(item) for item in items}


def _bytes(*arguments: Any) -> Any:
    # How protocol 2 has b"".
    _no_more_than("bytes", arguments)
    return b""


def _bytearray(*arguments: Any) -> Any:
    if len(arguments) == 2:
        return bytearray(_encode(*arguments))
    _no_more_than("bytearray", arguments, (bytes, bytearray))
    return bytearray(*arguments)


def _encode(*arguments: Any) -> Any:
    text, codec = (*_no_more_than("_codecs.encode", arguments, str, str), "utf-8")[:2]
    if codec not in ("latin1", "latin-1", "ascii", "utf-8", "utf8"):
        raise pickle.UnpicklingError(f"_codecs.encode with the codec {codec[:40]!r} is not allowed")
    return text.encode(codec)


def _complex(*arguments: Any) -> Any:
    return complex(*_no_more_than("complex", arguments, (int, float, complex), (int, float)))


def _size(*arguments: Any) -> Any:
    (sizes,) = _no_more_than("Size", arguments, (tuple, list)) or ((),)
    if not all(type(n) is int for n in sizes):
        raise pickle.UnpicklingError("torch.Size is called with unexpected arguments")
    return _core.Size(sizes)


def _device(*arguments: Any) -> Any:
    return _core.device(*_no_more_than("device", arguments, (str, int), int))


def _empty_of(dtype: Any) -> Callable[..., Tensor]:
    def make(*arguments: Any) -> Tensor:
        _no_more_than("the legacy constructor of a tensor", arguments)
        return _core.empty((0,), None, dtype, None)  # type: ignore[no-any-return]

    return make


def _parameter(*arguments: Any) -> Any:
    from ..nn.parameter import Parameter

    _no_more_than("Parameter", arguments, Tensor, bool)
    return Parameter(*arguments)


class Call:
    """A class or function of the table: what it is, and the guarded form in which a file may call it."""

    __slots__ = ("call", "value")

    def __init__(self, value: Any, call: Callable[..., Any] | None) -> None:
        self.value, self.call = value, call


@cache
def table() -> dict[str, Call]:
    """The globals of every ``weights_only`` load, by their names in files."""
    from .._legacy_types import TYPES
    from ..nn.parameter import Parameter

    entries = {
        "collections.OrderedDict": Call(OrderedDict, _ordered_dict),
        "collections.Counter": Call(Counter, _counter),
        "torch.nn.parameter.Parameter": Call(Parameter, _parameter),
        "torch.serialization._get_layout": Call(_pickling._get_layout, _pickling._get_layout),
        "torch.Size": Call(_core.Size, _size),
        "torch.Tensor": Call(Tensor, _empty_of(_core.float32)),
        "torch.device": Call(_core.device, _device),
        "_codecs.encode": Call(_encode, _encode),
        "builtins.bytes": Call(bytes, _bytes),
        "builtins.bytearray": Call(bytearray, _bytearray),
        "builtins.set": Call(set, _set),
        "builtins.complex": Call(complex, _complex),
        "torch._tensor._rebuild_from_type_v2": Call(_pickling._rebuild_from_type_v2, _rebuild_from_type),
        "torch.storage.UntypedStorage": Call(UntypedStorage, None),
        "torch.UntypedStorage": Call(UntypedStorage, None),
        "torch.storage.TypedStorage": Call(TypedStorage, None),
    }
    for name, dtype in DTYPE_NAMES.items():
        entries[f"torch.{name}"] = Call(dtype, None)
    for name in DTYPE_OF_STORAGE:
        entries[f"torch.{name}"] = entries[f"torch.cuda.{name}"] = Call(StorageType(name), None)
    for name, cls in TYPES.items():
        if not cls.dtype.is_complex:
            entries[f"torch.{name}"] = Call(cls, _empty_of(cls.dtype))
    for function in _pickling.REBUILD_TENSOR:
        entries[f"torch._utils.{function.__name__}"] = Call(function, function)
    return entries


@cache
def calls() -> dict[int, Callable[..., Any]]:
    """The guarded call by the identity of what stands for it on the stack."""
    return {id(entry.value): entry.call for entry in table().values() if entry.call is not None}


def _rebuild_from_type(*arguments: Any) -> Any:
    """A tensor with attributes or of a subclass; ``func`` must be one of the functions that make tensors."""
    if len(arguments) != 4 or arguments[0] not in _pickling.REBUILD_TENSOR or not isinstance(arguments[2], tuple):
        raise pickle.UnpicklingError(
            f"_rebuild_from_type_v2 needs a function that makes a tensor, got {short(arguments[:1])}"
        )
    return _pickling._rebuild_from_type_v2(*arguments)


_UNSUPPORTED = {
    "torch._utils._rebuild_qtensor": "quantized tensors",
    "torch._utils._rebuild_nested_tensor": "nested tensors",
    "torch._utils._rebuild_wrapper_subclass": "wrapper subclasses",
}


def unsupported(full_name: str) -> str | None:
    """Why a global of PyTorch's own list is of no use here."""
    if full_name in _UNSUPPORTED:
        return f"{_UNSUPPORTED[full_name]} are not supported"
    module, _, name = full_name.rpartition(".")
    if module in ("torch", "torch.cuda") and name.endswith("Storage"):
        return f"tensors of {full_name} are not supported"
    if module == "torch" and name.startswith(("float8", "float4", "uint", "int", "bits", "q")) and name[-1:].isdigit():
        return f"the dtype {full_name} is not supported"
    return None


def blocked(module: str) -> bool:
    """Whether a module is never allowed, even if the user registers what is in it."""
    return module in _blocked
