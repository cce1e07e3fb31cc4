"""Memory formats of convolutions' weights."""

from __future__ import annotations

from typing import Any, TypeVar

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def _convert(module: M, memory_format: Any, kinds: tuple[type, ...]) -> M:
    for sub in module.modules():
        if isinstance(sub, kinds):
            weight: Any = sub.weight
            weight.data = weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Puts the weights of all 2-D convolutions into ``memory_format``; results then have it as well."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Puts the weights of all 3-D convolutions into ``memory_format``; results then have it as well."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
