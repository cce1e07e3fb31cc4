"""pytorch/examples super_resolution: main.py on pictures of waves, by a worker; super_resolve.py with its model."""

from pathlib import Path

import numpy as np
from _driver import brightness, numbers, report, script, stand_ins
from PIL import Image

stand_ins()
random = np.random.default_rng(0)
y, x = np.mgrid[0:256, 0:256] / 40
for part, count in (("train", 4), ("test", 2)):
    folder = Path("dataset/BSDS300/images", part)
    folder.mkdir(parents=True)
    for i in range(count):
        turns = random.random((3, 2))
        waves = np.stack([np.sin(a * 6 * x + b * 6 * y) for a, b in turns], -1)
        Image.fromarray(np.uint8(127 + 120 * waves)).save(folder / f"{i}.png")
said = script(
    "super_resolution/main.py", "--upscale_factor=4", "--batchSize=2", "--testBatchSize=2", "--nEpochs=2",
    "--lr=0.001", "--threads=1",
)  # fmt: skip
script(
    "super_resolution/super_resolve.py", "--input_image=dataset/BSDS300/images/test/0.png",
    "--model=model_epoch_2.pth", "--output_filename=out.png",
)  # fmt: skip
report([*numbers(r"Loss: ([\d.]+)", said), *numbers(r"PSNR: ([-\d.]+)", said), brightness("out.png")])
