# ruff: noqa: N999, PLC0414 - programs import these names from here
"""Names of PyTorch's C++ core that programs use, as far as they have a meaning here."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from . import _core
from ._core import Generator as Generator
from ._core import Size as Size
from ._core import Tensor
from ._core import device as device
from ._core import dtype as dtype
from ._core import memory_format as memory_format
from ._legacy_types import layout as layout
from .ops.decompositions import LinAlgError as _LinAlgError  # noqa: F401
from .overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .overrides import _disabled_torch_function_impl as _disabled_torch_function_impl

TensorBase = Tensor
_TensorBase = Tensor
_TensorMeta = type(Tensor)
_GLIBCXX_USE_CXX11_ABI = True
_has_distributed = _c10d_init = None


class ScriptObject:
    """An object of a C++ class: none is made here."""


class Graph:
    """A TorchScript graph: none is made here."""


class Value:
    """A value of such a graph."""


def _log_api_usage_once(event: str) -> None:
    """Does nothing: nothing is counted."""


def _get_tracing_state() -> None:
    """The trace that is being recorded: None."""


def _is_tracing() -> bool:
    """Whether a trace is being recorded: False."""
    return False


def _get_default_device() -> str:
    """The type of the default device."""
    return str(_core.get_default_device().type)


def _cuda_isInBadFork() -> bool:
    """Whether CUDA was started before this process was forked: False."""
    return False


def _get_privateuse1_backend_name() -> str:
    """The name of the device type that is left to extensions."""
    from .utils.backend_registration import privateuse1_name

    return privateuse1_name()


def _switch(*args: Any) -> bool:
    """A switch of a compiler that is not here: keeps nothing, was off."""
    return False


_jit_set_profiling_executor = _jit_set_profiling_mode = _jit_set_bailout_depth = _switch
_jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _jit_can_fuse_on_cpu = _jit_can_fuse_on_gpu = _switch
_jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = _jit_set_autocast_mode = _jit_clear_class_registry = _switch


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, non_blocking and memory format that the arguments of ``Tensor.to`` mean."""
    from .nn.modules._moving import _parse_to as parse

    return parse(*args, **kwargs)


_nn = ModuleType(f"{__name__}._nn", "Functions of layers.")
_nn._parse_to = _parse_to  # type: ignore[attr-defined]
sys.modules[_nn.__name__] = _nn
