#!/usr/bin/env python3
"""Writes the type stubs that the registry implies: src/mashal/_core.pyi (Tensor) and src/mashal/_functions.pyi.

A primitive's types come from its schema, a composite's from its annotations. `--check` compares instead of writing.
"""

from __future__ import annotations

import argparse
import collections.abc
import difflib
import inspect
import keyword
import re
import sys
import types
import typing
from pathlib import Path
from typing import Any

import mashal
from mashal import _core
from mashal.ops import _registry

PACKAGE = Path(__file__).parents[1] / "src" / "mashal"

# Types are named `builtins.int`, because Tensor has methods of the names int, float, bool, ...
TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "Number": "Number",
    "int": "builtins.int",
    "float": "builtins.float",
    "bool": "builtins.bool",
    "float[]": "Sequence[builtins.float]",
    "str": "builtins.str",
    "dtype": "dtype",
    "device": "Device",
    "memory_format": "memory_format",
    "Generator": "Generator",
}

HEADER = """# Written by scripts/make_stubs.py from the registry of operations: do not edit.
import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar, overload
"""

CORE_TYPES = '''
Number: TypeAlias = builtins.int | builtins.float | builtins.bool | builtins.complex
Device: TypeAlias = device | builtins.str | builtins.int

# Everything else that the compiled module holds.
def __getattr__(name: str) -> Any: ...

_F = TypeVar("_F", bound=Callable[..., Any])

class Primitive:
    """An operation: its signature is in _functions.pyi; these are the decorators of its room."""

    info: dict[builtins.str, Any]
    __name__: builtins.str
    __module__: builtins.str
    _overload: Any
    _result_type: Any
    _takes_out: builtins.bool
    dynamic: builtins.str
    constants: frozenset[builtins.str]
    def __init__(self, schema: builtins.str, *options: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def _set_cast_policy(self, policy: builtins.str) -> None: ...
    @overload
    def vjp(self, rule: builtins.str) -> Callable[[_F], _F]: ...
    @overload
    def vjp(self, **rules: Callable[..., Any]) -> None: ...
    @overload
    def vjp(self, rule: _F) -> _F: ...
    def nondifferentiable(self, reason: builtins.str) -> None: ...
    def constant(self, *arguments: builtins.str) -> None: ...
    def shape(self, fn: _F) -> _F: ...
    def cpu(self, fn: _F) -> _F: ...
    def overloaded(self, fn: _F) -> _F: ...
    def returns(self, result_type: Any) -> None: ...
    def _method(self, name: builtins.str, in_place: builtins.bool) -> Any: ...

class dtype:
    _legacy_name: builtins.str
    is_floating_point: builtins.bool
    is_complex: builtins.bool
    is_signed: builtins.bool
    itemsize: builtins.int
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...

class device:
    type: builtins.str
    index: builtins.int | None
    def __init__(self, type: device | builtins.str | builtins.int, index: builtins.int | None = ...) -> None: ...
    def __enter__(self) -> device: ...
    def __exit__(self, *exc: object) -> None: ...
    def __call__(self, fn: Any) -> Any: ...

class memory_format: ...

class Size(tuple[builtins.int, ...]):
    def numel(self) -> builtins.int: ...

class Generator:
    device: _device
    def __init__(self, device: Device = ...) -> None: ...
    def manual_seed(self, seed: builtins.int) -> Generator: ...
    def initial_seed(self) -> builtins.int: ...
    def seed(self) -> builtins.int: ...
    def get_state(self) -> Tensor: ...
    def set_state(self, new_state: Tensor) -> Generator: ...
'''

