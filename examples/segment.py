"""Train a U-Net to say of every pixel which piece of clothing it belongs to.

    python examples/segment.py [--data DIR]     IDX files; default: where Debian's dataset-fashion-mnist puts them

A scene is four pictures of Fashion-MNIST at random places of 64 x 64 noisy pixels. In the folder --out it leaves the
weights, the curve of the losses, and scenes beside the truth and what the network says. The network: Ronneberger et
al., "U-Net", 2015. Needs `pip install mashal[demo]`.
"""

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
from tqdm import trange
from train_digits import DataError, load_idx
from vae import FASHION

import mashal as torch
from mashal import nn
from mashal.nn import functional as F
from mashal.utils.data import DataLoader, Dataset

mpl.use("Agg")  # write files; open no window
from matplotlib import pyplot as plt

CLASSES = 11  # the ground, and Fashion-MNIST's ten


class Scenes(Dataset):
    """(1, 64, 64) pixels and their classes (64, 64); the same scene for the same index."""

    def __init__(self, images, labels, count, seed):
        self.images, self.labels = torch.from_numpy(images), torch.from_numpy(labels)
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index >= self.count:
            raise IndexError(index)
        random = torch.Generator().manual_seed(self.seed * 1000003 + index)
        pixels, classes = 0.15 * torch.rand(64, 64, generator=random), torch.zeros(64, 64, dtype=torch.long)
        for which in torch.randint(len(self.images), (4,), generator=random).tolist():
            image = self.images[which]
            height, width = image.shape
            top, left = (torch.randint(64 - size, (1,), generator=random).item() for size in (height, width))
            place = slice(top, top + height), slice(left, left + width)
            mask = image > 0.1
            pixels[place] = torch.where(mask, image, pixels[place])
            classes[place] = torch.where(mask, self.labels[which] + 1, classes[place])
        return pixels[None], classes


def double(inputs, outputs):
    """Return two 3x3 convolutions with normalisation."""
    parts = []
    for channels in (inputs, outputs):
        parts += [
            nn.Conv2d(channels, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*parts)


class UNet(nn.Module):
    """Down three times by pooling, up again beside what was seen at each size."""

    def __init__(self, classes, width=16):
        super().__init__()
        sizes = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(double(i, o) for i, o in zip([1, *sizes], sizes, strict=False))
        self.rise = nn.ModuleList(nn.ConvTranspose2d(2 * size, size, 2, 2) for size in reversed(sizes[:-1]))
        self.up = nn.ModuleList(double(2 * size, size) for size in reversed(sizes[:-1]))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):  # (N, 1, H, W) -> (N, classes, H, W)
        kept = []
        for part in self.down:
            x = part(F.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        kept.pop()
        for rise, part in zip(self.rise, self.up, strict=True):
            x = part(torch.cat([kept.pop(), rise(x)], dim=1))
        return self.head(x)


@torch.no_grad()
def overlap(model, scenes):
    """Return the mean over the classes of intersection over union."""
    model.eval()
    both, either = torch.zeros(CLASSES), torch.zeros(CLASSES)
    for pixels, truth in DataLoader(scenes, 32):
        a, b = (F.one_hot(t, CLASSES).bool().flatten(0, 2) for t in (model(pixels).argmax(1), truth))
        both += (a & b).sum(0)
        either += (a | b).sum(0)
    return (both / either.clamp(min=1)).mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=FASHION, metavar="DIR")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int, default=0, help="processes that make scenes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("segment-out"), metavar="DIR")
    args = parser.parse_args()
    try:
        train_x, train_y, test_x, test_y = load_idx(args.data)
        args.out.mkdir(parents=True, exist_ok=True)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2

    torch.manual_seed(args.seed)
    model = UNet(CLASSES)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=args.steps + 1)
    scenes = Scenes(train_x, train_y, args.steps * args.batch_size, 1)
    held = Scenes(test_x, test_y, 128, 2)
    batches = iter(DataLoader(scenes, args.batch_size, num_workers=args.workers))
    losses = []
    for _ in (bar := trange(args.steps, unit="batch", mininterval=0.5)):
        pixels, truth = next(batches)
        model.train()
        loss = F.cross_entropy(model(pixels), truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    print(f"mean intersection over union on scenes of held-out clothes: {overlap(model, held):.1%}")

    torch.save(model.state_dict(), args.out / "model.pt")
    pixels, truth = next(iter(DataLoader(held, 4)))
    with torch.no_grad():
        said = model.eval()(pixels).argmax(1)
    figure, grid = plt.subplots(4, 3, figsize=(6, 8), layout="constrained")
    for i, row in enumerate(grid):
        for axes, picture, title in zip(
            row, (pixels[i, 0], truth[i], said[i]), ("scene", "truth", "network"), strict=True
        ):
            scale = {"cmap": "gray"} if title == "scene" else {"cmap": "tab20", "vmin": 0, "vmax": 19}
            axes.imshow(picture.numpy(), **scale)
            axes.axis("off")
            if i == 0:
                axes.set_title(title)
    figure.savefig(args.out / "scenes.png", dpi=120)
    plt.figure(figsize=(5, 3.5), layout="constrained")
    plt.plot(losses)
    plt.xlabel("batch")
    plt.ylabel("cross-entropy")
    plt.savefig(args.out / "loss.png", dpi=120)
    print(f"see scenes.png and loss.png in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
