"""The op table that the tests read: one record per op, many readers (tests/ops/test_*.py).

A record gives samples in a form that belongs to no framework: :class:`T` stands for a tensor, and is turned into the
same numbers for mashal and for torch. To add an op, add a record to the file of its family; the readers check values,
types, strides, gradients of first and second order, shapes on the meta device, in-place and ``out=`` forms, and errors.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATS = ("float32", "float64")
ALL_FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")

# Largest allowed |ours - torch| / max(1, |torch|). Half types: one unit in the last place of the result.
TOLERANCE = {
    "float16": 1e-3,
    "bfloat16": 8e-3,
    "float32": 2e-6,
    "float64": 1e-12,
    "complex64": 4e-6,
    "complex128": 1e-11,
}


@dataclass(frozen=True)
class T:
    """A tensor to be: shape, range of values, and whether a test varies its type (``kind="float"``) or not.

    kinds: "float" takes the dtype under test; "int", "bool" are int64 and bool; "index" is int64 in [0, high);
    any dtype name is taken as it is. ``values`` gives the numbers themselves.
    """

    shape: tuple[int, ...] = ()
    low: float = -2.0
    high: float = 2.0
    kind: str = "float"
    grad: bool = True
    values: Any = None
    # "transposed" (last two dimensions), "sliced" (every second element of the last) or "expanded" (first dimension).
    layout: str = ""

    def with_layout(self, layout: str) -> T:
        return T(self.shape, self.low, self.high, self.kind, self.grad, self.values, layout)


@dataclass(frozen=True)
class Sample:
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


def S(*args: Any, **kwargs: Any) -> Sample:
    return Sample(args, kwargs)


@dataclass
class Record:
    """One op.

    name: dotted path below the framework ("exp", "nn.functional.softmax", "Tensor.view").
    samples: what to call it with. The first tensor argument is differentiated if it is of kind "float".
    dtypes: types of the "float" tensors in the forward test.
    tol: per-dtype tolerances that differ from TOLERANCE; give the reason in a comment.
    grad: whether it is differentiable (float64). second: whether second derivatives are compared too.
    inplace: Tensor.<name>_ exists. out: ``out=`` is accepted.
    errors: samples that must raise; the class is torch's.
    xfail: reader name -> reason, strict.
    layouts: in which layouts of the inputs the op is tried; "expanded" repeats rows, which not every op can bear.
    strides: whether strides are compared; "dense" compares them for contiguous inputs only.
    exact: results must be equal bit for bit.
    """

    name: str
    samples: list[Sample]
    dtypes: tuple[str, ...] = FLOATS
    tol: dict[str, float] = field(default_factory=dict)
    grad: bool = True
    second: bool = True
    inplace: bool = False
    out: bool = False
    meta: bool = True
    strides: bool | str = True
    layouts: tuple[str, ...] = ("transposed", "sliced", "expanded")
    errors: list[Sample] = field(default_factory=list)
    xfail: dict[str, str] = field(default_factory=dict)
    exact: bool = False

    def __post_init__(self) -> None:
        RECORDS.append(self)


RECORDS: list[Record] = []


def numbers(t: T, dtype: str, seed: int) -> np.ndarray:
    """The values of a T, the same for every framework."""
    rng = np.random.default_rng(seed)
    kind = dtype if t.kind == "float" else {"int": "int64", "index": "int64"}.get(t.kind, t.kind)
    if t.values is not None:
        data = np.array(t.values)
    elif kind == "bool":
        data = rng.random(t.shape) < 0.5
    elif t.kind == "index" or kind in INTS:
        low = 0 if t.kind == "index" or kind == "uint8" else t.low
        data = rng.integers(int(low), max(int(t.high), int(low) + 1), t.shape)
    elif kind.startswith("complex"):
        data = rng.uniform(t.low, t.high, t.shape) + 1j * rng.uniform(t.low, t.high, t.shape)
    else:
        data = rng.uniform(t.low, t.high, t.shape)
    if kind == "bfloat16":
        # NumPy has no bfloat16: float32 values that are exact in it.
        bits = (
            np.asarray(data, np.float32).view(np.uint32)
            if np.ndim(data)
            else np.array(data, np.float32).reshape(1).view(np.uint32)
        )
        return (bits & np.uint32(0xFFFF0000)).view(np.float32).reshape(np.shape(data))
    return np.asarray(data).astype(kind)


def build(framework: Any, t: T, dtype: str, seed: int, requires_grad: bool = False) -> Any:
    """The tensor of a framework (mashal or torch) for a T."""
    data = numbers(t, dtype, seed)
    wanted = dtype if t.kind == "float" else {"int": "int64", "index": "int64"}.get(t.kind, t.kind)
    out = framework.from_numpy(np.ascontiguousarray(data)) if data.ndim else framework.tensor(data.item())
    out = out.to(getattr(framework, wanted))
    if t.layout == "transposed" and out.ndim >= 2:
        out = out.transpose(-1, -2).contiguous().transpose(-1, -2)
    elif t.layout == "sliced" and out.ndim >= 1:
        wide = framework.stack([out, out], -1).reshape(*out.shape[:-1], 2 * out.shape[-1])
        wide[..., ::2] = out
        out = wide[..., ::2]
    elif t.layout == "expanded" and out.ndim >= 1 and out.shape[0] > 0:
        out = out[:1].expand(out.shape)
    if requires_grad and t.grad and t.kind == "float":
        out = out.detach().requires_grad_()
    return out


def realise(framework: Any, value: Any, dtype: str, seed: int, requires_grad: bool = False) -> Any:
    """Replaces every T in nested arguments; dtype names given as ``D("float64")`` become the framework's."""
    if isinstance(value, T):
        return build(framework, value, dtype, seed, requires_grad)
    if isinstance(value, D):
        return getattr(framework, value.name)
    if isinstance(value, (list, tuple)):
        return type(value)(
            realise(framework, v, dtype, seed + 101 * (i + 1), requires_grad) for i, v in enumerate(value)
        )
    if isinstance(value, dict):
        return {
            k: realise(framework, v, dtype, seed + 7 * (i + 1), requires_grad) for i, (k, v) in enumerate(value.items())
        }
    return value


@dataclass(frozen=True)
class D:
    """An attribute of the framework: ``D("float64")`` is mashal.float64 or torch.float64."""

    name: str


def seed_of(record: Record, index: int) -> int:
    return zlib.crc32(f"{record.name}{index}".encode()) & 0xFFFF


def resolve(framework: Any, name: str) -> Callable[..., Any]:
    target = framework
    for part in name.split("."):
        target = getattr(target, part)
    return target  # type: ignore[no-any-return]


def tensors_in(value: Any) -> Iterable[Any]:
    """All tensors in nested containers, in order."""
    if hasattr(value, "requires_grad"):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from tensors_in(v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors_in(v)


def load() -> list[Record]:
    """All records."""
    import importlib
    import pkgutil

    if not RECORDS:
        for module in pkgutil.iter_modules(__path__):
            importlib.import_module(f"{__name__}.{module.name}")
    return RECORDS
