"""Operations of programs: :func:`custom_op` makes a function an operation with a schema and, if wanted, a derivative.

Operations run eagerly on tensors; what serves compilers (fake kernels) is kept and used for tensors of the meta device.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import _core
from ._core import Tensor

__all__ = ["CustomOpDef", "custom_op", "infer_schema", "register_autograd", "register_fake", "register_kernel"]

_ops: dict[str, CustomOpDef] = {}
_TYPES = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "Scalar",
    _core.dtype: "ScalarType",
    _core.device: "Device",
}


class _Namespace:
    """``torch.ops.<name>``: the operations of one library."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, op: str) -> Any:
        found = _ops.get(f"{self.name}::{op}")
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op}'")
        return found


def _split(qualname: str) -> tuple[str, str]:
    namespace, colons, name = qualname.partition("::")
    if not colons or not namespace or not name:
        raise ValueError(f"Expected `namespace::name`, got {qualname!r}.")
    return namespace, name


def _type_name(annotation: Any) -> str:
    if annotation in _TYPES:
        return _TYPES[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Union or origin is types.UnionType:
        rest = [a for a in args if a is not type(None)]
        if set(rest) == {int, float} or set(rest) == {int, float, bool}:
            return "Scalar"
        if len(rest) == 1 and len(args) == 2:
            return f"{_type_name(rest[0])}?"
    if origin in (list, Sequence) and len(args) == 1:
        return f"{_type_name(args[0])}[]"
    raise ValueError(
        f"infer_schema(func): unsupported type {annotation}. The valid types are those of tensors, numbers, "
        "bools, texts, dtypes, devices, sequences of them and Optional."
    )


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """The schema that the annotations of a function mean.

    Args:
        prototype_function: the function; every parameter has an annotation.
        mutates_args: the names of arguments that it writes to, or "unknown".
        op_name: the name at the front of the schema.

    Raises:
        ValueError: an annotation is missing or means nothing here, or a name is no parameter.

    Example:
        >>> import mashal
        >>> def f(x: mashal.Tensor, n: int = 2) -> mashal.Tensor: ...
        >>> mashal.library.infer_schema(f, mutates_args=())
        '(Tensor x, SymInt n=2) -> Tensor'
    """
    hints = typing.get_type_hints(prototype_function)
    parts, written = [], 0
    known = inspect.signature(prototype_function).parameters
    if not isinstance(mutates_args, str) and (unknown := set(mutates_args) - set(known)):
        raise ValueError(f"infer_schema(func): {unknown} in mutates_args were not found in the parameters.")
    star = False
    for name, parameter in known.items():
        if name not in hints:
            raise ValueError(f"infer_schema(func): Parameter {name} must have a type annotation.")
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            star = True
            parts.append("*")
        kind = _type_name(hints[name])
        if (mutates_args == "unknown" and kind.startswith("Tensor")) or (
            mutates_args != "unknown" and name in mutates_args
        ):
            kind = kind.replace("Tensor", f"Tensor(a{written}!)", 1)
            written += 1
        default = "" if parameter.default is inspect.Parameter.empty else f"={_literal(parameter.default)}"
        parts.append(f"{kind} {name}{default}")
    result = hints.get("return", type(None))
    if result is type(None):
        shown = "()"
    elif typing.get_origin(result) is tuple:
        shown = f"({', '.join(_type_name(a) for a in typing.get_args(result))})"
    else:
        shown = _type_name(result)
    return f"{op_name or ''}({', '.join(parts)}) -> {shown}"


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


class CustomOpDef:
    """An operation that :func:`custom_op` made; call it."""

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Callable[..., Any], mutates_args: Iterable[str]
    ) -> None:
        self._namespace, self._name, self._schema = namespace, name, schema
        self._qualname = f"{namespace}::{name}"
        self._init_fn = fn
        self._mutates = (mutates_args,) if isinstance(mutates_args, str) else tuple(mutates_args)
        self._kernels: dict[str | None, Callable[..., Any]] = {}
        self._fake: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        self._signature = inspect.signature(fn)
        functools.update_wrapper(self, fn)

    @property
    def default(self) -> CustomOpDef:
        """The operation: ``torch.ops.<library>.<name>.default``."""
        return self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """An implementation for a device type, or several, or all (None). A decorator without ``fn``."""

        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            for device in [device_types] if isinstance(device_types, str) or device_types is None else device_types:
                self._kernels[device] = fn
            return fn

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Gives results without values for arguments without values: used for tensors of the meta device."""
        self._fake = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """The derivative.

        Args:
            backward: ``(ctx, *grads)``: the gradients of the arguments, None where there is none.
            setup_context: ``(ctx, inputs, output)``: keeps what ``backward`` needs.
        """
        if self._mutates:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self._qualname}: it writes to "
                f"{self._mutates}."
            )
        self._backward, self._setup_context = backward, setup_context

    def _kernel(self, args: Sequence[Any]) -> Callable[..., Any]:
        tensors = [a for a in args if isinstance(a, Tensor)]
        if self._fake is not None and any(t.is_meta for t in tensors):
            return self._fake
        for device in (*(t.device.type for t in tensors), "cpu", None):
            if device in self._kernels:
                return self._kernels[device]
        raise NotImplementedError(f"{self._qualname}: there is no implementation for these tensors' device.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = tuple(bound.arguments.values())
        if self._backward is None or not _core.is_grad_enabled():
            return self._run(values)
        if not any(isinstance(v, Tensor) and v.requires_grad for v in values):
            return self._run(values)
        return self._function.apply(*values)

    def _run(self, values: tuple[Any, ...]) -> Any:
        bound = self._signature.bind_partial()
        bound.arguments.update(zip(self._signature.parameters, values, strict=True))
        return self._kernel(values)(*bound.args, **bound.kwargs)

    @functools.cached_property
    def _function(self) -> Any:
        from .autograd import Function

        op = self

        class Custom(Function):
            @staticmethod
            def forward(ctx: Any, *values: Any) -> Any:
                result = op._run(values)
                if op._setup_context is not None:
                    names = list(op._signature.parameters.values())
                    split = [v for p, v in zip(names, values, strict=True) if p.kind is not p.KEYWORD_ONLY]
                    keywords = {p.name: v for p, v in zip(names, values, strict=True) if p.kind is p.KEYWORD_ONLY}
                    extra = {"keyword_only_inputs": keywords} if keywords else {}
                    op._setup_context(ctx=ctx, inputs=tuple(split), output=result, **extra)
                return result

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                assert op._backward is not None
                given = op._backward(ctx, *grads)
                given = given if isinstance(given, tuple) else (given,)
                return (*given, *(None for _ in range(len(op._signature.parameters) - len(given))))

        Custom.__name__ = self._name
        return Custom


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Makes a function an operation, also found as ``mashal.ops.<library>.<name>``. A decorator without ``fn``.

    Args:
        name: ``library::name``.
        fn: the function, with annotations.
        mutates_args: the names of arguments that it writes to.
        device_types: the device types that it serves, default all.
        schema: instead of the one that the annotations mean.
        tags: accepted.

    Example:
        >>> import mashal
        >>> @mashal.library.custom_op("mylib::double", mutates_args=())
        ... def double(x: mashal.Tensor) -> mashal.Tensor:
        ...     return x * 2
        >>> double(mashal.ones(2)), mashal.ops.mylib.double(mashal.ones(1))
        (tensor([2., 2.]), tensor([2.]))
    """

    def make(fn: Callable[..., Any]) -> CustomOpDef:
        namespace, op = _split(name)
        form = infer_schema(fn, mutates_args=mutates_args) if schema is None else schema
        made = CustomOpDef(namespace, op, form, fn, mutates_args)
        made.register_kernel(device_types, fn)
        _ops[name] = made
        rooms = importlib.import_module(f"{__package__}.ops")
        if not hasattr(rooms, namespace):
            setattr(rooms, namespace, _Namespace(namespace))
        return made

    return make if fn is None else make(fn)


def _find(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    name = op.replace(".default", "").replace(".", "::", 1) if "::" not in op else op
    if name not in _ops:
        raise RuntimeError(f"library: there is no operation '{op}'. Make it with custom_op first.")
    return _ops[name]


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, **kwargs: Any) -> Any:
    """See :meth:`CustomOpDef.register_fake`. ``op``: the operation or its name."""
    return _find(op).register_fake if func is None else _find(op).register_fake(func)


impl_abstract = register_fake


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """See :meth:`CustomOpDef.register_kernel`. ``op``: the operation or its name."""
    return _find(op).register_kernel(device_types, func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None
) -> None:
    """See :meth:`CustomOpDef.register_autograd`. ``op``: the operation or its name."""
    _find(op).register_autograd(backward, setup_context=setup_context)
