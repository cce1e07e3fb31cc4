"""mashal: PyTorch's API over a small core of its own. ``import mashal as torch`` runs PyTorch programs."""

from __future__ import annotations

import importlib.util as _util
import math as _math
import typing as _typing
from typing import Any

from . import (
    _alias,
    _boot,  # noqa: F401 - before the core
    _core,
    _missing,
)
from ._alias import as_torch as as_torch
from ._core import Generator as Generator
from ._core import Size as Size
from ._core import Tensor as Tensor
from ._core import bfloat16 as bfloat16
from ._core import bool as bool
from ._core import can_cast as can_cast
from ._core import channels_last as channels_last
from ._core import channels_last_3d as channels_last_3d
from ._core import complex64 as complex64
from ._core import complex128 as complex128
from ._core import contiguous_format as contiguous_format
from ._core import device as device
from ._core import dtype as dtype
from ._core import float16 as float16
from ._core import float32 as float32
from ._core import float64 as float64
from ._core import get_default_dtype as get_default_dtype
from ._core import get_num_threads as get_num_threads
from ._core import int8 as int8
from ._core import int16 as int16
from ._core import int32 as int32
from ._core import int64 as int64
from ._core import is_anomaly_enabled as is_anomaly_enabled
from ._core import is_grad_enabled as is_grad_enabled
from ._core import is_inference_mode_enabled as is_inference_mode_enabled
from ._core import memory_format as memory_format
from ._core import preserve_format as preserve_format
from ._core import promote_types as promote_types
from ._core import result_type as result_type
from ._core import set_num_threads as set_num_threads
from ._core import uint8 as uint8
from .autograd import grad_mode as _grad_mode
from .torch_version import __version__ as __version__

half = float16
legacy_contiguous_format = contiguous_format
float = float32
double = float64
short = int16
int = int32
long = int64
cfloat = complex64
cdouble = complex128
pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None

enable_grad = _grad_mode.enable_grad
inference_mode = _grad_mode.inference_mode
no_grad = _grad_mode.no_grad
set_grad_enabled = _grad_mode.set_grad_enabled

from . import _tensor, ops, overrides  # noqa: E402
from ._compile import compile as compile  # noqa: E402
from ._dtype_info import finfo as finfo  # noqa: E402
from ._dtype_info import iinfo as iinfo  # noqa: E402
from ._legacy_types import TYPES as _TYPES  # noqa: E402
from ._legacy_types import OutOfMemoryError as OutOfMemoryError  # noqa: E402
from ._legacy_types import _assert as _assert  # noqa: E402
from ._legacy_types import layout as layout  # noqa: E402
from ._legacy_types import sparse_coo as sparse_coo  # noqa: E402
from ._legacy_types import sparse_csr as sparse_csr  # noqa: E402
from ._legacy_types import strided as strided  # noqa: E402
from ._legacy_types import typename as typename  # noqa: E402
from ._lowrank import pca_lowrank as pca_lowrank  # noqa: E402
from ._lowrank import svd_lowrank as svd_lowrank  # noqa: E402
from ._printing import get_printoptions as get_printoptions  # noqa: E402
from ._printing import set_printoptions as set_printoptions  # noqa: E402
from ._printing import tensor_repr as _tensor_repr  # noqa: E402
from ._settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled  # noqa: E402
from ._settings import compiled_with_cxx11_abi as compiled_with_cxx11_abi  # noqa: E402
from ._settings import get_default_device as get_default_device  # noqa: E402
from ._settings import get_deterministic_debug_mode as get_deterministic_debug_mode  # noqa: E402
from ._settings import get_device_module as get_device_module  # noqa: E402
from ._settings import get_float32_matmul_precision as get_float32_matmul_precision  # noqa: E402
from ._settings import get_num_interop_threads as get_num_interop_threads  # noqa: E402
from ._settings import (  # noqa: E402
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
)
from ._settings import is_vulkan_available as is_vulkan_available  # noqa: E402
from ._settings import is_warn_always_enabled as is_warn_always_enabled  # noqa: E402
from ._settings import set_default_device as set_default_device  # noqa: E402
from ._settings import set_deterministic_debug_mode as set_deterministic_debug_mode  # noqa: E402
from ._settings import set_float32_matmul_precision as set_float32_matmul_precision  # noqa: E402
from ._settings import set_flush_denormal as set_flush_denormal  # noqa: E402
from ._settings import set_num_interop_threads as set_num_interop_threads  # noqa: E402
from ._settings import set_warn_always as set_warn_always  # noqa: E402
from ._settings import use_deterministic_algorithms as use_deterministic_algorithms  # noqa: E402
from ._streams import Event as Event  # noqa: E402
from ._streams import Stream as Stream  # noqa: E402
from ._symbolic import SymBool as SymBool  # noqa: E402
from ._symbolic import SymFloat as SymFloat  # noqa: E402
from ._symbolic import SymInt as SymInt  # noqa: E402
from ._symbolic import check as _check  # noqa: E402, F401
from ._symbolic import check_index as _check_index  # noqa: E402, F401
from ._symbolic import check_is_size as _check_is_size  # noqa: E402, F401
from ._symbolic import check_not_implemented as _check_not_implemented  # noqa: E402, F401
from ._symbolic import check_type as _check_type  # noqa: E402, F401
from ._symbolic import check_value as _check_value  # noqa: E402, F401
from ._symbolic import sym_float as sym_float  # noqa: E402
from ._symbolic import sym_int as sym_int  # noqa: E402
from ._symbolic import sym_ite as sym_ite  # noqa: E402
from ._symbolic import sym_max as sym_max  # noqa: E402
from ._symbolic import sym_min as sym_min  # noqa: E402
from ._symbolic import sym_not as sym_not  # noqa: E402
from ._symbolic import sym_sum as sym_sum  # noqa: E402
from ._tensor import as_tensor as as_tensor  # noqa: E402
from ._tensor import asarray as asarray  # noqa: E402
from ._tensor import from_dlpack as from_dlpack  # noqa: E402
from ._tensor import from_numpy as from_numpy  # noqa: E402
from ._tensor import frombuffer as frombuffer  # noqa: E402
from ._tensor import is_complex as is_complex  # noqa: E402
from ._tensor import is_floating_point as is_floating_point  # noqa: E402
from ._tensor import is_signed as is_signed  # noqa: E402
from ._tensor import tensor as tensor  # noqa: E402

