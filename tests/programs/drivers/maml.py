"""dragen1860/MAML-Pytorch: meta-learning through two inner steps on synthetic characters, and fine-tuning."""

import argparse
import random
import warnings
from pathlib import Path

import numpy as np
import torch
from _driver import clock, modules, report, stand_ins

stand_ins()
modules()
vars(np).update(int=int, float=float)  # names that NumPy had
warnings.simplefilter("ignore", SyntaxWarning)  # "is" with a literal
from meta import Meta  # noqa: E402
from omniglotNShot import OmniglotNShot  # noqa: E402

torch.manual_seed(222)
np.random.seed(222)  # noqa: NPY002 - what the program draws from
random.seed(222)
generator = np.random.default_rng(0)
shapes = generator.random((1216, 1, 1, 28, 28)) < 0.3
noise = generator.random((1, 20, 1, 28, 28)) < 0.1
Path("omniglot").mkdir()
np.save("omniglot/omniglot.npy", (shapes ^ noise).astype(np.uint8))

settings = argparse.Namespace(
    n_way=5, k_spt=1, k_qry=5, imgsz=28, imgc=1, task_num=2, meta_lr=1e-3, update_lr=0.1, update_step=3,
    update_step_test=4,
)  # fmt: skip
layers = []
for inputs, size, stride in ((1, 3, 2), (16, 3, 2), (16, 3, 2), (16, 2, 1)):
    layers += [("conv2d", [16, inputs, size, size, stride, 0]), ("relu", [True]), ("bn", [16])]
# In float64: what is near zero decides the direction of Adam's steps, and rounding grows in the inner ones.
model = Meta(settings, [*layers, ("flatten", []), ("linear", [5, 16])]).double()
data = OmniglotNShot("omniglot", batchsz=2, n_way=5, k_shot=1, k_query=5, imgsz=28)
found = []


def task(arrays):
    return [torch.from_numpy(a).double() if a.dtype == np.float32 else torch.from_numpy(a) for a in arrays]


with clock():
    for _ in range(8):
        found.extend(model(*task(data.next())))
    for one in zip(*data.next("test"), strict=True):
        found.extend(model.finetunning(*task(one)))
report([*found, *(p.sum().item() for p in model.parameters()), *(p.abs().sum().item() for p in model.parameters())])
