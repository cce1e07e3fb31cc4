"""Whether new memory is filled, where results must not depend on chance."""

from __future__ import annotations

import sys
from types import ModuleType

from .. import _settings


class _Module(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether ``empty`` and the like fill memory while deterministic algorithms are asked for."""
        return _settings._deterministic["fill"]

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"fill_uninitialized_memory must be bool, not {type(mode).__name__}")
        _settings._deterministic["fill"] = mode


sys.modules[__name__].__class__ = _Module
