"""Dimensions are joined and split: the layers of ``shaping.py`` under PyTorch's name of the module."""

from .shaping import Flatten, Unflatten

__all__ = ["Flatten", "Unflatten"]
