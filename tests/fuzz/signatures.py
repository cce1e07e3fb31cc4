"""What can be called, and with which kinds of arguments: read from the registry and from Python signatures."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mashal
from mashal.ops import _registry
from tests.fuzz import values as v


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str
    required: bool
    keyword_only: bool


@dataclass(frozen=True)
class Target:
    """One operation with all the forms in which it is offered."""

    name: str
    forms: tuple[tuple[str, Callable[..., Any]], ...]
    parameters: tuple[Parameter, ...]


_KINDS = {
    "Tensor": "Tensor", "Tensor[]": "Tensors", "Number": "Number", "int": "Int", "float": "Float", "bool": "Bool",
    "int[]": "Ints", "float[]": "Floats", "str": "Text", "dtype": "DType", "device": "Device",
    "memory_format": "MemoryFormat", "Generator": "Generator",
    # Annotations of composites.
    "Ints": "Ints", "Dims": "Ints", "Sequence[int]": "Ints", "int | Sequence[int]": "Ints", "Sequence[Tensor]": "Tensors",
}  # fmt: skip


def _kind(text: str) -> str:
    text = text.replace("?[]", "[]").removesuffix("?").removesuffix(" | None")
    text = re.sub(r"\[(\*|\d+)\]", "[]", text)
    if "Callable" in text:
        return "Callable"
    return _KINDS.get(text, "Any")


def _from_schema(text: str) -> tuple[Parameter, ...]:
    inner = text[text.index("(") + 1 : text.index(") ->")]
    out, keyword_only = [], False
    for part in re.split(r", (?![^\[(]*[\])])", inner):
        if part == "*":
            keyword_only = True
        elif part:
            kind, _, rest = part.partition(" ")
            name, equals, _ = rest.partition("=")
            out.append(Parameter(name, _kind(kind), not equals, keyword_only))
    return tuple(out)


def _from_python(fn: Callable[..., Any]) -> tuple[Parameter, ...]:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return ()
    out = []
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            continue
        keyword_only = p.kind is p.KEYWORD_ONLY
        out.append(
            Parameter(
                p.name, _kind(str(p.annotation)), p.default is p.empty and p.kind is not p.VAR_POSITIONAL, keyword_only
            )
        )
    return tuple(out)


_OPERATORS = (
    "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv ifloordiv mod rmod imod pow rpow ipow "
    "matmul rmatmul and rand iand or ror ior xor rxor ixor lshift rlshift ilshift rshift rrshift irshift eq ne lt le gt ge"
).split()
_PLAIN = (
    "tensor as_tensor asarray from_numpy frombuffer from_dlpack Tensor.item Tensor.tolist Tensor.numpy Tensor.__len__ Tensor.__bool__ "
    "Tensor.__int__ Tensor.__float__ Tensor.__complex__ Tensor.__index__ Tensor.__repr__ Tensor.__contains__ Tensor.__getitem__ "
    "Tensor.__setitem__ Tensor.__array__ Tensor.__dlpack__ Tensor.__deepcopy__ Tensor.__reduce_ex__ Tensor.__iter__ Tensor.type Tensor.size "
    "Tensor.stride Tensor.is_contiguous Tensor.dim_order Tensor.backward Tensor.requires_grad_ Tensor.is_set_to Tensor.is_same_size "
    "Tensor.share_memory_ Tensor._set Tensor._storage_bytes Tensor.__format__ Tensor FloatTensor LongTensor can_cast result_type promote_types "
    "typename finfo iinfo numel is_complex"
).split()
# get_device waits for the user; from_file makes files of any name.
_SKIPPED = {"get_device", "from_file"}


def resolve(name: str) -> Any:
    target: Any = mashal
    for part in name.split("."):
        target = getattr(target, part)
    return target


def targets() -> dict[str, Target]:
    """Every target by name, in a fixed order."""
    out: dict[str, Target] = {}
    for name, entry in _registry.entries.items():
        full = name if entry.function else f"_ops.{name}"
        forms: list[tuple[str, Callable[..., Any]]] = [(full, resolve(full))]
        if entry.method:
            forms.append((f"Tensor.{name}", getattr(mashal.Tensor, name)))
        if entry.inplace:
            forms.append((f"Tensor.{name}_", getattr(mashal.Tensor, f"{name}_")))
        text = (getattr(entry.call, "__doc__", "") or "").split("\n", 1)[0]
        parameters = _from_schema(text) if entry.primitive else _from_python(entry.call)
        out[name] = Target(name, tuple(forms), parameters)
    for module in ("nn.functional", "linalg", "special"):
        space = resolve(module)
        for name in sorted(vars(space)):
            fn = getattr(space, name)
            if name.startswith("_") or not callable(fn) or isinstance(fn, type) or inspect.ismodule(fn):
                continue
            full = f"{module}.{name}"
            entry_of = _registry.primitives.get(getattr(fn, "__name__", ""))
            parameters = _from_schema(fn.__doc__.split("\n", 1)[0]) if entry_of is fn else _from_python(fn)
            out[full] = Target(full, ((full, fn),), parameters)
    two = (Parameter("input", "Tensor", True, False), Parameter("other", "Any", True, False))
    for op in _OPERATORS:
        name = f"Tensor.__{op}__"
        out[name] = Target(name, ((name, resolve(name)),), two)
    for name in _PLAIN:
        fn = resolve(name)
        one = two[:1] if name.startswith("Tensor.") else ()
        out[name] = Target(name, ((name, fn),), _from_python(fn) or one)
    return {k: t for k, t in out.items() if k not in _SKIPPED}


# ---- arguments of a parameter ----

_DIM = re.compile(r"^(dim|axis|dimension|start_dim|end_dim|source|destination|dim[012]|axis[012])$")
_INDEX = re.compile(
    r"^(index|indices|target|targets|pivots|LU_pivots|offsets|repeats|sorter|input_lengths|target_lengths|rows|boundaries)$"
)
_MASK = re.compile(r"(mask|condition)$")
_WINDOW = re.compile(
    r"^(kernel_size|stride|padding|dilation|output_padding|upscale_factor|downscale_factor|groups|num_groups)$"
)
_SIZES = re.compile(
    r"^(size|sizes|shape|output_size|input_size|weight_size|normalized_shape|input_shape|pad|num_classes|n|m|k|steps|bins)$"
)


def argument(rng: random.Random, p: Parameter, base: tuple[int, ...], earlier: int) -> Any:
    """A value for a parameter; ``earlier`` arguments exist already and may be passed again."""
    roll = rng.random()
    if p.name == "memo":
        return v.Named("dict")  # Python's own protocol
    if roll < 0.03:
        return v.anything(rng, base)
    if p.kind == "Tensor" or (p.kind == "Any" and roll < 0.45):
        if earlier and rng.random() < 0.08:
            return v.Same(rng.randrange(earlier), rng.choice(("", "transposed", "tail")))
        return v.tensor(rng, base, "index" if _INDEX.match(p.name) else "bool" if _MASK.search(p.name) else "")
    nd = len(base)
    if _DIM.match(p.name):
        dims = tuple(range(-nd - 1, nd + 1))
        return v.integers(rng, dims) if p.kind == "Ints" and roll < 0.7 else v.integer(rng, dims)
    if p.name == "dims" or p.name == "normalized_shape":
        return (
            v.integers(rng, tuple(range(-nd, nd)) or (0,))
            if p.name == "dims"
            else rng.choice((list(base[-1:]), list(base), [3], []))
        )
    match p.kind:
        case "Tensors":
            if rng.random() < 0.05:
                return v.anything(rng, base)
            return [v.tensor(rng, base) if rng.random() < 0.95 else None for _ in range(rng.choice((0, 1, 2, 2, 3)))]
        case "Int":
            return v.integer(rng)
        case "Ints":
            return v.integers(rng) if roll < 0.85 else v.integer(rng)
        case "Floats":
            return [v.real(rng) for _ in range(rng.randrange(4))]
        case "Float":
            return v.real(rng)
        case "Bool":
            return rng.random() < 0.5
        case "Number":
            return rng.choice((v.real(rng), v.integer(rng), True, 1 + 2j))
        case "Text":
            return rng.choice(v.TEXTS)
        case "DType":
            return rng.choice((None, *map(v.Named, v.DTYPES)))
        case "Device":
            return rng.choice((None, "cpu", "cpu", "meta", "cuda", "bogus"))
        case "MemoryFormat":
            return v.Named(rng.choice(("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")))
        case "Generator":
            return rng.choice((None, v.Named("Generator")))
        case "Callable":
            return v.Named("callable")
    if _WINDOW.match(p.name) or _SIZES.match(p.name):
        return v.integer(rng) if rng.random() < 0.5 else v.integers(rng)
    return rng.choice((v.integer(rng), v.real(rng), v.integers(rng), rng.choice(v.TEXTS), None, rng.random() < 0.5))
