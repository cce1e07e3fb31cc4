"""The registry: every public operation is declared here, by its own room, exactly once.

A *primitive* is one C++ object (``_core.Primitive``) made from a schema text; a *composite* is a plain Python function
over primitives. What ``mashal.<name>``, ``Tensor.<name>`` and ``mashal._ops.<name>`` offer is derived from the two
tables below.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from .. import _core
from . import _autocast

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Entry:
    """One operation: what to call, and where it is offered."""

    name: str
    call: Any
    function: bool
    method: bool
    inplace: bool
    primitive: bool
    module: str
    # The in-place form, where it is not the primitive itself with its result in place.
    inplace_call: Any = None


primitives: dict[str, Any] = {}
entries: dict[str, Entry] = {}


def _add(entry: Entry) -> None:
    if entry.name in entries:
        raise ValueError(f"{entry.name} is declared twice: in {entries[entry.name].module} and in {entry.module}")
    entries[entry.name] = entry


def op(
    schema: str,
    *,
    family: str = "general",
    promotion: str = "same",
    method: bool = True,
    function: bool = True,
    inplace: bool = False,
    out: bool = True,
    namespace: str | None = None,
    loop: str | None = None,
    dynamic: str = "",
) -> Callable[[Callable[[], None]], _core.Primitive]:
    """Declares a primitive. The decorated function's only content is its docstring.

    ``family`` and ``promotion`` choose the front door (see ``csrc/dispatch/primitive.h``); ``function``, ``method`` and
    ``inplace`` say where the op is offered; ``namespace="nn"`` (or a leading underscore) keeps it out of ``mashal`` and
    ``Tensor``: it is then reached as ``mashal._ops.<name>``. ``loop`` names the inner loop if it differs from the op.
    ``dynamic`` says why there is no shape rule: how the results' shapes depend on data.
    """

    def declare(fn: Callable[[], None]) -> _core.Primitive:
        takes_out = out and family != "view"  # a view is the input's memory, it cannot be another's
        primitive = _core.Primitive(schema, family, promotion, loop, takes_out)
        name = primitive.__name__
        # Indented like the rest of the docstring: whoever shows it removes the margin.
        primitive.__doc__ = f"{schema}\n\n    {fn.__doc__ or ''}"
        primitive.__module__ = "mashal"
        primitive.dynamic = dynamic
        primitive._takes_out = takes_out  # for the stubs
        hidden = namespace is not None or name.startswith("_")
        primitives[name] = primitive
        if name in _autocast.POLICIES:
            primitive._set_cast_policy(_autocast.POLICIES[name])
        _add(Entry(name, primitive, function and not hidden, method and not hidden, inplace, True, fn.__module__))
        return primitive

    return declare


def composite(
    *,
    function: bool = True,
    method: bool = False,
    inplace: bool = False,
    out: bool = False,
    namespace: str | None = None,
    name: str | None = None,
) -> Callable[[F], F]:
    """Declares a composite: a Python function over ops.

    ``out=True`` adds a keyword ``out`` (the result is copied into it, resized as PyTorch does). ``inplace=True`` adds
    the method ``<name>_``, which writes the result into ``self``.
    """

    def declare(fn: F) -> F:
        public = name or fn.__name__
        call: Any = _with_out(fn, public) if out else fn
        if call is not fn or public != fn.__name__:
            call.__name__ = public
        call = _autocast.cast(call, public)
        hidden = namespace is not None or public.startswith("_")
        in_place_call = _in_place(fn, public) if inplace else None
        _add(
            Entry(
                public,
                call,
                function and not hidden,
                method and not hidden,
                inplace,
                False,
                fn.__module__,
                in_place_call,
            )
        )
        return call

    return declare


def alias(name: str, existing: str) -> None:
    """Offers an op under another name (``subtract`` for ``sub``), wherever it is offered, in place too."""
    entry = entries[existing]
    _add(replace(entry, name=name))


def _with_out(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:  # NumPy's names of arguments, as primitives take them
            for theirs, ours in (("axis", "dim"), ("keepdims", "keepdim")):
                if theirs in kwargs:
                    kwargs[ours] = kwargs.pop(theirs)
        try:
            if out is None:
                return fn(*args, **kwargs)
            with _core.no_grad_guard():
                result = fn(*args, **kwargs)
        except AttributeError as e:
            name_argument(fn, name, args, kwargs, e)
            raise
        return write_out(name, out, result)

    call._names_arguments = True  # type: ignore[attr-defined]
    return call


def checked(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function that a user calls for a composite: a wrong argument is named, as primitives do."""
    if hasattr(fn, "_names_arguments"):
        return fn  # looks after that itself, with ``out``

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except AttributeError as e:
            name_argument(fn, name, args, kwargs, e)
            raise

    return call


