"""Trees of containers, compared with PyTorch's."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
import torch.utils._pytree as theirs

import mashal
from mashal.utils import _pytree as ours

Point = namedtuple("Point", "x y")

TREES = [
    1,
    None,
    [],
    {},
    [1, (2, 3), {"b": 4, "a": [None]}],
    Point(1, [2, Point(3, 4)]),
    OrderedDict(b=1, a=(2,)),
    defaultdict(list, {"k": [1, 2]}),
    deque([1, (2,)], maxlen=3),
    {1: {2: {3: (4, 5)}}},
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_same_as_pytorch(tree):
    leaves, spec = ours.tree_flatten(tree)
    want_leaves, want_spec = theirs.tree_flatten(tree)
    assert leaves == want_leaves == ours.tree_leaves(tree)
    assert repr(spec) == repr(want_spec)
    assert (spec.num_nodes, spec.num_leaves, spec.num_children) == (
        want_spec.num_nodes,
        want_spec.num_leaves,
        want_spec.num_children,
    )
    assert spec == ours.tree_structure(tree)
    assert hash(spec) == hash(ours.tree_structure(tree))
    back = ours.tree_unflatten(leaves, spec)
    assert back == tree
    assert type(back) is type(tree)
    assert ours.tree_map(lambda x: (x,), tree) == theirs.tree_map(lambda x: (x,), tree)
    paths = ours.tree_leaves_with_path(tree)
    want_paths = theirs.tree_leaves_with_path(tree)
    assert [(ours.keystr(p), v) for p, v in paths] == [(theirs.keystr(p), v) for p, v in want_paths]
    assert all(ours.key_get(tree, p) is v for p, v in paths)
    text = ours.treespec_dumps(spec)
    assert ours.treespec_loads(text) == spec
    if not isinstance(tree, Point):  # PyTorch wants their names registered
        assert text == theirs.treespec_dumps(want_spec)


def test_several_trees_and_filters():
    assert ours.tree_map(lambda a, b, c: a + b + c, [1, (2,)], [10, (20,)], [100, (200,)]) == [111, (222,)]
    assert ours.tree_map(lambda a, b: (a, b), {"x": 1, "y": 2}, {"y": [3], "x": 4}) == {"x": (1, 4), "y": (2, [3])}
    assert ours.tree_map_only(int, lambda x: -x, [1, "a", (2.0, 3)]) == [-1, "a", (2.0, -3)]
    assert ours.tree_map_only((int, str), lambda x: x * 2, [1, "a"]) == [2, "aa"]
    assert ours.tree_map_only(lambda x: x == 1, lambda x: 9, [1, 2]) == [9, 2]
    seen = []
    tree = [1, (2, "a")]
    assert ours.tree_map_(seen.append, tree) is tree
    assert ours.tree_map_only_(str, seen.append, tree) is tree
    assert seen == [1, 2, "a", "a"]
    assert ours.tree_any(lambda x: x == 2, [1, [2]])
    assert not ours.tree_all(lambda x: x == 2, [1, [2]])
    assert ours.tree_all_only(int, lambda x: x < 3, [1, "a"])
    assert not ours.tree_any_only(int, lambda x: x > 3, [1, "a"])
    assert ours.tree_leaves([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple)) == [1, (2, 3)]
    assert ours.arg_tree_leaves([1], 2, k=(3,)) == [1, 2, 3]
    assert ours._broadcast_to_and_flatten([1, 2], ours.tree_structure([0, (0, 0)])) == [1, 2, 2]
    assert ours._broadcast_to_and_flatten([1], ours.tree_structure([0, 0])) is None
    assert ours.tree_map_with_path(lambda p, x: ours.keystr(p), {"a": [0, Point(0, 0)]}) == {
        "a": ["['a'][0]", Point("['a'][1].x", "['a'][1].y")]
    }


def test_tensors_are_leaves():
    x = mashal.ones(2)
    leaves, _ = ours.tree_flatten({"a": x, "b": [x.shape]})
    assert leaves[0] is x
    assert leaves[1:] == [2]
    assert isinstance(ours.tree_map(lambda n: n + 1, x.shape), mashal.Size)


@pytest.mark.parametrize(
    ("a", "b"), [([1, 2], [1]), ([1], (1,)), ({"a": 1}, {"b": 1}), (Point(1, 2), (1, 2)), (deque([1]), deque([1, 2]))]
)
def test_mismatches(a, b):
    def attempt(lib):
        with pytest.raises(ValueError) as caught:
            lib.tree_map(lambda x, y: x, a, b)
        return str(caught.value)

    assert attempt(ours) == attempt(theirs)
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 2 items"):
        ours.tree_unflatten([1], ours.tree_structure([1, 2]))
    with pytest.raises(TypeError, match="instance of PyTreeSpec"):
        ours.tree_unflatten([1], "spec")


def test_registered_classes():
    class Pair:
        def __init__(self, a, b, name):
            self.a, self.b, self.name = a, b, name

    ours.register_pytree_node(
        Pair, lambda p: ([p.a, p.b], p.name), lambda v, name: Pair(*v, name), serialized_type_name="test.Pair"
    )
    try:
        got = ours.tree_map(lambda x: x + 1, [Pair(1, (2,), "n")])[0]
        assert (got.a, got.b, got.name) == (2, (3,), "n")
        assert ours.treespec_loads(ours.treespec_dumps(ours.tree_structure(got))) == ours.tree_structure(got)
        with pytest.raises(ValueError, match="context mismatch"):
            ours.tree_map(lambda x, y: x, got, Pair(1, (2,), "other"))
        with pytest.raises(ValueError, match="flatten_with_keys_fn"):
            ours.tree_leaves_with_path(got)
        with pytest.raises(ValueError, match="already registered"):
            ours.register_pytree_node(Pair, None, None)
        ours._register_pytree_node(Pair, None, None)
    finally:
        ours._deregister_pytree_node(Pair)
    assert ours.tree_is_leaf(got)

    @dataclasses.dataclass
    class Data:
        x: int
        y: object = None

    ours.register_dataclass(Data)
    try:
        assert ours.tree_map(lambda v: v * 2, Data(1, [2])) == Data(2, [4])
        assert ours.tree_leaves(Data(1)) == [1]
        assert ours.keystr(ours.tree_leaves_with_path(Data(1, [2]))[1][0]) == ".y[0]"
    finally:
        ours._deregister_pytree_node(Data)

    @dataclasses.dataclass(frozen=True)
    class Constant:
        n: int

    ours.register_constant(Constant)
    try:
        assert ours.tree_leaves([Constant(1), 2]) == [2]
        assert ours.tree_map(lambda v: v, [Constant(1), 2]) == [Constant(1), 2]
        assert ours.tree_structure(Constant(1)) != ours.tree_structure(Constant(2))
    finally:
        ours._deregister_pytree_node(Constant)
