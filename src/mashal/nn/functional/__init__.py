"""Functions of ``mashal.nn``: argument checks, and calls of tensor operations."""

# ruff: noqa: F403 (every file names what it exports)

from ... import Tensor as Tensor
from ...overrides import handle_torch_function as handle_torch_function
from ...overrides import has_torch_function as has_torch_function
from ...overrides import has_torch_function_unary as has_torch_function_unary
from ...overrides import has_torch_function_variadic as has_torch_function_variadic
from . import (
    _activation,
    _attention,
    _distance,
    _dropout,
    _embedding,
    _linear,
    _linear_cross_entropy,
    _loss_classification,
    _loss_regression,
    _normalization,
    _padding,
    _pooling,
    _unpooling,
    _vision,
)
from . import _reduction as _Reduction  # noqa: F401 (programs take these names from here)
from ._activation import *
from ._attention import *
from ._attention import _canonical_mask as _canonical_mask
from ._distance import *
from ._dropout import *
from ._embedding import *
from ._linear import *
from ._linear_cross_entropy import *
from ._loss_classification import *
from ._loss_regression import *
from ._normalization import *
from ._padding import *
from ._pooling import *
from ._unpooling import *
from ._vision import *

__all__ = []
__all__ += _activation.__all__
__all__ += _attention.__all__
__all__ += _distance.__all__
__all__ += _dropout.__all__
__all__ += _embedding.__all__
__all__ += _linear.__all__
__all__ += _linear_cross_entropy.__all__
__all__ += _loss_classification.__all__
__all__ += _loss_regression.__all__
__all__ += _normalization.__all__
__all__ += _padding.__all__
__all__ += _pooling.__all__
__all__ += _unpooling.__all__
__all__ += _vision.__all__
