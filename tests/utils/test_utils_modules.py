"""Submodules that a program reaches with nothing but ``import torch``."""

from __future__ import annotations

import subprocess
import sys

import pytest

NAMES = (
    "utils.data utils.checkpoint utils.dlpack utils.hooks nn.functional nn.init nn.utils.rnn optim.lr_scheduler "
    "optim.swa_utils autograd.functional"
).split()


@pytest.mark.parametrize("lib", ["torch", "mashal"])
def test_reached_by_attribute(lib: str) -> None:
    program = f"import {lib}\n" + "\n".join(f"assert {lib}.{name}.__name__ == '{lib}.{name}'" for name in NAMES)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_missing_name() -> None:
    import mashal

    with pytest.raises(AttributeError, match=r"module 'torch.utils' has no attribute 'no_such_tool'"):
        _ = mashal.utils.no_such_tool
    assert "data" in dir(mashal.utils)
