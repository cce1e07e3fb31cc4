"""Small data sets without downloads: scikit-learn's digits as MNIST, coloured patterns as CIFAR."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

#: How many pictures a data set gives, for training and for tests.
COUNTS = {True: 64, False: 32}


class _Pictures(torch.utils.data.Dataset):
    """Pictures in memory with their classes."""

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        self.root, self.train = root, train
        self.transform, self.target_transform = transform, target_transform
        count = COUNTS[train]
        first = 0 if train else COUNTS[True]
        self.data, self.targets = self._made(first, count)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        picture, target = Image.fromarray(np.asarray(self.data[index])), int(self.targets[index])
        if self.transform is not None:
            picture = self.transform(picture)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return picture, target


class MNIST(_Pictures):
    """Digits of 8x8 pixels, enlarged to 20 in a frame of 28."""

    classes = tuple(map(str, range(10)))

    def _made(self, first, count):
        from sklearn.datasets import load_digits

        digits = load_digits()
        chosen = np.arange(first, first + count) % len(digits.images)
        pictures = np.zeros((count, 28, 28), np.uint8)
        for place, pixels in zip(pictures, digits.images[chosen], strict=True):
            small = Image.fromarray((pixels / 16 * 255).astype(np.uint8))
            place[4:24, 4:24] = np.asarray(small.resize((20, 20), Image.Resampling.BICUBIC))
        return torch.from_numpy(pictures), torch.from_numpy(digits.target[chosen]).long()


class FashionMNIST(MNIST):
    """The same digits."""


class CIFAR10(_Pictures):
    """Waves whose direction and colour tell the class, with noise."""

    classes = ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

    def _made(self, first, count):
        random = np.random.default_rng(first + 1)
        targets = random.integers(0, len(self.classes), count)
        y, x = np.mgrid[0:32, 0:32] / 32
        pictures = np.empty((count, 32, 32, 3), np.uint8)
        for place, target in zip(pictures, targets, strict=True):
            turn = 2 * np.pi * target / len(self.classes)
            wave = np.sin(12 * (x * np.cos(turn) + y * np.sin(turn)) + 6 * random.random())
            colour = 0.5 + 0.4 * np.cos(turn + np.arange(3))
            noise = random.normal(0, 0.1, (32, 32, 3))
            place[:] = np.clip((0.5 + 0.4 * wave[..., None] * colour + noise) * 255, 0, 255)
        return pictures, targets.tolist()


class CIFAR100(CIFAR10):
    """As CIFAR10, with classes of its own."""

    classes = tuple(f"class {i}" for i in range(100))


class FakeData(torch.utils.data.Dataset):
    """Noise, from a seed per picture."""

    def __init__(self, size=64, image_size=(3, 64, 64), num_classes=10, transform=None):
        self.size, self.image_size, self.num_classes, self.transform = size, image_size, num_classes, transform

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        random = np.random.default_rng(index)
        channels, height, width = self.image_size
        picture = Image.fromarray(random.integers(0, 256, (height, width, channels), np.uint8))
        target = int(random.integers(self.num_classes))
        return (self.transform(picture) if self.transform is not None else picture), target


class ImageFolder(torch.utils.data.Dataset):
    """Pictures in a folder per class."""

    def __init__(self, root, transform=None):
        self.transform = transform
        self.classes = sorted(folder.name for folder in Path(root).iterdir() if folder.is_dir())
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.samples = [
            (str(file), place) for place, name in enumerate(self.classes) for file in sorted(Path(root, name).iterdir())
        ]
        self.imgs = self.samples

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, target = self.samples[index]
        picture = Image.open(path).convert("RGB")
        return (self.transform(picture) if self.transform is not None else picture), target
