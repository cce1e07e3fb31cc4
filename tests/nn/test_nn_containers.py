"""Containers against torch's."""

from collections import OrderedDict

import pytest
import torch
from nn_helpers import outcome

import mashal


def clean(value):
    return repr(value).replace("mashal.", "torch.")


def both(scenario):
    a, a_warnings = outcome(lambda: scenario(mashal, mashal.nn))
    b, b_warnings = outcome(lambda: scenario(torch, torch.nn))
    assert clean(a) == clean(b)
    assert clean(a_warnings) == clean(b_warnings)


def seq(nn):
    return nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Linear(2, 2), nn.Sigmoid())


SEQUENTIAL = {
    "named": lambda lib, nn: nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh())),
    "named-slice": lambda lib, nn: nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))[1:],
    "call": lambda lib, nn: nn.Sequential(nn.ReLU(), nn.Threshold(0.5, 9))(lib.tensor([-1.0, 0.2, 1])).tolist(),
    "empty-call": lambda lib, nn: nn.Sequential()(3),
    "index": lambda lib, nn: [seq(nn)[0], seq(nn)[-1], seq(nn)[1:3], seq(nn)[::-1]],
    "iterate": lambda lib, nn: [len(seq(nn)), list(seq(nn)), nn.Linear in {type(m) for m in seq(nn)}],
    "out-of-range": lambda lib, nn: seq(nn)[4],
    "out-of-range-negative": lambda lib, nn: seq(nn)[-5],
    "set": lambda lib, nn: changed(seq(nn), lambda s: s.__setitem__(-1, nn.ELU())),
    "delete": lambda lib, nn: changed(seq(nn), lambda s: s.__delitem__(1)),
    "delete-slice": lambda lib, nn: changed(seq(nn), lambda s: s.__delitem__(slice(0, 2))),
    "append": lambda lib, nn: seq(nn).append(nn.ELU()),
    "append-type": lambda lib, nn: seq(nn).append(3),
    "insert": lambda lib, nn: seq(nn).insert(1, nn.ELU()),
    "insert-negative": lambda lib, nn: seq(nn).insert(-1, nn.ELU()),
    "insert-range": lambda lib, nn: seq(nn).insert(9, nn.ELU()),
    "insert-type": lambda lib, nn: seq(nn).insert(0, 3),
    "extend": lambda lib, nn: seq(nn).extend([nn.ELU(), nn.ELU()]),
    "pop": lambda lib, nn: changed(seq(nn), lambda s: s.pop(0)),
    "pop-slice": lambda lib, nn: changed(seq(nn), lambda s: s.pop(slice(0, 2))),
    "add": lambda lib, nn: seq(nn) + nn.Sequential(nn.ELU()),
    "iadd": lambda lib, nn: seq(nn).__iadd__(nn.Sequential(nn.ELU())),
    "add-type": lambda lib, nn: seq(nn) + 3,
    "iadd-type": lambda lib, nn: seq(nn).__iadd__(3),
    "multiply": lambda lib, nn: [nn.Sequential(nn.ReLU()) * 2, 3 * nn.Sequential(nn.ReLU())],
    "imultiply": lambda lib, nn: nn.Sequential(nn.ReLU(), nn.Tanh()).__imul__(2),
    "multiply-type": lambda lib, nn: seq(nn) * 2.0,
    "multiply-zero": lambda lib, nn: seq(nn) * 0,
    "dir": lambda lib, nn: [n for n in dir(seq(nn)) if n.isdigit()],
    "set-attribute-type": lambda lib, nn: setattr(seq(nn), "0", 3),
}


def changed(container, change):
    result = change(container)
    return result, container, list(container.state_dict())


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_sequential(name):
    both(SEQUENTIAL[name])


def items(nn):
    return nn.ModuleList([nn.ReLU(), nn.Linear(2, 2), nn.Linear(2, 2), nn.Tanh()])


