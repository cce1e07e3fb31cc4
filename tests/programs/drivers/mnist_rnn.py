"""pytorch/examples mnist_rnn: main.py, an LSTM over the rows of digits, three epochs."""

from _driver import norms, numbers, report, script, stand_ins

stand_ins()
said = script(
    "mnist_rnn/main.py", "--epochs=3", "--batch-size=16", "--test-batch-size=32", "--log-interval=1", "--save-model"
)
report([*numbers(r"(?:[Ll]oss|Accuracy): ([\d.]+)", said), *norms("mnist_rnn.pt")])
