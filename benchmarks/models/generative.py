"""Image generators."""

from __future__ import annotations

from typing import Any


def dcgan(t: Any, latent: int = 100, width: int = 64) -> tuple[Any, Any]:
    """Generator and discriminator for 3x32x32 (Radford et al., 2016)."""
    nn = t.nn

    def rise(inputs: int, outputs: int, stride: int, padding: int) -> list[Any]:
        conv = nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False)
        return [conv, nn.BatchNorm2d(outputs), nn.ReLU(True)]

    generator = nn.Sequential(
        *rise(latent, 4 * width, 1, 0), *rise(4 * width, 2 * width, 2, 1), *rise(2 * width, width, 2, 1),
        nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    discriminator = nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(2 * width, 4 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(4 * width),
        nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(4 * width, 1, 4, 1, 0, bias=False), nn.Flatten(0),
    )  # fmt: skip
    return generator, discriminator


def vae(t: Any) -> Any:
    """784-400-20-400-784 with the reparametrised latent (Kingma and Welling, 2014)."""
    nn = t.nn

    class VAE(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encode, self.mean, self.spread = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
            self.widen, self.decode = nn.Linear(20, 400), nn.Linear(400, 784)

        def forward(self, x: Any) -> Any:
            h = t.relu(self.encode(x))
            mean, log_var = self.mean(h), self.spread(h)
            std = t.exp(0.5 * log_var)
            z = mean + t.randn_like(std) * std
            return t.sigmoid(self.decode(t.relu(self.widen(z)))), mean, log_var

    return VAE()
