"""Diego999/pyGAT: train.py on a synthetic citation graph, its dense layers and its sparse ones with a Function."""

import _cora_files
import torch
from _driver import numbers, report, script

torch.manual_seed(0)
_cora_files.write("data/cora")
found = []
for extra in (["--epochs=2", "--nb_heads=1"], ["--epochs=6", "--nb_heads=2", "--sparse"]):
    said = script("train.py", "--hidden=8", "--lr=0.02", *extra)
    found += numbers(r"(?:loss|accuracy|acc)\w*[:=] ([\d.]+)", said)
report(found)
