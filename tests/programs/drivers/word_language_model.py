"""pytorch/examples word_language_model: main.py with each type of network on the words of its source; generate.py."""

from pathlib import Path

from _driver import PROGRAM, numbers, report, script

words = " ".join(path.read_text() for path in sorted((PROGRAM / "word_language_model").glob("*.py"))).split()
Path("data").mkdir()
for name, part in (("train", words), ("valid", words[:400]), ("test", words[400:800])):
    lines = [" ".join(part[i : i + 12]) for i in range(0, len(part), 12)]
    Path("data", f"{name}.txt").write_text("\n".join(lines) + "\n")

found = []
for kind in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU", "Transformer"):
    said = script(
        "word_language_model/main.py", "--data=data", "--model", kind, "--epochs=1", "--log-interval=1",
        "--emsize=40", "--nhid=40", "--bptt=20", "--batch_size=8", "--lr=2", *(["--tied"] if kind == "LSTM" else []),
    )  # fmt: skip
    found += numbers(r"loss +([\d.]+)", said)
script("word_language_model/generate.py", "--data=data", "--words=30", "--checkpoint=model.pt", "--outf=out.txt")
report([*found, *(ord(letter) for letter in Path("out.txt").read_text())])
