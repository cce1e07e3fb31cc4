"""Pixels and channels change places: the layers of ``shaping.py`` under PyTorch's name of the module."""

from .shaping import PixelShuffle, PixelUnshuffle

__all__ = ["PixelShuffle", "PixelUnshuffle"]
