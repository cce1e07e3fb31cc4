"""Arguments as data: each is drawn, shown, and only then turned into the object that is passed."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import mashal

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "uint8", "int8", "int16")
COMPLEX = ("complex64", "complex128")
DTYPES = (*FLOATS, *INTS, *COMPLEX, "bool")

SHAPES = (
    (), (1,), (0,), (3,), (5,), (2, 3), (3, 3), (4, 4), (1, 3), (3, 1), (0, 3), (3, 0), (2, 3, 4), (2, 4, 4), (1, 1, 1),
    (2, 0, 3), (2, 3, 4, 5), (1, 2, 6, 6), (2, 2, 3, 4, 4), (1, 0, 2, 2, 2), (17,), (33, 2), (2, 1, 2, 1, 2, 1, 2), (257,),
)  # fmt: skip
# 1000 and 65537 are large for a kernel size; from 2**31 on a result cannot exist under the memory limit.
LARGE = (100, 1000, 2**31 - 1, 2**31, 2**32 + 1, 2**40, 2**62, 2**63 - 1)
BEYOND = (2**63, 2**70, -(2**63) - 1)
HUGE = (*LARGE, *(-n for n in LARGE), -(2**63))
FILLS = (
    "normal",
    "normal",
    "uniform",
    "nan",
    "inf",
    "mixed",
    "zeros",
    "ones",
    "extreme",
    "index",
    "negative",
    "ascending",
)
LAYOUTS = ("", "", "transposed", "sliced", "expanded", "overlapping", "offset", "reversed", "channels_last")
TEXTS = (
    "mean", "sum", "none", "constant", "reflect", "replicate", "circular", "nearest", "linear", "bilinear", "bicubic",
    "trilinear", "area", "nearest-exact", "zeros", "border", "reflection", "amax", "amin", "prod", "add", "multiply", "max",
    "floor", "trunc", "tanh", "ij", "xy", "left", "right", "L", "U", "reduced", "complete", "r", "fro", "nuc", "lower",
    "midpoint", "higher", "same", "valid", "gelsd", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist", "", "bogus", "é\0",
)  # fmt: skip
REALS = (
    0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    3.0,
    1e-5,
    -0.0,
    1e30,
    1e308,
    -1e308,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
)


@dataclass(frozen=True)
class T:
    """A tensor to be."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    fill: str = "normal"
    layout: str = ""
    seed: int = 0
    grad: bool = False
    device: str = "cpu"
    high: int = 0  # fill "below": integers in [0, high)

    def make(self) -> Any:
        if self.dtype == "numpy":
            return np.ones(self.shape, dtype=np.float32)
        if self.device == "meta":
            return mashal.empty(self.shape, dtype=getattr(mashal, self.dtype), device="meta")
        t = self._values(self.shape)
        t = self._laid_out(t)
        if self.grad and (t.dtype.is_floating_point or t.dtype.is_complex):
            t = t.detach().requires_grad_()
        return t

    def _values(self, shape: tuple[int, ...]) -> Any:
        rng = random.Random(self.seed)
        n = 1
        for s in shape:
            n *= s
        dtype = getattr(mashal, self.dtype)
        if self.fill == "ascending":
            return mashal.arange(n).to(dtype).reshape(shape)
        draw = {
            "normal": lambda: rng.gauss(0, 1),
            "uniform": rng.random,
            "nan": lambda: float("nan"),
            "inf": lambda: rng.choice((float("inf"), float("-inf"))),
            "mixed": lambda: rng.choice(REALS),
            "zeros": lambda: 0,
            "ones": lambda: 1,
            "extreme": lambda: rng.choice((2**63 - 1, -(2**63), 2**31, -(2**31), 2**31 - 1, 127, -128, 255, 2**40)),
            "index": lambda: rng.randrange(3),
            "below": lambda: rng.randrange(max(self.high, 1)),
            "negative": lambda: rng.randrange(-4, 4),
        }[self.fill]
        values = [draw() for _ in range(n)]
        if dtype.is_floating_point or dtype.is_complex:
            flat = mashal.tensor([float(v) for v in values], dtype=mashal.float64)
        else:
            integers = [v if isinstance(v, int) else (int(v * 4) if abs(v) < 1e9 else 2**62) for v in values]
            flat = mashal.tensor(integers, dtype=mashal.int64)
        return flat.reshape(shape).to(dtype)

    def _laid_out(self, t: Any) -> Any:
        """The same shape (and, but for the overlapping layouts, the same values) with other strides."""
        if self.layout == "transposed" and t.ndim >= 2:
            return t.transpose(0, -1).contiguous().transpose(0, -1)
        if self.layout == "reversed" and t.ndim >= 2:
            back = tuple(range(t.ndim))[::-1]
            return t.permute(back).contiguous().permute(back)
        if self.layout == "sliced" and t.ndim >= 1:
            return mashal.stack([t, t], -1).flatten(-2)[..., ::2]
        if self.layout == "expanded" and t.ndim >= 1 and t.shape[0] > 0:
            return t[:1].expand(t.shape)
        if self.layout == "offset":
            return mashal.cat([t.new_zeros(3), t.reshape(-1)])[3:].view(t.shape)
        if self.layout == "overlapping" and t.ndim >= 1 and t.numel() > 1:
            return mashal.cat([t.reshape(-1)] * 2).as_strided(t.shape, [1] * t.ndim)
        if self.layout == "channels_last" and t.ndim == 4:
            return t.to(memory_format=mashal.channels_last)
        return t

    def __repr__(self) -> str:
        parts = [str(self.shape), self.dtype, self.fill]
        parts += [self.layout] * bool(self.layout) + ["grad"] * self.grad + [self.device] * (self.device != "cpu")
        return f"T[{' '.join(parts)}]"


