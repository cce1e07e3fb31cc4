"""Files of mashal in PyTorch and the reverse: values, dtypes, shapes, strides, sharing, modules, optimizers."""

from __future__ import annotations

import collections
import importlib
import inspect
import io
import itertools
import warnings
import zipfile

import numpy as np
import pytest
import torch

import mashal
from mashal.serialization import _globals

PAIRS = [(mashal, torch), (torch, mashal), (mashal, mashal)]
IDS = ["to torch", "from torch", "own"]
FORMATS = [True, False]
DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
)  # fmt: skip


def described(value):
    """A value as plain data that is equal in both libraries."""
    if isinstance(value, (torch.Tensor, mashal.Tensor)):
        lib = torch if isinstance(value, torch.Tensor) else mashal
        name = str(value.dtype).split(".")[1]
        kind = "Parameter" if isinstance(value, lib.nn.Parameter) else "Tensor"
        data = value.detach().to(lib.float32).tolist() if name == "bfloat16" else value.detach().tolist()
        return kind, name, tuple(value.shape), tuple(value.stride()), value.requires_grad, data
    if isinstance(value, dict):
        return type(value).__name__, [(k, described(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)) and not hasattr(value, "numel"):
        return type(value).__name__, [described(v) for v in value]
    if isinstance(value, np.ndarray):
        return "array", value.dtype, value.tolist()
    return str(value).replace("mashal", "torch")


def objects(lib):
    x = lib.arange(12.0).reshape(3, 4)
    return {
        "tensors": [x, lib.tensor(2), lib.empty(0), lib.empty(0, 3), lib.tensor(True), x.t(), x[1:, 2]],
        "dtypes": [lib.ones(2).to(getattr(lib, d)) for d in DTYPES],
        "parameters": [lib.nn.Parameter(x), lib.nn.Parameter(x, requires_grad=False), lib.ones(2, requires_grad=True)],
        "expanded": [lib.ones(1).expand(5), lib.arange(3).unsqueeze(1).expand(3, 2)],
        "channels last": lib.ones(1, 2, 3, 3).to(memory_format=lib.channels_last),
        "plain": {
            "n": None, "t": (1, (2.5, "three")), "l": [True, False, 2**70, -1, -1.5, 70000], "s": {1},
            "b": b"\x00\xff", "c": 1 + 2j, "y": bytearray(b"abc"), "o": collections.OrderedDict(a=1), "u": "é\n\x00",
            "k": collections.Counter("aab"), "z": lib.Size([1, 2]), "d": lib.device("cpu"), "e": lib.float16,
            "g": lib.strided, 3: {}, (1, "x"): [],
        },
    }  # fmt: skip


@pytest.mark.parametrize("zipped", FORMATS)
@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
@pytest.mark.parametrize("name", list(objects(torch)))
def test_values(name, writer, reader, zipped, through):
    obj = objects(writer)[name]
    wanted = described(through(obj, writer, writer, _use_new_zipfile_serialization=zipped))
    assert wanted == described(obj)
    assert described(through(obj, writer, reader, _use_new_zipfile_serialization=zipped)) == wanted
    assert described(through(obj, writer, reader, False, _use_new_zipfile_serialization=zipped)) == wanted


@pytest.mark.parametrize("zipped", FORMATS)
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
def test_protocols(writer, reader, protocol, zipped, through):
    """PyTorch's weights_only reader knows protocol 2 only; ours knows all."""
    obj = objects(writer)
    options = {"pickle_protocol": protocol, "_use_new_zipfile_serialization": zipped}
    assert described(through(obj, writer, reader, False, **options)) == described(obj)
    if reader is mashal or protocol == 2:
        assert described(through(obj, writer, reader, True, **options)) == described(obj)


@pytest.mark.parametrize("zipped", FORMATS)
@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
def test_sharing(writer, reader, zipped, through):
    x = writer.arange(12.0).reshape(3, 4)
    obj = [x, x[1], x.t(), writer.nn.Parameter(x), x]
    a, row, turned, parameter, again = through(obj, writer, reader, _use_new_zipfile_serialization=zipped)
    a[1, 0] = 50
    assert row[0] == 50
    assert turned[0, 1] == 50
    assert parameter[1, 0] == 50
    assert again is a


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
def test_attributes_and_buffers(writer, reader, through):
    p = writer.nn.Parameter(writer.ones(2))
    p.tag = {"kept": 1}
    t = writer.ones(2)
    t.note = "here"
    buffer = writer.nn.Buffer(writer.ones(2), persistent=False)
    p2, t2, buffer2 = through([p, t, buffer], writer, reader)
    assert p2.tag == {"kept": 1}
    assert t2.note == "here"
    assert isinstance(buffer2, reader.nn.Buffer)
    assert buffer2.persistent is False


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
def test_meta(writer, reader, through):
    t = through(writer.empty(2, 3, device="meta", dtype=writer.int8), writer, reader)
    assert (tuple(t.shape), str(t.dtype).split(".")[1], t.device.type) == ((2, 3), "int8", "meta")


@pytest.mark.parametrize("zipped", FORMATS)
@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
def test_storages(writer, reader, zipped, through):
    with warnings.catch_warnings(action="ignore"):
        obj = [writer.arange(3).storage(), writer.ones(2).untyped_storage()]
    if not zipped and reader is torch:
        obj.pop()  # PyTorch does not load these from the old format
    typed, *untyped = through(obj, writer, reader, _use_new_zipfile_serialization=zipped)
    with warnings.catch_warnings(action="ignore"):  # typed storages are deprecated
        assert typed.tolist() == [0, 1, 2]
        assert typed.dtype is reader.int64
        assert [bytes(s.tolist()) for s in untyped] == [np.ones(2, np.float32).tobytes()] * len(untyped)


@pytest.mark.parametrize("zipped", FORMATS)
def test_lazy_conjugates_of_torch(zipped, through):
    """PyTorch saves the memory of what a conjugate looks at, and a mark."""
    x = torch.tensor([1 + 2j, 3j])
    obj = [x, x.conj(), x.clone().conj().imag]
    same, conj, neg = through(obj, torch, mashal, _use_new_zipfile_serialization=zipped)
    assert same.tolist() == [1 + 2j, 3j]
    assert conj.tolist() == [1 - 2j, -3j]
    assert neg.tolist() == [-2, -3]


@pytest.mark.parametrize("protocol", [2, 5])
def test_numpy(protocol, through):
    """NumPy's numbers and arrays are loaded with weights_only, without anything being registered."""
    obj = {
        "f": np.float64(2.5), "i": np.int8(-3), "b": np.bool_(True), "c": np.complex64(1j), "d": np.dtype("int16"),
        "a": np.arange(6).reshape(2, 3), "order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "swapped": np.arange(3, dtype=">i4"), "text": np.array(["a", "bcd"]), "bytes": np.array([b"ab"]),
        "empty": np.zeros((0, 3)), "scalar": np.array(5.0), "rng": np.random.RandomState(0).get_state()[1],
        "twice": [np.arange(2, dtype=">i2"), np.arange(2, dtype="<i2")],
    }  # fmt: skip
    for writer in (torch, mashal):
        got = through(obj, writer, mashal, pickle_protocol=protocol)
        for name, value in obj.items():
            np.testing.assert_array_equal(got[name], value)
            assert type(got[name]) is type(value)
        assert got["order"].flags.f_contiguous
    assert through(obj, mashal, torch, False, pickle_protocol=protocol)["i"] == -3


def test_arrays_of_objects_are_refused(through):
    with pytest.raises(mashal.serialization._reader.UnpicklingError, match="plain numbers"):
        through(np.array([{}, []], dtype=object), torch, mashal)
    with pytest.raises(mashal.serialization._reader.UnpicklingError, match="plain numbers"):
        through(np.zeros(2, dtype=[("a", "i4")]), torch, mashal)


def network(lib):
    return lib.nn.Sequential(
        lib.nn.Conv2d(1, 2, 3), lib.nn.BatchNorm2d(2), lib.nn.ReLU(), lib.nn.MaxPool2d(2), lib.nn.Flatten(),
        lib.nn.Linear(18, 4), lib.nn.LayerNorm(4), lib.nn.Dropout(0.1), lib.nn.Softmax(dim=1),
    )  # fmt: skip


@pytest.mark.parametrize("zipped", FORMATS)
@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
def test_whole_modules(writer, reader, zipped, through):
    """A module saved as an object comes back as the other library's module, and computes the same."""
    writer.manual_seed(0)
    net = network(writer).eval()
    other = through(net, writer, reader, False, _use_new_zipfile_serialization=zipped)
    assert isinstance(other, reader.nn.Sequential)
    assert repr(other) == repr(net)
    images = np.random.default_rng(0).standard_normal((2, 1, 8, 8)).astype(np.float32)
    wanted = net(writer.from_numpy(images)).detach().numpy()
    np.testing.assert_allclose(other(reader.from_numpy(images)).detach().numpy(), wanted, rtol=1e-5, atol=1e-6)


FUNCTIONS = (
    "relu", "gelu", "silu", "softplus", "logsigmoid", "threshold", "avg_pool1d", "avg_pool2d", "linear", "conv2d",
    "prelu", "pixel_shuffle", "cosine_similarity", "scaled_dot_product_attention", "one_hot",
)  # fmt: skip
IN_PLACE = ("relu_", "celu_", "leaky_relu_", "threshold_")


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
def test_functions(writer, reader, through):
    """As in the layers of a Transformer, which hold their activation."""
    names = FUNCTIONS if writer is mashal else (*FUNCTIONS, *IN_PLACE)
    functions = [getattr(writer.nn.functional, name) for name in names]
    for name, other in zip(names, through(functions, writer, reader, False), strict=True):
        wanted = getattr(reader.nn.functional, name)
        assert other is wanted or other is getattr(reader, name, None), name
    if writer is mashal:  # its functions in place are saved as methods
        for function in through([mashal.relu_, mashal.abs_], writer, reader, False):
            assert function(reader.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
def test_transformers_as_objects(writer, reader, activation, through):
    writer.manual_seed(0)
    layer = writer.nn.TransformerEncoderLayer(8, 2, 16, activation=activation, batch_first=True).eval()
    other = through(layer, writer, reader, False)
    x = np.random.default_rng(0).standard_normal((2, 3, 8)).astype(np.float32)
    wanted = layer(writer.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(other(reader.from_numpy(x)).detach().numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
def test_training_goes_on(writer, reader, through):
    """State of a model, an optimizer and a schedule: the next steps are the same in the other library."""

    def step(lib, net, opt, schedule):
        x = lib.arange(12.0).reshape(4, 3) / 10
        opt.zero_grad()
        loss = (net(x) ** 2).sum()
        loss.backward()
        opt.step()
        schedule.step()
        return loss.item()

    def parts(lib):
        lib.manual_seed(1)
        net = lib.nn.Linear(3, 2)
        opt = lib.optim.Adam(net.parameters(), lr=0.1)
        return net, opt, lib.optim.lr_scheduler.StepLR(opt, 2)

    mine = parts(writer)
    for _ in range(3):
        step(writer, *mine)
    states = through([part.state_dict() for part in mine], writer, reader)
    theirs = parts(reader)
    for part, state in zip(theirs, states, strict=True):
        part.load_state_dict(state)
    for _ in range(3):
        assert step(writer, *mine) == pytest.approx(step(reader, *theirs), rel=1e-5)


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
@pytest.mark.parametrize("name", ["SGD", "AdamW", "RMSprop"])
def test_whole_optimizers(name, writer, reader, through):
    p = writer.nn.Parameter(writer.ones(2))
    opt = getattr(writer.optim, name)([p], lr=0.5)
    p.sum().backward()
    opt.step()
    other = through(opt, writer, reader, False)
    assert isinstance(other, getattr(reader.optim, name))
    assert described(other.state_dict()) == described(opt.state_dict())


@pytest.mark.parametrize("package", ["nn", "optim", "optim.lr_scheduler"])
def test_every_class_has_a_name_in_torch(package):
    """What :func:`torch_name` gives is where PyTorch has the class; and the way back finds ours."""
    ours, theirs = importlib.import_module(f"mashal.{package}"), importlib.import_module(f"torch.{package}")
    wrong = []
    for name, cls in vars(ours).items():
        if not inspect.isclass(cls) or not cls.__module__.startswith("mashal") or not hasattr(theirs, name):
            continue
        module, attribute = _globals.torch_name(cls.__module__, cls.__qualname__)
        try:
            there = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            wrong.append((name, f"{error}"))
            continue
        if there is not getattr(theirs, name) or _globals.resolve(there.__module__, there.__qualname__) is not cls:
            wrong.append((name, module))
    assert wrong == []


def test_layout_of_the_file():
    """Bytes aligned to 64, the records of PyTorch, headers that a zip program reads."""
    buffer = io.BytesIO()
    mashal.save([mashal.arange(5), mashal.ones(3), mashal.empty(0)], buffer)
    data = buffer.getvalue()
    with zipfile.ZipFile(buffer) as archive:
        names = [i.filename for i in archive.infolist()]
        assert archive.testzip() is None
        for i in archive.infolist():
            name, extra = (
                int.from_bytes(data[i.header_offset + k : i.header_offset + k + 2], "little") for k in (26, 28)
            )
            assert (i.header_offset + 30 + name + extra) % 64 == 0
        assert archive.read("archive/version") == b"3\n"
        assert archive.read("archive/byteorder") == b"little"
        assert len(archive.read("archive/.data/serialization_id")) == 40
        assert archive.read("archive/data/0") == np.arange(5).tobytes()
    theirs = io.BytesIO()
    torch.save([torch.arange(5), torch.ones(3), torch.empty(0)], theirs)
    with zipfile.ZipFile(theirs) as archive:
        assert names == [i.filename for i in archive.infolist()]
        offsets = [i.header_offset for i in archive.infolist()]
    # PyTorch can compute where storages are instead of looking: our headers must have the same sizes.
    with zipfile.ZipFile(buffer) as archive:
        ours = [i.header_offset for i in archive.infolist()]
    assert steps(ours[4:]) == steps(offsets[4:])


def steps(offsets):
    return [b - a for a, b in itertools.pairwise(offsets)]


def test_torch_computes_our_offsets(tmp_path, monkeypatch):
    from torch.utils.serialization import config

    monkeypatch.setenv("TORCH_SERIALIZATION_DEBUG", "1")
    path = tmp_path / "a.pt"
    mashal.save([mashal.arange(n) for n in (5, 0, 1000, 3)], path)
    config.load.calculate_storage_offsets = True
    try:
        assert [t.tolist() for t in torch.load(path, mmap=True)] == [list(range(n)) for n in (5, 0, 1000, 3)]
    finally:
        config.load.calculate_storage_offsets = False


def test_equal_content_gives_equal_files():
    files = []
    for _ in range(2):
        buffer = io.BytesIO()
        mashal.save({"a": mashal.ones(3)}, buffer)
        files.append(buffer.getvalue())
    assert files[0] == files[1]


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=IDS)
def test_sparse_tensors(writer, reader, through):
    with warnings.catch_warnings(action="ignore"):  # PyTorch: unchecked invariants, experimental compressed rows
        coo = writer.sparse_coo_tensor([[0, 2, 0], [1, 0, 1]], [1.0, 2.0, 3.0], (3, 4))
        csr = writer.sparse_csr_tensor([0, 1, 1], [1], [5.0], (2, 3))
    obj = [coo, coo.coalesce(), csr]
    got = through(obj, writer, reader)
    for a, b in zip(got, obj, strict=True):
        assert str(a.layout).split(".")[1] == str(b.layout).split(".")[1]
        assert a.to_dense().tolist() == b.to_dense().tolist()
    assert [t.is_coalesced() for t in got[:2]] == [False, True]
    old = through(obj[:2], writer, reader, _use_new_zipfile_serialization=False)
    assert old[0].to_dense().tolist() == coo.to_dense().tolist()


def test_sparse_indices_are_checked(through):
    x = torch.sparse_coo_tensor([[0, 7]], [1.0, 2.0], (3,), check_invariants=False)
    with pytest.raises(RuntimeError):
        through(x, torch, mashal)
