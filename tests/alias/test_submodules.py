"""Programs that say ``import torch`` run when ``sys.modules`` gives them mashal: in a process of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import mashal
spec = mashal.nn.__spec__ if {early} else None
sys.modules["torch"] = mashal
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

assert nn is mashal.nn and F is mashal.nn.functional and optim is mashal.optim
assert nn.__name__ == "mashal.nn" == nn.__spec__.name
assert spec is None or nn.__spec__ is spec
assert StepLR is mashal.optim.lr_scheduler.StepLR
model = nn.Linear(2, 1)
for x, y in DataLoader(TensorDataset(torch.ones(4, 2), torch.zeros(4, 1)), 2):
    F.mse_loss(model(x), y).backward()
assert model.weight.grad.abs().sum() > 0
try:
    import torch.no_such_module
except ModuleNotFoundError as error:
    assert "torch.no_such_module" in str(error)
else:
    raise AssertionError("no_such_module was found")
"""


@pytest.mark.parametrize("early", [True, False], ids=["nn imported before", "nn imported after"])
def test_submodules_follow(early: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM.format(early=early)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
