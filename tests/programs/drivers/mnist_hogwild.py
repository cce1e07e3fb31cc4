"""pytorch/examples mnist_hogwild: main.py with one process (more would race), which trains a model in shared memory."""

from _driver import norms, numbers, report, script, stand_ins

stand_ins()
said = script(
    "mnist_hogwild/main.py", "--epochs=2", "--batch-size=16", "--test-batch-size=32", "--num-processes=1",
    "--save_model",
)  # fmt: skip
report([*numbers(r"(?:loss|Accuracy): ([\d.]+)", said), *norms("MNIST_hogwild.pt")])
