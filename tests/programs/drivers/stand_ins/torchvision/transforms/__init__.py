"""Transforms of pictures (PIL) and tensors, as callables."""

import random

import torch

from . import functional
from .functional import InterpolationMode

__all__ = ["InterpolationMode", "functional"]


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x


class ToTensor:
    def __call__(self, picture):
        return functional.to_tensor(picture)


class ToPILImage:
    def __call__(self, x):
        return functional.to_pil_image(x)


class Normalize(torch.nn.Module):
    def __init__(self, mean, std, inplace=False):
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, x):
        return functional.normalize(x, self.mean, self.std)


class Resize(torch.nn.Module):
    def __init__(self, size, interpolation=InterpolationMode.BILINEAR):
        super().__init__()
        self.size, self.interpolation = size, interpolation

    def forward(self, x):
        return functional.resize(x, self.size, self.interpolation)


class CenterCrop(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        return functional.center_crop(x, self.size)


class Pad(torch.nn.Module):
    """Black on all sides."""

    def __init__(self, padding):
        super().__init__()
        self.padding = padding

    def forward(self, x):
        return functional.pad(x, self.padding)


class RandomCrop(torch.nn.Module):
    """The place is drawn from the framework's generator."""

    def __init__(self, size, padding=0):
        super().__init__()
        self.size, self.padding = functional.pair(size), padding

    def forward(self, x):
        x = functional.pad(x, self.padding)
        width, height = functional.width_and_height(x)
        h, w = self.size
        top = int(torch.randint(0, height - h + 1, (1,)))
        left = int(torch.randint(0, width - w + 1, (1,)))
        return functional.crop(x, top, left, h, w)


class RandomResizedCrop(torch.nn.Module):
    """A square of a random size (of the given part of the area) at a random place, resized."""

    def __init__(self, size, scale=(0.08, 1.0)):
        super().__init__()
        self.size, self.scale = functional.pair(size), scale

    def forward(self, x):
        width, height = functional.width_and_height(x)
        low, high = self.scale
        part = low + (high - low) * float(torch.rand(1))
        side = max(1, min(width, height, round((part * width * height) ** 0.5)))
        top = int(torch.randint(0, height - side + 1, (1,)))
        left = int(torch.randint(0, width - side + 1, (1,)))
        return functional.resize(functional.crop(x, top, left, side, side), self.size)


class RandomHorizontalFlip(torch.nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, x):
        return functional.hflip(x) if float(torch.rand(1)) < self.p else x


class RandomApply(torch.nn.Module):
    def __init__(self, transforms, p=0.5):
        super().__init__()
        self.transforms, self.p = transforms, p

    def forward(self, x):
        if self.p < random.random():
            return x
        for transform in self.transforms:
            x = transform(x)
        return x


class ColorJitter(torch.nn.Module):
    """Brightness and contrast only: scaled by factors drawn around 1."""

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        super().__init__()
        self.brightness, self.contrast = brightness, contrast

    def forward(self, x):
        bright, contrast = (1 + v * (2 * float(torch.rand(1)) - 1) for v in (self.brightness, self.contrast))
        mean = (x * bright).mean()
        return (((x * bright) - mean) * contrast + mean).clamp(0, 1)


class RandomGrayscale(torch.nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.p = p

    def forward(self, x):
        if float(torch.rand(1)) >= self.p:
            return x
        return x.mean(-3, keepdim=True).expand_as(x)


class GaussianBlur(torch.nn.Module):
    """A separable blur; ``sigma`` is a number or the two ends that it is drawn from."""

    def __init__(self, kernel_size, sigma=(0.1, 2.0)):
        super().__init__()
        self.kernel_size, self.sigma = functional.pair(kernel_size), functional.pair(sigma)

    def forward(self, x):
        low, high = self.sigma
        sigma = low + (high - low) * float(torch.rand(1))
        return functional.gaussian_blur(x, self.kernel_size, sigma)


class Lambda:
    def __init__(self, lambd):
        self.lambd = lambd

    def __call__(self, x):
        return self.lambd(x)


class Grayscale(torch.nn.Module):
    def __init__(self, num_output_channels=1):
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, picture):
        return picture.convert("L" if self.num_output_channels == 1 else "RGB")
