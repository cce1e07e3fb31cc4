"""pytorch/examples language_translation: main.py, a small Transformer on sentences translated word by word."""

import builtins
import contextlib
import logging
from pathlib import Path

import torch
from _driver import norms, numbers, report, script, stand_ins

stand_ins()
torch.manual_seed(0)
sizes = ("--enc_layers=2", "--dec_layers=2", "--embed_size=32", "--attn_heads=4", "--dim_feedforward=64")
script("language_translation/main.py", "--epochs=3", "--batch=8", "--lr=1e-3", "--logging_dir=log/", *sizes)
logging.shutdown()
losses = numbers(r"loss: ([\d.]+)", Path("log/log.txt").read_text())
typed = iter(["der hund läuft", "ein mann sieht der roten hund"])
builtins.input = typed.__next__
with contextlib.suppress(StopIteration):  # the program ends when nothing more is typed
    script("language_translation/main.py", "--inference", "--model_path=log/last.pt", *sizes)
report([*losses, *norms("log/last.pt", unless="in_proj_bias")])  # a third of these biases, the keys', changes nothing
