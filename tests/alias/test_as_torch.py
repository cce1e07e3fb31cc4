"""mashal.as_torch(): the alias within a process, and what programs ask about the package they imported."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_for_a_block():
    out = run(
        """
import sys
import mashal
with mashal.as_torch() as t:
    with mashal.as_torch():
        import torch
        import torch.optim.lr_scheduler as s
        from torch.nn import functional as F
        assert torch is t is mashal and F is mashal.nn.functional and s is mashal.optim.lr_scheduler
    assert sys.modules["torch"] is mashal
    print(torch.float32, torch.Size([1]), torch.channels_last, torch.strided, torch.zeros(1, dtype=torch.int8))
    del sys.modules["torch"]
    import torch
    assert torch is mashal
assert not [n for n in sys.modules if n == "torch" or n.startswith("torch.")]
print(mashal.float32, mashal.Size([1]), mashal.__spec__.name, mashal.nn.functional.__name__)
a = mashal.as_torch()
import torch
a.undo()
a.undo()
assert "torch" not in sys.modules
"""
    )
    assert out.splitlines() == [
        "torch.float32 torch.Size([1]) torch.channels_last torch.strided tensor([0], dtype=torch.int8)",
        "mashal.float32 mashal.Size([1]) mashal mashal.nn.functional",
    ]


def test_what_is_installed():
    out = run(
        """
import importlib.metadata as metadata, importlib.util as util
import mashal
with mashal.as_torch():
    import torch
    assert metadata.version("torch") == str(torch.__version__) == torch.version.__version__ == "2.13.0+mashal"
    assert metadata.distribution("Torch").metadata["Name"] == "torch"
    assert "torch" in metadata.packages_distributions()["torch"]
    assert util.find_spec("torch") is not None and util.find_spec("torch.nn") is not None
    assert util.find_spec("torch.no_such") is None
    assert torch.version.cuda is None and torch.version.hip is None
    print(torch.version.mashal)
"""
    )
    assert out.strip().count(".") == 2


def test_without_it_torch_is_pytorch():
    pytest.importorskip("torch")
    program = """
import mashal
with mashal.as_torch():
    pass
import torch, importlib.metadata
assert torch is not mashal and importlib.metadata.version("torch") == torch.__version__
import torch.nn
try:
    mashal.as_torch()
except RuntimeError as e:
    print(e)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "PyTorch must not have been imported yet, got the one at " in done.stdout, done.stderr


def test_versions_compare():
    packaging = pytest.importorskip("packaging.version")
    from mashal.torch_version import TorchVersion

    texts = "1.0.dev1 1.0a1 1.0a2 1.0b1 1.0rc1 1.0 1.0+cpu 1.0+cu12.1 1.0.post1 1.0.1 1.9 1.10.0a0 1.10 1!0.1".split()
    for a in texts:
        for b in texts:
            x, y = packaging.Version(a), packaging.Version(b)
            mine = TorchVersion(a)
            assert (mine < b, mine <= b, mine == b, mine != b, mine > b, mine >= b) == (
                x < y,
                x <= y,
                x == y,
                x != y,
                x > y,
                x >= y,
            ), (a, b)
    v = TorchVersion("2.13.0+mashal")
    assert v >= (2, 1)
    assert v < (3,)
    assert v > packaging.Version("2.12.1")
    assert v.split(".")[:2] == ["2", "13"]
    assert isinstance(v, str)
    assert (v > "parrot") is False
    assert v != "parrot"
    assert {v: 1}["2.13.0+mashal"] == 1


def test_import_stays_light():
    heavy = "{'numpy', 'multiprocessing', 'importlib.metadata', 'urllib.request', 'tempfile', 'json', 'mashal.nn'}"
    assert run(f"import sys, mashal; print(sorted({heavy} & set(sys.modules)))").strip() == "[]"
