"""Methods of Tensor that are not operations: backward, hooks, conversion, pickling, NumPy."""

from __future__ import annotations

import copyreg
import warnings
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor
from .utils.hooks import HookHandle


def legacy_constructor(*args: Any, **kwargs: Any) -> Tensor:
    """``Tensor(2, 3)`` (uninitialised), ``Tensor([1, 2])`` (float), ``Tensor(other)`` (an alias)."""
    return legacy_new(_core.get_default_dtype(), args, kwargs)


def legacy_new(dtype: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """What ``Tensor(...)``, ``FloatTensor(...)`` and ``x.new(...)`` have in common."""
    kwargs = dict(kwargs)
    device = kwargs.pop("device", None)
    if "data" in kwargs and not args:
        args = (kwargs.pop("data"),)
    if "size" in kwargs and not args:
        args = (_core.Size(kwargs.pop("size")),)
    if kwargs:
        raise TypeError(f"Tensor() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if device is not None and _core.device(device).type != "cpu":
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {device} was passed")
    if len(args) == 1 and isinstance(args[0], Tensor):
        if args[0].dtype != dtype:
            raise TypeError(f"expected {dtype} (got {args[0].dtype})")
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], (int, _core.Size)):
        return _legacy_data(args[0], dtype)
    sizes = args[0] if len(args) == 1 and isinstance(args[0], _core.Size) else args
    return _core.empty(tuple(sizes) if args else (0,), None, dtype, None)