@dataclass(frozen=True)
class Same:
    """The tensor of an earlier argument again, or a view of it: results that alias inputs, inputs that alias each other."""

    argument: int
    view: str = ""

    def make_from(self, args: list[Any]) -> Any:
        t = args[self.argument] if self.argument < len(args) else None
        if not isinstance(t, mashal.Tensor):
            return t
        if self.view == "transposed" and t.ndim >= 2:
            return t.transpose(0, -1)
        if self.view == "tail" and t.ndim >= 1:
            return t[1:]
        return t


@dataclass(frozen=True)
class Named:
    """An object of the framework: ``Named("float64")``, ``Named("channels_last")``."""

    name: str

    def make(self) -> Any:
        if self.name == "Generator":
            return mashal.Generator().manual_seed(7)
        if self.name == "callable":
            return lambda *a: a[0]
        if self.name == "object":
            return object()
        if self.name == "dict":
            return {}
        return getattr(mashal, self.name)

    def __repr__(self) -> str:
        return self.name


def make(value: Any, args: list[Any]) -> Any:
    """The object that a drawn value stands for."""
    if isinstance(value, (T, Named)):
        return value.make()
    if isinstance(value, Same):
        return value.make_from(args)
    if isinstance(value, (list, tuple)):
        return type(value)(make(v, args) for v in value)
    return value


# ---- drawing ----


def integer(rng: random.Random, small: tuple[int, ...] = (0, 1, 2, 3, -1, 1, 2)) -> Any:
    roll = rng.random()
    if roll < 0.82:
        return rng.choice(small)
    if roll < 0.96:
        return rng.choice(HUGE)
    return rng.choice((*BEYOND, True, 2.0, 2.5, "3", None))


def integers(rng: random.Random, small: tuple[int, ...] = (0, 1, 2, 3, 1, 2, -1)) -> Any:
    if rng.random() < 0.04:
        return rng.choice(((), [None], 3, "ab", [1.5], [2] * 70, None, [[1]]))
    return [
        integer(rng, small) if rng.random() < 0.3 else rng.choice(small)
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 3, 4)))
    ]


def real(rng: random.Random) -> Any:
    return rng.choice(REALS) if rng.random() < 0.93 else rng.choice((1, True, 2**70, "x", None, 1 + 2j, 10**400))


def tensor(rng: random.Random, base: tuple[int, ...], kind: str = "") -> T:
    """A tensor near ``base``: mostly that shape, else one that broadcasts, is empty, or does not fit at all."""
    roll = rng.random()
    shape = base
    if roll > 0.9:
        shape = rng.choice(SHAPES)
    elif roll > 0.82 and base:
        d = rng.randrange(len(base))
        shape = (*base[:d], rng.choice((0, 1, base[d] + 1)), *base[d + 1 :])
    elif roll > 0.76:
        shape = base[1:]
    dtypes = {"index": ("int64",) * 8 + ("int32",), "bool": ("bool",) * 5 + ("uint8",), "float": FLOATS[:2]}.get(
        kind, DTYPES
    )
    dtype = rng.choice(dtypes) if rng.random() < 0.85 else rng.choice(DTYPES)
    fills = ("index", "index", "zeros", "negative", "extreme", "ascending") if kind == "index" else FILLS
    return T(shape, dtype, rng.choice(fills), rng.choice(LAYOUTS), rng.randrange(1000), rng.random() < 0.3)


def anything(rng: random.Random, base: tuple[int, ...]) -> Any:
    """Something of any type at all."""
    return rng.choice(
        (
            None, True, 0, -1, 3, 2.5, 1j, "bogus", "mean", (), [], [1, 2], (3,), [0.5], Named("object"), Named("float64"),
            2**62, -(2**63), 2**64, float("nan"), [None, T((2,))], T(base), T(base, "int64", "index"), T((0,)), b"xx",
        )
    )  # fmt: skip


def mutated(rng: random.Random, value: Any, base: tuple[int, ...]) -> Any:
    """A neighbour of a value: the same kind with one thing changed, seldom another kind."""
    if rng.random() < 0.1:
        return anything(rng, base)
    if isinstance(value, T):
        what = rng.randrange(6)
        if what <= 1:
            return replace(value, shape=_mutated_shape(rng, value.shape))
        if what == 2:
            return replace(value, dtype=rng.choice(DTYPES))
        if what == 3:
            return replace(value, fill=rng.choice(FILLS))
        if what == 4:
            return replace(value, layout=rng.choice(LAYOUTS))
        return replace(value, grad=not value.grad)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, -value, 0, integer(rng), integer(rng)))
    if isinstance(value, float):
        return real(rng)
    if isinstance(value, str):
        return rng.choice(TEXTS)
    if isinstance(value, (list, tuple)):
        items = list(value)
        what = rng.randrange(4)
        if what <= 1 and items:
            i = rng.randrange(len(items))
            items[i] = mutated(rng, items[i], base)
        elif what == 2 and items:
            del items[rng.randrange(len(items))]
        else:
            items.insert(rng.randrange(len(items) + 1), items[-1] if items else 1)
        return type(value)(items)
    return anything(rng, base)


def _mutated_shape(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    what = rng.randrange(5)
    if what == 0 or not shape:
        return (*shape, rng.randrange(3)) if rng.random() < 0.5 else (1, *shape)
    d = rng.randrange(len(shape))
    if what == 1:
        return shape[:d] + shape[d + 1 :]
    if what == 2:
        return shape[:d] + shape[d:][::-1]
    return (*shape[:d], max(0, rng.choice((0, 1, shape[d] + 1, shape[d] - 1, 2 * shape[d]))), *shape[d + 1 :])
