"""Tensors as text, in PyTorch's form."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import _core
from ._core import Tensor


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()
_profiles = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed: digits, the number of elements above which the middle is left out, line width."""
    if profile is not None:
        chosen = _profiles[profile]
        _options.precision, _options.threshold = chosen.precision, chosen.threshold
        _options.edgeitems, _options.linewidth = chosen.edgeitems, chosen.linewidth
    if precision is not None:
        _options.precision = precision
    if threshold is not None:
        _options.threshold = threshold
    if edgeitems is not None:
        _options.edgeitems = edgeitems
    if linewidth is not None:
        _options.linewidth = linewidth
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The present print options."""
    return dict(vars(_options))


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """:func:`set_printoptions` for a block."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Formatter:
    """One width and notation for all elements of a tensor."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.floating = floating
        self.int_mode = True
        self.sci_mode = False
        self.width = 1
        if not floating:
            self.width = max((len(str(v)) for v in values), default=1)
            return
        finite = [abs(v) for v in values if math.isfinite(v) and v != 0]
        if not finite:
            self.width = max((len(self.format_plain(v)) for v in values), default=1)
            return
        low, high = min(finite), max(finite)
        self.int_mode = all(v == math.ceil(v) for v in finite)
        if self.int_mode:
            self.sci_mode = high / low > 1000.0 or high > 1.0e8
        else:
            self.sci_mode = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if _options.sci_mode is not None:
            self.sci_mode = _options.sci_mode
        if self.int_mode and not self.sci_mode:
            self.width = max(len(f"{v:.0f}") + 1 for v in values if math.isfinite(v) and v != 0)
        shown = [v for v in values if v != 0 and math.isfinite(v)]
        if self.sci_mode or not self.int_mode:
            self.width = max(len(self.format_plain(v)) for v in shown)

    def format_plain(self, v: Any) -> str:
        if not self.floating:
            return str(v)
        if self.sci_mode:
            return f"{v:.{_options.precision}e}"
        if self.int_mode:
            text = f"{v:.0f}"
            return text if not math.isfinite(v) else f"{text}."
        return f"{v:.{_options.precision}f}"

    def format(self, v: Any) -> str:
        return self.format_plain(v).rjust(self.width)


class _ComplexFormatter:
    def __init__(self, values: list[complex]) -> None:
        self.real = _Formatter([v.real for v in values], True)
        self.imag = _Formatter([v.imag for v in values], True)
        self.width = self.real.width + self.imag.width + 1

    def format(self, v: complex) -> str:
        # Sign and number of the imaginary part are one word, padded after the "j".
        imag = self.imag.format_plain(v.imag).strip()
        sign = "" if imag.startswith("-") else "+"
        return f"{self.real.format(v.real)}{sign}{(imag + 'j').ljust(self.imag.width)}"


def _summary(t: Tensor) -> Tensor:
    """The elements that are printed when the middle is left out."""
    edge = _options.edgeitems
    if t.ndim == 0:
        return t
    n = t.shape[0]
    parts = list(range(n)) if n <= 2 * edge else [*range(edge), *range(n - edge, n)]
    return _core_stack([_summary(t[i]) for i in parts]) if parts else t


def _core_stack(parts: list[Tensor]) -> Tensor:
    from .ops.joining import stack

    return stack(parts)


def _flat(data: Any) -> list[Any]:
    if not isinstance(data, list):
        return [data]
    return [v for row in data for v in _flat(row)]


def _vector(t: Tensor, indent: int, summarize: bool, formatter: Any) -> str:
    edge = _options.edgeitems
    per_line = max(1, math.floor((_options.linewidth - indent) / (formatter.width + 2)))

    def show(v: Any) -> str:
        return formatter.format(v)  # type: ignore[no-any-return]

    if summarize and not edge:
        data = ["..."]
    elif summarize and t.shape[0] > 2 * edge:
        data = [show(v) for v in t[:edge].tolist()] + [" ..."] + [show(v) for v in t[-edge:].tolist()]
    else:
        data = [show(v) for v in t.tolist()]
    lines = [data[i : i + per_line] for i in range(0, len(data), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"


def _body(t: Tensor, indent: int, summarize: bool, formatter: Any) -> str:
    if t.ndim == 0:
        return formatter.format(t.item())  # type: ignore[no-any-return]
    if t.ndim == 1:
        return _vector(t, indent, summarize, formatter)
    edge = _options.edgeitems
    n = t.shape[0]
    if summarize and n > 2 * edge:
        slices = [_body(t[i], indent + 1, summarize, formatter) for i in range(edge)]
        slices.append("...")
        slices += [_body(t[i], indent + 1, summarize, formatter) for i in range(n - edge, n)]
    else:
        slices = [_body(t[i], indent + 1, summarize, formatter) for i in range(n)]
    return "[" + ("," + "\n" * (t.ndim - 1) + " " * (indent + 1)).join(slices) + "]"


def _with_suffixes(text: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Appends `, dtype=...` and the like, on a new line where the last one is full."""
    pieces = [text]
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or last + len(suffix) + 2 > _options.linewidth:
            pieces.append(",\n" + " " * indent + suffix)
            last = indent + len(suffix)
            force_newline = False
        else:
            pieces.append(", " + suffix)
            last += len(suffix) + 2
    return "".join(pieces) + ")"


def _data(t: Tensor, indent: int) -> str:
    summarize = t.numel() > _options.threshold
    shown = _summary(t) if summarize else t
    values = _flat(shown.tolist())
    formatter: Any = _ComplexFormatter(values) if t.dtype.is_complex else _Formatter(values, t.dtype.is_floating_point)
    return _body(t, indent, summarize, formatter)


def _grad_suffix(t: Tensor) -> str | None:
    fn = t.grad_fn
    if fn is not None:
        name = fn.name().split("::")[-1]
        return f"grad_fn=<{name}>"
    return "requires_grad=True" if t.requires_grad else None


def tensor_repr(t: Tensor) -> str:
    """``repr(t)``."""
    prefix = "tensor(" if type(t) is Tensor else f"{type(t).__name__}("
    indent = len(prefix)
    with _core.no_grad_guard():
        plain = t.detach() if type(t) is Tensor else Tensor._make_subclass(Tensor, t)
        suffixes = []
        if t.is_meta:
            suffixes.append("device='meta'")
        default = (
            t.dtype in (_core.get_default_dtype(), _core.int64, _core.bool)
            or t.dtype is _core.get_default_dtype().to_complex()
        )
        if t.is_meta:
            suffixes.append(f"size={tuple(t.shape)}")
            if t.dtype is not _core.get_default_dtype():
                suffixes.append(f"dtype={t.dtype}")
            text = "..."
        elif t.numel() == 0:
            if t.ndim != 1:
                suffixes.append(f"size={tuple(t.shape)}")
            if t.dtype is not _core.get_default_dtype():
                suffixes.append(f"dtype={t.dtype}")
            text = "[]"
        else:
            if not default:
                suffixes.append(f"dtype={t.dtype}")
            text = _data(plain, indent)
    grad = _grad_suffix(t)
    if grad:
        suffixes.append(grad)
    return _with_suffixes(prefix + text, suffixes, indent, force_newline=False)
