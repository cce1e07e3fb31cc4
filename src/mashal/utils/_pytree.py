"""Trees of containers: taking the leaves out, putting others in, mapping.

A node is a list, tuple, named tuple, dict, OrderedDict, defaultdict, deque, Size or a registered class; anything else,
None included, is a leaf. A dict keeps its order.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from ._pytree_nodes import (
    BUILTIN_TYPES,
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    FlattenFunc,
    GetAttrKey,
    IsLeaf,
    KeyEntry,
    KeyPath,
    MappingKey,
    SequenceKey,
    UnflattenFunc,
    _get_node_type,
    key_get,
    keystr,
    register_constant,
    register_dataclass,
    register_pytree_node,
    tree_is_leaf,
)

# Programs take these from here too.
from ._pytree_nodes import (  # noqa: F401 # isort: skip
    CONSTANT_NODES,
    _deregister_pytree_node,
    _dict_flatten,
    _dict_unflatten,
    _is_leaf,
    _is_namedtuple_instance,
    _list_flatten,
    _namedtuple_flatten,
    _register_pytree_node,
    _tuple_flatten,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
)

__all__ = [
    "FlattenFunc",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "SequenceKey",
    "TreeSpec",
    "UnflattenFunc",
    "arg_tree_leaves",
    "key_get",
    "keystr",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree: TypeAlias = Any
Context: TypeAlias = Any
DumpableContext: TypeAlias = Any


# ---- structures ----


@dataclasses.dataclass(init=False, frozen=True, eq=True, repr=False)
class TreeSpec:
    """The structure of a tree without its leaves."""

    type: Any
    _context: Any
    _children: list[TreeSpec]
    num_nodes: int = dataclasses.field(compare=False)
    num_leaves: int = dataclasses.field(compare=False)
    num_children: int = dataclasses.field(compare=False)

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        children = list(children_specs)
        put = functools.partial(object.__setattr__, self)
        put("type", type)
        put("_context", context)
        put("_children", children)
        put("num_nodes", 1 + sum(c.num_nodes for c in children))
        put("num_leaves", 1 if type is None else sum(c.num_leaves for c in children))
        put("num_children", len(children))

    @property
    def context(self) -> Any:
        """What the flattening function of the node said beside the children."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures of the children."""
        return self._children

    def __hash__(self) -> int:
        return hash((self.type, repr(self._context), tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        name = getattr(self.type, "__name__", str(self.type))
        head = f"TreeSpec({name}, {self._context}, ["
        pad = " " * (indent + 2)
        parts = [child.__repr__(indent + 2) for child in self._children]
        return head + f",\n{pad}".join(parts) + "])"

    def is_leaf(self) -> bool:
        """Whether it is the structure of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the children, in a new list."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of a tree where this structure has leaves; the tree may go deeper.

        Raises:
            ValueError: the tree has another type, number of children or other keys somewhere above.
        """
        out: list[PyTree] = []
        self._collect(tree, out)
        return out

    def _collect(self, tree: PyTree, out: list[PyTree]) -> None:
        if self.is_leaf():
            out.append(tree)
            return
        kind = _get_node_type(tree)
        if self.type not in BUILTIN_TYPES:
            if kind != self.type:
                raise ValueError(f"Type mismatch; expected {self.type!r}, but got {kind!r}.")
            children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
            _same_number(self.num_children, len(children))
            if context != self._context:
                raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        else:
            children = self._builtin_children(tree, kind)
        for child, spec in zip(children, self._children, strict=True):
            spec._collect(child, out)

    def _builtin_children(self, tree: PyTree, kind: Any) -> list[PyTree]:
        mappings = (dict, OrderedDict, defaultdict)
        both = self.type in mappings and kind in mappings
        if kind != self.type and not both:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        _same_number(self.num_children, len(tree))
        if both:  # by key, whatever the order
            keys = self._context[1] if self.type is defaultdict else self._context
            if set(keys) != set(tree):
                message = "Node keys mismatch"
                if missing := set(keys) - set(tree):
                    message += f"; missing key(s): {missing}"
                if extra := set(tree) - set(keys):
                    message += f"; extra key(s): {extra}"
                raise ValueError(f"{message}.")
            return [tree[key] for key in keys]
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if kind is not deque and context != self._context:
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got {context!r}."
            )
        return children

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """A tree of this structure with these leaves. Raises: ValueError for another number of them."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        if self.is_leaf():
            return next(leaves)
        children = [child._build(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)


PyTreeSpec = TreeSpec


def _same_number(expected: int, got: int) -> None:
    if expected != got:
        raise ValueError(f"Node arity mismatch; expected {expected}, but got {got}.")


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])

    def __repr__(self, indent: int = 0) -> str:
        return "*"

    __hash__ = TreeSpec.__hash__


_LEAF_SPEC = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The structure of a leaf."""
    return _LEAF_SPEC


# ---- operations ----


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF_SPEC
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree and its structure.

    Example:
        >>> from mashal.utils import _pytree
        >>> leaves, spec = _pytree.tree_flatten({"a": 1, "b": (2, [3])})
        >>> leaves
        [1, 2, 3]
        >>> _pytree.tree_unflatten([4, 5, 6], spec)
        {'a': 4, 'b': (5, [6])}
    """
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """A tree of a structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after the other."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments of a call."""
    return [leaf for a in (*args, *kwargs.values()) for leaf in tree_iter(a)]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """A tree of the same structure: ``func`` of each leaf, and of what stands in its place in the ``rests``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Calls ``func`` as :func:`tree_map` does, for what it changes; returns the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)), maxlen=0)
    return tree


def map_only(kinds: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Makes a function apply to some things only, and leave others: those of a type, of types, or that a test takes."""
    if isinstance(kinds, (type, tuple, types.UnionType)):

        def wanted(x: Any) -> bool:
            return isinstance(x, kinds)

    elif callable(kinds):
        wanted = kinds
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def wrapped(x: Any) -> Any:
            return func(x) if wanted(x) else x

        return wrapped

    return decorate


def tree_map_only(kinds: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """:func:`tree_map` for leaves of a type (or types, or that a test takes); others stay."""
    return tree_map(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_map_only_(kinds: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """:func:`tree_map_` for leaves of a type."""
    return tree_map_(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves pass."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a leaf passes."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kinds: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves of a type pass."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kinds))


def tree_any_only(kinds: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a leaf of a type passes."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kinds))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """The leaves of a prefix of a structure, each as often as it stands for; None if it is no prefix."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _get_node_type(tree) != treespec.type:
        return None
    children, context = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    out: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        out.extend(part)
    return out


# ---- with paths ----


def _with_paths(path: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn "
            "argument to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _with_paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with the path that leads to it."""
    return list(_with_paths((), tree, is_leaf))


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves with their paths, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """:func:`tree_map` with the path as the function's first argument."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [p for p, _ in pairs], [leaf for _, leaf in pairs]
    return spec.unflatten(map(func, paths, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


# ---- structures as text ----

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


def _to_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if node is None or node.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call "
            "with a `serialized_type_name` kwarg."
        )
    if node.to_dumpable_context is not None:
        context = node.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
                "using _register_pytree_node."
            ) from error
    children = [_to_json(child) for child in spec.children_specs]
    return {"type": node.serialized_type_name, "context": context, "children_spec": children}


def _from_json(data: dict[str, Any]) -> TreeSpec:
    if data["type"] is None:
        return _LEAF_SPEC
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE.get(data["type"])
    if kind is None:
        raise NotImplementedError(f"Deserializing {data['type']} in pytree is not registered.")
    node = SUPPORTED_SERIALIZED_TYPES[kind]
    load = node.from_dumpable_context or json.loads
    context = load(data["context"])
    return TreeSpec(kind, context, [_from_json(child) for child in data["children_spec"]])


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON; PyTorch reads it."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item "
            f"of type {type(treespec)}."
        )
    version = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    if version != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {version}. Available protocols: [1]")
    return json.dumps((version, _to_json(treespec)))


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that :func:`treespec_dumps` wrote, here or in PyTorch."""
    version, data = json.loads(serialized)
    if version != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {version}. Available protocols: [1]")
    return _from_json(data)


pytree_to_str = treespec_dumps
str_to_pytree = treespec_loads


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as a tree of containers with ``*`` for leaves."""
    import pprint

    class Star:
        def __repr__(self) -> str:
            return "*"

    return pprint.pformat(treespec.unflatten([Star()] * treespec.num_leaves), sort_dicts=False)
