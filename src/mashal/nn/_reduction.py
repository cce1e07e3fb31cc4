"""The ``reduction`` argument of losses, where PyTorch has it."""

from .functional._reduction import get_enum, legacy_get_enum, legacy_get_string

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]