def _legacy_data(data: Any, dtype: Any) -> Tensor:
    from .storage import TypedStorage, UntypedStorage

    if isinstance(data, (TypedStorage, UntypedStorage)):
        if isinstance(data, TypedStorage) and data.dtype is not dtype:
            raise TypeError(f"expected a storage of {dtype} (got {data.dtype})")
        return _core.empty((0,), None, dtype, None).set_(data)
    if isinstance(data, (str, float, complex)) or not (
        hasattr(data, "__len__") or hasattr(data, "__array_interface__")
    ):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return _core.tensor_from_data(data, dtype)


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor with a copy of the data.

    Args:
        data: a number, nested sequences of numbers, an array, or a tensor.
        dtype: the element type; inferred by default (bool, int64, the default float type or its complex).

    Raises:
        ValueError: for sequences of unequal length.

    Example:
        >>> import mashal
        >>> mashal.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[1., 2.],
                [3., 4.]])
    """
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than mashal.tensor(sourceTensor).",
            stacklevel=2,
        )
    out = _core.tensor_from_data(data, dtype)
    device = _placement(device)
    if device is not None:
        out = out.to(device)
    return out.requires_grad_() if requires_grad else out


def _placement(device: Any) -> Any:
    """The device for new data; None: where it is."""
    if device is None and (default := _core.get_default_device()).type != "cpu":
        return default
    return device


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor, sharing memory where that is possible (tensors and NumPy arrays of the right type)."""
    device = _placement(device)
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    if hasattr(data, "__array_interface__") and hasattr(data, "flags"):
        data = from_numpy(data) if data.ndim and data.flags.writeable else _core.tensor_from_data(data, None)
        return data.to(device=device, dtype=dtype)
    return tensor(data, dtype=dtype, device=device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """:func:`as_tensor`; ``copy`` True forces, False forbids a copy."""
    out = as_tensor(obj, dtype=dtype, device=device)
    shared = isinstance(obj, Tensor) and out._storage_key() == obj._storage_key()
    if copy and (shared or hasattr(obj, "__array_interface__")):
        out = out.clone()
    if copy is False and isinstance(obj, (list, tuple, int, float, complex)):
        raise ValueError("asarray: can't alias arbitrary sequence")
    return out.requires_grad_() if requires_grad else out


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    Raises:
        TypeError: for anything but an array, or an element type that has no counterpart.

    Example:
        >>> import mashal, numpy
        >>> mashal.from_numpy(numpy.arange(3))
        tensor([0, 1, 2])
    """
    if not hasattr(ndarray, "__array_interface__") or not hasattr(ndarray, "flags"):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and tensors do not support non-writable memory. Writing to the "
            "tensor is undefined.",
            stacklevel=2,
        )
    if ndarray.dtype.kind not in "biufc":
        raise TypeError(
            f"can't convert np.ndarray of type {ndarray.dtype}. The only supported types are: float64, float32, "
            "float16, complex64, complex128, int64, int32, int16, int8, uint8, and bool."
        )
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    return _core.from_buffer(ndarray)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor over the bytes of a buffer, from ``offset``, without a copy."""
    view = memoryview(buffer).cast("B")
    if not 0 <= offset < len(view):
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({len(view)} bytes) minus "
            "1"
        )
    if not isinstance(dtype, _core.dtype):
        raise TypeError(f"frombuffer(): argument 'dtype' must be dtype, not {type(dtype).__name__}")
    size = dtype.itemsize
    left = len(view) - offset
    if count < 0 and left % size:
        raise ValueError(
            f"buffer length ({left} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})"
        )
    n = left // size if count < 0 else count
    if n == 0 or n * size > left:
        raise ValueError(
            f"requested buffer length ({n} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({len(view)} bytes)"
        )
    out = _core.from_buffer(view[offset : offset + n * size]).view(dtype)
    return out.requires_grad_() if requires_grad else out


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """A NumPy array over the same memory.

    Raises:
        RuntimeError: if the tensor requires grad (use ``detach()`` or ``force=True``).
    """
    import numpy as np

    if force:
        self = self.detach().cpu()
    if (self.requires_grad and _core.is_grad_enabled()) or self.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self.dtype is _core.bfloat16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    if self.is_meta:
        raise TypeError(
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    return (
        np.asarray(memoryview(self)) if self.ndim else np.ndarray((), dtype=_numpy_dtype(self), buffer=memoryview(self))
    )


def _numpy_dtype(t: Tensor) -> Any:
    import numpy as np

    return np.dtype(repr(t.dtype).split(".")[1])


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    import numpy as np

    out = self.numpy()
    if dtype is not None and out.dtype != dtype:
        return out.astype(dtype)
    return np.array(out) if copy else out


def _array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    return from_numpy(array) if array.flags.writeable else _core.tensor_from_data(array, None)


def backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Adds the gradient of this tensor with respect to the graph's leaves to their ``.grad``.

    Args:
        gradient: the vector of the vector-Jacobian product; may be left out for a one-element tensor.
        retain_graph: keep saved tensors for another pass.
        create_graph: record the pass itself, for higher derivatives.
        inputs: accumulate only into these.

    Raises:
        RuntimeError: if nothing is recorded, or ``gradient`` is missing for a tensor of several elements.

    Example:
        >>> import mashal
        >>> x = mashal.ones(2, requires_grad=True)
        >>> (x * 3).sum().backward()
        >>> x.grad
        tensor([3., 3.])
    """
    from .autograd import backward as run

    run(self, gradient, retain_graph, create_graph, inputs=inputs)


def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> HookHandle:
    """Calls ``hook`` with the gradient of this tensor when it is computed; a tensor it returns replaces it."""
    return HookHandle(_core.register_hook(self, hook))


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> HookHandle:
    """Calls ``hook`` with this leaf after its ``.grad`` has been updated."""
    return HookHandle(_core.register_post_accumulate_hook(self, hook))


def _as_subclass(self: Tensor, cls: type) -> Any:
    with _core.no_grad_guard():
        plain = Tensor._make_subclass(cls, self)
    if self.requires_grad and self.grad_fn is None:
        plain.requires_grad_()
    elif self.requires_grad:
        return _Cast.apply(self, cls)
    return plain


def as_subclass(self: Tensor, cls: type) -> Any:
    """This tensor under a subclass's type, with its history."""
    return _as_subclass(self, cls)


def contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, int, float, complex, bool)):
        return bool((self == element).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


def _format(self: Tensor, spec: str) -> str:
    if self.ndim == 0 and not self.is_meta and type(self) is Tensor:
        return self.item().__format__(spec)  # type: ignore[no-any-return]
    return object.__format__(self, spec)


def _complex(self: Tensor) -> complex:
    return complex(self.item())


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Any:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage."
        )
    import copy

    with _core.no_grad_guard():
        key = self._storage_key()
        shared = memo.setdefault("mashal_storages", {})  # type: ignore[call-overload]
        if key not in shared:
            # The whole storage once: views of it stay views of one storage in the copy.
            shared[key] = self._storage_bytes().clone() if not self.is_meta else None
        if self.is_meta:
            out = _core.empty(self.shape, self.stride(), self.dtype, self.device)
        else:
            out = (
                shared[key].view(self.dtype).detach().as_strided(self.shape, self.stride(), self.storage_offset())
                if shared[key].numel()
                else _core.empty(self.shape, self.stride(), self.dtype, None)
            )
        out = out.detach()
        if type(self) is not Tensor:
            out = Tensor._make_subclass(type(self), out)
    if self.requires_grad:
        out.requires_grad_()
    memo[id(self)] = out
    if self.grad is not None:
        out.grad = copy.deepcopy(self.grad, memo)
    if type(self) is not Tensor or self.__dict__:
        out.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return out


def _reduce(self: Tensor, protocol: Any) -> Any:
    from ._pickling import reduce_tensor

    return reduce_tensor(self, protocol)


def _setstate(self: Tensor, state: Any) -> None:
    """States of tensors in files of PyTorch before 0.4."""
    if len(state) == 4:
        self.set_(*state)
    elif len(state) == 5:
        self.data = state[0]
        self.requires_grad_(bool(state[3]))
    else:
        self.requires_grad_(bool(state[0]))