_core.set_python_hooks(overrides._dispatch, _tensor_repr)
ops.publish(globals())
if _typing.TYPE_CHECKING:  # what publish() has put here, written down by scripts/make_stubs.py
    from ._functions import *  # noqa: F403
    from .serialization import load as load
    from .serialization import save as save

BFloat16Tensor = _TYPES["BFloat16Tensor"]
BoolTensor = _TYPES["BoolTensor"]
ByteTensor = _TYPES["ByteTensor"]
CharTensor = _TYPES["CharTensor"]
DoubleTensor = _TYPES["DoubleTensor"]
FloatTensor = _TYPES["FloatTensor"]
HalfTensor = _TYPES["HalfTensor"]
IntTensor = _TYPES["IntTensor"]
LongTensor = _TYPES["LongTensor"]
ShortTensor = _TYPES["ShortTensor"]

from .amp._scaling import (  # noqa: E402
    _amp_foreach_non_finite_check_and_unscale_ as _amp_foreach_non_finite_check_and_unscale_,
)
from .amp._scaling import _amp_update_scale_ as _amp_update_scale_  # noqa: E402
from .amp._state import autocast_decrement_nesting as autocast_decrement_nesting  # noqa: E402
from .amp._state import autocast_increment_nesting as autocast_increment_nesting  # noqa: E402
from .amp._state import clear_autocast_cache as clear_autocast_cache  # noqa: E402
from .amp._state import get_autocast_cpu_dtype as get_autocast_cpu_dtype  # noqa: E402
from .amp._state import get_autocast_dtype as get_autocast_dtype  # noqa: E402
from .amp._state import get_autocast_gpu_dtype as get_autocast_gpu_dtype  # noqa: E402
from .amp._state import get_autocast_ipu_dtype as get_autocast_ipu_dtype  # noqa: E402
from .amp._state import get_autocast_xla_dtype as get_autocast_xla_dtype  # noqa: E402
from .amp._state import is_autocast_cache_enabled as is_autocast_cache_enabled  # noqa: E402
from .amp._state import is_autocast_cpu_enabled as is_autocast_cpu_enabled  # noqa: E402
from .amp._state import is_autocast_enabled as is_autocast_enabled  # noqa: E402
from .amp._state import is_autocast_ipu_enabled as is_autocast_ipu_enabled  # noqa: E402
from .amp._state import is_autocast_xla_enabled as is_autocast_xla_enabled  # noqa: E402
from .amp._state import set_autocast_cache_enabled as set_autocast_cache_enabled  # noqa: E402
from .amp._state import set_autocast_cpu_dtype as set_autocast_cpu_dtype  # noqa: E402
from .amp._state import set_autocast_cpu_enabled as set_autocast_cpu_enabled  # noqa: E402
from .amp._state import set_autocast_dtype as set_autocast_dtype  # noqa: E402
from .amp._state import set_autocast_enabled as set_autocast_enabled  # noqa: E402
from .amp._state import set_autocast_gpu_dtype as set_autocast_gpu_dtype  # noqa: E402
from .amp._state import set_autocast_ipu_dtype as set_autocast_ipu_dtype  # noqa: E402
from .amp._state import set_autocast_ipu_enabled as set_autocast_ipu_enabled  # noqa: E402
from .amp._state import set_autocast_xla_dtype as set_autocast_xla_dtype  # noqa: E402
from .amp._state import set_autocast_xla_enabled as set_autocast_xla_enabled  # noqa: E402
from .amp.autocast_mode import autocast as autocast  # noqa: E402
from .amp.grad_scaler import GradScaler as GradScaler  # noqa: E402
from .random import default_generator as default_generator  # noqa: E402
from .random import get_rng_state as get_rng_state  # noqa: E402
from .random import initial_seed as initial_seed  # noqa: E402
from .random import manual_seed as manual_seed  # noqa: E402
from .random import seed as seed  # noqa: E402
from .random import set_rng_state as set_rng_state  # noqa: E402
from .storage import TypedStorage as TypedStorage  # noqa: E402
from .storage import UntypedStorage as UntypedStorage  # noqa: E402
from .storage import is_storage as is_storage  # noqa: E402

