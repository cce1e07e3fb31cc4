"""``compile``: a wrapper that runs eagerly until there is a compiler."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_state: dict[str, Any] = {"backend": "eager"}
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def default_backend() -> Any:
    """The backend that is taken when none is named."""
    return _state["backend"]


def set_default_backend(backend: Any) -> None:
    """Sets it; None is "eager"."""
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"set_default_backend: backend must be a name or a function, got {type(backend).__name__}.")
    _state["backend"] = backend or "eager"


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A function or module that computes what ``model`` computes. It runs eagerly: there is no compiler (yet).

    Args:
        model: a function or a :class:`~mashal.nn.Module`; without it, the result is a decorator.
        fullgraph: accepted, as are all others.
        dynamic: accepted.
        backend: accepted: a name or a function.
        mode: "default", "reduce-overhead", "max-autotune" or "max-autotune-no-cudagraphs"; not with ``options``.
        options: accepted.
        name: accepted.
        disable: return ``model`` itself.
        recompile_limit: accepted.
        isolate_recompiles: accepted.
        shapes_spec: accepted.

    Returns:
        For a module, another whose ``_orig_mod`` it is (keys of the state dict begin so, as in PyTorch). For a
        function, a function with its name and documentation.

    Raises:
        RuntimeError: both ``mode`` and ``options`` are given, the mode is none of these, or ``model`` cannot be called.

    Example:
        >>> import mashal
        >>> @mashal.compile
        ... def f(x):
        ...     return x + 1
        >>> f(mashal.zeros(2))
        tensor([1., 1.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"compile: mode must be one of {_MODES}, got {mode!r}.")
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if disable:
        return model
    from .nn import Module

    if isinstance(model, Module):
        from ._dynamo.eval_frame import OptimizedModule

        return OptimizedModule(model)
    if not callable(model):
        raise RuntimeError(f"compile: model must be a function or a Module, got {type(model).__name__}.")
    return _wrapped(model)


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    compiled._torchdynamo_orig_callable = function  # type: ignore[attr-defined]
    return compiled