MODULE_LIST = {
    "text": lambda lib, nn: [items(nn), nn.ModuleList(), nn.ModuleList([nn.Sequential(nn.ReLU())] * 3)],
    "index": lambda lib, nn: [items(nn)[0], items(nn)[-1], items(nn)[1:3]],
    "iterate": lambda lib, nn: [len(items(nn)), list(items(nn))],
    "out-of-range": lambda lib, nn: items(nn)[4],
    "set": lambda lib, nn: changed(items(nn), lambda s: s.__setitem__(-2, nn.ELU())),
    "delete": lambda lib, nn: changed(items(nn), lambda s: s.__delitem__(0)),
    "delete-slice": lambda lib, nn: changed(items(nn), lambda s: s.__delitem__(slice(1, 3))),
    "append": lambda lib, nn: items(nn).append(nn.ELU()),
    "append-type": lambda lib, nn: items(nn).append(3),
    "insert": lambda lib, nn: changed(items(nn), lambda s: s.insert(1, nn.ELU())),
    "insert-far": lambda lib, nn: changed(items(nn), lambda s: s.insert(4, nn.ELU())),
    "extend": lambda lib, nn: items(nn).extend(nn.ModuleList([nn.ELU()])),
    "extend-type": lambda lib, nn: items(nn).extend(3),
    "make-type": lambda lib, nn: nn.ModuleList(3),
    "pop": lambda lib, nn: changed(items(nn), lambda s: s.pop(1)),
    "add": lambda lib, nn: items(nn) + nn.ModuleList([nn.ELU()]),
    "iadd": lambda lib, nn: items(nn).__iadd__([nn.ELU()]),
    "call": lambda lib, nn: outcome(lambda: items(nn)(3))[0],
}


@pytest.mark.parametrize("name", MODULE_LIST)
def test_module_list(name):
    both(MODULE_LIST[name])


def table(nn):
    return nn.ModuleDict({"b": nn.ReLU(), "a": nn.Linear(2, 2)})


MODULE_DICT = {
    "text": lambda lib, nn: [table(nn), nn.ModuleDict()],
    "pairs": lambda lib, nn: nn.ModuleDict([["x", nn.ReLU()], ("y", nn.Tanh())]),
    "keys": lambda lib, nn: [list(table(nn)), list(table(nn).keys()), len(table(nn)), "a" in table(nn)],
    "items": lambda lib, nn: [list(table(nn).items()), list(table(nn).values())],
    "missing": lambda lib, nn: table(nn)["c"],
    "set": lambda lib, nn: changed(table(nn), lambda t: t.__setitem__("c", nn.ELU())),
    "set-type": lambda lib, nn: changed(table(nn), lambda t: t.__setitem__("c", 3)),
    "delete": lambda lib, nn: changed(table(nn), lambda t: t.__delitem__("a")),
    "clear": lambda lib, nn: changed(table(nn), lambda t: t.clear()),
    "pop": lambda lib, nn: changed(table(nn), lambda t: t.pop("a")),
    "update": lambda lib, nn: changed(table(nn), lambda t: t.update(nn.ModuleDict({"a": nn.ELU()}))),
    "update-type": lambda lib, nn: table(nn).update(3),
    "update-element": lambda lib, nn: table(nn).update([3]),
    "update-length": lambda lib, nn: table(nn).update([(1, 2, 3)]),
}


@pytest.mark.parametrize("name", MODULE_DICT)
def test_module_dict(name):
    both(MODULE_DICT[name])


def plist(lib, nn):
    return nn.ParameterList([lib.ones(2), nn.Parameter(lib.zeros(3, 1)), "text", 4])


