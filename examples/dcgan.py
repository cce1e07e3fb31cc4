"""Train a DCGAN on Fashion-MNIST and draw what its generator has learned.

    python examples/dcgan.py [--data DIR]     IDX files; default: where Debian's dataset-fashion-mnist puts them

In the folder --out it leaves the weights, a picture of samples after every epoch, and the curves of both losses. The
method: Radford et al., "Unsupervised Representation Learning with Deep Convolutional GANs", 2016. Needs `pip install
mashal[demo]`.
"""

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
from tqdm import tqdm
from train_digits import DataError, load_idx
from vae import FASHION, tiles

import mashal as torch
from mashal import nn
from mashal.nn import functional as F
from mashal.utils.data import DataLoader

mpl.use("Agg")  # write files; open no window
from matplotlib import pyplot as plt

LATENT = 64


def generator(width=32):
    """Return a network from (N, LATENT, 1, 1) to images (N, 1, 32, 32) in [-1, 1]."""
    parts, inputs = [], LATENT
    for outputs, stride, padding in ((4 * width, 1, 0), (2 * width, 2, 1), (width, 2, 1)):
        parts += [
            nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ]
        inputs = outputs
    return nn.Sequential(*parts, nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Tanh())


def discriminator(width=32):
    """Return a network from images (N, 1, 32, 32) to scores (N,), high for real ones."""
    parts, inputs = [], 1
    for outputs in (width, 2 * width, 4 * width):
        parts.append(nn.Conv2d(inputs, outputs, 4, 2, 1, bias=inputs == 1))
        parts += [nn.BatchNorm2d(outputs)] if inputs > 1 else []
        parts.append(nn.LeakyReLU(0.2))
        inputs = outputs
    return nn.Sequential(*parts, nn.Conv2d(inputs, 1, 4), nn.Flatten(0))


def start(module):
    """Draw the initial weights as the paper does."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1, 0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=FASHION, metavar="DIR")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=20000, help="training images to use (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("dcgan-out"), metavar="DIR")
    args = parser.parse_args()
    try:
        images = load_idx(args.data)[0]
        args.out.mkdir(parents=True, exist_ok=True)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if images.shape[1:] != (28, 28):
        print(f"error: {args.data}: expected images of 28 x 28 pixels, found {images.shape[1:]}", file=sys.stderr)
        return 2
    images = F.pad(torch.from_numpy(images[: args.limit])[:, None] * 2 - 1, (2, 2, 2, 2), value=-1.0)

    torch.manual_seed(args.seed)
    draw, judge = generator().apply(start), discriminator().apply(start)
    optimizers = [torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (judge, draw)]
    fixed = torch.randn(64, LATENT, 1, 1)
    loader = DataLoader(images, 64, shuffle=True, drop_last=True)
    losses = []
    with tqdm(total=args.epochs * len(loader), unit="batch", mininterval=0.5) as bar:
        for epoch in range(1, args.epochs + 1):
            draw.train()
            for real in loader:
                fake = draw(torch.randn(len(real), LATENT, 1, 1))
                # softplus(-s) is the cross-entropy of score s for "real", softplus(s) for "drawn".
                judged = F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()
                optimizers[0].zero_grad()
                judged.backward()
                optimizers[0].step()
                fooled = F.softplus(-judge(fake)).mean()
                optimizers[1].zero_grad()
                fooled.backward()
                optimizers[1].step()
                losses.append((judged.item(), fooled.item()))
                bar.set_postfix(judge=f"{losses[-1][0]:.2f}", draw=f"{losses[-1][1]:.2f}", refresh=False)
                bar.update()
            draw.eval()
            with torch.no_grad():
                picture = tiles(draw(fixed)[:, 0], 8)
            plt.imsave(args.out / f"samples-{epoch}.png", picture.numpy(), cmap="gray_r")

    torch.save({"generator": draw.state_dict(), "discriminator": judge.state_dict()}, args.out / "model.pt")
    plt.figure(figsize=(6, 3.5), layout="constrained")
    for values, label in zip(zip(*losses, strict=True), ("discriminator", "generator"), strict=True):
        plt.plot(values, label=label)
    plt.xlabel("batch")
    plt.ylabel("loss")
    plt.legend()
    plt.savefig(args.out / "losses.png", dpi=120)
    print(f"see samples-{args.epochs}.png and losses.png in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
