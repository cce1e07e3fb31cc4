"""Automatic mixed precision."""

from ._state import is_autocast_available as is_autocast_available
from .autocast_mode import _enter_autocast as _enter_autocast
from .autocast_mode import _exit_autocast as _exit_autocast
from .autocast_mode import autocast as autocast
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .grad_scaler import GradScaler as GradScaler