# Methods and attributes of the C++ type; what is missing here and not in the registry is an error of this script.
CORE_MEMBERS = {
    "size": ["@overload", "def size(self) -> Size: ...", "@overload",
             "def size(self, dim: builtins.int) -> builtins.int: ..."],
    "stride": ["@overload", "def stride(self) -> tuple[builtins.int, ...]: ...", "@overload",
               "def stride(self, dim: builtins.int) -> builtins.int: ..."],
    "dim": ["def dim(self) -> builtins.int: ..."],
    "ndimension": ["def ndimension(self) -> builtins.int: ..."],
    "numel": ["def numel(self) -> builtins.int: ..."],
    "nelement": ["def nelement(self) -> builtins.int: ..."],
    "element_size": ["def element_size(self) -> builtins.int: ..."],
    "storage_offset": ["def storage_offset(self) -> builtins.int: ..."],
    "data_ptr": ["def data_ptr(self) -> builtins.int: ..."],
    "is_contiguous": ["def is_contiguous(self, *, memory_format: memory_format = ...) -> builtins.bool: ..."],
    "item": ["def item(self) -> Any: ..."],
    "tolist": ["def tolist(self) -> Any: ..."],
    "requires_grad_": ["def requires_grad_(self, requires_grad: builtins.bool = ...) -> Self: ..."],
    "detach": ["def detach(self) -> Tensor: ..."],
    "detach_": ["def detach_(self) -> Self: ..."],
    "retain_grad": ["def retain_grad(self) -> None: ..."],
    "is_inference": ["def is_inference(self) -> builtins.bool: ..."],
    "is_set_to": ["def is_set_to(self, tensor: Tensor) -> builtins.bool: ..."],
    "_set": ["def _set(self, source: Tensor, *geometry: Any) -> Self: ..."],
    "_become_view": ["def _become_view(self, name: builtins.str, view: Tensor) -> Self: ..."],
    "_storage_key": ["def _storage_key(self) -> tuple[builtins.int, builtins.int]: ..."],
    "_storage_bytes": ["def _storage_bytes(self) -> Tensor: ..."],
    "_storage_resizable": ["def _storage_resizable(self) -> builtins.bool: ..."],
    "_make_subclass": ["@staticmethod",
                       "def _make_subclass(cls: Any, data: Tensor, require_grad: builtins.bool = ...) -> Any: ..."],
    "shape": ["@property", "def shape(self) -> Size: ..."],
    "dtype": ["@property", "def dtype(self) -> dtype: ..."],
    "device": ["@property", "def device(self) -> device: ..."],
    "layout": ["@property", "def layout(self) -> Any: ..."],
    "ndim": ["@property", "def ndim(self) -> builtins.int: ..."],
    "requires_grad": ["requires_grad: builtins.bool"],
    "grad": ["grad: Tensor | None"],
    "_grad": ["_grad: Tensor | None"],
    "data": ["data: Tensor"],
    "grad_fn": ["@property", "def grad_fn(self) -> Any: ..."],
    "_base": ["@property", "def _base(self) -> Tensor | None: ..."],
    "output_nr": ["@property", "def output_nr(self) -> builtins.int: ..."],
    "_version": ["@property", "def _version(self) -> builtins.int: ..."],
    "itemsize": ["@property", "def itemsize(self) -> builtins.int: ..."],
    "nbytes": ["@property", "def nbytes(self) -> builtins.int: ..."],
    **{name: ["@property", f"def {name}(self) -> Tensor: ..."] for name in ("T", "mT", "mH", "H", "real", "imag")},
    **{name: ["@property", f"def {name}(self) -> builtins.bool: ..."]
       for name in ("is_leaf", "retains_grad", "is_cpu", "is_meta", "is_cuda", "is_sparse", "is_quantized", "is_nested",
                    "is_mps", "is_xpu", "is_mkldnn", "is_sparse_csr", "is_ipu", "is_maia", "is_mtia", "is_vulkan",
                    "is_xla")},
    "name": ["@property", "def name(self) -> None: ..."],
    "names": ["@property", "def names(self) -> tuple[None, ...]: ..."],
}  # fmt: skip

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
SPECIAL_MEMBERS = [
    "def __init__(self, *args: Any, **kwargs: Any) -> None: ...",
    *(f"def __{name}__(self, other: Tensor | Number) -> Tensor: ..." for name in _BINARY),
    *(f"def __r{name}__(self, other: Tensor | Number) -> Tensor: ..." for name in _BINARY),
    *(f"def __i{name}__(self, other: Tensor | Number) -> Self: ..." for name in _BINARY if name != "matmul"),
    *(f"def __{name}__(self, other: Tensor | Number) -> Tensor: ..." for name in ("lt", "le", "gt", "ge")),
    *(f"def __{name}__(self, other: Any) -> Tensor: ...  # type: ignore[override]" for name in ("eq", "ne")),
    *(f"def __{name}__(self) -> Tensor: ..." for name in ("neg", "pos", "abs", "invert")),
    "def __hash__(self) -> builtins.int: ...",
    "def __bool__(self) -> builtins.bool: ...",
    "def __int__(self) -> builtins.int: ...",
    "def __float__(self) -> builtins.float: ...",
    "def __complex__(self) -> builtins.complex: ...",
    "def __index__(self) -> builtins.int: ...",
    "def __len__(self) -> builtins.int: ...",
    "def __iter__(self) -> Iterator[Tensor]: ...",
    "def __contains__(self, element: Any) -> builtins.bool: ...",
    "def __getitem__(self, index: Any) -> Tensor: ...",
    "def __setitem__(self, index: Any, value: Any) -> None: ...",
    "def __array__(self, dtype: Any = ..., copy: builtins.bool | None = ...) -> Any: ...",
    "def __dlpack__(self, **kwargs: Any) -> Any: ...",
    "def __dlpack_device__(self) -> tuple[builtins.int, builtins.int]: ...",
]


