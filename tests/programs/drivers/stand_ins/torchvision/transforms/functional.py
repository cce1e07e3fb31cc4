"""Functions of pictures (PIL) and tensors (..., height, width)."""

import enum

import numpy as np
import torch
from PIL import Image, ImageOps


class InterpolationMode(enum.Enum):
    NEAREST = Image.Resampling.NEAREST
    BILINEAR = Image.Resampling.BILINEAR
    BICUBIC = Image.Resampling.BICUBIC


def pair(size):
    return (size, size) if isinstance(size, (int, float)) else tuple(size)


def width_and_height(x):
    return (x.shape[-1], x.shape[-2]) if isinstance(x, torch.Tensor) else x.size


def to_tensor(picture):
    pixels = np.array(picture)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    x = torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))
    return x.float().div(255) if x.dtype == torch.uint8 else x


def to_pil_image(x):
    pixels = x.mul(255).byte() if x.is_floating_point() else x
    pixels = pixels.permute(1, 2, 0).numpy()
    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def normalize(x, mean, std):
    mean, std = (torch.as_tensor(v, dtype=x.dtype).reshape(-1, 1, 1) for v in (mean, std))
    return (x - mean) / std


def resize(x, size, interpolation=InterpolationMode.BILINEAR):
    """An integer is the length of the shorter side."""
    width, height = width_and_height(x)
    if isinstance(size, int):
        scale = size / min(width, height)
        size = (round(height * scale), round(width * scale))
    if isinstance(x, torch.Tensor):
        mode = interpolation.name.lower()
        whole = x if x.ndim == 4 else x[None]
        corners = None if mode == "nearest" else False
        out = torch.nn.functional.interpolate(whole, size=tuple(size), mode=mode, align_corners=corners)
        return out if x.ndim == 4 else out[0]
    return x.resize((size[1], size[0]), getattr(interpolation, "value", interpolation))


def crop(x, top, left, height, width):
    if isinstance(x, torch.Tensor):
        return x[..., top : top + height, left : left + width]
    return x.crop((left, top, left + width, top + height))


def center_crop(x, size):
    height, width = pair(size)
    whole_width, whole_height = width_and_height(x)
    return crop(x, round((whole_height - height) / 2), round((whole_width - width) / 2), height, width)


def pad(x, padding):
    if isinstance(x, torch.Tensor):
        return torch.nn.functional.pad(x, (padding,) * 4)
    return ImageOps.expand(x, padding)


def hflip(x):
    return x.flip(-1) if isinstance(x, torch.Tensor) else ImageOps.mirror(x)


def gaussian_blur(x, kernel_size, sigma):
    channels = x.shape[-3]
    for dim, length in ((-2, kernel_size[1]), (-1, kernel_size[0])):
        places = torch.arange(length, dtype=x.dtype) - (length - 1) / 2
        weights = torch.exp(-0.5 * (places / sigma) ** 2)
        shape = [1, 1, 1, 1]
        shape[dim] = length
        kernel = (weights / weights.sum()).view(shape).expand(channels, 1, -1, -1)
        edges = [0, 0, 0, 0]
        edges[0 if dim == -1 else 2] = edges[1 if dim == -1 else 3] = length // 2
        whole = torch.nn.functional.pad(x if x.ndim == 4 else x[None], edges, mode="reflect")
        out = torch.nn.functional.conv2d(whole, kernel, groups=channels)
        x = out if x.ndim == 4 else out[0]
    return x
