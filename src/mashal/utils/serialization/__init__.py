"""Settings of saving and loading."""

from . import config as config

__all__ = ["config"]
