"""milesial/Pytorch-UNet: train.py on pictures of disks, an epoch with validation by the Dice score, and predict.py."""

import random
import sys
import types
from pathlib import Path

import numpy as np
import torch
from _driver import report, script, stand_ins
from PIL import Image

stand_ins()
torch.manual_seed(0)
random.seed(0)
for name in ("imgs", "masks"):
    Path("data", name).mkdir(parents=True)
generator = np.random.default_rng(0)
y, x = np.mgrid[0:64, 0:64]
for i in range(12):
    centre, radius = generator.integers(16, 48, 2), generator.integers(8, 16)
    disk = (y - centre[0]) ** 2 + (x - centre[1]) ** 2 < radius**2
    colours = np.where(disk[..., None], (200, 60, 40), (30, 90, 160)) + generator.normal(0, 8, (64, 64, 3))
    Image.fromarray(np.clip(colours, 0, 255).astype(np.uint8)).save(f"data/imgs/{i}.png")
    Image.fromarray((disk * 255).astype(np.uint8)).save(f"data/masks/{i}.png")

logged = []


class Run(types.SimpleNamespace):
    """What the program calls of a run of wandb; the losses and scores are kept."""

    def log(self, values):
        logged.extend(float(v) for key, v in values.items() if key in ("train loss", "validation Dice"))


wandb = types.ModuleType("wandb")
wandb.init = lambda **_: Run(config={})
wandb.Histogram = wandb.Image = lambda values: values
sys.modules["wandb"] = wandb

script("train.py", "--epochs=1", "--batch-size=2", "--learning-rate=1e-6", "--scale=0.5", "--validation=17")
out = script(
    "predict.py", "--model=checkpoints/checkpoint_epoch1.pth", "--input", "data/imgs/0.png", "--output", "out.png",
    "--scale=0.5",
)  # fmt: skip
report([*logged, np.asarray(Image.open("out.png"), dtype=float).mean()])
