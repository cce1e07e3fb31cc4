"""One call, drawn from a seed: which target, in which form, with which arguments, and what is done with the result."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import mashal
from tests.fuzz import values as v
from tests.fuzz.signatures import Target, argument
from tests.fuzz.templates import TEMPLATES

# What a call may raise.
SANE = (RuntimeError, ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError, BufferError)


@dataclass(frozen=True)
class Call:
    form: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Any = None
    backward: bool = False

    def __repr__(self) -> str:
        parts = [repr(a) for a in self.args] + [f"{k}={w!r}" for k, w in self.kwargs.items()]
        parts += [f"out={self.out!r}"] * (self.out is not None)
        return f"{self.form}({', '.join(parts)})" + ".backward()" * self.backward


def draw(target: Target, seed: str) -> Call:
    rng = random.Random(f"{target.name}:{seed}")
    form, fn = rng.choice(target.forms)
    base = rng.choice(v.SHAPES)
    templates = TEMPLATES.get(target.name) or TEMPLATES.get(target.name.rsplit(".", 1)[-1])
    if templates and rng.random() < 0.8:
        args, kwargs = rng.choice(templates)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3))):
            args, kwargs = _mutate(rng, args, kwargs, base)
        if rng.random() < 0.3:
            args = tuple(replace(a, grad=True) if isinstance(a, v.T) else a for a in args)
        if rng.random() < 0.3:
            layouts = (rng.choice(v.LAYOUTS) for _ in args)
            args = tuple(replace(a, layout=n) if isinstance(a, v.T) else a for a, n in zip(args, layouts, strict=True))
    else:
        args, kwargs = _fresh(rng, target, base)
    out = None
    if rng.random() < 0.12:
        shape = rng.choice((base, base[:1], (0,), ()))
        out = rng.choice(
            (v.T(shape), v.T(shape, rng.choice(v.DTYPES), layout=rng.choice(v.LAYOUTS)), v.Same(0), v.Same(0, "tail"))
        )
        if rng.random() < 0.3:
            out = (out, v.T(shape, "int64"), *[v.T(())] * rng.randrange(2))
    if rng.random() < 0.06:
        args = tuple(replace(a, device="meta") if isinstance(a, v.T) and rng.random() < 0.8 else a for a in args)
    return Call(form, fn, args, kwargs, out, rng.random() < 0.5)


def _fresh(rng: random.Random, target: Target, base: tuple[int, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    same_dtype = rng.choice(v.FLOATS[:2]) if rng.random() < 0.6 else None
    leave_out = rng.random()
    for p in target.parameters:
        if not p.required and rng.random() < max(leave_out, 0.3):
            continue
        if p.required and rng.random() < 0.01:
            break
        value = argument(rng, p, base, len(args))
        if isinstance(value, v.T) and same_dtype and value.dtype in (*v.FLOATS, *v.COMPLEX):
            value = replace(value, dtype=same_dtype)
        if p.keyword_only or len(args) < target.parameters.index(p):
            kwargs[p.name] = value
        else:
            args.append(value)
    if rng.random() < 0.02:
        args.append(v.anything(rng, base))
    return tuple(args), kwargs


def _mutate(
    rng: random.Random, args: tuple[Any, ...], kwargs: dict[str, Any], base: tuple[int, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    where = rng.randrange(max(len(args) + len(kwargs), 1))
    if where < len(args):
        return (*args[:where], v.mutated(rng, args[where], base), *args[where + 1 :]), kwargs
    if kwargs:
        name = list(kwargs)[where - len(args)]
        return args, {**kwargs, name: v.mutated(rng, kwargs[name], base)}
    return args, kwargs


def tensors_in(value: Any) -> Iterable[Any]:
    if isinstance(value, mashal.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def run(call: Call) -> str:
    """Makes the call and looks at the results. Returns what is wrong with what it raised, or nothing."""
    args: list[Any] = []
    for a in call.args:
        args.append(v.make(a, args))
    kwargs = {k: v.make(w, args) for k, w in call.kwargs.items()}
    if call.out is not None:
        kwargs["out"] = v.make(call.out, args)
    try:
        results = list(tensors_in(call.fn(*args, **kwargs)))[:8]
        for t in results:
            _look_at(t)
        for t in args:
            if isinstance(t, mashal.Tensor):
                _look_at(t)
        if call.backward:
            differentiable = [t for t in results if t.requires_grad and t.device.type == "cpu" and t.numel() < 1 << 20]
            if differentiable:
                differentiable[0].sum().abs().backward()
    except SANE as e:
        return "" if str(e) or type(e) is not RuntimeError else "an empty message"
    except AttributeError as e:
        # A Python function that is handed something else than a tensor says so in Python's words. The functions of the
        # top level name the argument.
        duck = not isinstance(e.obj, mashal.Tensor) or any(e.obj is a for a in (*args, *kwargs.values()))
        return (
            ""
            if duck and call.form.startswith(("nn.", "linalg.", "special.", "_ops.", "Tensor."))
            else f"AttributeError: {e}"
        )
    except AssertionError as e:
        # PyTorch's class for a missing device and for arguments of functions written in Python.
        return "" if str(e) else "AssertionError without a message"
    except MemoryError as e:
        return "" if str(e) else "MemoryError without a message"
    except BaseException as e:  # noqa: BLE001 - a wrong class is a finding, whatever it is
        return f"{type(e).__name__}: {e}"
    return ""


def _look_at(t: Any) -> None:
    """Reads every element: a geometry that reaches outside its memory crashes here, or alarms the sanitizer."""
    if t.device.type == "cpu" and t.numel() < 1 << 20:
        t.detach().clone()
