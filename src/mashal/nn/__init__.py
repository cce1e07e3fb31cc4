"""Neural networks: parameters, modules, functions and initial values."""

# ruff: noqa: F403 (every file names what it exports; one by one, because mypy loses `from .modules import *` in a cycle)

from . import functional, init, modules, utils
from .modules import Module as Module
from .modules.activation import *
from .modules.adaptive import *
from .modules.batchnorm import *
from .modules.container import *
from .modules.conv import *
from .modules.distance import *
from .modules.dropout import *
from .modules.instancenorm import *
from .modules.lazy import *
from .modules.linear import *
from .modules.linear_cross_entropy import *
from .modules.loss import *
from .modules.multihead import *
from .modules.normalization import *
from .modules.padding import *
from .modules.pooling import *
from .modules.rnn import *
from .modules.shaping import *
from .modules.sparse import *
from .modules.transformer import *
from .modules.upsampling import *
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "functional",
    "init",
    "modules",
    "utils",
]
__all__ += modules.__all__