PARAMETER_LIST = {
    "text": lambda lib, nn: [plist(lib, nn), nn.ParameterList()],
    "state": lambda lib, nn: list(plist(lib, nn).state_dict()),
    "types": lambda lib, nn: [type(p).__name__ for p in plist(lib, nn)],
    "index": lambda lib, nn: [plist(lib, nn)[-1], plist(lib, nn)[1:3], len(plist(lib, nn))],
    "out-of-range": lambda lib, nn: plist(lib, nn)[4],
    "set": lambda lib, nn: changed(plist(lib, nn), lambda p: p.__setitem__(-1, lib.ones(1))),
    "append": lambda lib, nn: plist(lib, nn).append(lib.ones(1)),
    "iadd": lambda lib, nn: plist(lib, nn).__iadd__([lib.ones(1)]),
    "extend-type": lambda lib, nn: plist(lib, nn).extend(3),
    "extend-tensor": lambda lib, nn: plist(lib, nn).extend(lib.ones(2)),
    "call": lambda lib, nn: plist(lib, nn)(),
}


@pytest.mark.parametrize("name", PARAMETER_LIST)
def test_parameter_list(name):
    both(PARAMETER_LIST[name])


def pdict(lib, nn):
    return nn.ParameterDict({"b": lib.ones(2), "a": nn.Parameter(lib.zeros(3, 1)), "c": "text"})


PARAMETER_DICT = {
    "text": lambda lib, nn: [pdict(lib, nn), nn.ParameterDict()],
    "order": lambda lib, nn: [list(pdict(lib, nn)), list(nn.ParameterDict(OrderedDict(b=1, a=2)))],
    "pairs": lambda lib, nn: list(nn.ParameterDict([("b", 1), ("a", 2)])),
    "state": lambda lib, nn: list(pdict(lib, nn).state_dict()),
    "access": lambda lib, nn: [pdict(lib, nn)["c"], pdict(lib, nn).get("z", 5), pdict(lib, nn).get("c")],
    "keys": lambda lib, nn: [list(reversed(pdict(lib, nn))), len(pdict(lib, nn)), "a" in pdict(lib, nn)],
    "items": lambda lib, nn: [k for k, _ in pdict(lib, nn).items()],
    "values": lambda lib, nn: [type(v).__name__ for v in pdict(lib, nn).values()],
    "missing": lambda lib, nn: outcome(lambda: pdict(lib, nn)["z"])[0],
    "key-type": lambda lib, nn: pdict(lib, nn)[3],
    "delete": lambda lib, nn: changed(pdict(lib, nn), lambda p: p.__delitem__("a")),
    "clear": lambda lib, nn: changed(pdict(lib, nn), lambda p: p.clear()),
    "pop": lambda lib, nn: changed(pdict(lib, nn), lambda p: p.pop("c")),
    "popitem": lambda lib, nn: changed(pdict(lib, nn), lambda p: p.popitem()),
    "setdefault": lambda lib, nn: changed(pdict(lib, nn), lambda p: (p.setdefault("c", 1), p.setdefault("d", 1))),
    "copy": lambda lib, nn: pdict(lib, nn).copy(),
    "or": lambda lib, nn: pdict(lib, nn) | nn.ParameterDict({"z": 1}),
    "ior": lambda lib, nn: pdict(lib, nn).__ior__(nn.ParameterDict({"z": 1})),
    "update-type": lambda lib, nn: outcome(lambda: pdict(lib, nn).update(3))[0][:2],
    "update-element": lambda lib, nn: pdict(lib, nn).update([3]),
    "update-length": lambda lib, nn: pdict(lib, nn).update([(1, 2, 3)]),
    "call": lambda lib, nn: pdict(lib, nn)(3),
}


@pytest.mark.parametrize("name", PARAMETER_DICT)
def test_parameter_dict(name):
    both(PARAMETER_DICT[name])


def test_container_is_deprecated():
    both(lambda lib, nn: nn.Container(a=nn.ReLU()))


def test_parameter_dict_from_keys():
    # torch's own hands the first pair to update as if it were all of them, and fails.
    table = mashal.nn.ParameterDict.fromkeys(["x", "y"], 3)
    assert dict(table.items()) == {"x": 3, "y": 3}
