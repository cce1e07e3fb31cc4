"""eriklindernoren/PyTorch-GAN: an epoch of each of its adversarial networks on small digits."""

import random
from pathlib import Path

import numpy as np
import torch
from _driver import numbers, report, script, stand_ins

stand_ins()
import torchvision  # noqa: E402

torchvision.datasets.COUNTS = {True: 48, False: 8}
Path("a/b").mkdir(parents=True)  # the programs keep data two folders above
found = []
# Of the others on digits, some use what PyTorch no longer has, or change a graph in place.
for name in (
    "gan", "cgan", "acgan", "aae", "dcgan", "ebgan", "infogan", "lsgan", "relativistic_gan", "sgan", "wgan", "wgan_gp",
    "wgan_div",
):  # fmt: skip
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - what the programs draw from
    arguments = ("--n_epochs=1", "--batch_size=16", "--lr=1e-5")
    said = script(f"implementations/{name}/{name}.py", *arguments, within="a/b")
    losses = numbers(r"(?:loss|GP|info|adv|aux|pixel|M|k)\w*: (-?\d+\.\d+)", said)
    assert losses, (name, said)
    found += losses
report(found)
