"""pytorch/examples mnist: main.py on digits, two epochs."""

from _driver import norms, numbers, report, script, stand_ins

stand_ins()
said = script(
    "mnist/main.py", "--epochs=2", "--batch-size=16", "--test-batch-size=32", "--log-interval=1", "--no-accel",
    "--save-model",
)  # fmt: skip
report([*numbers(r"(?:[Ll]oss|Accuracy): ([\d.]+)", said), *norms("mnist_cnn.pt")])
