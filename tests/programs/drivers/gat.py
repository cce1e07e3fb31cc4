"""pytorch/examples gat: main.py on a synthetic graph in Cora's form; attention scores are dense there."""

import _cora
from _driver import numbers, report, script

_cora.offer(1700)  # 1600 of them are for validation and test
said = script(
    "gat/main.py", "--epochs=2", "--val-every=1", "--hidden-dim=8", "--num-heads=2", "--concat-heads", "--no-accel"
)
report(numbers(r"(?:loss|acc|accuracy)[a-z_]*:? ([\d.]+)", said))
