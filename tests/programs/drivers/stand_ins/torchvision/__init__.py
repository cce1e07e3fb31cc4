"""A stand-in for what the programs use of torchvision: transforms, small synthetic data sets, pictures, networks."""

from . import datasets, models, transforms, utils

__version__ = "0.0"
__all__ = ["datasets", "models", "transforms", "utils"]
