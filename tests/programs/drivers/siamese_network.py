"""pytorch/examples siamese_network: main.py, pairs of digits through a ResNet-18."""

import random

from _driver import norms, numbers, report, script, stand_ins

stand_ins()
random.seed(0)
said = script(
    "siamese_network/main.py", "--epochs=1", "--batch-size=32", "--test-batch-size=16", "--log-interval=1",
    "--lr=0.003", "--no-accel", "--save-model",
)  # fmt: skip
report([*numbers(r"(?:[Ll]oss|Accuracy): ([\d.]+)", said), *norms("siamese_network.pt", unless="bias")])
