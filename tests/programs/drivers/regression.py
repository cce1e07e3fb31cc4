"""pytorch/examples regression: a polynomial of degree 4 until the loss is below 0.001."""

import torch
from _driver import numbers, report, script

torch.manual_seed(1)
said = script("regression/main.py")
report([*numbers(r"after (\d+) batches", said), *numbers(r"([-+]\d+\.\d+)", said)])  # the last loss is nearly zero
