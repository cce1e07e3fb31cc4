"""Learn to translate short English sentences into French from a list of pairs, by a GRU with attention.

    python examples/translate.py ["sentence" ...]     the sentences are translated after the training

The pairs are put together from the lists below; a tenth of them is held out. In the folder --out it leaves the weights,
the curve of the losses, and a picture of what the network looked at. The method: Bahdanau et al., "Neural Machine
Translation by Jointly Learning to Align and Translate", 2015. Needs `pip install mashal[demo]`.
"""

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
from tqdm import trange

import mashal as torch
from mashal import nn
from mashal.nn import functional as F
from mashal.nn.utils.rnn import pack_padded_sequence, pad_sequence

mpl.use("Agg")  # write files; open no window
from matplotlib import pyplot as plt

WHO = {"i": ("je", 0), "you": ("tu", 1), "she": ("elle", 2), "he": ("il", 2), "we": ("nous", 3), "they": ("elles", 4)}
SEE = {
    "see": ["vois", "vois", "voit", "voyons", "voient"],
    "want": ["veux", "veux", "veut", "voulons", "veulent"],
    "take": ["prends", "prends", "prend", "prenons", "prennent"],
    "sell": ["vends", "vends", "vend", "vendons", "vendent"],
}
NOUNS = {
    "dog": ("chien", "m"), "house": ("maison", "f"), "book": ("livre", "m"), "car": ("voiture", "f"),
    "table": ("table", "f"), "cat": ("chat", "m"), "flower": ("fleur", "f"), "bread": ("pain", "m"),
}  # fmt: skip
COLOURS = {
    "red": ("rouge", "rouge"),
    "black": ("noir", "noire"),
    "white": ("blanc", "blanche"),
    "green": ("vert", "verte"),
}
PAD, START, END = 0, 1, 2


def pairs():
    """Return every sentence of the lists with its translation: the adjective follows its noun and agrees with it."""
    out = []
    for who, (qui, person) in WHO.items():
        for verb, forms in SEE.items():
            says = f"{verb}s" if who in ("she", "he") else verb
            for noun, (nom, gender) in NOUNS.items():
                article = "le" if gender == "m" else "la"
                out.append((f"{who} {says} the {noun}", f"{qui} {forms[person]} {article} {nom}"))
                for colour, (masculine, feminine) in COLOURS.items():
                    tint = masculine if gender == "m" else feminine
                    out.append((f"{who} {says} the {colour} {noun}", f"{qui} {forms[person]} {article} {nom} {tint}"))
    return out


class Words:
    """Numbers of words; 0 to 2 pad, start and end."""

    def __init__(self, sentences):
        self.words = ["", "<start>", "<end>", *sorted({word for s in sentences for word in s.split()})]
        self.number = {word: i for i, word in enumerate(self.words)}

    def encode(self, sentence):
        """Return the numbers (T,). Raises KeyError for a word that isn't known."""
        return torch.tensor([self.number[word] for word in sentence.lower().split()])


class Translator(nn.Module):
    """A two-way GRU reads; another writes, looking at what was read."""

    def __init__(self, source, target, width=64):
        super().__init__()
        self.read, self.write = nn.Embedding(source, width, PAD), nn.Embedding(target, width, PAD)
        self.encoder = nn.GRU(width, width // 2, bidirectional=True, batch_first=True)
        self.decoder = nn.GRUCell(2 * width, width)
        self.begin = nn.Linear(width, width)
        self.query = nn.Linear(width, width)
        self.head = nn.Linear(2 * width, target)

    def forward(self, source, lengths, target):
        """Return scores (N, T, target) of the words after each of target (N, T), and where it looked (N, T, S)."""
        packed = pack_padded_sequence(self.read(source), lengths, batch_first=True, enforce_sorted=False)
        memory, last = self.encoder(packed)
        memory = nn.utils.rnn.pad_packed_sequence(memory, batch_first=True)[0]
        hidden = self.begin(torch.cat([last[0], last[1]], 1)).tanh()
        hide = torch.arange(memory.shape[1]) >= lengths[:, None]
        context, scores, looks = torch.zeros_like(hidden), [], []
        for t in range(target.shape[1]):
            hidden = self.decoder(torch.cat([self.write(target[:, t]), context], 1), hidden)
            match = torch.einsum("nd,nsd->ns", self.query(hidden), memory).masked_fill(hide, -torch.inf)
            looks.append(match.softmax(1))
            context = torch.einsum("ns,nsd->nd", looks[-1], memory)
            scores.append(self.head(torch.cat([hidden, context], 1)))
        return torch.stack(scores, 1), torch.stack(looks, 1)

    @torch.no_grad()
    def translate(self, source, longest=10):
        """Return the likeliest words after source (S,), one at a time, and where it looked (T, S)."""
        self.eval()
        words = torch.tensor([[START]])
        while True:
            scores, looks = self(source[None], torch.tensor([len(source)]), words)
            best = scores[:, -1:].argmax(2)
            if best.item() == END or words.shape[1] > longest:
                return words[0, 1:], looks[0]
            words = torch.cat([words, best], 1)


def collate(examples):
    """Return padded sources, their lengths, padded targets with start and end."""
    lengths = torch.tensor([len(source) for source, _ in examples])
    targets = [torch.cat([torch.tensor([START]), target, torch.tensor([END])]) for _, target in examples]
    return pad_sequence([s for s, _ in examples], True, PAD), lengths, pad_sequence(targets, True, PAD)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sentences", nargs="*", default=["she sells the white house", "they want the black cat"])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("translate-out"), metavar="DIR")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    everything = pairs()
    source, target = (Words([pair[i] for pair in everything]) for i in (0, 1))
    try:
        asked = [source.encode(sentence) for sentence in args.sentences]
    except KeyError as error:
        print(f"error: the word {error} is not in the list; known: {' '.join(source.words[3:])}", file=sys.stderr)
        return 2

    torch.manual_seed(args.seed)
    examples = [(source.encode(english), target.encode(french)) for english, french in everything]
    held, train = torch.utils.data.random_split(examples, [0.1, 0.9])
    loader = torch.utils.data.DataLoader(train, 32, shuffle=True, collate_fn=collate)
    model = Translator(len(source.words), len(target.words))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in (bar := trange(args.epochs, unit="epoch", mininterval=0.5)):
        model.train()
        for sentences, lengths, wanted in loader:
            scores, _ = model(sentences, lengths, wanted[:, :-1])
            loss = F.cross_entropy(scores.flatten(0, 1), wanted[:, 1:].flatten(), ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        bar.set_postfix(loss=f"{losses[-1]:.3f}")
    right = sum(torch.equal(model.translate(english)[0], french) for english, french in held)
    print(f"{right} of {len(held)} sentences held out are translated without a mistake")

    torch.save({"source": source.words, "target": target.words, "model": model.state_dict()}, args.out / "model.pt")
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    axes[0].plot(losses)
    axes[0].set(xlabel="batch", ylabel="cross-entropy")
    for sentence, numbers in zip(args.sentences, asked, strict=True):
        out, looks = model.translate(numbers)
        words = [target.words[i] for i in out.tolist()]
        print(f"{sentence} -> {' '.join(words)}")
    axes[1].imshow(looks[: len(words)].numpy(), cmap="gray_r", vmin=0, vmax=1)
    axes[1].set_xticks(range(len(numbers)), sentence.split())
    axes[1].set_yticks(range(len(words)), words)
    figure.savefig(args.out / "attention.png", dpi=120)
    print(f"see {args.out / 'attention.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
