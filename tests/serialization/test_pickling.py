"""pickle, copy and deepcopy of tensors, parameters, storages, dtypes, modules and optimizers."""

from __future__ import annotations

import copy
import io
import pickle
import sys
import types

import pytest

import mashal

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


class Tagged(mashal.Tensor):
    pass


class Counted(mashal.Tensor):
    """A subclass with its own idea of its state."""

    def __reduce_ex__(self, protocol):
        function, arguments = super().__reduce_ex__(protocol)
        return _counted, (function, arguments)


def _counted(function, arguments):
    out = function(*arguments)
    out.loaded = getattr(out, "loaded", 0) + 1
    return out


class Slotted(mashal.Tensor):
    __slots__ = ("extra",)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tensors(protocol):
    values = [
        mashal.arange(6.0).reshape(2, 3), mashal.tensor(3), mashal.empty(0, 2), mashal.ones(3, dtype=mashal.bfloat16),
        mashal.arange(6).reshape(2, 3).t(), mashal.arange(10)[3:7:2], mashal.ones(1).expand(4),
    ]  # fmt: skip
    for value in values:
        got = pickle.loads(pickle.dumps(value, protocol))
        assert type(got) is mashal.Tensor
        assert (got.dtype, got.shape, got.stride()) == (value.dtype, value.shape, value.stride())
        assert got.tolist() == value.tolist()
        if protocol < 5:  # from there on the memory is that of the pickle
            got.resize_(100)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_part_is_pickled_alone(protocol):
    part = mashal.arange(100_000)[5:8]
    assert len(pickle.dumps(part, protocol)) < 500
    assert pickle.loads(pickle.dumps(part, protocol)).tolist() == [5, 6, 7]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_classes_and_attributes(protocol):
    tagged = mashal.ones(2).as_subclass(Tagged)
    tagged.note = {"a": 1}
    got = pickle.loads(pickle.dumps(tagged, protocol))
    assert type(got) is Tagged
    assert got.note == {"a": 1}
    parameter = mashal.nn.Parameter(mashal.ones(2), requires_grad=False)
    parameter.tag = 5
    got = pickle.loads(pickle.dumps(parameter, protocol))
    assert type(got) is mashal.nn.Parameter
    assert (got.tag, got.requires_grad) == (5, False)
    slotted = mashal.ones(2).as_subclass(Slotted)
    slotted.extra = 7
    assert pickle.loads(pickle.dumps(slotted, protocol)).extra == 7
    assert pickle.loads(pickle.dumps(mashal.ones(2, requires_grad=True), protocol)).requires_grad


def test_subclasses_that_reduce_themselves(through):
    t = mashal.arange(100_000.0)[3:5].as_subclass(Counted)
    got = pickle.loads(pickle.dumps(t))
    assert (type(got), got.loaded, got.tolist()) == (Counted, 1, [3, 4])
    got = through([t, t], mashal, mashal, False)
    assert (type(got[0]), got[0].loaded, got[1].tolist()) == (Counted, 1, [3, 4])
    assert got[0] is got[1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_storages(protocol):
    x = mashal.arange(5, dtype=mashal.int16)
    untyped, typed = x.untyped_storage(), mashal.storage.TypedStorage([1, 2], dtype=mashal.float64)
    got = pickle.loads(pickle.dumps([untyped, typed], protocol))
    assert got[0].tolist() == untyped.tolist()
    assert (got[1].dtype, got[1].tolist()) == (mashal.float64, [1, 2])


def test_memory_outside_of_the_pickle():
    """Protocol 5 hands the memory over without a copy."""
    x = mashal.arange(1000)
    buffers = []
    data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 500
    got = pickle.loads(data, buffers=buffers)
    got[3] = -1
    assert x[3] == -1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_small_values(protocol):
    for value in (mashal.float32, mashal.bool, mashal.strided, mashal.device("cpu"), mashal.device("cuda:1"),
                  mashal.Size([1, 2]), mashal.channels_last, mashal.contiguous_format):  # fmt: skip
        got = pickle.loads(pickle.dumps(value, protocol))
        assert got == value
        assert type(got) is type(value)
        assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(mashal.float16, protocol)) is mashal.float16


