"""Loading: what a weights_only load accepts, where tensors go, mapped files, damaged files."""

from __future__ import annotations

import collections
import gzip
import io
import mmap
import os
import pathlib
import pickle
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
import torch

import mashal
from mashal.serialization._archive import Writer


class Point:
    def __init__(self, x):
        self.x = x


class Stateful:
    def __setstate__(self, state):
        self.got = state

    def __getstate__(self):
        return {"a": 1}


class Marked(mashal.Tensor):
    pass


Record = collections.namedtuple("Record", "a b")


def saved(obj, lib=mashal, **options):
    buffer = io.BytesIO()
    lib.save(obj, buffer, **options)
    buffer.seek(0)
    return buffer


def archive(pickled, **records):
    """A sound archive around a pickle."""
    out = io.BytesIO()
    writer = Writer(out.write)
    writer.record("data.pkl", pickled)
    writer.record("byteorder", b"little")
    for name, data in records.items():
        writer.record(f"data/{name[1:]}", data)
    writer.close()
    out.seek(0)
    return out


# ---- weights_only ----


@pytest.mark.parametrize("zipped", [True, False])
def test_unknown_globals_are_refused_and_named(lib, zipped):
    """The same class and words in both libraries; programs look for them."""
    buffer = saved(Point(1), lib, _use_new_zipfile_serialization=zipped)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed") as caught:
        lib.load(buffer)
    text = str(caught.value)
    name = f"{__name__}.Point"
    assert f"GLOBAL {name} was not an allowed global by default" in text
    assert f"torch.serialization.add_safe_globals([{name}])" in text
    assert "`weights_only" in text
    buffer.seek(0)
    with warnings.catch_warnings(action="ignore"):
        assert lib.load(buffer, weights_only=False).x == 1
    buffer.seek(0)
    with warnings.catch_warnings(action="ignore"):
        assert lib.load(buffer, pickle_module=pickle).x == 1


def test_registered_classes(lib):
    lib.serialization.add_safe_globals([Point])
    assert lib.serialization.get_safe_globals() == [Point]
    assert lib.load(saved([Point(3)], lib))[0].x == 3
    lib.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        lib.load(saved(Point(3), lib))
    with lib.serialization.safe_globals([Point, Stateful]):
        assert lib.load(saved(Stateful(), lib)).got == {"a": 1}
    assert lib.serialization.get_safe_globals() == []
    with lib.serialization.safe_globals([(Stateful, f"{__name__}.Point")]):
        assert lib.load(saved(Point(3), lib)).got == {"x": 3}
    with lib.serialization.safe_globals([(1, 2, 3)]), pytest.raises(ValueError, match="tuple of length"):
        lib.load(saved(Point(1), lib))
    with lib.serialization.safe_globals([(1, 2)]), pytest.raises(TypeError, match="second item"):
        lib.load(saved(Point(1), lib))


def test_registered_subclasses_of_containers_and_tensors(lib):
    with lib.serialization.safe_globals([Record]):
        assert lib.load(saved(Record(1, 2), lib)) == Record(1, 2)
    with mashal.serialization.safe_globals([Marked]):
        t = mashal.ones(2).as_subclass(Marked)
        t.note = 1
        got = mashal.load(saved(t))
        assert (type(got), got.note) == (Marked, 1)
    with mashal.serialization.safe_globals([mashal.nn.Linear, mashal.nn.parameter.Parameter, set]):
        assert mashal.load(saved(mashal.nn.Linear(2, 1))).in_features == 2


def test_modules_of_torch_after_registration():
    """A user registers mashal's class; the file names PyTorch's."""
    buffer = saved(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Flatten()), torch)
    names = mashal.serialization.get_unsafe_globals_in_checkpoint(buffer)
    assert sorted(names) == [
        "torch.nn.modules.container.Sequential",
        "torch.nn.modules.flatten.Flatten",
        "torch.nn.modules.linear.Linear",
    ]
    buffer.seek(0)
    with mashal.serialization.safe_globals([mashal.nn.Sequential, mashal.nn.Linear, mashal.nn.Flatten]):
        assert mashal.serialization.get_unsafe_globals_in_checkpoint(buffer) == []
        buffer.seek(0)
        assert isinstance(mashal.load(buffer)[1], mashal.nn.Flatten)