from ._legacy_storages import TYPES as _STORAGES  # noqa: E402 # isort: skip

BFloat16Storage = _STORAGES["BFloat16Storage"]
BoolStorage = _STORAGES["BoolStorage"]
ByteStorage = _STORAGES["ByteStorage"]
CharStorage = _STORAGES["CharStorage"]
ComplexDoubleStorage = _STORAGES["ComplexDoubleStorage"]
ComplexFloatStorage = _STORAGES["ComplexFloatStorage"]
DoubleStorage = _STORAGES["DoubleStorage"]
FloatStorage = _STORAGES["FloatStorage"]
HalfStorage = _STORAGES["HalfStorage"]
IntStorage = _STORAGES["IntStorage"]
LongStorage = _STORAGES["LongStorage"]
ShortStorage = _STORAGES["ShortStorage"]
Storage = FloatStorage


def is_tensor(obj: Any) -> Any:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> Any:
    """The number of elements."""
    if not isinstance(input, Tensor):
        raise TypeError(f"numel(): argument 'input' must be Tensor, not {type(input).__name__}")
    return input.numel()


def set_default_dtype(d: Any) -> None:
    """Sets the floating-point type of new tensors made from Python numbers.

    Raises:
        TypeError: for a type that is not floating-point.
    """
    _core.set_default_dtype(d)


def set_default_tensor_type(t: Any) -> None:
    """The legacy form of :func:`set_default_dtype`."""
    _core.set_default_dtype(_tensor._legacy_dtype(t))


_alias.install()

# Submodules that are imported on first use: `import mashal` alone stays fast.
_LAZY = frozenset(
    (
        "__config__", "_C", "_dynamo", "_jit_internal", "_ops", "_utils", "_VF", "accelerator", "amp", "autograd",
        "backends", "compiler", "cpu", "cuda", "distributed", "distributions", "fft", "func", "functional",
        "futures", "hub", "jit", "library", "linalg", "mps", "mtia", "multiprocessing", "nn", "onnx", "optim",
        "profiler", "quasirandom", "return_types", "serialization", "signal", "sparse", "special", "testing",
        "types", "utils", "version", "xpu",
    )
)  # fmt: skip

# Functions that live in such a submodule.
_LAZY_MEMBERS = {"load": "serialization", "save": "serialization"}

__getattr__ = _missing.hook(__name__, _LAZY, _LAZY_MEMBERS, {"_foreach_": "_foreach"})


def __dir__() -> list[str]:
    present = {name for name in _LAZY if _util.find_spec(f"{__name__}.{name}") is not None}
    return sorted({*globals(), *present, *_LAZY_MEMBERS})