def _dlpack(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return _core.to_dlpack(self.clone() if copy else self)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, through the DLPack protocol."""
    out = _core.from_dlpack(ext_tensor.__dlpack__() if hasattr(ext_tensor, "__dlpack__") else ext_tensor)
    return out.clone() if copy else out


def is_complex(self: Tensor) -> bool:
    """Whether the elements are complex numbers."""
    if not isinstance(self, Tensor):
        raise TypeError(f"is_complex(): argument 'input' must be Tensor, not {type(self).__name__}")
    return self.dtype.is_complex  # type: ignore[no-any-return]


def is_floating_point(self: Tensor) -> bool:
    """Whether the elements are real floating-point numbers."""
    if not isinstance(self, Tensor):
        raise TypeError(f"is_floating_point(): argument 'input' must be Tensor, not {type(self).__name__}")
    return self.dtype.is_floating_point  # type: ignore[no-any-return]


def is_signed(self: Tensor) -> bool:
    """Whether the element type has negative values."""
    return self.dtype.is_signed  # type: ignore[no-any-return]


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return self.shape == other.shape  # type: ignore[no-any-return]


def _get_device(self: Tensor) -> int:
    return -1 if self.device.index is None else self.device.index


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """A copy on a CUDA device.

    Raises:
        AssertionError: where no such device is available.
    """
    raise AssertionError("Torch not compiled with CUDA enabled")


def share_memory_(self: Tensor) -> Tensor:
    """Moves the storage to shared memory, where forked processes, and those it is sent to, see every change.

    A no-op if it is there already, and for tensors that are not on the CPU. The storage cannot be resized from then on.

    Raises:
        RuntimeError: there is not enough shared memory.

    Example:
        >>> import mashal
        >>> mashal.ones(2).share_memory_().is_shared()
        True
    """
    from .storage import _share

    _share(self)
    return self


def storage_size(self: Tensor) -> int:
    return int(self._storage_key()[1])


def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions from the outermost to the innermost in memory."""
    stride = self.stride()
    return tuple(sorted(range(self.ndim), key=lambda d: -stride[d]))


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy type name, or a copy of another type."""
    if dtype is None:
        return f"torch.{self.dtype._legacy_name}Tensor"
    return self.to(_legacy_dtype(dtype))


def _legacy_dtype(dtype: Any) -> Any:
    if isinstance(dtype, _core.dtype):
        return dtype
    if not isinstance(dtype, (str, type)):
        raise TypeError(f"type(): dtype must be a type, str, or dtype object, not {type(dtype).__name__}")
    name = dtype if isinstance(dtype, str) else f"torch.{dtype.__name__}"
    for d in _DTYPES:
        if name == f"torch.{d._legacy_name}Tensor":
            return d
    raise ValueError(f"invalid type: '{dtype}'")


_DTYPES = [
    _core.bool,
    _core.uint8,
    _core.int8,
    _core.int16,
    _core.int32,
    _core.int64,
    _core.float16,
    _core.bfloat16,
    _core.float32,
    _core.float64,
    _core.complex64,
    _core.complex128,
]

for _fn in (
    numpy,
    backward,
    register_hook,
    register_post_accumulate_grad_hook,
    as_subclass,
    _as_subclass,
    is_complex,
    is_floating_point,
    is_signed,
    is_same_size,
    cuda,
    share_memory_,
    dim_order,
):
    setattr(Tensor, _fn.__name__, _fn)
for _name, _fn in {
    "__array__": _array,
    "__array_wrap__": _array_wrap,
    "__contains__": contains,
    "__format__": _format,
    "__complex__": _complex,
    "__deepcopy__": _deepcopy,
    "__reduce_ex__": _reduce,
    "__setstate__": _setstate,
    "__dlpack__": _dlpack,
    "__dlpack_device__": lambda self: (1, 0),
    "get_device": _get_device,
    "type": type_,
}.items():
    setattr(Tensor, _name, _fn)
Tensor.__array_priority__ = 1000  # NumPy leaves `array * tensor` to us
Tensor.__module__ = "mashal"
copyreg.pickle(_core.dtype, lambda d: d.__reduce__())
copyreg.pickle(_core.PrimitiveMethod, lambda method: (getattr, (Tensor, method.__name__)))


def _cast_function() -> Any:
    from .autograd.function import Function

    class Cast(Function):
        @staticmethod
        def forward(ctx: Any, t: Tensor, cls: type) -> Any:
            return Tensor._make_subclass(cls, t)

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            return g, None

    return Cast


class _Lazy:
    """The history-keeping cast, made on first use: autograd is imported after this module."""

    def apply(self, t: Tensor, cls: type) -> Any:
        global _Cast
        _Cast = _cast_function()
        return _Cast.apply(t, cls)


_Cast: Any = _Lazy()
