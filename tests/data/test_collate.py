"""Making batches, against PyTorch's."""

import collections
import dataclasses
import types

import numpy as np
import pytest
import torch
import torch.utils.data

import mashal
import mashal.utils.data

LIBS = (mashal, torch)
Pair = collections.namedtuple("Pair", ["x", "y"])


class Tagged(dict):
    """A mapping with an attribute, which batches must keep."""


class ListLike(collections.UserList):
    pass


class NoBuild(collections.abc.Sequence):
    """A sequence that cannot be built from a list."""

    def __init__(self, a, b):
        self.items = [a, b]

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return 2


def tagged(**items):
    made = Tagged(items)
    made.tag = "kept"
    return made


def samples(lib):
    return {
        "tensors": [lib.tensor([1, 2]), lib.tensor([3, 4])],
        "tensors of no dimensions": [lib.tensor(1.5), lib.tensor(2.5)],
        "arrays": [np.ones(2, dtype="float32"), np.zeros(2, dtype="float32")],
        "arrays of no dimensions": [np.array(1), np.array(2)],
        "array scalars": [np.float32(1.5), np.float32(2.5)],
        "array doubles": [np.float64(1.5), np.float64(2.5)],
        "array integers": [np.int16(1), np.int16(2)],
        "array bools": [np.bool_(True), np.bool_(False)],
        "floats": [1.0, 2.0],
        "integers": [1, 2],
        "bools": [True, False],
        "strings": ["a", "b"],
        "bytes": [b"a", b"b"],
        "tuples": [(1, "a"), (2, "b")],
        "lists": [[1, 2.0], [3, 4.0]],
        "named tuples": [Pair(1, "a"), Pair(2, "b")],
        "dictionaries": [{"a": 1, "b": [1.0]}, {"a": 2, "b": [2.0]}],
        "ordered dictionaries": [collections.OrderedDict(b=1, a=2), collections.OrderedDict(b=3, a=4)],
        "default dictionaries": [collections.defaultdict(list, a=1), collections.defaultdict(list, a=2)],
        "own dictionaries": [tagged(a=1), tagged(a=2)],
        "read-only mappings": [types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2})],
        "own lists": [ListLike([1, 2]), ListLike([3, 4])],
        "sequences": [NoBuild(1, 2), NoBuild(3, 4)],
        "ranges": [range(2), range(2)],
        "nested": [{"a": (np.ones(1), [1, {"b": lib.ones(1)}])}, {"a": (np.zeros(1), [2, {"b": lib.ones(1)}])}],
        "one sample": [3],
    }


def plain(value):
    """Return a comparable description of a batch: types, dtypes and values."""
    if isinstance(value, (mashal.Tensor, torch.Tensor)):
        return str(value.dtype).split(".")[-1], value.tolist()
    kind = type(value).__name__
    if isinstance(value, collections.abc.Mapping):
        return kind, [(k, plain(v)) for k, v in value.items()], getattr(value, "tag", None)
    if isinstance(value, (str, bytes)):
        return kind, value
    if isinstance(value, np.ndarray):
        return kind, value.tolist()
    if isinstance(value, collections.abc.Sequence):
        return kind, [plain(v) for v in value]
    return kind, value


@pytest.mark.parametrize("case", samples(mashal))
def test_collate(case):
    ours, theirs = (plain(lib.utils.data.default_collate(samples(lib)[case])) for lib in LIBS)
    assert ours == theirs


@pytest.mark.parametrize("case", [*samples(mashal), "other"])
def test_convert(case):
    values = [object if case == "other" else samples(lib)[case][0] for lib in LIBS]
    ours, theirs = (plain(lib.utils.data.default_convert(value)) for lib, value in zip(LIBS, values, strict=True))
    assert ours == theirs


def test_convert_leaves_text_arrays():
    for lib in LIBS:
        array = np.array(["a", "b"])
        assert lib.utils.data.default_convert(array) is array


FAILING = {
    "objects": lambda lib: [object, object],
    "none": lambda lib: [None, None],
    "text arrays": lambda lib: [np.array(["a"])],
    "object arrays": lambda lib: [np.array([None])],
    "unequal lists": lambda lib: [[1], [1, 2]],
    "missing key": lambda lib: [{"a": 1}, {"b": 1}],
    "empty": lambda lib: [],
}


@pytest.mark.parametrize("case", FAILING)
def test_errors(case):
    found = []
    for lib in LIBS:
        with pytest.raises(Exception) as error:
            lib.utils.data.default_collate(FAILING[case](lib))
        found.append((error.type, str(error.value)))
    assert found[0] == found[1]


def test_unequal_tensors():
    with pytest.raises(RuntimeError, match=r"\[2\].*\[3\]|\(2,?\).*\(3,?\)"):
        mashal.utils.data.default_collate([mashal.ones(2), mashal.ones(3)])


def test_own_functions():
    @dataclasses.dataclass
    class Point:
        x: int

    def collate_points(batch, *, collate_fn_map=None):
        return "points", [p.x for p in batch]

    for lib in LIBS:
        if lib is mashal:
            from mashal.utils.data._utils.collate import collate, default_collate_fn_map
        else:
            from torch.utils.data._utils.collate import collate, default_collate_fn_map
        functions = {Point: collate_points, **default_collate_fn_map}
        batch = collate([{"p": Point(1)}, {"p": Point(2)}], collate_fn_map=functions)
        assert batch == {"p": ("points", [1, 2])}
        batch = collate([(Point(1), 1)], collate_fn_map={Point: collate_points, int: lambda b, **_: list(b)})
        assert batch == [("points", [1]), [1]]
        default_collate_fn_map[Point] = collate_points
        try:
            assert lib.utils.data.default_collate([Point(3)]) == ("points", [3])
        finally:
            del default_collate_fn_map[Point]
