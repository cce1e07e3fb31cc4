"""pytorch/examples mnist_forward_forward: main.py, layers trained one after the other without backpropagation."""

import torch
from _driver import numbers, report, script, stand_ins

stand_ins()
torch.manual_seed(1)
said = script(
    "mnist_forward_forward/main.py", "--epochs=30", "--train_size=64", "--test_size=32", "--log-interval=3",
    "--no_accel",
)  # fmt: skip
report(numbers(r"(?:Loss|error): +([\d.e-]+)", said))
