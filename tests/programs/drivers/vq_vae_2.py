"""rosinality/vq-vae-2-pytorch: an epoch of train_vqvae on patterns, then PixelSNAIL on the codes it gives."""

import argparse
import random
import re
import sys
import types
from pathlib import Path

import torch
from _driver import clock, modules, report, stand_ins

stand_ins()
modules()
lmdb = types.ModuleType("lmdb")  # where the program keeps codes; here they stay in memory
sys.modules["lmdb"] = lmdb
import torchvision  # noqa: E402
import train_pixelsnail  # noqa: E402
import train_vqvae  # noqa: E402
from pixelsnail import PixelSNAIL  # noqa: E402
from scheduler import CycleScheduler  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402
from vqvae import VQVAE  # noqa: E402

found = []


class Progress:
    """The bar of tqdm, whose descriptions are where the losses are."""

    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        return iter(self.loader)

    def set_description(self, text):
        found.extend(map(float, re.findall(r"-?\d+\.\d+", text)))


train_vqvae.tqdm = train_pixelsnail.tqdm = Progress
torch.manual_seed(0)
random.seed(0)
Path("sample").mkdir()
transforms = torchvision.transforms
transform = transforms.Compose(
    [transforms.Resize(32), transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)]
)
torchvision.datasets.COUNTS = {True: 32, False: 8}
pictures = torchvision.datasets.CIFAR10("data", transform=transform)
loader = DataLoader(pictures, batch_size=8, shuffle=True)
model = VQVAE(channel=16, n_res_block=1, n_res_channel=8, embed_dim=8, n_embed=32)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
scheduler = CycleScheduler(optimizer, 3e-4, n_iter=2 * len(loader), momentum=None, warmup_proportion=0.25)
with clock():
    for epoch in range(2):
        train_vqvae.train(epoch, loader, model, optimizer, scheduler, "cpu")
    model.eval()
    with torch.no_grad():
        _, _, _, top, bottom = model.encode(torch.stack([picture for picture, _ in pictures]))
        found += model.decode_code(top, bottom)[:, :, ::16, ::16].flatten().tolist()
    assert Path("sample/00001_00000.png").exists()

codes = DataLoader(TensorDataset(top, bottom, torch.zeros(len(top))), batch_size=8, shuffle=True)
for hierarchy, size, extra in (
    ("top", 4, {}),
    ("bottom", 8, {"attention": False, "n_cond_res_block": 1, "cond_res_channel": 8}),
):
    snail = PixelSNAIL([size, size], 32, 16, 5, 1, 1, 16, dropout=0.1, n_out_res_block=1, **extra)
    optimizer = torch.optim.Adam(snail.parameters(), lr=3e-4)
    with clock():
        train_pixelsnail.train(argparse.Namespace(hier=hierarchy), 0, codes, snail, optimizer, None, "cpu")
report(found)
