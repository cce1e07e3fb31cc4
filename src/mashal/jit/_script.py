"""``script`` and what belongs to it, run eagerly; tracing and files of graphs, which are not here yet."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ..futures import Future
from ..nn import Module
from ._marks import Attribute

__all__ = [
    "CompilationUnit", "Error", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "ScriptWarning",
    "TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "enable_onednn_fusion", "fork",
    "freeze", "fuser", "load", "onednn_fusion_enabled", "optimize_for_inference", "optimized_execution",
    "run_frozen_optimizations", "save", "script", "script_if_tracing", "script_method", "set_fusion_strategy",
    "set_module", "strict_fusion", "trace", "trace_module", "wait",
]  # fmt: skip


class Error(RuntimeError):
    """An error of a scripted function."""


class ScriptWarning(Warning):
    """A warning of the TorchScript compiler."""


class TracerWarning(Warning):
    """A warning of a trace."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing is traced, so nothing warns."""


class TracingCheckError(Exception):
    """A trace that does not compute what the function computes."""


def _no_graph(name: str, instead: str) -> NoReturn:
    raise NotImplementedError(
        f"jit.{name}: mashal does not make or read TorchScript graphs (yet), see docs/supported.md. {instead}"
    )


class ScriptModule(Module):
    """A :class:`~mashal.nn.Module`. Attributes given as :class:`Attribute` keep their value."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.value if isinstance(value, Attribute) else value)

    def save(self, f: Any, **kwargs: Any) -> NoReturn:
        """Needs a graph. Raises: NotImplementedError."""
        _no_graph("ScriptModule.save", "Save the state_dict instead.")


# Never made here: for ``isinstance`` and annotations.
class RecursiveScriptModule(ScriptModule):
    """What scripting a module gives in PyTorch; here it gives the module."""


class TracedModule(ScriptModule):
    """What tracing a module gives in PyTorch."""


class TopLevelTracedModule(TracedModule):
    """What tracing a module gives in PyTorch."""


class ScriptFunction:
    """What scripting a function gives in PyTorch; here it gives the function."""


class CompilationUnit:
    """Source text with functions. Raises: NotImplementedError for any."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            _no_graph("CompilationUnit", "Define the functions in Python.")


def script(
    obj: Any,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """The function, class or module itself, which runs eagerly with the same results.

    Raises:
        RuntimeError: for what cannot be scripted.
    """
    if isinstance(obj, Module) or inspect.isroutine(obj) or inspect.isclass(obj) or callable(obj):
        return obj
    if isinstance(obj, (list, dict)):
        return obj
    raise RuntimeError(f"jit.script: obj must be a function, a class or a Module, got {type(obj).__name__}.")


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The method."""
    return fn


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function."""
    return fn


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> NoReturn:
    """Records a graph: not here (yet). Raises: NotImplementedError."""
    _no_graph("trace", "Call the function or module as it is.")


def trace_module(mod: Any, inputs: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Records graphs of methods: not here (yet). Raises: NotImplementedError."""
    _no_graph("trace_module", "Call the module as it is.")


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Writes a graph: not here (yet). Raises: NotImplementedError."""
    _no_graph("save", "Save the state_dict with mashal.save instead.")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    """Reads a graph: not here (yet). Raises: NotImplementedError."""
    _no_graph("load", "Load a state_dict into a module instead.")


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """The module, which must be in evaluation mode. Raises: RuntimeError in training mode."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() first."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """The module."""
    return mod


def run_frozen_optimizations(mod: Any, optimize_numerics: bool = True, preserved_methods: Any = None) -> None:
    """Does nothing: there is no graph."""


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block in which graphs are optimised, or not: there are none."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """A block in which graphs are fused by ``name``: there are none. Raises: Exception for a name that is none."""
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


class strict_fusion:
    """A block in which graphs that do not fuse are an error: there are none."""

    def __enter__(self) -> None:
        """There is nothing to fuse."""

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""


_settings: dict[str, Any] = {"onednn": False, "fusion": [("STATIC", 2), ("DYNAMIC", 10)]}


def enable_onednn_fusion(enabled: bool) -> None:
    """Lets graphs be fused by oneDNN; the setting is kept."""
    _settings["onednn"] = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """What :func:`enable_onednn_fusion` was told."""
    return _settings["onednn"]  # type: ignore[no-any-return]


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Sets how graphs are specialised; returns the old setting."""
    old: list[tuple[str, int]] = _settings["fusion"]
    _settings["fusion"] = strategy
    return old


def set_module(obj: Any, mod: Any) -> None:
    """Sets ``__module__``."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A future of the call's result. The call is made at once, as PyTorch does outside scripts."""
    future: Any = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Any) -> Any:
    """The result of a future."""
    return future.wait()
