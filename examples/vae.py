"""Train a variational autoencoder on Fashion-MNIST; draw new clothes and walk between two.

    python examples/vae.py [--data DIR]     IDX files; default: where Debian's dataset-fashion-mnist puts them

In the folder --out it leaves the weights, reconstructions, samples, and a walk through the latent space. The method:
Kingma and Welling, "Auto-Encoding Variational Bayes", 2014. Needs `pip install mashal[demo]`.
"""

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
from tqdm import tqdm
from train_digits import DataError, load_idx

import mashal as torch
from mashal import nn
from mashal.nn import functional as F
from mashal.utils.data import DataLoader

mpl.use("Agg")  # write files; open no window
from matplotlib import pyplot as plt

FASHION = Path("/usr/share/datasets/fashion-mnist")


class VAE(nn.Module):
    """Two layers down to the mean and log-variance of `latent` numbers, two up again."""

    def __init__(self, pixels, width=400, latent=20):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(pixels, width), nn.ReLU(), nn.Linear(width, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, pixels))

    def forward(self, x):  # (N, pixels)
        mean, log_var = self.encoder(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        return self.decoder(z), mean, log_var


def bound(out, x):
    """Return minus the evidence lower bound of what the model gave for x, averaged over the samples."""
    scores, mean, log_var = out
    reconstruction = F.binary_cross_entropy_with_logits(scores, x, reduction="sum")
    divergence = 0.5 * (mean.square() + log_var.exp() - log_var - 1).sum()
    return (reconstruction + divergence) / len(x)


def tiles(images, columns):
    """Return images (N, H, W) as one picture, row by row."""
    n, h, w = images.shape
    return images.view(n // columns, columns, h, w).transpose(1, 2).reshape(n // columns * h, columns * w)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=FASHION, metavar="DIR")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--limit", type=int, help="training images to use (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("vae-out"), metavar="DIR")
    args = parser.parse_args()
    try:
        images, _, held, _ = load_idx(args.data)
        args.out.mkdir(parents=True, exist_ok=True)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    height, width = images.shape[1:]
    images, held = torch.from_numpy(images[: args.limit]).flatten(1), torch.from_numpy(held[:2000]).flatten(1)

    torch.manual_seed(args.seed)
    model = VAE(height * width)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(images, 128, shuffle=True)
    with tqdm(total=args.epochs * len(loader), unit="batch", mininterval=0.5) as bar:
        for epoch in range(1, args.epochs + 1):
            for x in loader:
                loss = bound(model(x), x)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                bar.update()
            with torch.no_grad():
                test = bound(model(held), held).item()
            bar.write(f"epoch {epoch}: -ELBO {loss.item():.1f}, on images held out {test:.1f}")

    torch.save(model.state_dict(), args.out / "model.pt")
    with torch.no_grad():
        again = model(held[:16])[0].sigmoid()
        drawn = model.decoder(torch.randn(64, model.latent)).sigmoid()
        ends = model.encoder(held[:2]).chunk(2, dim=1)[0]
        walk = model.decoder(torch.lerp(ends[0], ends[1], torch.linspace(0, 1, 16)[:, None])).sigmoid()
    for name, picture, columns in (
        ("reconstructions.png", torch.cat([held[:16], again]), 16),
        ("samples.png", drawn, 8),
        ("walk.png", walk, 16),
    ):
        plt.imsave(args.out / name, tiles(picture.view(-1, height, width), columns).numpy(), cmap="gray_r")
    print(f"see reconstructions.png, samples.png and walk.png in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