def test_modules_and_optimizers():
    net = mashal.nn.Sequential(mashal.nn.Linear(2, 3), mashal.nn.BatchNorm1d(3))
    opt = mashal.optim.Adam(net.parameters(), lr=0.5)
    net(mashal.ones(2, 2)).sum().backward()
    opt.step()
    net2, opt2 = pickle.loads(pickle.dumps((net, opt)))
    assert [p.tolist() for p in net2.parameters()] == [p.tolist() for p in net.parameters()]
    assert opt2.param_groups[0]["params"][0] is next(iter(net2.parameters()))
    assert opt2.param_groups[0]["lr"] == 0.5


def test_copy_shares_memory(lib):
    x = lib.arange(4)
    y = copy.copy(x[1:])
    y[0] = 9
    assert x[1] == 9
    p = lib.nn.Parameter(lib.ones(2))
    q = copy.copy(p)
    assert isinstance(q, lib.nn.Parameter)
    assert q.data_ptr() == p.data_ptr()


def test_deepcopy_keeps_sharing(lib):
    x = lib.arange(6)
    a, row, storage = copy.deepcopy([x, x[2:], x.untyped_storage()])
    a[2] = 50
    assert row[0] == 50
    assert a.data_ptr() == storage.data_ptr()
    assert x[2] == 2


def test_meta(lib):
    t = pickle.loads(pickle.dumps(lib.empty(2, 3, device="meta")))
    assert t.is_meta
    assert tuple(t.shape) == (2, 3)


def test_storage_slices_and_files(lib, tmp_path):
    storage = lib.tensor([1, 2, 3, 4], dtype=lib.uint8).untyped_storage()
    part = storage[1:3]
    part[0] = 9
    assert storage.tolist() == [1, 9, 3, 4]
    path = tmp_path / "raw"
    path.write_bytes(bytes(range(16)))
    private = lib.UntypedStorage.from_file(str(path), False, 8)
    private[0] = 77
    assert private.tolist() == [77, 1, 2, 3, 4, 5, 6, 7]
    assert path.read_bytes()[0] == 0
    lib.UntypedStorage.from_file(str(path), True, 16)[0] = 78
    assert path.read_bytes()[0] == 78
    x = lib.empty(0, dtype=lib.int16).set_(private[4:8], 0, (2,), (1,))
    assert x.tolist() == [4 + 5 * 256, 6 + 7 * 256]
    with pytest.raises(RuntimeError, match="unable to open file"):
        lib.UntypedStorage.from_file(str(tmp_path / "no"), False, 8)


def test_torch_is_not_imported():
    """Files name torch's modules, which need not be there."""
    import subprocess

    program = """
import sys
import types
sys.modules["torch"] = None
import io, mashal
for zipped in (True, False):
    b = io.BytesIO()
    mashal.save([mashal.nn.Linear(2, 2), mashal.ones(2)], b, _use_new_zipfile_serialization=zipped)
    b.seek(0)
    mashal.load(b, weights_only=False)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_other_pickle_modules():
    """A pickler in Python, with ideas of its own about how objects are reduced (as dill and cloudpickle have)."""
    module = types.ModuleType("other")

    class Pickler(pickle._Pickler):
        def reducer_override(self, obj):
            return (int, ("42",)) if callable(obj) and getattr(obj, "__name__", "") == "<lambda>" else NotImplemented

    module.Pickler, module.Unpickler = Pickler, pickle._Unpickler
    x = mashal.arange(5.0)
    buffer = io.BytesIO()
    mashal.save([x, x[1:], lambda: 0], buffer, pickle_module=module, pickle_protocol=4)
    for options in ({"pickle_module": module}, {"weights_only": False}):
        buffer.seek(0)
        a, part, number = mashal.load(buffer, **options)
        assert number == 42
        a[1] = 9
        assert part[0] == 9


def test_functions():
    """Functions of the package are pickled by their public places, and modules that hold one can be copied."""
    modules = (mashal, mashal.nn.functional)
    offered = {name: f for m in modules for name, f in vars(m).items() if not name.startswith("_") and callable(f)}
    chosen = {name: f for name, f in offered.items() if not isinstance(f, type) and "nb_func" not in type(f).__name__}
    assert len(chosen) > 700
    for name, function in chosen.items():
        assert pickle.loads(pickle.dumps(function)) is function, name
    layer = mashal.nn.Identity()
    layer.act = mashal.relu_
    assert copy.deepcopy(layer).act is mashal.relu_
