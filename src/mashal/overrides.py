"""``__torch_function__``: how tensor subclasses and other objects take over calls of this package."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor


class _DisabledTorchFunction:
    """The value of ``__torch_function__`` of classes that do not want to be asked (Parameter is one)."""

    _mashal_disabled = True

    def __get__(self, instance: Any, owner: Any = None) -> _DisabledTorchFunction:
        return self

    def __call__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


_disabled_torch_function_impl = _DisabledTorchFunction()


class DisableTorchFunctionSubclass:
    """Within it, subclasses are not asked: operations see plain tensors."""

    def __enter__(self) -> None:
        _core.add_torch_function_disabled(1)

    def __exit__(self, *exc: object) -> None:
        _core.add_torch_function_disabled(-1)


class TorchFunctionMode:
    """Sees every call of this package made within it; override ``__torch_function__``."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        _modes.append(self)
        _core.add_function_mode(1)
        return self

    def __exit__(self, *exc: object) -> None:
        _modes.pop()
        _core.add_function_mode(-1)


_modes: list[TorchFunctionMode] = []


def _participants(args: Any, kwargs: Any) -> list[Any]:
    """Arguments whose class overrides ``__torch_function__``; subclasses before their bases, then left to right."""
    found: list[Any] = []
    seen: set[type] = set()

    def look(a: Any) -> None:
        if isinstance(a, (list, tuple)):
            for item in a:
                look(item)
            return
        cls = type(a)
        if cls in seen or cls is Tensor:
            return
        hook = getattr(cls, "__torch_function__", None)
        if hook is None or hasattr(hook, "_mashal_disabled"):
            return
        seen.add(cls)
        place = next((i for i, other in enumerate(found) if issubclass(cls, type(other))), len(found))
        found.insert(place, a)

    for a in args:
        look(a)
    for a in kwargs.values():
        look(a)
    return found


def _dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Called by the core when a mode is active or an argument overrides ``__torch_function__``."""
    participants = [] if _core.add_torch_function_disabled(0) else _participants(args, kwargs)
    types = tuple(type(p) for p in participants)
    if _modes:
        mode = _modes.pop()
        _core.add_function_mode(-1)
        try:
            result = mode.__torch_function__(func, types, args, kwargs)
        finally:
            _modes.append(mode)
            _core.add_function_mode(1)
        if result is not NotImplemented:
            return result
    for p in participants:
        result = p.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    if not participants:
        return func(*args, **kwargs)
    name = getattr(func, "__name__", func)
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {list(types)}")


def _default_torch_function(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Runs the function on plain tensors and gives tensor results the subclass's type."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        if cls is Tensor or func in _plain_results():
            return result
        return _convert(result, cls)


_plain: set[Any] = set()


def _plain_results() -> set[Any]:
    if not _plain:
        _plain.update({Tensor.__dict__.get("grad"), Tensor.backward})
    return _plain


def _convert(result: Any, cls: type) -> Any:
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result._as_subclass(cls)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(_convert(r, cls) for r in result))
    if isinstance(result, (list, tuple)):
        return type(result)(_convert(r, cls) for r in result)
    return result


def has_torch_function(relevant_args: Any) -> bool:
    """Whether any of the arguments overrides ``__torch_function__`` (modes count)."""
    return bool(_modes) or bool(_participants(tuple(relevant_args), {}))


def handle_torch_function(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Hands a call over to the arguments that override ``__torch_function__``."""
    return _dispatch(public_api, args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """True for tensors and for objects with ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def has_torch_function_unary(arg: Any) -> bool:
    """:func:`has_torch_function` of one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """:func:`has_torch_function` of arguments that are not in a tuple."""
    return has_torch_function(args)


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function can be overridden by the arguments that ``dispatcher`` returns for a call."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def _modules() -> dict[str, Any]:
    """Where functions on tensors are, by PyTorch's names."""
    import mashal

    names = ("", "functional", "nn.functional", "nn.init", "linalg", "fft", "special")
    return {
        f"torch.{name}".rstrip("."): importlib.import_module(f"{mashal.__name__}.{name}".rstrip(".")) for name in names
    }


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions and methods that ``__torch_function__`` is asked about, by the module or class they belong to."""
    from .ops import _registry

    known = {id(entry.call) for entry in _registry.entries.values()}
    found: dict[Any, list[Any]] = {}
    for module in _modules().values():
        functions = [f for name, f in vars(module).items() if not name.startswith("_") and id(f) in known]
        found[module] = functions
    found[Tensor] = [f for name, f in vars(Tensor).items() if not name.startswith("_") and callable(f)]
    return found


@functools.cache
def _names() -> dict[int, str]:
    names: dict[int, str] = {}
    for path, module in _modules().items():
        for name, value in vars(module).items():
            if callable(value) and not isinstance(value, type) and not name.startswith("_"):
                names.setdefault(id(value), f"{path}.{name}")
    for name, value in vars(Tensor).items():
        names.setdefault(id(value), f"torch.Tensor.{name}")
    return names


def resolve_name(f: Any) -> str | None:
    """PyTorch's name of a function or method: "torch.Tensor.add"; None if it has none.

    Example:
        >>> import mashal
        >>> mashal.overrides.resolve_name(mashal.add)
        'torch.add'
    """
    return _names().get(id(f))


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether it is a method or property of Tensor."""
    name = getattr(func, "__name__", None)
    return any(value is func for value in vars(Tensor).values()) or name == "__get__"


def enable_reentrant_dispatch() -> Any:
    """A block in which an operation that was taken over can be taken over again: it can in any case."""
    return contextlib.nullcontext()


Tensor.__torch_function__ = classmethod(_default_torch_function)
