"""What the rooms of pointwise ops share: the declaration, with the parts of a docstring that are the same for all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .. import _core
from ._registry import op

_RESULT = {
    "same": "a tensor of the broadcast shape and the common type of the inputs.",
    "float": "a tensor of the broadcast shape; integer inputs give the default float type.",
    "compare": "a bool tensor of the broadcast shape.",
    "float_real": "a real tensor of the same shape; integer inputs give the default float type.",
    "abs_like": "a tensor of the same shape and type; the real type of a complex input.",
    "complex_out": "a complex tensor of the broadcast shape.",
    "bool_out": "a bool tensor of the same shape.",
    "where": "a tensor of the broadcast shape and the common type of ``input`` and ``other``.",
}


def _arguments(schema: str) -> list[str]:
    inner = schema[schema.index("(") + 1 : schema.rindex(")")]
    lines = []
    for part in inner.split(", "):
        if part == "*":
            continue
        kind, name = part.split(" ", 1)
        name, _, default = name.partition("=")
        if kind == "Tensor":
            text = "tensor of any shape" if name in ("input", "grad") else "tensor or number that broadcasts with it"
            if name == "condition":
                text = "bool tensor that broadcasts with the others"
        else:
            text = {"Number": "number", "int": "integer", "bool": "bool"}[kind]
            if default:
                text += f", {default} unless given"
        lines.append(f"    {name}: {text}.")
    return lines


def pointwise(
    schema: str,
    promotion: str,
    summary: str,
    *,
    gradient: str = "",
    raises: str = "",
    example: str = "",
    method: bool = True,
    function: bool = True,
    inplace: bool = False,
    namespace: str | None = None,
    loop: str | None = None,
) -> _core.Primitive:
    """Declares a pointwise primitive.

    ``promotion`` is that of :func:`op`. ``summary`` (one line, then mathematics if need be), ``gradient``, ``raises``
    and ``example`` (an expression, on the following lines what it prints) become the docstring, together with the
    arguments and the result, which follow from schema and promotion.
    """
    parts = [summary, "Args:\n" + "\n".join(_arguments(schema)), f"Returns:\n    {_RESULT[promotion]}"]
    if raises:
        parts.append(f"Raises:\n    RuntimeError: {raises}")
    if gradient:
        parts.append(f"Gradient:\n    {gradient}")
    if example:
        shown = ("import mashal\n>>> " + example).replace("\n", "\n    ")
        parts.append(f"Example:\n    >>> {shown}")

    def declare() -> None: ...

    declare.__doc__ = "\n\n".join(parts).replace("\n", "\n    ")
    declare.__module__ = sys._getframe(1).f_globals["__name__"]
    return op(
        schema,
        family="pointwise",
        promotion=promotion,
        method=method,
        function=function,
        inplace=inplace,
        namespace=namespace,
        loop=loop,
    )(declare)


def in_place(primitive: Any) -> Callable[..., Any]:
    """The form of a primitive that writes into its first argument."""
    return primitive._method(primitive.__name__ + "_", True)


def zeros(g: Any) -> Any:
    """The gradient of a piecewise constant function."""
    return g.new_zeros(g.shape)


def is_number(value: Any) -> bool:
    """Whether an argument is a number: Python's or NumPy's, no tensor."""
    if isinstance(value, (int, float, complex)):
        return True
    return not isinstance(value, _core.Tensor) and (hasattr(value, "__float__") or hasattr(value, "__index__"))
