"""Training steps of whole networks: time and peak memory beside PyTorch's, from the same weights to the same losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from _networks import Make, Step, main
from models import generative, language, vision


def classification(
    build: Callable[[Any], Any], shape: tuple[int, ...], classes: int, adam: bool = False, dense: bool = False
) -> Make:
    """Cross-entropy on fixed random images, of each image or (``dense``) each pixel; SGD with momentum, or Adam."""

    def make(t: Any) -> Step:
        model = build(t)
        x, y = t.randn(*shape), t.randint(0, classes, (shape[0], *shape[2:]) if dense else (shape[0],))
        if adam:
            optimizer = t.optim.Adam(model.parameters(), 1e-3)
        else:
            optimizer = t.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)

        def step() -> Any:
            optimizer.zero_grad()
            loss = t.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    return make


def tokens(build: Callable[[Any], Any], vocab: int, batch: int, length: int, bf16: bool = False) -> Make:
    """Next-token or masked-token cross-entropy with AdamW, the whole of it under autocast for ``bf16``."""

    def make(t: Any) -> Step:
        model = build(t)
        x, y = t.randint(0, vocab, (batch, length)), t.randint(0, vocab, (batch, length))
        optimizer = t.optim.AdamW(model.parameters(), 3e-4)

        def step() -> Any:
            optimizer.zero_grad()
            with t.autocast("cpu", t.bfloat16, enabled=bf16):
                out = model(x)
                loss = t.nn.functional.cross_entropy(out.view(-1, vocab), y.view(-1))
            loss.backward()
            t.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return loss

        return step

    return make


def lstm(t: Any) -> Step:
    model, vocab = language.lstm(t), 5000
    x, y = t.randint(0, vocab, (35, 20)), t.randint(0, vocab, (35, 20))
    state = t.zeros(2, 20, 256), t.zeros(2, 20, 256)
    optimizer = t.optim.SGD(model.parameters(), 1.0)

    def step() -> Any:
        nonlocal state
        optimizer.zero_grad()
        out, state = model(x, tuple(s.detach() for s in state))
        loss = t.nn.functional.cross_entropy(out.view(-1, vocab), y.view(-1))
        loss.backward()
        t.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        return loss

    return step


def dcgan(t: Any) -> Step:
    generator, discriminator = generative.dcgan(t)
    criterion = t.nn.BCEWithLogitsLoss()
    images, latent = t.randn(32, 3, 32, 32), t.randn(32, 100, 1, 1)
    real, fake = t.ones(32), t.zeros(32)
    optimizer_d = t.optim.Adam(discriminator.parameters(), 2e-4, betas=(0.5, 0.999))
    optimizer_g = t.optim.Adam(generator.parameters(), 2e-4, betas=(0.5, 0.999))

    def step() -> Any:
        optimizer_d.zero_grad()
        made = generator(latent)
        loss_d = criterion(discriminator(images), real) + criterion(discriminator(made.detach()), fake)
        loss_d.backward()
        optimizer_d.step()
        optimizer_g.zero_grad()
        loss_g = criterion(discriminator(made), real)
        loss_g.backward()
        optimizer_g.step()
        return loss_d + loss_g

    return step


def vae(t: Any) -> Step:
    model, x = generative.vae(t), t.rand(128, 784)
    optimizer = t.optim.Adam(model.parameters(), 1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        out, mean, log_var = model(x)
        loss = t.nn.functional.binary_cross_entropy(out, x, reduction="sum")
        loss = loss - 0.5 * t.sum(1 + log_var - mean.pow(2) - log_var.exp())
        loss.backward()
        optimizer.step()
        return loss

    return step


def cartpole(t: Any) -> Step:
    """REINFORCE: 200 actions of a 4-128-2 policy one by one on fixed observations, then one update."""
    nn = t.nn
    model = nn.Sequential(nn.Linear(4, 128), nn.Dropout(0.6), nn.ReLU(), nn.Linear(128, 2))
    observations, returns = t.randn(200, 4), t.randn(200)
    optimizer = t.optim.Adam(model.parameters(), 1e-2)

    def step() -> Any:
        chosen = []
        for i in range(200):
            policy = t.distributions.Categorical(t.softmax(model(observations[i : i + 1]), dim=1))
            action = policy.sample()
            chosen.append(policy.log_prob(action))
            action.item()
        optimizer.zero_grad()
        loss = (-t.cat(chosen) * returns).sum()
        loss.backward()
        optimizer.step()
        return loss

    return step


CASES: dict[str, tuple[float, Make]] = {
    "MLP 784-512-512-10 b128": (0.6, classification(vision.mlp, (128, 784), 10, adam=True)),
    "LeNet 28x28 b128": (0.7, classification(vision.lenet, (128, 1, 28, 28), 10, adam=True)),
    "ResNet-18 32x32 b32": (
        0.75,
        classification(lambda t: vision.resnet(t, (2, 2, 2, 2), small=True, classes=10), (32, 3, 32, 32), 10),
    ),
    "ResNet-18 224x224 b4": (
        0.75,
        classification(lambda t: vision.resnet(t, (2, 2, 2, 2)), (4, 3, 224, 224), 1000),
    ),
    "GPT 6x384 block 128 b8": (0.85, tokens(language.gpt, 256, 8, 128)),
    "GPT 6x384 block 128 b8 bf16": (0.1, tokens(language.gpt, 256, 8, 128, bf16=True)),
    "LSTM LM 2x256 b20 bptt 35": (0.8, lstm),
    "BERT 4x256 b8x128": (0.85, tokens(language.bert, 5000, 8, 128)),
    "DCGAN 32x32 b32": (0.85, dcgan),
    "VAE b128": (0.6, vae),
    "U-Net 64x64 b4": (0.85, classification(vision.unet, (4, 3, 64, 64), 2, adam=True, dense=True)),
    "CartPole policy gradient": (0.4, cartpole),
}


if __name__ == "__main__":
    main(CASES, __doc__)
