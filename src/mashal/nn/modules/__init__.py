"""The layers."""

# ruff: noqa: F403 (every file names what it exports)

from . import (
    activation,
    adaptive,
    batchnorm,
    container,
    conv,
    distance,
    dropout,
    instancenorm,
    lazy,
    linear,
    linear_cross_entropy,
    loss,
    multihead,
    normalization,
    padding,
    pooling,
    rnn,
    shaping,
    sparse,
    transformer,
    upsampling,
)

# Reached as attributes; what they offer comes from shaping.
from . import channelshuffle as channelshuffle
from . import flatten as flatten
from . import fold as fold
from . import pixelshuffle as pixelshuffle
from .activation import *
from .adaptive import *
from .batchnorm import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .instancenorm import *
from .lazy import *
from .linear import *
from .linear_cross_entropy import *
from .loss import *
from .module import Module
from .multihead import *
from .normalization import *
from .padding import *
from .pooling import *
from .rnn import *
from .shaping import *
from .sparse import *
from .transformer import *
from .upsampling import *

__all__ = ["Module"]
__all__ += activation.__all__
__all__ += adaptive.__all__
__all__ += batchnorm.__all__
__all__ += container.__all__
__all__ += conv.__all__
__all__ += distance.__all__
__all__ += dropout.__all__
__all__ += instancenorm.__all__
__all__ += lazy.__all__
__all__ += linear.__all__
__all__ += linear_cross_entropy.__all__
__all__ += loss.__all__
__all__ += multihead.__all__
__all__ += normalization.__all__
__all__ += padding.__all__
__all__ += pooling.__all__
__all__ += rnn.__all__
__all__ += shaping.__all__
__all__ += sparse.__all__
__all__ += transformer.__all__
__all__ += upsampling.__all__
