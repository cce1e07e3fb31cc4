"""What :mod:`mashal.utils._pytree` knows about classes of containers, and the keys that lead to their children."""

from __future__ import annotations

import dataclasses
import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from .. import _core

T = TypeVar("T")
IsLeaf: TypeAlias = Callable[[Any], bool] | None
FlattenFunc: TypeAlias = Callable[[Any], tuple[list[Any], Any]]
UnflattenFunc: TypeAlias = Callable[[Iterable[Any], Any], Any]
BUILTIN_TYPES: set[Any] = set()


# ---- how a leaf is reached ----


@dataclasses.dataclass(frozen=True)
class SequenceKey(Generic[T]):
    """The item at a place of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[T]) -> T:
        """The item."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey(Generic[T]):
    """The item under a key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Mapping[Any, T]) -> T:
        """The item."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """An attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute's value."""
        return getattr(obj, self.name)


KeyEntry: TypeAlias = Any
KeyPath: TypeAlias = tuple[KeyEntry, ...]


def keystr(kp: KeyPath) -> str:
    """The path as it would be written in Python: ``['a'][1].x``."""
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ---- kinds of nodes ----


class NodeDef(NamedTuple):
    """What is known about a class of nodes."""

    type: Any
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Any]] | None


class _SerializeNodeDef(NamedTuple):
    typ: Any
    serialized_type_name: str
    to_dumpable_context: Callable[[Any], Any] | None
    from_dumpable_context: Callable[[Any], Any] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Any]] | None = None,
) -> None:
    """Makes a class a node.

    Args:
        cls: the class itself; its subclasses are leaves.
        flatten_fn: gives the children of an instance, and a context.
        unflatten_fn: makes an instance of children and a context.
        serialized_type_name: its name in ``treespec_dumps``.
        to_dumpable_context: makes the context something that JSON can hold; goes with ``from_dumpable_context``.
        from_dumpable_context: the reverse.
        flatten_with_keys_fn: as ``flatten_fn``, each child with its key.

    Raises:
        ValueError: it is one already, or only one of the last but one pair is given.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    name = serialized_type_name or NO_SERIALIZED_TYPE_NAME_FOUND
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    to_str_fn: Any = None,
    maybe_from_str_fn: Any = None,
    **kwargs: Any,
) -> None:
    """The older form of :func:`register_pytree_node`, in which a class may be given again."""
    if cls not in SUPPORTED_NODES:
        register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def _deregister_pytree_node(cls: type[Any]) -> None:
    """Undoes :func:`register_pytree_node`."""
    del SUPPORTED_NODES[cls]
    node = SUPPORTED_SERIALIZED_TYPES.pop(cls)
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(node.serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Makes a dataclass a node: its fields are the children.

    Args:
        cls: the class.
        field_names: which fields, default all that ``__init__`` takes.
        drop_field_names: which of these to leave out; they take their defaults.
        serialized_type_name: as in :func:`register_pytree_node`.
    """
    dropped = set(drop_field_names or ())
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize the class, as "
                f"it is not a dataclass: {cls}."
            )
        field_names = [f.name for f in dataclasses.fields(cls) if f.init]
    elif dataclasses.is_dataclass(cls):
        known = {f.name for f in dataclasses.fields(cls) if f.init}
        if known != set(field_names) | dropped:
            raise ValueError(
                f"field_names of {cls.__name__} must be its fields {sorted(known)}, got "
                f"{sorted(field_names)}, dropped {sorted(dropped)}."
            )
    names = [name for name in field_names if name not in dropped]

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        present = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in present], [present, [n for n in names if n not in present]]

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        return cls(**dict(zip(context[0], values, strict=True)), **dict.fromkeys(context[1]))

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
        values, context = flatten(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values, strict=True)], context

    register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a node that has no children and is kept as it is."""

    value: Any


def register_constant(cls: type[Any]) -> None:
    """Makes instances of a class nodes without children: they are part of the structure, and must compare with ==."""
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    register_pytree_node(
        cls,
        lambda x: ([], ConstantNode(x)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda x: ([], ConstantNode(x)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    """Whether :func:`register_constant` was called for it."""
    return cls in CONSTANT_NODES


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class was made by ``namedtuple`` or inherits from one that was."""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(type(field) is str for field in fields)
        and callable(getattr(cls, "_make", None))
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Whether an object, or a class, is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    if kind not in SUPPORTED_NODES and is_namedtuple_class(kind):
        return namedtuple
    return kind


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it is a leaf. ``is_leaf`` makes more things leaves."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


