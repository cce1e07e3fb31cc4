"""Train an LSTM to foretell the next word of a text, then let it write.

    python examples/word_lstm.py                 the reference manual that Python carries (pydoc_data)
    python examples/word_lstm.py --text FILE     any text file in UTF-8

In the folder --out it leaves the weights, the curve of the perplexity, and a sample. The network: Zaremba et al.,
"Recurrent Neural Network Regularization", 2014. Needs `pip install mashal[demo]`.
"""

import argparse
import collections
import math
import re
import sys
from pathlib import Path

import matplotlib as mpl
from char_gpt import read
from tqdm import tqdm

import mashal as torch
from mashal import nn
from mashal.nn import functional as F

mpl.use("Agg")  # write files; open no window
from matplotlib import pyplot as plt

UNKNOWN = "<unk>"


class Model(nn.Module):
    """Embedding, two LSTM layers with dropout, and the embedding again to score the words."""

    def __init__(self, words, width=200, layers=2, dropout=0.3):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, layers, dropout=dropout)
        self.head = nn.Linear(width, words)
        self.head.weight = self.embedding.weight
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    def forward(self, x, state=None):  # (T, N) -> (T, N, words)
        y, state = self.lstm(self.drop(self.embedding(x)), state)
        return self.head(self.drop(y)), state


@torch.no_grad()
def perplexity(model, codes, length):
    """Return exp of the mean cross-entropy over a text (T, N), read on from piece to piece."""
    model.eval()
    state, total = None, 0.0
    for start in range(0, len(codes) - 1, length):
        x, y = codes[start : start + length], codes[start + 1 : start + 1 + length]
        scores, state = model(x[: len(y)], state)
        total += F.cross_entropy(scores.flatten(0, 1), y.flatten()).item() * len(y)
    return math.exp(total / (len(codes) - 1))


@torch.no_grad()
def write(model, words, count):
    """Return `count` drawn words; the unknown one is never drawn."""
    model.eval()
    state, x, out = None, torch.randint(1, len(words), (1, 1)), []
    for _ in range(count):
        scores, state = model(x, state)
        scores[..., 0] = -math.inf
        x = torch.multinomial(scores[0].softmax(1), 1)
        out.append(words[x.item()])
    return " ".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", type=Path, metavar="FILE")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument(
        "--words", type=int, default=5000, help="the most frequent ones are known (default: %(default)s)"
    )
    parser.add_argument("--limit", type=int, default=60000, help="words of the text to use (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("lstm-out"), metavar="DIR")
    args = parser.parse_args()
    batch, length = 20, 35
    try:
        text = re.findall(r"\w+|[^\w\s]", read(args.text).lower())[: args.limit]
        args.out.mkdir(parents=True, exist_ok=True)
    except (OSError, UnicodeDecodeError) as error:
        print(f"error: {args.text or args.out}: {error}", file=sys.stderr)
        return 2
    if len(text) < 40 * batch:
        print(f"error: {args.text}: expected at least {40 * batch} words, found {len(text)}", file=sys.stderr)
        return 2
    words = [UNKNOWN, *(word for word, _ in collections.Counter(text).most_common(args.words - 1))]
    code = {word: i for i, word in enumerate(words)}
    codes = torch.tensor([code.get(word, 0) for word in text])
    held = len(codes) // 10
    columns = [part[: len(part) // batch * batch].view(batch, -1).t() for part in (codes[:-held], codes[-held:])]
    train, test = (c.contiguous() for c in columns)
    print(f"{train.numel()} words to learn from, {test.numel()} held out, {len(words)} known")

    torch.manual_seed(args.seed)
    model = Model(len(words))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    history = []
    steps = len(range(0, len(train) - 1, length))
    with tqdm(total=args.epochs * steps, unit="step", mininterval=0.5) as bar:
        for epoch in range(1, args.epochs + 1):
            model.train()
            state, total = None, 0.0
            for start in range(0, len(train) - 1, length):
                x, y = train[start : start + length], train[start + 1 : start + 1 + length]
                scores, state = model(x[: len(y)], state)
                state = tuple(s.detach() for s in state)
                loss = F.cross_entropy(scores.flatten(0, 1), y.flatten())
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.25)
                optimizer.step()
                total += loss.item()
                bar.update()
            history.append((math.exp(total / steps), perplexity(model, test, length)))
            bar.write(f"epoch {epoch}: perplexity {history[-1][0]:.1f}, on the text held out {history[-1][1]:.1f}")

    torch.save({"words": words, "model": model.state_dict()}, args.out / "model.pt")
    sample = write(model, words, 60)
    (args.out / "sample.txt").write_text(sample, encoding="utf-8")
    plt.figure(figsize=(5, 3.5), layout="constrained")
    epochs = range(1, len(history) + 1)
    for values, label in zip(zip(*history, strict=True), ("training", "held out"), strict=True):
        plt.plot(epochs, values, marker="o", label=label)
    plt.xlabel("epoch")
    plt.ylabel("perplexity")
    plt.legend()
    plt.savefig(args.out / "perplexity.png", dpi=120)
    print(f"\n{sample}\n\nsee {args.out / 'perplexity.png'}; weights in {args.out / 'model.pt'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
