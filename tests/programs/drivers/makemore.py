"""karpathy/makemore: every type of model on the names, a couple of hundred steps each, with the names they invent."""

import torch
from _driver import PROGRAM, numbers, report, script

torch.manual_seed(0)
found = []
for kind in ("bigram", "mlp", "rnn", "gru", "bow", "transformer"):
    said = script(
        "makemore.py", "-i", PROGRAM / "names.txt", "-o", kind, "--type", kind, "--max-steps=201", "--num-workers=0",
        "--n-layer=2", "--n-head=2", "--n-embd=16", "--n-embd2=16", "-b", 16, "-l", 5e-3,
    )  # fmt: skip
    found += numbers(r"loss ([\d.]+)", said)
    found += [ord(letter) for letter in said.rsplit("in train:", 1)[1]]
report(found)
