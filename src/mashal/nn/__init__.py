"""Neural networks: parameters, modules, functions and initial values."""

from . import functional, init, modules, utils
from .modules import *  # noqa: F403 (modules names what it exports)
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "utils"]
__all__ += modules.__all__
