"""Mistakes that type checkers must find; test_stubs.py looks for one error in every line with the mark."""

import mashal as torch

x = torch.ones(2, 3)
y: int = x.sum()  # error
x.reshap(6)  # error
torch.softmax(x)  # error
x.transpose("0", 1)  # error
z: torch.Tensor = x.shape  # error
x.masked_fill()  # error