def name_argument(
    fn: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any], e: AttributeError
) -> None:
    """Raises TypeError if what lacks an attribute is an argument of the call, or an item of one.

    Looked at only after something has failed: a composite pays nothing for it.
    """

    def holds(value: Any) -> bool:
        if value is e.obj:
            return True
        items = (
            list(value)
            if isinstance(value, (list, tuple, bytes)) or (isinstance(value, str) and len(value) > 1)
            else []
        )
        return any(map(holds, items))

    signature = inspect.signature(fn)
    for parameter, value in signature.bind(*args, **kwargs).arguments.items():
        annotation = str(signature.parameters[parameter].annotation)
        no_tensor = annotation == "Tensor" and not isinstance(value, (_core.Tensor, tuple))
        if holds(value) or (no_tensor and not isinstance(e.obj, _core.Tensor)):
            wanted = "dtype" if parameter == "dtype" else "Tensor" if annotation == "Any" else annotation
            raise TypeError(f"{name}(): argument '{parameter}' must be {wanted}, not {type(e.obj).__name__}") from None


def write_out(name: str, out: Any, result: Any) -> Any:
    """Copies results into the tensors a user gave as ``out``."""
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors")
        filled = [write_out(name, o, r) for o, r in zip(out, result, strict=True)]
        return type(result)(*filled) if hasattr(result, "_fields") else type(result)(filled)
    if not isinstance(out, _core.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out.requires_grad and _core.is_grad_enabled():
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation")
    if not _core.can_cast(result.dtype, out.dtype):
        raise RuntimeError(
            f"{name}: result type {result.dtype._legacy_name} can't be cast to the desired output type "
            f"{out.dtype._legacy_name}"
        )
    _core.resize_output(name, out, result.shape)
    with _core.no_grad_guard():
        out.copy_(result)
    return out


def _in_place(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Backward may need what is about to be overwritten.
        records = _core.is_grad_enabled() and any(
            isinstance(t, _core.Tensor) and t.requires_grad for t in (self, *args, *kwargs.values())
        )
        result = fn(self.clone() if records else self, *args, **kwargs)
        if result.shape != self.shape:
            raise RuntimeError(f"{name}_: output with shape {tuple(self.shape)} doesn't match {tuple(result.shape)}")
        if not _core.can_cast(result.dtype, self.dtype):
            raise RuntimeError(
                f"{name}_: result type {result.dtype._legacy_name} can't be cast to the desired output type "
                f"{self.dtype._legacy_name}"
            )
        return self.copy_(result)

    call.__name__ = call.__qualname__ = name + "_"
    call.__module__ = "mashal"
    return call


# ---- rules: methods of every primitive ----


def _parameters(fn: Callable[..., Any]) -> tuple[str, ...]:
    code = fn.__code__
    return code.co_varnames[: code.co_argcount]


def _vjp(self: Any, rule: Any = None, **rules: Callable[..., Any]) -> Any:
    """Adds derivative rules: ``f.vjp(input=fn, other=fn)``, ``@f.vjp("input")`` for one argument, ``@f.vjp`` for all.

    The names of a rule's parameters say what is saved for it (``docs/add-an-op.md``).
    """
    for name, fn in rules.items():
        self._set_vjp(name, fn, _parameters(fn))
    if isinstance(rule, str):

        def add(fn: F) -> F:
            self._set_vjp(rule, fn, _parameters(fn))
            return fn

        return add
    if rule is not None:
        self._set_vjp(None, rule, _parameters(rule))
    return rule


def _nondifferentiable(self: Any, reason: str) -> None:
    """Says why the op has no derivative; the registry test wants one or the other."""
    self._set_no_gradient(reason)


def _constant(self: Any, *arguments: str) -> None:
    """Names tensor arguments that get no gradient although others of the op do (targets, running statistics)."""
    self.constants = frozenset(arguments)


def _shape(self: Any, fn: F) -> F:
    """The shape rule, for ops whose kernel has none in C++: arguments to ``(shape, dtype)`` or a list of such."""
    self._set_shape(fn)
    return fn


def _cpu(self: Any, fn: F) -> F:
    """A CPU kernel in Python, where a vendor library of NumPy's does the work."""
    self._set_kernel(fn)
    return fn


def _overloaded(self: Any, fn: F) -> F:
    """Another signature, tried when the arguments do not fit the schema."""
    self._overload = fn
    return fn


def _returns(self: Any, result_type: Any) -> None:
    """Names the parts of a tuple result; ``result_type`` takes the tuple."""
    self._result_type = result_type


_core.Primitive.constants = frozenset()
for _method in (_vjp, _nondifferentiable, _constant, _shape, _cpu, _overloaded, _returns):
    setattr(_core.Primitive, _method.__name__.removeprefix("_"), _method)
