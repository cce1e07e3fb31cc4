"""Train a small GPT on the characters of a text, then let it write.

    python examples/char_gpt.py                 the reference manual that Python carries (pydoc_data)
    python examples/char_gpt.py --text FILE     any text file in UTF-8

In the folder --out it leaves the weights, the curve of the losses, and a sample. The network: Radford et al., "Language
Models are Unsupervised Multitask Learners", 2019. Needs `pip install mashal[demo]`.
"""

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
from tqdm import trange

import mashal as torch
from mashal import nn
from mashal.nn import functional as F

mpl.use("Agg")  # write files; open no window
from matplotlib import pyplot as plt


class Block(nn.Module):
    """Causal attention and a wider pair of linear layers, each added to what came in."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):  # (N, T, width)
        n, length, width = x.shape
        q, k, v = (
            part.view(n, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=2)
        )
        drop = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=drop, is_causal=True)
        x = x + F.dropout(self.project(y.transpose(1, 2).reshape(n, length, width)), drop)
        return x + F.dropout(self.mlp(self.norm2(x)), drop)


class GPT(nn.Module):
    """Scores for the next character at every position of up to `context` characters."""

    def __init__(self, letters, context, width=128, layers=4, heads=4, dropout=0.1):
        super().__init__()
        self.context = context
        self.letter, self.position = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)

    def forward(self, x):  # (N, T) -> (N, T, letters)
        return self.head(self.norm(self.blocks(self.letter(x) + self.position(torch.arange(x.shape[1])))))

    @torch.inference_mode()
    def write(self, start, count, temperature=0.8):
        """Return `start` (T,) and `count` drawn characters after it."""
        self.eval()
        x = start[None]
        for _ in range(count):
            scores = self(x[:, -self.context :])[:, -1] / temperature
            x = torch.cat([x, torch.multinomial(scores.softmax(1), 1)], 1)
        return x[0]


def batch(codes, size, context):
    """Return random pieces of the text (N, T), and the same moved on by one character."""
    starts = torch.randint(0, len(codes) - context - 1, (size,))
    pieces = torch.stack([codes[s : s + context + 1] for s in starts.tolist()])
    return pieces[:, :-1], pieces[:, 1:]


def read(path):
    """Return the text of a file, or the manual that comes with Python."""
    if path is None:
        from pydoc_data.topics import topics

        return "\n".join(topics[name] for name in sorted(topics))
    return path.read_text(encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", type=Path, metavar="FILE")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--context", type=int, default=96, help="characters that it sees (default: %(default)s)")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--write", type=int, default=400, help="characters to write (default: %(default)s)")
    parser.add_argument("--prompt", default="The ")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("gpt-out"), metavar="DIR")
    args = parser.parse_args()
    try:
        text = read(args.text)
        args.out.mkdir(parents=True, exist_ok=True)
    except (OSError, UnicodeDecodeError) as error:
        print(f"error: {args.text or args.out}: {error}", file=sys.stderr)
        return 2
    letters = sorted(set(text + args.prompt))
    if len(text) < 20 * args.context:
        print(f"error: {args.text}: {len(text)} characters are too few for --context {args.context}", file=sys.stderr)
        return 2
    code = {letter: i for i, letter in enumerate(letters)}
    codes = torch.tensor([code[letter] for letter in text])
    held = len(codes) // 20
    train, test = codes[:-held], codes[-held:]
    print(f"{len(train)} characters to learn from, {held} held out, {len(letters)} different ones")

    torch.manual_seed(args.seed)
    model = GPT(len(letters), args.context)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    losses, tested = [], []
    for step in (bar := trange(args.steps, unit="step", mininterval=0.5)):
        model.train()
        x, y = batch(train, args.batch_size, args.context)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
        if step % 100 == 99 or step == args.steps - 1:
            model.eval()
            with torch.inference_mode():
                x, y = batch(test, 64, args.context)
                tested.append((step, F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()))
            bar.write(f"step {step + 1:5}: loss {losses[-1]:.3f}, on the text held out {tested[-1][1]:.3f}")

    torch.save({"letters": letters, "context": args.context, "model": model.state_dict()}, args.out / "model.pt")
    written = model.write(torch.tensor([code[letter] for letter in args.prompt]), args.write)
    sample = "".join(letters[i] for i in written.tolist())
    (args.out / "sample.txt").write_text(sample, encoding="utf-8")
    plt.figure(figsize=(6, 3.5), layout="constrained")
    plt.plot(losses, alpha=0.6, label="training")
    plt.plot(*zip(*tested, strict=True), marker="o", label="held out")
    plt.xlabel("step")
    plt.ylabel("cross-entropy per character")
    plt.legend()
    plt.savefig(args.out / "loss.png", dpi=120)
    print(f"\n{sample}\n\nsee {args.out / 'loss.png'}; weights in {args.out / 'model.pt'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
