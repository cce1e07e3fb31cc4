"""Learn from sentences of a small list whether one praises or blames, by a bag of word embeddings.

    python examples/sentiment.py ["sentence" ...]     the sentences are judged after the training

In the folder --out it leaves the weights and a picture of the words with the strongest verdict. The network: Joulin et
al., "Bag of Tricks for Efficient Text Classification", 2017. Needs `pip install mashal[demo]`.
"""

import argparse
import re
import sys
from pathlib import Path

import matplotlib as mpl
from tqdm import trange

import mashal as torch
from mashal import nn
from mashal.nn import functional as F

mpl.use("Agg")  # write files; open no window
from matplotlib import pyplot as plt

WHAT = """the film | the soup | the room | this book | the music | their service | the battery | the ending | the acting
my new phone | the bread | our guide | the second act | this little hotel | the screen | the writer | the sauce"""
PRAISE = """superb | delightful | a joy | wonderful | excellent | charming | clever | perfect | lovely | brilliant
moving | delicious | impressive | beautifully made | worth every cent | better than i had hoped | amazing
warm and funny"""
BLAME = """dreadful | a pain | terrible | awful | dull | disappointing | shoddy | boring | careless | lifeless | filthy
tasteless | confusing | badly made | a waste of money | worse than i had feared | unbearable | slow and bitter"""
HOW = "it was said that | i think | honestly | after a week | my friends say | to my surprise"


def split(text):
    """Return the phrases of one of the lists above."""
    return [phrase.strip() for phrase in re.split(r"[|\n]", text) if phrase.strip()]


def sentences_of(verdicts, count):
    """Return `count` random sentences with one or two of the verdicts."""
    out = []
    for _ in range(count):
        how, first, second = (torch.randint(n, (1,)).item() for n in (len(split(HOW)), len(verdicts), len(verdicts)))
        what = split(WHAT)[torch.randint(len(split(WHAT)), (1,)).item()]
        tail = f" and {verdicts[second]}" if second % 3 == 0 and second != first else ""
        out.append(f"{split(HOW)[how]} {what} was {verdicts[first]}{tail}")
    return out


def words(sentence):
    return re.findall(r"[a-z']+", sentence.lower())


class Classifier(nn.Module):
    """The mean of the word vectors, then a line between praise and blame."""

    def __init__(self, count, width=16):
        super().__init__()
        self.bag = nn.EmbeddingBag(count, width, mode="mean")
        self.head = nn.Linear(width, 1)

    def forward(self, numbers, starts):  # all words in a row, and where each sentence starts
        return self.head(self.bag(numbers, starts))[:, 0]


def bags(sentences, number):
    """Return the numbers of all known words in a row, and where each sentence starts."""
    known = [[number[word] for word in words(sentence) if word in number] for sentence in sentences]
    starts = torch.tensor([0, *(len(k) for k in known[:-1])]).cumsum(0)
    return torch.tensor([n for k in known for n in k], dtype=torch.long), starts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sentences", nargs="*", default=["a lovely song", "the bus was slow and boring"])
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("sentiment-out"), metavar="DIR")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(args.seed)
    praise, blame = (sentences_of(split(verdicts), 120) for verdicts in (PRAISE, BLAME))
    sentences, labels = praise + blame, torch.tensor([1.0] * len(praise) + [0.0] * len(blame))
    order = torch.randperm(len(sentences))
    held, train = order[: len(order) // 5].tolist(), order[len(order) // 5 :].tolist()
    vocabulary = sorted({word for i in train for word in words(sentences[i])})
    number = {word: i for i, word in enumerate(vocabulary)}
    model = Classifier(len(vocabulary))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2, weight_decay=1e-4)
    inputs, wanted = bags([sentences[i] for i in train], number), labels[train]
    for _ in (bar := trange(args.epochs, unit="epoch", mininterval=0.5)):
        loss = F.binary_cross_entropy_with_logits(model(*inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
    with torch.no_grad():
        right = ((model(*bags([sentences[i] for i in held], number)) > 0) == (labels[held] > 0.5)).sum().item()
        print(f"{right} of {len(held)} sentences held out are judged rightly, after {len(train)} to learn from")
        for sentence in args.sentences:
            if not any(word in number for word in words(sentence)):
                print(f"no word is known of: {sentence}")
                continue
            verdict = model(*bags([sentence], number)).sigmoid().item()
            print(f"{verdict:6.1%} praise: {sentence}")
        alone = model(torch.arange(len(vocabulary)), torch.arange(len(vocabulary)))

    torch.save({"words": vocabulary, "model": model.state_dict()}, args.out / "model.pt")
    ranked = alone.argsort().tolist()
    shown = ranked[:12] + ranked[-12:]
    plt.figure(figsize=(6, 5), layout="constrained")
    plt.barh([vocabulary[i] for i in shown], alone[shown].numpy())
    plt.xlabel("blame  -  praise")
    plt.savefig(args.out / "words.png", dpi=120)
    print(f"see {args.out / 'words.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
