"""Train a small convolutional network to read digits.

    python examples/train_digits.py                       the 1,797 digits of 8 x 8 pixels that come with scikit-learn
    python examples/train_digits.py --data DIR            MNIST or Fashion-MNIST, as IDX files in DIR

In the folder --out it leaves the weights, curves of loss and accuracy, and a picture of the samples it got wrong.
Needs `pip install mashal[demo]`.
"""

import argparse
import gzip
import sys
import time
import zlib
from pathlib import Path

import matplotlib as mpl
import numpy as np
from safetensors.numpy import load_file, save_file
from tqdm import tqdm

import mashal as torch
from mashal import nn
from mashal.nn import functional as F
from mashal.utils.data import DataLoader, TensorDataset

mpl.use("Agg")  # write files; open no window
from matplotlib import pyplot as plt


class DataError(Exception):
    """A data file is missing or is not what it should be."""


# -- data --------------------------------------------------------------------------------------------------------------


def read_idx(folder, name, dims):
    """Read `folder/name`, or `folder/name.gz`, an IDX file of bytes with `dims` dimensions, as an array.

    The format: two zero bytes, the type (8 for bytes), the number of dimensions; each dimension as a big-endian 32-bit
    integer; the data.
    """
    path = next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)
    if path is None:
        raise DataError(f"{folder / name}: expected this file, or {name}.gz beside it, found neither")
    try:
        raw = path.read_bytes()
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: expected a complete gzip file, found a damaged or truncated one ({error})") from None
    except OSError as error:
        raise DataError(f"{path}: expected a readable file, found: {error.strerror}") from None

    magic, header = bytes([0, 0, 8, dims]), 4 + 4 * dims
    if raw[:4] != magic:
        raise DataError(
            f"{path}: expected an IDX file that starts with {magic.hex()}, found {raw[:4].hex() or 'nothing'}"
        )
    if len(raw) < header:
        raise DataError(f"{path}: expected a header of {header} bytes, found only {len(raw)} bytes")
    shape = tuple(int(n) for n in np.frombuffer(raw, ">u4", dims, offset=4))
    size = int(np.prod(shape, dtype=object))
    if len(raw) - header != size:
        sizes = " x ".join(map(str, shape))
        raise DataError(f"{path}: expected {sizes} = {size} bytes after the header, found {len(raw) - header}")
    return np.frombuffer(raw, np.uint8, size, offset=header).reshape(shape)


def load_idx(folder):
    """Return training images and labels, test images and labels."""
    if not folder.is_dir():
        raise DataError(f"{folder}: expected a folder with IDX files, found none")
    arrays = []
    for part in ("train", "t10k"):
        images_name, labels_name = f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"
        images, labels = read_idx(folder, images_name, 3), read_idx(folder, labels_name, 1)
        if len(images) != len(labels) or not len(images):
            raise DataError(
                f"{folder / labels_name}: expected a label for each image in {images_name}, "
                f"found {len(labels)} labels and {len(images)} images"
            )
        if labels.max() > 9:
            raise DataError(f"{folder / labels_name}: expected labels from 0 to 9, found {labels.max()}")
        arrays += [images / np.float32(255), labels.astype(np.int64)]
    if arrays[0].shape[1:] != arrays[2].shape[1:] or min(arrays[0].shape[1:]) < 4:
        sizes = " and ".join(f"{a.shape[1]} x {a.shape[2]}" for a in (arrays[0], arrays[2]))
        raise DataError(f"{folder}: expected training and test images of one size, at least 4 x 4, found {sizes}")
    return arrays


def load_digits(seed):
    """Return scikit-learn's digits like `load_idx`: a random fifth of them is held out for the test."""
    from sklearn import datasets

    digits = datasets.load_digits()
    order = torch.randperm(len(digits.images), generator=torch.Generator().manual_seed(seed)).numpy()
    images = (digits.images / 16).astype(np.float32)[order]
    labels = digits.target.astype(np.int64)[order]
    test = len(images) // 5
    return images[test:], labels[test:], images[:test], labels[:test]


def as_tensors(images, labels, mean, std):
    """Return images (N, 1, H, W), normalised, and labels (N,)."""
    return torch.from_numpy((images - mean) / std)[:, None], torch.from_numpy(labels)


# -- model -------------------------------------------------------------------------------------------------------------


