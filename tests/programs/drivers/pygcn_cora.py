"""tkipf/pygcn: train.py on a synthetic citation graph, sparse products in both directions."""

from pathlib import Path

import _cora_files
import torch
from _driver import modules, numbers, report, script

torch.manual_seed(0)
_cora_files.write("data/cora")
Path("run").mkdir()  # the program looks for ../data
modules()
said = script("pygcn/train.py", "--epochs=20", within="run")
report(numbers(r"(?:loss|acc)\w*[:=] ([\d.]+)", said))
