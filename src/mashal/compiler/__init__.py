"""``compile`` and its controls. There is no compiler yet: what is "compiled" runs eagerly, with the same results."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NoReturn

from .. import _compile
from .._config import Config

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "config", "cudagraph_mark_step_begin", "disable",
    "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe", "list_backends", "load_cache_artifacts", "load_compiled_function",
    "nested_compile_region", "reset", "save_cache_artifacts", "set_default_backend", "set_enable_guard_collectives",
    "set_stance", "skip_all_guards_unsafe", "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

config = Config("compiler.config")


def compile(*args: Any, **kwargs: Any) -> Any:
    """See :func:`mashal.compile`."""
    return _compile.compile(*args, **kwargs)


def is_compiling() -> bool:
    """Whether this is being compiled: False."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether this is being traced for compilation: False."""
    return False


def is_exporting() -> bool:
    """Whether this is being exported: False."""
    return False


def reset() -> None:
    """Forgets compiled code: there is none."""


def cudagraph_mark_step_begin() -> None:
    """Marks the start of a step for CUDA graphs: there are none."""


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function, which is not compiled; a decorator without one."""
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function, or functions, which a compiler would not look into.

    Raises:
        AssertionError: for what cannot be called.
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(f) for f in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function."""
    return fn


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of what a compiler would put in place of a function; returns what it decorates."""
    return lambda fn: fn


def nested_compile_region(fn: Any = None, **kwargs: Any) -> Any:
    """The function; a decorator without one."""
    return (lambda f: f) if fn is None else fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as one of tensors.

    Example:
        >>> import mashal, numpy
        >>> mashal.compiler.wrap_numpy(lambda a: numpy.flip(a))(mashal.tensor([1, 2]))
        tensor([2, 1])
    """
    import functools

    import numpy as np

    from .. import as_tensor
    from .._core import Tensor
    from ..utils._pytree import tree_map_only

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map_only(Tensor, lambda t: t.numpy(), (args, kwargs))
        return tree_map_only(np.ndarray, lambda a: as_tensor(a.copy()), fn(*args, **kwargs))

    return wrapped


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The backends by name: "eager" is the only one."""
    return ["eager"]


def get_default_backend() -> Any:
    """The backend of :func:`mashal.compile`: "eager", or what :func:`set_default_backend` was told."""
    return _compile.default_backend()


def set_default_backend(backend: Any) -> None:
    """Keeps a name or function as the default backend (None: "eager"). Functions run eagerly all the same."""
    _compile.set_default_backend(backend)


class set_stance:
    """Says how compiled functions are treated, from here on or for a block; they run eagerly in any case.

    Raises:
        RuntimeError: for another word than PyTorch's.
    """

    _WORDS = (
        "default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile",
        "fail_on_recompile",
    )  # fmt: skip

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        if stance not in self._WORDS:
            raise RuntimeError(f"set_stance: stance must be one of {self._WORDS}, got {stance!r}.")

    def __call__(self, fn: Any) -> Any:
        return fn

    def __enter__(self) -> None:
        """Nothing is compiled."""

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Keeps nothing: there are no guards. Returns the old setting, False."""
    return False


def _no_guards(guard_entries: Any, *args: Any, **kwargs: Any) -> list[bool]:
    """Which guards of a compiled function to keep: all that are given."""
    return [True] * len(guard_entries)


keep_portable_guards_unsafe = _no_guards
keep_tensor_guards_unsafe = _no_guards
skip_all_guards_unsafe = _no_guards
skip_guard_on_all_nn_modules_unsafe = _no_guards
skip_guard_on_globals_unsafe = _no_guards
skip_guard_on_inbuilt_nn_modules_unsafe = _no_guards


def save_cache_artifacts() -> None:
    """The compiled code of this process: None, as there is none."""


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """Loads compiled code of another process: there is none to run it."""


def load_compiled_function(file: io.IOBase, **kwargs: Any) -> NoReturn:
    """Loads a compiled function: not here (yet). Raises: NotImplementedError."""
    raise NotImplementedError("compiler.load_compiled_function: mashal does not compile (yet), see docs/supported.md.")
