"""pytorch/examples fast_neural_style: its training with a VGG of random weights, then a picture stylized."""

from pathlib import Path

import numpy as np
from _driver import norms, numbers, report, script, stand_ins
from PIL import Image

stand_ins()
from torchvision import models  # noqa: E402

models.HEAD = 8  # only the convolutions are used
random = np.random.default_rng(0)
Path("pictures/all").mkdir(parents=True)
for i in range(4):
    small = Image.fromarray(random.integers(0, 256, (8, 8, 3), np.uint8))
    small.resize((64, 64), Image.Resampling.BICUBIC).save(f"pictures/all/{i}.png")
train = (
    "train", "--epochs=1", "--batch-size=2", "--dataset=pictures", "--style-image=pictures/all/0.png",
    "--save-model-dir=models", "--image-size=48", "--log-interval=1",
)  # fmt: skip
said = script("fast_neural_style/neural_style/neural_style.py", *train)
(model,) = Path("models").iterdir()
script(
    "fast_neural_style/neural_style/neural_style.py", "eval", "--content-image=pictures/all/1.png",
    "--output-image=out.png", f"--model={model}",
)  # fmt: skip
assert Image.open("out.png").size == (64, 64)
losses = numbers(r"(?:content|style|total): ([\d.]+)", said)
report([*losses, *norms(model, unless="bias")])  # normalisations take most biases away
