"""pytorch/examples gcn: main.py on a synthetic graph in Cora's form."""

import _cora
from _driver import numbers, report, script

_cora.offer(1800)  # 1500 of them are for validation and test
said = script("gcn/main.py", "--epochs=10", "--val-every=1", "--include-bias", "--no-accel")
report(numbers(r"(?:loss|acc|accuracy)[a-z_]*:? ([\d.]+)", said))
