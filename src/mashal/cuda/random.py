# ruff: noqa: F822 - the names are put in below
"""Random numbers of devices, under the name that PyTorch has for it."""

from .. import cuda as _cuda

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]

globals().update({name: getattr(_cuda, name) for name in __all__})
