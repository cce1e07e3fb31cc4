"""Making one batch of many samples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, TypeAlias

from .... import Tensor, as_tensor, float64, stack, tensor
from . import blocks

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

CollateFn: TypeAlias = Callable[..., Any]
CollateFnMap: TypeAlias = dict[type | tuple[type, ...], CollateFn]


def _numpy_kind(data: object) -> str | None:
    """Return whether ``data`` is a NumPy ``"ndarray"`` or scalar (``"generic"``), without importing NumPy for it."""
    for cls in type(data).__mro__:
        if cls.__module__ == "numpy" and cls.__name__ in ("ndarray", "generic"):
            return cls.__name__
    return None


def _is_text(data: Any) -> bool:
    """Whether a NumPy value holds strings or objects, which no tensor can."""
    return data.dtype.kind in "SUO"


def _rebuild_mapping(data: Mapping[Any, Any], convert: Callable[[Any], Any]) -> Any:
    """Return a mapping of the type of ``data``, a plain dictionary where the type cannot be built, of new values."""
    values = {key: convert(key) for key in data}
    try:
        if isinstance(data, MutableMapping):
            clone = copy.copy(data)  # keeps attributes, default factories and the order
            clone.update(values)
            return clone
        return type(data)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def _rebuild_sequence(data: Sequence[Any], values: list[Any]) -> Any:
    """Return a sequence of the type of ``data``, a list where the type cannot be built, of new values."""
    try:
        if isinstance(data, MutableSequence):
            clone = copy.copy(data)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(data)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def default_convert(data: Any) -> Any:
    """Turn the NumPy arrays and scalars in a sample into tensors; used when a loader does not make batches.

    Args:
        data: any nesting of mappings, sequences and values; values of other types stay as they are.

    Example:
        >>> default_convert({"a": np.ones(2), "b": "text"})  # doctest: +SKIP
        {'a': tensor([1., 1.], dtype=float64), 'b': 'text'}
    """
    if isinstance(data, Tensor):
        return data
    if _numpy_kind(data):
        return data if _is_text(data) else as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, lambda key: default_convert(data[key]))
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuild_sequence(data, [default_convert(value) for value in data])
    return data


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: CollateFnMap | None = None) -> Tensor:
    """Stack tensors along a new first dimension; in a worker process, in shared memory."""
    first = batch[0]
    out = blocks.empty((len(batch), *first.shape), first.dtype) if first.device.type == "cpu" else None
    if out is not None and all(
        type(one) is Tensor and one.dtype is first.dtype and not one.requires_grad for one in batch
    ):
        return stack(list(batch), 0, out=out)
    return stack(list(batch), 0)


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: CollateFnMap | None = None) -> Any:
    """Stack NumPy arrays into a tensor."""
    if _is_text(batch[0]):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: CollateFnMap | None = None) -> Tensor:
    """Make a tensor of NumPy scalars, of their dtype."""
    return as_tensor(batch)


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: CollateFnMap | None = None) -> Tensor:
    """Make a float64 tensor."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: CollateFnMap | None = None) -> Tensor:
    """Make an int64 (or bool) tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateFnMap | None = None) -> Any:
    """Keep strings as they are."""
    return batch


default_collate_fn_map: CollateFnMap = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _function_for(sample: Any, functions: CollateFnMap) -> CollateFn | None:
    exact = functions.get(type(sample))
    if exact is not None:
        return exact
    # Before the classes of the table: NumPy's float64 is also a Python float.
    if functions is default_collate_fn_map:
        kind = _numpy_kind(sample)
        if kind == "ndarray":
            return collate_numpy_array_fn
        if kind == "generic" and sample.dtype.kind in "biufc":
            return collate_numpy_scalar_fn
    for classes, function in functions.items():
        if isinstance(sample, classes):
            return function
    return None


def collate(batch: Any, *, collate_fn_map: CollateFnMap | None = None) -> Any:
    """Make one batch of samples, with a function per type.

    Mappings give a mapping of batches, sequences a sequence of batches, recursively.

    Args:
        batch: the samples, all of one structure.
        collate_fn_map: ``{class or tuple of classes: function(batch, *, collate_fn_map)}``; exact classes come first.

    Raises:
        TypeError: no function takes the samples' type.
        RuntimeError: sequences differ in length.
    """
    sample = batch[0]
    if collate_fn_map is not None:
        function = _function_for(sample, collate_fn_map)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        return _rebuild_mapping(sample, lambda key: collate([one[key] for one in batch], collate_fn_map=collate_fn_map))
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*(collate(values, collate_fn_map=collate_fn_map) for values in zip(*batch, strict=True)))
    if isinstance(sample, Sequence):
        if any(len(one) != len(sample) for one in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(values, collate_fn_map=collate_fn_map) for values in zip(*batch, strict=True)]
        return columns if isinstance(sample, tuple) else _rebuild_sequence(sample, columns)
    raise TypeError(default_collate_err_msg_format.format(type(sample)))


def default_collate(batch: Any) -> Any:
    """Make one batch of samples: what a loader does unless told otherwise.

    ========================  =================================================
    samples                   batch
    ========================  =================================================
    tensors, NumPy arrays     tensor with a new first dimension
    floats, ints, bools       float64, int64, bool tensor
    NumPy scalars             tensor of their dtype
    strings, bytes            the list of them
    mappings                  mapping of the batches of their values
    named tuples              named tuple of batches
    tuples                    list of batches
    other sequences           sequence of batches
    ========================  =================================================

    Args:
        batch: list of samples, all of one structure.

    Raises:
        TypeError: samples of another type.
        RuntimeError: tensors, or sequences, of different sizes.

    Example:
        >>> default_collate([(0, "a"), (1, "b")])  # doctest: +SKIP
        [tensor([0, 1]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
