"""Channels change places: the layers of ``shaping.py`` under PyTorch's name of the module."""

from .shaping import ChannelShuffle

__all__ = ["ChannelShuffle"]
