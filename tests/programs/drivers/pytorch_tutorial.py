"""yunjey/pytorch-tutorial: its programs, from linear regression to a variational autoencoder, cut short."""

import random
from pathlib import Path

import numpy as np
import torch
from _driver import norms, numbers, report, script, shorter, stand_ins

stand_ins()
import torchvision  # noqa: E402

Path("a/b/data").mkdir(parents=True)  # the programs keep data two folders above
words = [f"word{i * i % 37}" for i in range(20 * 100)]
Path("a/b/data/train.txt").write_text("\n".join(" ".join(words[i : i + 19]) for i in range(0, len(words), 19)))
found = []
for path, pictures, saved in (
    ("01-basics/linear_regression", 0, ["model"]),
    ("01-basics/logistic_regression", 1280, ["model"]),
    ("01-basics/feedforward_neural_network", 1280, ["model"]),
    ("02-intermediate/convolutional_neural_network", 300, ["model"]),
    ("02-intermediate/recurrent_neural_network", 300, ["model"]),
    ("02-intermediate/bidirectional_recurrent_neural_network", 300, ["model"]),
    ("02-intermediate/deep_residual_network", 200, ["resnet"]),
    ("02-intermediate/language_model", 0, ["model"]),
    ("03-advanced/generative_adversarial_network", 300, ["G", "D"]),
    ("03-advanced/variational_autoencoder", 1280, []),
):
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - what the programs might draw from
    torchvision.datasets.COUNTS = {True: pictures, False: 100}
    names = {} if "linear" in path else {"range": shorter(2, at_least=5)}
    said = script(f"tutorials/{path}/main.py", within="a/b", names=names)
    found += numbers(r"(?:Loss|Div|Perplexity|images): +(-?\d+\.\d+)", said)
    for name in saved:
        found += norms(f"a/b/{name}.ckpt", unless="bias|bn|running")
report(found)