def _list_flatten(d: list[Any]) -> tuple[list[Any], Any]:
    return d, None


def _tuple_flatten(d: tuple[Any, ...]) -> tuple[list[Any], Any]:
    return list(d), None


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), type(d)


def _defaultdict_flatten(d: Any) -> tuple[list[Any], Any]:
    values, keys = _dict_flatten(d)
    return values, [d.default_factory, keys]


def _defaultdict_unflatten(values: Iterable[Any], context: Any) -> Any:
    return defaultdict(context[0], _dict_unflatten(values, context[1]))


def _sequence_keys(flatten: FlattenFunc) -> Any:
    def flatten_with_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
        values, context = flatten(d)
        return [(SequenceKey(i), v) for i, v in enumerate(values)], context

    return flatten_with_keys


def _mapping_keys(flatten: FlattenFunc) -> Any:
    def flatten_with_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
        values, context = flatten(d)
        return [(MappingKey(k), v) for k, v in zip(d, values, strict=True)], context

    return flatten_with_keys


def _field_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
    return [(GetAttrKey(n), v) for n, v in zip(type(d)._fields, d, strict=True)], type(d)


def _class_name(cls: Any) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _class_of(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _dump_defaultdict(context: Any) -> Any:
    factory, keys = context
    return {
        "default_factory_module": factory and factory.__module__,
        "default_factory_name": factory and factory.__qualname__,
        "dict_context": keys,
    }


def _load_defaultdict(dumped: Any) -> Any:
    module, name = dumped["default_factory_module"], dumped["default_factory_name"]
    return [_class_of(f"{module}.{name}") if module else None, dumped["dict_context"]]


def _builtin(cls: Any, flatten: FlattenFunc, unflatten: UnflattenFunc, name: str, keys: Any, **dump: Any) -> None:
    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=name,
        flatten_with_keys_fn=keys,
        to_dumpable_context=dump.get("to"),
        from_dumpable_context=dump.get("back"),
    )
    BUILTIN_TYPES.add(cls)


_builtin(tuple, _tuple_flatten, lambda v, _: tuple(v), "builtins.tuple", _sequence_keys(_tuple_flatten))
_builtin(list, _list_flatten, lambda v, _: list(v), "builtins.list", _sequence_keys(_list_flatten))
_builtin(dict, _dict_flatten, _dict_unflatten, "builtins.dict", _mapping_keys(_dict_flatten))
_builtin(
    namedtuple,
    _namedtuple_flatten,
    lambda v, context: context(*v),
    "collections.namedtuple",
    _field_keys,
    to=_class_name,
    back=_class_of,
)
_builtin(
    OrderedDict,
    _dict_flatten,
    lambda v, context: OrderedDict(zip(context, v, strict=True)),
    "collections.OrderedDict",
    _mapping_keys(_dict_flatten),
)
_builtin(
    defaultdict,
    _defaultdict_flatten,
    _defaultdict_unflatten,
    "collections.defaultdict",
    _mapping_keys(_defaultdict_flatten),
    to=_dump_defaultdict,
    back=_load_defaultdict,
)
_builtin(
    deque,
    lambda d: (list(d), d.maxlen),
    lambda v, context: deque(v, maxlen=context),
    "collections.deque",
    _sequence_keys(lambda d: (list(d), d.maxlen)),
)
_builtin(_core.Size, _tuple_flatten, lambda v, _: _core.Size(v), "torch.Size", _sequence_keys(_tuple_flatten))
