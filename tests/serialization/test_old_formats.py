"""Files of PyTorch before 1.6 that no present version writes: made by hand."""

from __future__ import annotations

import io
import pickle
import struct
import tarfile

import numpy as np
import pytest
import torch

import mashal
from mashal.serialization import MAGIC_NUMBER, PROTOCOL_VERSION

HOOKS = b"ccollections\nOrderedDict\n)R"


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def number(value):
    return b"J" + struct.pack("<i", value)


def storage(key, numel, kind="FloatStorage", view=b"N"):
    return (
        b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text(key) + text("cpu") + number(numel) + view + b"tQ"
    )


def stream(pickled, storages, little=True):
    system = {"protocol_version": PROTOCOL_VERSION, "little_endian": little, "type_sizes": {}}
    head = b"".join(pickle.dumps(part, 2) for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system))
    keys = pickle.dumps(list(storages), 2)
    order = "<q" if little else ">q"
    data = b"".join(struct.pack(order, len(a)) + a.tobytes() for a in storages.values())
    return io.BytesIO(head + b"\x80\x02" + pickled + b"." + keys + data)


def tensor(pid, offset, size):
    return (
        b"ctorch._utils\n_rebuild_tensor\n(" + pid + number(offset) + b"(" + number(size) + b"t(" + number(1) + b"ttR"
    )


FLOATS = np.arange(6, dtype=np.float32)


def test_views_of_storages(lib):
    """PyTorch 0.4 saved a view of a storage as (key, offset, size) of its root."""
    view = b"(" + text("v") + number(2) + number(3) + b"t"
    pickled = b"](" + tensor(storage("7", 6), 0, 6) + tensor(storage("7", 6, view=view), 1, 2) + b"e"
    whole, part = lib.load(stream(pickled, {"7": FLOATS}))
    assert part.tolist() == [3, 4]
    whole[3] = 50
    assert part[0] == 50
    if lib is mashal:
        far = b"(" + text("v") + number(4) + number(3) + b"t"
        with pytest.raises(RuntimeError, match="out of bounds"):
            mashal.load(stream(tensor(storage("7", 6, view=far), 0, 3), {"7": FLOATS}))


def test_tensors_built_in_two_steps(lib):
    """PyTorch 0.1: an empty tensor, then its state."""
    pickled = b"ctorch\nFloatTensor\n)R(" + storage("1", 6) + number(2) + b"(" + number(3) + b"t(" + number(1) + b"ttb"
    assert mashal.load(stream(pickled, {"1": FLOATS})).tolist() == [2, 3, 4]
    if lib is torch:
        assert torch.load(stream(pickled, {"1": FLOATS}), weights_only=False).tolist() == [2, 3, 4]


def test_parameters(lib):
    pickled = (
        b"ctorch._utils\n_rebuild_parameter\n(" + tensor(storage("1", 6), 0, 2) + b"\x88" + HOOKS + b"tR"
    )  # fmt: skip
    p = lib.load(stream(pickled, {"1": FLOATS}))
    assert isinstance(p, lib.nn.Parameter)
    assert p.tolist() == [0, 1]


def test_strings_of_python_2(lib):
    pid = b"(U\x07storagectorch\nFloatStorage\nU\x011U\x03cpu" + number(6) + b"NtQ"
    assert lib.load(stream(tensor(pid, 1, 2), {"1": FLOATS})).tolist() == [1, 2]


def test_files_of_big_endian_machines():
    data = FLOATS.astype(">f4")
    assert mashal.load(stream(tensor(storage("1", 6), 0, 6), {"1": data}, little=False)).tolist() == list(range(6))


def test_damaged():
    sound = tensor(storage("1", 6), 0, 6)
    wrong = {
        "more than the file": tensor(storage("1", 1 << 30), 0, 6),
        "5 are expected": tensor(storage("1", 5), 0, 5),
        "nothing uses": b"]",
        "invalid key or size": tensor(storage("1", -1), 0, 6),
        "out of bounds": tensor(storage("1", 6), 1, 6),
    }
    for match, pickled in wrong.items():
        with pytest.raises(RuntimeError, match=match):
            mashal.load(stream(pickled, {"1": FLOATS}))
    data = stream(sound, {"1": FLOATS}).getvalue()
    with pytest.raises(RuntimeError, match="truncated"):
        mashal.load(io.BytesIO(data[:-3]))
    for magic, version, match in ((1, PROTOCOL_VERSION, "magic"), (MAGIC_NUMBER, 1000, "protocol version")):
        with pytest.raises(RuntimeError, match=match):
            mashal.load(io.BytesIO(pickle.dumps(magic, 2) + pickle.dumps(version, 2)))


class Net(mashal.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = mashal.nn.Linear(2, 1)


def test_the_source_of_modules_is_compared(monkeypatch, recwarn):
    """The old format keeps the text of a class, and warns if it has changed."""
    from mashal.serialization import _save

    buffer = io.BytesIO()
    mashal.save(Net(), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert mashal.load(buffer, weights_only=False).fc.in_features == 2
    assert not recwarn.list
    monkeypatch.setattr(_save, "_source", lambda cls: ("here.py", "class Net: other"))
    buffer = io.BytesIO()
    mashal.save(Net(), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    with pytest.warns(mashal.serialization.SourceChangeWarning, match="Net"):
        mashal.load(buffer, weights_only=False)


def tar():
    """PyTorch 0.1.1 to 0.1.9: a tar archive of storages, tensors and a pickle that numbers them."""
    storages = pickle.dumps(1, 2)
    storages += b"\x80\x02(" + number(11) + text("cpu") + b"ctorch\nFloatStorage\nt."
    storages += struct.pack("<q", 6) + FLOATS.tobytes() + pickle.dumps([(12, 11, 2, 3)], 2)
    tensors = pickle.dumps(2, 2)
    for key, root, size in ((21, 11, 6), (22, 12, 3)):
        tensors += b"\x80\x02(" + number(key) + number(root) + b"ctorch\nFloatTensor\nt."
        tensors += struct.pack("<i4xqqq", 1, size, 1, 0)
    pickled = b"\x80\x02](" + text("21") + b"Q" + text("22") + b"Qe."
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in (("storages", storages), ("tensors", tensors), ("pickle", pickled)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_tar(lib, tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(tar())
    with pytest.raises(RuntimeError, match=r"legacy \.tar format"):
        lib.load(path)
    whole, part = mashal.load(path, weights_only=False)
    assert (whole.tolist(), part.tolist()) == (list(range(6)), [2, 3, 4])
    whole[2] = 50
    assert part[0] == 50
    path.write_bytes(tar()[:1500])
    with pytest.raises((RuntimeError, tarfile.TarError, EOFError, KeyError)):
        mashal.load(path, weights_only=False)
