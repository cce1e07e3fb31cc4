"""The legacy classes ``FloatTensor``, ``LongTensor``, ...: constructors, and marks for ``isinstance``; layouts."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Tensor
from ._tensor import _DTYPES, legacy_new


class layout:
    """How the elements of a tensor lie in memory: ``mashal.strided``, or those of :mod:`mashal.sparse`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"{_core.display_name()}.{self._name}"

    def __reduce__(self) -> str:
        return self._name


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
Tensor.layout = property(lambda _: strided)
# Devices that there are none of here.
for _name in ("is_ipu", "is_maia", "is_mtia", "is_vulkan", "is_xla"):
    setattr(Tensor, _name, property(lambda _: False))
Tensor.name = property(lambda _: None)  # of variables in graphs of PyTorch's early versions
Tensor.names = property(lambda self: (None,) * self.dim())  # dimensions have none


class tensortype(type):
    """The class of the legacy tensor classes: a tensor is an instance of the one that names its dtype."""

    dtype: Any
    is_cuda: bool

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and not cls.is_cuda and instance.dtype is cls.dtype and instance.is_cpu

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.is_cuda:
            raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")
        return legacy_new(cls.dtype, args, kwargs)


def _make(dtype: Any, module: str, is_cuda: bool) -> tensortype:
    name = f"{dtype._legacy_name}Tensor"
    doc = f"``{name}(2, 3)``, ``{name}([1, 2])``: a tensor of {dtype}. ``isinstance`` tells whether a tensor is one."
    members = {"__module__": module, "__doc__": doc, "dtype": dtype, "is_cuda": is_cuda, "layout": strided}
    return tensortype(name, (), members)


# By name: FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, LongTensor, ...
TYPES = {cls.__name__: cls for cls in (_make(d, "mashal", is_cuda=False) for d in _DTYPES)}
CUDA_TYPES = {cls.__name__: cls for cls in (_make(d, "mashal.cuda", is_cuda=True) for d in _DTYPES)}


class OutOfMemoryError(RuntimeError):
    """No memory left on a device."""

    __module__ = "mashal"


def typename(obj: Any) -> str:
    """The name of the type of ``obj``, with its module where that says something.

    Example:
        >>> import mashal
        >>> mashal.typename(mashal.ones(1))
        'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    name = getattr(named, "__qualname__", None) or named.__name__
    return name if module in ("", "builtins", "__builtin__") else f"{module}.{name}"


def _assert(condition: Any, message: Any) -> None:
    """``assert condition, message`` as a function, for code that is traced."""
    if type(condition) is not Tensor and isinstance(condition, Tensor):
        condition = condition.item()
    assert condition, message
