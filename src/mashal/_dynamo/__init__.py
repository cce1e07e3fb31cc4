"""The front half of PyTorch's compiler, as far as programs name it: nothing is compiled, all runs eagerly."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .._config import Config
from ..compiler import allow_in_graph as allow_in_graph
from ..compiler import assume_constant_result as assume_constant_result
from ..compiler import disable as disable
from ..compiler import is_compiling as is_compiling
from ..compiler import list_backends as list_backends
from ..compiler import reset as reset
from ..compiler import set_stance as set_stance
from ..compiler import substitute_in_graph as substitute_in_graph
from . import eval_frame as eval_frame
from .eval_frame import OptimizedModule as OptimizedModule
from .eval_frame import is_dynamo_supported as is_dynamo_supported

config = Config(
    "_dynamo.config",
    cache_size_limit=8,
    recompile_limit=8,
    accumulated_cache_size_limit=256,
    suppress_errors=False,
    verbose=False,
    disable=False,
    capture_scalar_outputs=False,
    capture_dynamic_output_shape_ops=False,
    automatic_dynamic_shapes=True,
    optimize_ddp=True,
)
sys.modules[f"{__name__}.config"] = config  # `import torch._dynamo.config`

disallow_in_graph = forbid_in_graph = allow_in_graph
run = disable


def is_inductor_supported() -> bool:
    """Whether there is a code generator: False."""
    return False


def graph_break(msg: str = "") -> None:
    """Ends a graph here: there is none."""


def reset_code_caches() -> None:
    """Forgets compiled code: there is none."""


def mark_dynamic(t: Any, index: Any, **kwargs: Any) -> None:
    """Says that a dimension will vary: no shape is assumed anyway."""


maybe_mark_dynamic = mark_static = mark_dynamic


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Says that a tensor stays where it is: nothing depends on it."""


def optimize(backend: Any = "inductor", **kwargs: Any) -> Callable[[Any], Any]:
    """The older form of :func:`mashal.compile`, a decorator."""
    from .._compile import compile

    return lambda model: compile(model, backend=backend)


def lookup_backend(compiler_fn: Any) -> Any:
    """A backend by name. Raises: RuntimeError for any but "eager"."""
    if callable(compiler_fn):
        return compiler_fn
    if compiler_fn != "eager":
        raise RuntimeError(
            f"Invalid backend: {compiler_fn!r}, see `torch._dynamo.list_backends()` for available backends."
        )
    return lambda module, inputs: module