# ---- annotations as text ----


def type_text(t: Any) -> str:
    """A resolved annotation as text; what has no public name is Any."""
    if t is None or t is type(None):
        return "None"
    if t is Any or isinstance(t, (str, typing.TypeVar)) or t is inspect.Parameter.empty:
        return "Any"
    if t is _core.Tensor:
        return "Tensor"
    if t in (_core.dtype, _core.device, _core.Size, _core.Generator, _core.memory_format):
        return str(t.__name__)
    origin, args = typing.get_origin(t), typing.get_args(t)
    if origin in (types.UnionType, typing.Union):
        parts = list(dict.fromkeys(type_text(a) for a in args))
        return "Any" if "Any" in parts else " | ".join(parts)
    if origin is typing.Literal:
        return type_text(type(args[0]))
    if origin is collections.abc.Callable:
        wanted = "..." if args[0] is ... else f"[{', '.join(type_text(a) for a in args[0])}]"
        return f"Callable[{wanted}, {type_text(args[1])}]"
    if origin is not None:
        name = getattr(origin, "__name__", "")
        if origin.__module__ not in ("builtins", "collections.abc") or name not in (
            "list",
            "tuple",
            "dict",
            "Sequence",
            "Mapping",
            "Iterator",
        ):
            return "Any"
        inner = ", ".join("..." if a is ... else type_text(a) for a in args)
        return f"{'builtins.' if origin.__module__ == 'builtins' and name != 'tuple' else ''}{name}[{inner}]"
    if isinstance(t, type) and t.__module__ == "builtins":
        return f"builtins.{t.__name__}"
    return "Any"


def plain_function(call: Any) -> Any:
    return inspect.unwrap(call)


def function_lines(name: str, call: Any, as_method: bool) -> list[str]:
    """The stub of a Python function."""
    fn = plain_function(call)
    try:
        hints = typing.get_type_hints(fn)
    except (NameError, TypeError):
        hints = {}
    parameters = list(inspect.signature(fn).parameters.values())
    out: list[str] = []
    star = False
    for i, p in enumerate(parameters):
        if as_method and i == 0 and p.kind is not p.VAR_POSITIONAL:
            out.append("self")
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            out.append("*")
            star = True
        kind = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        star = star or kind == "*"
        default = " = ..." if p.default is not p.empty else ""
        out.append(f"{kind}{p.name}: {type_text(hints.get(p.name, Any))}{default}")
    if call is not fn and "out" not in hints and not as_method and not any(p.name == "out" for p in parameters):
        tail = out.pop() if out and out[-1].startswith("**") else None
        out += [*(() if star else ("*",)), "out: Any = ...", *([tail] if tail else [])]
    result = "Self" if as_method and name.endswith("_") and not name.startswith("_") else None
    result = result or type_text(hints.get("return", Any))
    return [f"def {name}({', '.join(out)}) -> {result}: ..."]