class Net(nn.Module):
    """Two convolutions, each halving the image after it, and two linear layers."""

    def __init__(self, height, width, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(64)
        self.drop = nn.Dropout(0.25)
        self.fc1 = nn.Linear(64 * (height // 4) * (width // 4), 128)
        self.fc2 = nn.Linear(128, classes)

    def forward(self, x):  # (N, 1, H, W)
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)  # (N, 32, H/2, W/2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)  # (N, 64, H/4, W/4)
        x = F.relu(self.fc1(self.drop(x.flatten(1))))  # (N, 128)
        return self.fc2(self.drop(x))  # (N, classes)


# -- training ----------------------------------------------------------------------------------------------------------


@torch.no_grad()
def predict(model, images, batch_size=1000):
    """Return the probabilities (N, classes) that the model gives."""
    model.eval()
    return torch.cat([model(batch).softmax(1) for batch in images.split(batch_size)])


def train(model, train_set, test_images, test_labels, args):
    """Train; return the mean loss and the test accuracy of each epoch."""
    loader = DataLoader(train_set, args.batch_size, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    steps = args.epochs * len(loader)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=steps + 1)
    losses, accuracies = [], []
    with tqdm(total=steps, unit="batch", mininterval=0.5) as bar:
        for epoch in range(1, args.epochs + 1):
            model.train()
            total = 0.0
            for images, labels in loader:
                loss = F.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                scheduler.step()
                total += loss.item() * len(labels)
                bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
                bar.update()
            losses.append(total / len(train_set))
            correct = predict(model, test_images).argmax(1) == test_labels
            accuracies.append(correct.float().mean().item())
            bar.write(f"epoch {epoch:3}: loss {losses[-1]:.4f}, test accuracy {accuracies[-1]:.2%}")
    return losses, accuracies


# -- results -----------------------------------------------------------------------------------------------------------


def plot_curves(path, losses, accuracies):
    epochs = range(1, len(losses) + 1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    left.plot(epochs, losses, marker="o")
    left.set(title="Training loss", xlabel="epoch", ylabel="cross-entropy", ylim=(0, None))
    right.plot(epochs, [100 * a for a in accuracies], marker="o", color="tab:green")
    right.set(title="Test accuracy", xlabel="epoch", ylabel="%")
    for axes in (left, right):
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def plot_mistakes(path, images, labels, probabilities, most=25):
    """Draw the wrongly read samples, the most confident mistakes first."""
    confidence, guesses = (t.numpy() for t in probabilities.max(1))
    wrong = np.flatnonzero(guesses != labels)
    shown = wrong[np.argsort(-confidence[wrong])][:most]
    columns = 5
    rows = max(1, -(-len(shown) // columns))
    figure, grid = plt.subplots(rows, columns, figsize=(8, 1.8 * rows + 0.6), layout="constrained", squeeze=False)
    figure.suptitle(
        f"{len(wrong)} of {len(labels)} wrong" + (f", {len(shown)} shown" if len(shown) < len(wrong) else "")
    )
    for axes in grid.flat:
        axes.axis("off")
    for axes, i in zip(grid.flat, shown, strict=False):
        axes.imshow(images[i], cmap="gray_r")
        axes.set_title(f"is {labels[i]}, read {guesses[i]} ({confidence[i]:.0%})", fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def positive(kind):
    """Return an argument type: a number above 0."""

    def parse(text):
        value = kind(text)
        if not 0 < value < float("inf"):
            raise ValueError
        return value

    parse.__name__ = f"positive {kind.__name__}"
    return parse


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of IDX files; default: scikit-learn's digits")
    parser.add_argument("--epochs", type=positive(int), help="default: 15, or 3 with --data")
    parser.add_argument("--batch-size", type=positive(int), default=64)
    parser.add_argument("--lr", type=positive(float), default=3e-3, help="largest learning rate (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("digits-out"), metavar="DIR", help="default: %(default)s")
    args = parser.parse_args()
    if args.epochs is None:
        args.epochs = 3 if args.data else 15
    return args


def main():
    args = parse_args()
    try:
        train_x, train_y, test_x, test_y = load_idx(args.data) if args.data else load_digits(args.seed)
        args.out.mkdir(parents=True, exist_ok=True)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(train_x)} training and {len(test_x)} test images of {train_x.shape[1]} x {train_x.shape[2]} pixels")

    torch.manual_seed(args.seed)
    mean, std = train_x.mean(), train_x.std()
    test_images, test_labels = as_tensors(test_x, test_y, mean, std)
    model = Net(*train_x.shape[1:])
    start = time.perf_counter()
    train_set = TensorDataset(*as_tensors(train_x, train_y, mean, std))
    losses, accuracies = train(model, train_set, test_images, test_labels, args)
    print(f"trained in {time.perf_counter() - start:.1f} s; test accuracy {accuracies[-1]:.2%}")

    weights = args.out / "weights.safetensors"
    save_file({name: np.ascontiguousarray(t.numpy()) for name, t in model.state_dict().items()}, weights)
    probabilities = predict(model, test_images)
    plot_curves(args.out / "curves.png", losses, accuracies)
    plot_mistakes(args.out / "mistakes.png", test_x, test_y, probabilities)

    # A new model, with other weights until it gets the saved ones.
    again = Net(*train_x.shape[1:])
    again.load_state_dict({name: torch.from_numpy(array) for name, array in load_file(weights).items()})
    first = predict(again, test_images[:1])[0]
    print(
        f"reloaded from {weights}: the first test image is {test_y[0]}, read as {first.argmax().item()} "
        f"with probability {first.max().item():.3f}"
    )
    print(f"see {args.out / 'curves.png'} and {args.out / 'mistakes.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
