"""``python -m tests.programs [NAME ...]``: a table of every program: equal to PyTorch by how much, and time ratio."""

from __future__ import annotations

import sys

from ._programs import PROGRAMS, difference, run

print(f"{'program':28} {'repository':44} {'difference':>10} {'mashal':>9} {'torch':>9} {'ratio':>6}")
for name in sys.argv[1:] or PROGRAMS:
    program = PROGRAMS[name]
    line = f"{name:28} {program.repository:44} "
    if reason := program.missing():
        print(line + reason)
        continue
    try:
        ours, theirs = run(name, "mashal"), run(name, "torch")
    except RuntimeError as error:
        print(line + str(error).strip().splitlines()[-1], flush=True)
        continue
    ratio = ours.seconds / theirs.seconds
    gap = difference(ours, theirs)
    print(line + f"{gap:10.1e} {ours.seconds:7.2f} s {theirs.seconds:7.2f} s {ratio:6.2f}", flush=True)