# ---- schemas as text ----

_ARGUMENT = re.compile(r"^(?P<type>\w+\??(?:\[[\d*]*\])?\??) (?P<name>\w+)(?:=(?P<default>.*))?$")


def split_arguments(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in (*parts, text[start:].strip()) if p]


def argument_type(text: str, pointwise: bool) -> str:
    optional = text.endswith("?")
    text = text.removesuffix("?")
    if text.startswith("int["):
        base = "Sequence[builtins.int]" if text == "int[*]" else "Sequence[builtins.int] | builtins.int"
    elif text == "Tensor" and pointwise:
        base = "Tensor | Number"
    else:
        base = TYPES[text]
    return f"{base} | None" if optional else base


def schema_parts(schema: str) -> tuple[str, list[str], str]:
    head, _, result = schema.rpartition(" -> ")
    name, _, arguments = head.partition("(")
    return name, split_arguments(arguments.removesuffix(")")), result


def result_text(call: Any, result: str, named: dict[str, Any]) -> str:
    if call._result_type is not None and hasattr(call._result_type, "n_fields"):
        named[call._result_type.__name__] = call._result_type
        return f"_{call._result_type.__name__}_result"
    if result == "Tensor[]":
        return "tuple[Tensor, ...]"
    if result.startswith("("):
        return f"tuple[{', '.join(['Tensor'] * (result.count(',') + 1))}]"
    return result


# What `_with_keywords` of ops/creation.py admits besides.
_FACTORY_KEYWORDS = ["layout: Any = ...", "pin_memory: builtins.bool = ...", "requires_grad: builtins.bool = ..."]


def primitive_lines(name: str, call: Any, as_method: bool, in_place: bool, named: dict[str, Any]) -> list[str]:
    """The stub of a primitive: its schema, spread sizes as a second signature, and its overload in Python."""
    pointwise = call.info["family"] == "pointwise"
    _, arguments, result = schema_parts(call.info["schema"])
    overload = call._overload
    factory = overload is not None and "_with_keywords" in getattr(overload, "__qualname__", "")
    signatures = []
    for spread in (False, True) if any("int[*]" in a for a in arguments) else (False,):
        out, star = [], False
        for i, argument in enumerate(arguments):
            if argument == "*":
                if not star:
                    out.append("*")
                star = True
                continue
            match = _ARGUMENT.match(argument)
            if match is None:
                raise ValueError(f"cannot read {argument!r} of {call.info['schema']!r}")
            if as_method and i == 0:
                out.append("self")
                continue
            if match["type"] == "int[*]" and spread:
                out.append(f"*{match['name']}: builtins.int")
                star = True
                continue
            default = " = ..." if match["default"] is not None else ""
            # The first tensor of a pointwise op is one: numbers alone are Python's business.
            text = argument_type(match["type"], pointwise and i > 0)
            shown = match["name"] + "_" * keyword.iskeyword(match["name"])  # `from` can only be given by position
            out.append(f"{shown}: {text}{default}")
        extra = list(_FACTORY_KEYWORDS) if factory else []
        if not as_method and call._takes_out:
            extra.append("out: Any = ...")
        if extra:
            out += [*(() if star else ("*",)), *extra]
        returned = "Self" if in_place else result_text(call, result, named)
        signatures.append(f"def {name}({', '.join(out)}) -> {returned}: ...")
    if overload is not None and not factory:
        signatures += function_lines(name, overload, as_method)
    if len(signatures) == 1:
        return signatures
    return [line for s in signatures for line in ("@overload", s)]


