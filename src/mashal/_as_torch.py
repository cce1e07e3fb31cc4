"""Imported for its effect, by name, where code cannot be passed: ``import torch`` means mashal afterwards."""

from ._alias import as_torch

as_torch()
