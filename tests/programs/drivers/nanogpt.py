"""karpathy/nanoGPT: its own train.py on characters of its licence and readme, then sample.py from that checkpoint."""

import pickle
import shutil
from pathlib import Path

import numpy as np
from _driver import PROGRAM, numbers, report, script, stand_ins

stand_ins()
text = (PROGRAM / "README.md").read_text() + (PROGRAM / "model.py").read_text()
letters = sorted(set(text))
place = {letter: i for i, letter in enumerate(letters)}
folder = Path("data/mashal_chars")
folder.mkdir(parents=True)
codes = np.array([place[letter] for letter in text], dtype=np.uint16)
codes[:-4000].tofile(folder / "train.bin")
codes[-4000:].tofile(folder / "val.bin")
meta = {"vocab_size": len(letters), "itos": dict(enumerate(letters)), "stoi": place}
(folder / "meta.pkl").write_bytes(pickle.dumps(meta))
shutil.copy(PROGRAM / "configurator.py", ".")  # read from the working directory

said = script(
    "train.py", "--dataset=mashal_chars", "--device=cpu", "--compile=False", "--eval_iters=4", "--eval_interval=10",
    "--log_interval=1", "--block_size=64", "--batch_size=8", "--n_layer=4", "--n_head=4", "--n_embd=128",
    "--max_iters=20", "--lr_decay_iters=20", "--warmup_iters=2", "--dropout=0.1", "--gradient_accumulation_steps=1",
    "--dtype=float32", "--out_dir=out", "--learning_rate=1e-3", "--always_save_checkpoint=True",
)  # fmt: skip
losses = numbers(r"iter \d+: loss ([\d.]+)", said) + numbers(r"loss ([\d.]+)", said)
sample = script(
    "sample.py", "--device=cpu", "--compile=False", "--out_dir=out", "--num_samples=1", "--max_new_tokens=40",
    "--dtype=float32",
)  # fmt: skip
report([*losses, *(ord(letter) for letter in sample.split("\n", 2)[-1])])