def entry_lines(name: str, entry: Any, as_method: bool, in_place: bool, named: dict[str, Any]) -> list[str]:
    if entry.primitive:
        return primitive_lines(name, entry.call, as_method, in_place, named)
    call = entry.inplace_call if in_place else entry.call
    return function_lines(name, call, as_method)


# ---- the two files ----


def result_classes(named: dict[str, Any]) -> list[str]:
    lines = []
    for name, cls in sorted(named.items()):
        fields = [k for k, v in vars(cls).items() if isinstance(v, property)]
        lines += ["", f"class _{name}_result(NamedTuple):", *(f"    {field}: Tensor" for field in fields)]
    return lines


def tensor_class(named: dict[str, Any]) -> list[str]:
    members: dict[str, list[str]] = {}
    for name, entry in _registry.entries.items():
        if entry.method:
            members[name] = entry_lines(name, entry, True, False, named)
        if entry.inplace:
            members[f"{name}_"] = entry_lines(f"{name}_", entry, True, True, named)
    for name, value in vars(_core.Tensor).items():
        if name in members or (name.startswith("__") and name.endswith("__")):
            continue
        if name in CORE_MEMBERS:
            members[name] = CORE_MEMBERS[name]
        elif inspect.isfunction(value):
            members[name] = function_lines(name, value, True)
        else:
            raise ValueError(f"Tensor.{name} has no type: add it to CORE_MEMBERS of scripts/make_stubs.py")
    lines = ["", "class Tensor:"]
    for name in sorted(members, key=lambda n: (n in ("dtype", "device", "Size", "memory_format"), n)):
        lines += [f"    {line}" for line in members[name]]
    return lines + [f"    {line}" for line in SPECIAL_MEMBERS]


def qualified(lines: list[str]) -> list[str]:
    """Inside Tensor, `dtype` and `device` are attributes: annotations name the classes through aliases."""
    out = []
    for line in lines:
        if line.startswith("    ") and "def " in line:
            head, _, rest = line.partition("(")
            rest = re.sub(r"(?<=[:|>\[] )(dtype|device|memory_format)\b(?=[ ,)\]]|:)", r"_\1", rest)
            line = f"{head}({rest}"
        out.append(line)
    return out


def core_stub() -> str:
    named: dict[str, Any] = {}
    tensor = qualified(tensor_class(named))
    aliases = [
        "",
        "_dtype: TypeAlias = dtype",
        "_device: TypeAlias = device",
        "_memory_format: TypeAlias = memory_format",
    ]
    constants = [""]
    for name, value in sorted(vars(_core).items()):
        if isinstance(value, _core.dtype):
            constants.append(f"{name}: dtype")
        elif isinstance(value, _core.memory_format):
            constants.append(f"{name}: memory_format")
    return "\n".join([HEADER + CORE_TYPES, *aliases, *constants, *result_classes(named), *tensor]) + "\n"


def functions_stub() -> str:
    named: dict[str, Any] = {}
    body = [""]
    names = []
    for name, entry in sorted(_registry.entries.items()):
        if not entry.function:
            continue
        body += entry_lines(name, entry, False, False, named)
        names.append(name)
        if entry.inplace and hasattr(mashal, f"{name}_"):
            first = "input: Tensor, *args: Any, **kwargs: Any"
            body.append(f"def {name}_({first}) -> Tensor: ...")
            names.append(f"{name}_")
    imports = "from ._core import Device, Generator, Number, Size, Tensor, device, dtype, memory_format\n"
    listed = ["", "__all__ = [", *(f'    "{name}",' for name in names), "]"]
    return "\n".join([HEADER + imports, *result_classes(named), *body, *listed]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    check = parser.parse_args().check
    status = 0
    for name, text in (("_core.pyi", core_stub()), ("_functions.pyi", functions_stub())):
        path = PACKAGE / name
        old = path.read_text() if path.exists() else ""
        if check and old != text:
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), name, "registry"))
            print(f"{name} is out of date: run scripts/make_stubs.py")
            status = 1
        elif not check:
            path.write_text(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
