"""Windows and images: the layers of ``shaping.py`` under PyTorch's name of the module."""

from .shaping import Fold, Unfold

__all__ = ["Fold", "Unfold"]
