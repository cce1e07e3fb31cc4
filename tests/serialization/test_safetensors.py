"""Safetensors files both ways with the package, which also runs on mashal under the name ``torch``."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import safetensors.torch as package
import torch

import mashal
from mashal.utils import safetensors


def tensors(lib):
    kinds = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64".split()
    return {
        "a": lib.arange(6.0).reshape(2, 3),
        "empty": lib.empty(0, 3),
        "scalar": lib.tensor(2.5),
        **{name: lib.ones(3).to(getattr(lib, name)) for name in kinds},
    }


def plain(state):
    return {
        name: (str(t.dtype).split(".")[1], tuple(t.shape), (t if t.is_complex() else t.float()).tolist())
        for name, t in sorted(state.items())
    }


def test_bytes_are_those_of_the_package():
    assert safetensors.save(tensors(mashal), {"k": "v"}) == package.save(tensors(torch), {"k": "v"})


def test_both_ways(tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    safetensors.save_file(tensors(mashal), ours, {"made": "here"})
    package.save_file(tensors(torch), theirs)
    wanted = plain(tensors(torch))
    assert plain(package.load_file(ours)) == wanted
    assert plain(safetensors.load_file(ours)) == plain(safetensors.load_file(theirs)) == wanted
    assert plain(safetensors.load(theirs.read_bytes())) == wanted


def test_safe_open(tmp_path):
    path = tmp_path / "a"
    safetensors.save_file(tensors(mashal), path, {"made": "here"})
    for opened in (safetensors.safe_open(path), package.safe_open(path, framework="pt")):
        with opened as f:
            assert list(f.keys()) == sorted(tensors(mashal))
            assert f.metadata() == {"made": "here"}
            assert f.get_tensor("a").tolist() == [[0, 1, 2], [3, 4, 5]]
            part = f.get_slice("a")
            assert list(part.get_shape()) == [2, 3]
            assert part.get_dtype() == "F32"
            assert part[:, 1:].tolist() == [[1, 2], [4, 5]]
            assert part[1].tolist() == [3, 4, 5]
    with safetensors.safe_open(path) as f:
        assert f.offset_keys() == list(f.get_tensors())
        with pytest.raises(safetensors.SafetensorError, match="does not contain"):
            f.get_tensor("none")
    assert safetensors.load_file(path, "meta")["a"].is_meta


def test_loading_copies_nothing(tmp_path):
    path = tmp_path / "a"
    safetensors.save_file({"a": mashal.zeros(8)}, path)
    t = safetensors.load_file(path)["a"]
    t[0] = 5
    assert safetensors.load_file(path)["a"][0] == 0
    assert not t.untyped_storage().resizable()


def test_models(tmp_path):
    """Parameters that are one tensor are saved once."""

    def model(lib):
        net = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 2))
        net[1].weight = net[0].weight
        return net

    path = tmp_path / "a"
    ours, theirs = model(mashal), model(torch)
    safetensors.save_model(ours, path)
    assert package.load_model(theirs, path) == (set(), [])
    assert theirs[1].weight.tolist() == ours[0].weight.tolist()
    package.save_model(theirs, path)
    fresh = model(mashal)
    assert safetensors.load_model(fresh, path) == ([], [])
    assert fresh[0].weight.tolist() == ours[0].weight.tolist()
    with pytest.raises(RuntimeError, match=r"Missing key\(s\)"):
        safetensors.load_model(mashal.nn.Linear(2, 2), path)


def test_what_cannot_be_saved(tmp_path):
    x = mashal.arange(6.0)
    for save in (safetensors.save, lambda t: safetensors.save_file(t, tmp_path / "a")):
        with pytest.raises(RuntimeError, match="share memory"):
            save({"a": x, "b": x[2:]})
        with pytest.raises(ValueError, match="non contiguous"):
            save({"a": x.reshape(2, 3).t()})
        with pytest.raises(ValueError, match="must be a tensor"):
            save({"a": 1})
        with pytest.raises(ValueError, match="dict"):
            save([x])
        with pytest.raises(ValueError, match="dtype"):
            save({"a": x.to(mashal.complex128)})
    assert list(tmp_path.iterdir()) == []
    safetensors.save({"a": x[:2], "b": x[2:]})


def test_damaged_files(tmp_path):
    data = safetensors.save({"a": mashal.arange(6.0), "b": mashal.ones(2)})
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])

    def changed(name, **parts):
        entries = {**header, name: {**header[name], **parts}}
        text = json.dumps(entries).encode()
        return len(text).to_bytes(8, "little") + text + data[8 + length :]

    assert safetensors.load(changed("a"))["b"].tolist() == [1, 1]
    wrong = [
        data[:-1], data + b"x", data[:4], b"", data[: 8 + length // 2], changed("a", dtype="Q8"),
        changed("a", dtype=[]),
        changed("a", shape=[7]), changed("a", shape=[-6]), changed("a", shape=[1 << 63]), changed("a", shape="6"),
        changed("a", data_offsets=[0, 25]), changed("a", data_offsets=[8, 32]), changed("a", data_offsets=[0]),
        changed("b", data_offsets=[0, 8]), (1 << 40).to_bytes(8, "little") + data[8:],
        (2).to_bytes(8, "little") + b"[]", (5).to_bytes(8, "little") + b"[" * 5,
        (20_000).to_bytes(8, "little") + b"[" * 20_000,
        (31).to_bytes(8, "little") + b'{"a":1,"a":1,"__metadata__":{}}',
    ]  # fmt: skip
    for content in wrong:
        with pytest.raises(safetensors.SafetensorError):
            safetensors.load(content)
    with pytest.raises(FileNotFoundError):
        safetensors.load_file(tmp_path / "none")


def test_the_package_runs_on_mashal(tmp_path):
    """``import safetensors.torch`` where ``torch`` is mashal: the package's own code, its Rust part included."""
    path = tmp_path / "a"
    package.save_file(tensors(torch), path)
    program = f"""
import sys
import mashal
sys.modules["torch"] = mashal
import safetensors.torch as package
from safetensors import safe_open
from mashal.utils import safetensors
state = package.load_file({str(path)!r})
assert type(state["a"]) is mashal.Tensor
assert state["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
assert str(state["bfloat16"].dtype).endswith("bfloat16")
assert package.save(state) == safetensors.save(state) == open({str(path)!r}, "rb").read()
package.save_file(state, {str(path)!r} + "2")
with safe_open({str(path)!r} + "2", framework="pt", device="cpu") as f:
    assert f.get_slice("a")[:, 1:].tolist() == [[1, 2], [4, 5]]
    assert sorted(f.keys()) == sorted(state)
    assert f.get_tensor("scalar").item() == 2.5
net = mashal.nn.Linear(2, 2)
package.save_model(net, {str(path)!r} + "3")
assert package.load_model(net, {str(path)!r} + "3") == (set(), [])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