def test_unsafe_globals_are_listed(lib):
    assert lib.serialization.get_unsafe_globals_in_checkpoint(saved({"a": lib.ones(1)}, lib)) == []
    found = lib.serialization.get_unsafe_globals_in_checkpoint(saved([Point(1), Stateful()], lib))
    assert sorted(found) == [f"{__name__}.Point", f"{__name__}.Stateful"]
    with pytest.raises(ValueError, match=r"checkpoint returned by torch\.save"):
        lib.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"something"))
    if lib is mashal:
        found = mashal.serialization.get_unsafe_globals_in_checkpoint(saved([Point(1), np.ones(2)], pickle_protocol=4))
        assert found == [f"{__name__}.Point"]


def test_blocked_modules_stay_blocked(lib):
    import posix

    with lib.serialization.safe_globals([posix.getcwd]):
        buffer = archive(b"\x80\x02cposix\ngetcwd\n)R.")
        with pytest.raises(pickle.UnpicklingError, match="whose module posix is blocked"):
            lib.load(buffer)


HOSTILE = {
    "system": b"cos\nsystem\n(X\x01\x00\x00\x00.tR.",
    "eval": b"c__builtin__\neval\n(X\x03\x00\x00\x001+1tR.",
    "stack global": b"X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93(X\x01\x00\x00\x00.tR.",
    "inst": b"(X\x01\x00\x00\x00.ios\nsystem\n.",
    "obj": b"(cos\nsystem\nX\x01\x00\x00\x00.o.",
    "extension": b"\x82\x01.",
    "call of data": b"X\x01\x00\x00\x00a)R.",
    "call of a tensor": b"ctorch\nfloat32\n)R.",
    "build of a class": b"ctorch\nSize\n}b.",
    "dunder": b"ccollections\nOrderedDict\n)R}X\x09\x00\x00\x00__class__Nsb.",
    "attribute path": b"ctorch._utils\n_rebuild_tensor_v2.__globals__\n.",
    "huge bytearray": b"cbuiltins\nbytearray\n(J\xff\xff\xff\x7ftR.",
    "huge tensor": b"ctorch\nFloatTensor\n(J\xff\xff\xff\x7ftR.",
    "huge string": b"X\xff\xff\xff\xffab.",
    "huge bytes": b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7fab.",
    "codec": b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x03\x00\x00\x00hextR.",
    "mark only": b"t.",
    "persistent": b"X\x01\x00\x00\x00aQ.",
    "module of the old format": b"(X\x06\x00\x00\x00moduleNNNtQ.",
    "subclass": b"ctorch._tensor\n_rebuild_from_type_v2\n(cbuiltins\nset\nctorch\nTensor\n)NtR.",
    "numpy objects": b"cnumpy\ndtype\n(X\x02\x00\x00\x00O8\x89\x88tR.",
    "numpy address": b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(X\x01\x00\x00\x00OtR\x43\x08aaaaaaaatR.",
    "sparse": b"ctorch._utils\n_rebuild_sparse_tensor\n)R.",
    "float8": b"ctorch\nfloat8_e4m3fn\n.",
    "append to a tensor": b"ctorch\nFloatTensor\n)RNa.",
    "set item of a list": b"]NNs.",
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_pickles(name):
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        result = mashal.load(archive(b"\x80\x02" + HOSTILE[name]))
        # An attribute of the dict, not its class.
        raise RuntimeError if type(result) is collections.OrderedDict else AssertionError(result)


def test_work_is_bounded():
    """A tuple that holds itself twice, sixty times over, would take for ever to hash."""
    with pytest.raises(pickle.UnpicklingError, match="nested too deeply"):
        mashal.load(archive(b"\x80\x02})" + b"2\x86" * 60 + b"Ns."))
    with pytest.raises(pickle.UnpicklingError, match="nested too deeply"):
        mashal.load(archive(b"\x80\x02})" + b"\x85" * 5000 + b"Ns."))
    deep = mashal.load(archive(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b"."))
    assert len(deep) == 1


def test_claims_are_compared_with_the_file():
    def tensor(numel=4, offset=0, size=b"K\x02K\x02", stride=b"K\x02K\x01", kind=b"FloatStorage"):
        return (
            b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n" + kind
            + b"\nX\x01\x00\x00\x000"
            b"X\x03\x00\x00\x00cpu\x8a\x08" + numel.to_bytes(8, "little") + b"tQ\x8a\x08" + offset.to_bytes(8, "little")
            + b"(" + size + b"t(" + stride + b"t\x89ccollections\nOrderedDict\n)RtR."
        )  # fmt: skip

    data = np.arange(4, dtype=np.float32).tobytes()
    assert mashal.load(archive(tensor(), _0=data)).tolist() == [[0, 1], [2, 3]]
    wrong = [
        tensor(numel=5), tensor(numel=1 << 60), tensor(offset=1), tensor(offset=1 << 60), tensor(size=b"K\x03K\x02"),
        tensor(stride=b"K\x03K\x01"), tensor(size=b"J\xff\xff\xff\xffK\x02"), tensor(stride=b"J\xff\xff\xff\xffK\x01"),
        tensor(size=b"K\x02"), tensor(size=b"NN"), tensor(kind=b"DoubleStorage"),
        tensor(size=b"\x8a\x09" + b"\x7f" * 9 + b"K\x01"),
    ]  # fmt: skip
    for pickled in wrong:
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            mashal.load(archive(pickled, _0=data))
    with pytest.raises(RuntimeError, match="data/0"):
        mashal.load(archive(tensor()))


def test_weights_only_and_pickle_module(lib):
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        lib.load(saved(1, lib), weights_only=True, pickle_module=pickle)


def test_environment(lib, monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"):
        assert lib.load(saved(Point(1), lib)).x == 1
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        lib.load(saved(1, lib))
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        lib.load(saved(Point(1), lib), weights_only=False)


def test_globals_that_mashal_lacks():
    buffer = archive(b"\x80\x02ctorch.nowhere\nThing\n.")
    with pytest.raises(AttributeError, match=r"torch\.nowhere\.Thing"):
        mashal.load(buffer, weights_only=False)


def test_strings_of_python_2():
    data = archive(b"\x80\x02U\x02\xc3\xa9.").getvalue()
    assert mashal.load(io.BytesIO(data)) == torch.load(io.BytesIO(data)) == "é"
    for encoding, value in (("latin1", "Ã©"), ("bytes", b"\xc3\xa9")):
        assert mashal.load(io.BytesIO(data), weights_only=False, encoding=encoding) == value
        assert mashal.load(io.BytesIO(data), encoding=encoding) == value


# ---- where tensors go ----


def test_map_location(lib):
    data = saved([lib.ones(2), lib.ones(2, dtype=lib.int8)], lib).getvalue()

    def load(place):
        return lib.load(io.BytesIO(data), map_location=place)

    same, none = lambda storage, tag: storage, lambda storage, tag: None
    for place in ("cpu", lib.device("cpu"), b"cpu", {"cpu": "cpu"}, {"cuda:0": "cpu"}, same, none):
        if place == b"cpu" and lib is torch:
            continue  # PyTorch accepts the type, and finds no device of that name
        assert load(place)[0].tolist() == [1, 1]
    for place in ("meta", lib.device("meta"), {"cpu": "meta"}):
        assert [t.is_meta for t in load(place)] == [True, True]
        assert load(place)[1].dtype is lib.int8
    seen = []

    def place(storage, tag):
        seen.append((type(storage).__name__, storage.nbytes(), tag))
        return storage

    load(place)
    assert seen == [("UntypedStorage", 8, "cpu"), ("UntypedStorage", 2, "cpu")]
    for place in ("cuda", "cuda:0", lib.device("cuda", 0), {"cpu": "cuda:0"}):
        with pytest.raises(RuntimeError, match=r"torch\.cuda\.is_available\(\) is False"):
            load(place)
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        load("nowhere")


@pytest.mark.parametrize("zipped", [True, False])
def test_files_from_a_gpu(lib, zipped):
    """As a file that was written on a machine with CUDA."""
    data = saved(lib.arange(3), lib, _use_new_zipfile_serialization=zipped).getvalue()
    if zipped:
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            pickled = z.read("archive/data.pkl")
        from_gpu = archive(pickled.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"), _0=b"".join(
            int(i).to_bytes(8, "little") for i in range(3))).getvalue()  # fmt: skip
    else:
        from_gpu = data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        lib.load(io.BytesIO(from_gpu))
    for place in ("cpu", {"cuda:0": "cpu"}, lambda storage, tag: storage):
        assert lib.load(io.BytesIO(from_gpu), map_location=place).tolist() == [0, 1, 2]


def test_own_places(lib):
    from mashal.serialization import _locations

    before = list(_locations._registry), list(torch.serialization._package_registry)
    moved = []
    try:
        lib.serialization.register_package(
            5,
            lambda storage: "shelf" if storage.nbytes() == 12 else None,
            lambda storage, tag: moved.append(tag) or storage if tag == "shelf" else None,
        )
        assert lib.serialization.location_tag(lib.ones(3).untyped_storage()) == "shelf"
        assert lib.serialization.location_tag(lib.ones(2).untyped_storage()) == "cpu"
        assert lib.load(saved([lib.ones(3), lib.ones(2)], lib))[0].tolist() == [1, 1, 1]
        assert moved == ["shelf"]
    finally:
        _locations._registry[:], torch.serialization._package_registry[:] = before
    storage = lib.ones(1).untyped_storage()
    assert lib.serialization.default_restore_location(storage, "cpu") is storage
    for check in (lib.serialization.validate_cuda_device, lib.serialization.validate_hpu_device):
        with pytest.raises(RuntimeError, match="CPU-only machine"):
            check("cuda:0")


# ---- files ----


def test_kinds_of_files(lib, tmp_path):
    path = tmp_path / "a.pt"
    lib.save({"a": lib.ones(2)}, path)
    assert lib.load(str(path))["a"].tolist() == [1, 1]
    assert lib.load(pathlib.Path(path))["a"].tolist() == [1, 1]
    with path.open("rb") as f:
        assert lib.load(f)["a"].tolist() == [1, 1]
    with gzip.open(tmp_path / "b.gz", "wb") as f:
        lib.save({"a": lib.ones(2)}, f, _use_new_zipfile_serialization=False)
    with gzip.open(tmp_path / "b.gz", "rb") as f:
        assert lib.load(f)["a"].tolist() == [1, 1]

    class Pipe:
        def read(self, n=-1):
            return b""

    with pytest.raises(AttributeError, match="seekable"):
        lib.load(Pipe())
    with pytest.raises(FileNotFoundError):
        lib.load(tmp_path / "no.pt")


def test_mmap(tmp_path):
    path = tmp_path / "a.pt"
    for writer in (mashal, torch):
        writer.save([writer.arange(1000), writer.ones(3)], path)
        before = path.read_bytes()
        x, y = mashal.load(path, mmap=True)
        x[0] = -1
        assert x.tolist() == [-1, *range(1, 1000)]
        assert y.tolist() == [1, 1, 1]
        assert path.read_bytes() == before
        with pytest.raises(ValueError, match="file path"):
            mashal.load(io.BytesIO(before), mmap=True)
    with mashal.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        mashal.load(path, mmap=True)[0][0] = 7
    assert mashal.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert mashal.load(path, mmap=True)[0][0] == 7
    assert torch.load(path)[0][0] == 7
    with pytest.raises(RuntimeError, match="MAP_SHARED"):  # the checksum is that of the old bytes
        mashal.load(path)
    with pytest.raises(ValueError, match="MAP_PRIVATE"):
        mashal.serialization.set_default_mmap_options(12345)
    mashal.save(1, path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        mashal.load(path, mmap=True)


def test_a_mapped_file_may_be_replaced_and_closed(tmp_path):
    """The tensors keep the old file: saving over what is mapped is safe."""
    path = tmp_path / "a.pt"
    mashal.save(mashal.arange(100_000), path)
    x = mashal.load(path, mmap=True)
    mashal.save(x + 1, path)
    mashal.save(x, tmp_path / "b.pt")
    assert x[99_999] == 99_999
    assert mashal.load(path)[0] == 1
    path.unlink()
    assert mashal.load(tmp_path / "b.pt")[99_999] == 99_999


def test_mapping_reads_nothing(tmp_path):
    path = tmp_path / "a.pt"
    mashal.save(mashal.zeros(25_000_000), path)
    program = f"""
import resource, mashal
from mashal.serialization import load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
x = load({str(path)!r}, mmap=True)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    grown = int(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
    assert grown < 20_000  # kilobytes


def test_safetensors_by_name(tmp_path):
    from mashal.utils import safetensors

    path = tmp_path / "a.safetensors"
    safetensors.save_file({"a": mashal.ones(2)}, path)
    assert mashal.load(path)["a"].tolist() == [1, 1]
    assert mashal.load(path, map_location="meta")["a"].is_meta
    with pytest.raises(RuntimeError, match="map_location"):
        mashal.load(path, map_location={})


# ---- damaged files ----


@pytest.mark.parametrize("zipped", [True, False])
def test_truncated_files(zipped, tmp_path):
    """Wherever the file ends, an error says so."""
    data = saved({"a": mashal.arange(1000)}, _use_new_zipfile_serialization=zipped).getvalue()
    for end in [*range(0, len(data), 61), len(data) - 1, len(data) - 5]:
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError), match=r"truncated|corrupt|Invalid"):
            mashal.load(io.BytesIO(data[:end]))
    path = tmp_path / "a.pt"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises((RuntimeError, EOFError), match=r"a\.pt"):
        mashal.load(path)


def test_changed_bytes_are_noticed():
    data = bytearray(saved(mashal.zeros(1000)).getvalue())
    data[2000] ^= 1
    with pytest.raises(RuntimeError, match="checksum of record 'data/0' is wrong"):
        mashal.load(io.BytesIO(data))


def test_not_a_checkpoint(lib):
    for data in (b"", b"hello, this is text", b"\x00" * 100, b"PK\3\4" + b"x" * 100, b"<html></html>"):
        sane = (RuntimeError, EOFError, pickle.UnpicklingError) if lib is mashal else Exception
        with pytest.raises(sane):
            lib.load(io.BytesIO(data))


def test_bombs():
    """Compressed records are bounded by what they claim, and records may not overlap."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("archive/data.pkl", pickle.dumps("a" * 100_000, 2))
    data = out.getvalue()
    assert mashal.load(io.BytesIO(data)) == "a" * 100_000
    at = data.rindex(b"PK\1\2")
    with pytest.raises(RuntimeError, match="claims"):
        mashal.load(io.BytesIO(data[: at + 24] + (1 << 31).to_bytes(4, "little") + data[at + 28 :]))
    with pytest.raises(RuntimeError, match="does not have the"):
        mashal.load(io.BytesIO(data[: at + 24] + (500).to_bytes(4, "little") + data[at + 28 :]))
    sound = saved([mashal.ones(2), mashal.ones(3)]).getvalue()
    first, second = (sound.rindex(b"archive/data/" + n) - 46 for n in (b"0", b"1"))
    where = sound[first + 42 : first + 46]
    with pytest.raises(RuntimeError, match="overlaps"):
        mashal.load(io.BytesIO(sound[: second + 42] + where + sound[second + 46 :]))


def test_byte_order():
    class Big(Writer):
        def record(self, name, data, hole=None):
            if name == "byteorder":
                data = b"big"
            super().record(name, data, hole)

    for dtype in (np.int16, np.float64, np.complex64, np.uint8):
        values = np.arange(3).astype(dtype)
        pickled = zipfile.ZipFile(saved(mashal.from_numpy(values))).read("archive/data.pkl")
        out = io.BytesIO()
        writer = Writer(out.write)
        writer.record("data.pkl", pickled)
        writer.record("data/0", values.astype(np.dtype(dtype).newbyteorder(">")).tobytes())
        writer.close()
        data = out.getvalue()
        options = mashal.serialization
        assert options.get_default_load_endianness() is None
        options.set_default_load_endianness(options.LoadEndianness.BIG)
        try:
            assert mashal.load(io.BytesIO(data)).tolist() == values.tolist()
        finally:
            options.set_default_load_endianness(None)
    with pytest.raises(TypeError):
        options.set_default_load_endianness("big")
    out = io.BytesIO()
    writer = Big(out.write)
    writer.record("data.pkl", pickled)
    writer.record("byteorder", b"")
    writer.record("data/0", bytes(3))
    writer.close()
    assert mashal.load(io.BytesIO(out.getvalue())).tolist() == [0, 0, 0]


def test_torchscript_is_refused():
    out = io.BytesIO()
    writer = Writer(out.write)
    writer.record("constants.pkl", b"")
    writer.close()
    out.seek(0)
    with pytest.raises(RuntimeError, match="TorchScript"):
        mashal.load(out)
    out.seek(0)
    with pytest.raises(NotImplementedError, match="TorchScript"):
        mashal.load(out, weights_only=False)


def test_options_of_torch(lib):
    assert lib.serialization.check_module_version_greater_or_equal(np, (1, 20))
    assert not lib.serialization.check_module_version_greater_or_equal(np, (99, 0))
    with lib.serialization.mkdtemp() as path:
        assert os.path.isdir(path)
    assert not os.path.exists(path)
    if lib is mashal:
        assert lib.utils.serialization.config.save.storage_alignment == 64
