"""Every op is complete: kernel, shape rule, derivative or reason, documentation, record. docs/add-an-op.md says how."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mashal
from mashal import _core
from mashal.ops._registry import Entry, entries, primitives
from tests.opdb import load

HELP = "see docs/add-an-op.md"
# Arguments of these names are integers or bools, which have no gradient.
INTEGER = {"index", "indices", "mask", "condition", "targets"}
FLOATING = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
PUBLIC = [e for e in entries.values() if e.function or e.method]


@pytest.mark.parametrize("name", primitives)
def test_primitive_is_complete(name: str) -> None:
    info = primitives[name].info
    room = entries[name].module
    assert info["has_kernel"], f"{name} ({room}) has no kernel: register one in csrc/cpu, or `@{name}.cpu`; {HELP}"
    # An op that writes its first argument has that argument's shape.
    assert info["has_shape_rule"] or name.endswith("_") or primitives[name].dynamic, (
        f"{name} ({room}) has no shape rule: give one in C++ or with `@{name}.shape`, or say with `dynamic=` in "
        f"`op(...)` why its results depend on data; {HELP}"
    )
    assert info["differentiable"] or info["no_gradient"], (
        f"{name} ({room}) has no derivative: add `{name}.vjp(...)`, or say why with "
        f"`{name}.nondifferentiable(...)`; {HELP}"
    )


@pytest.mark.parametrize("name", [n for n, p in primitives.items() if p.info["differentiable"]])
def test_every_input_has_a_derivative(name: str) -> None:
    """An input that may be floating-point and has no rule would lose its gradient in silence."""
    info = primitives[name].info
    tensors = [arg for arg, kind, _ in info["args"] if kind in ("Tensor", "Tensor[]")]
    without = set(tensors) - set(info["gradient_of"]) - primitives[name].constants - INTEGER
    assert not without, (
        f"{name} ({entries[name].module}) has no derivative with respect to {', '.join(sorted(without))}: add a "
        f"rule, or list what is never differentiated in `{name}.constant(...)`; {HELP}"
    )


def test_kernels_have_schemas() -> None:
    orphans = sorted(set(_core.registered_op_names()) - set(primitives))
    assert not orphans, f"kernels without a schema: {orphans}; declare them in their rooms; {HELP}"


@pytest.mark.parametrize("entry", [e for e in PUBLIC if e.inplace_call is None], ids=lambda e: e.name)
def test_public_op_is_documented(entry: Entry) -> None:
    doc = (entry.call.__doc__ or "").strip()
    if entry.primitive:
        doc = doc.split("\n\n", 1)[1] if "\n\n" in doc else ""  # behind the schema
    assert len(doc) > 10, f"{entry.name} ({entry.module}) has no docstring; {HELP}"
    if entry.primitive and not entry.name.endswith("_"):
        assert ">>>" in doc, f"{entry.name} ({entry.module}) has no example in its docstring; {HELP}"


def _names_in_tests() -> set[str]:
    here = Path(__file__).parent
    words: set[str] = {r.name.split(".")[-1] for r in load()}
    for file in here.rglob("*.py"):
        if file.parent.name != "opdb" and file.name != "test_registry.py":
            words |= set(re.findall(r"\w+", file.read_text(encoding="utf-8")))
    return words


NAMES_IN_TESTS = _names_in_tests()


@pytest.mark.parametrize("entry", PUBLIC, ids=lambda e: e.name)
def test_public_op_is_tested(entry: Entry) -> None:
    forms = {entry.name, entry.name.rstrip("_"), entry.name.replace("linalg_", "").replace("special_", "")}
    assert forms & NAMES_IN_TESTS, (
        f"{entry.name} ({entry.module}) is named by no record and no test: add a record to tests/opdb; {HELP}"
    )


@pytest.mark.parametrize("entry", PUBLIC, ids=lambda e: e.name)
def test_public_op_is_offered(entry: Entry) -> None:
    if entry.function:
        assert callable(getattr(mashal, entry.name)), f"mashal.{entry.name} is missing"
    if entry.method:
        assert callable(getattr(mashal.Tensor, entry.name)), f"Tensor.{entry.name} is missing"
    if entry.inplace:
        assert callable(getattr(mashal.Tensor, entry.name + "_")), f"Tensor.{entry.name}_ is missing"


def test_pointwise_primitives_compute_in_floats() -> None:
    """The derivative of a pointwise op is of use only where there is a loop for floating-point numbers."""
    for name, primitive in primitives.items():
        info = primitive.info
        if info["family"] == "pointwise" and info["differentiable"]:
            loops = {str(d).split(".")[-1] for d in info["compute_dtypes"]}
            assert loops & set(FLOATING), f"{name}: derivative without a floating-point loop; {HELP}"
