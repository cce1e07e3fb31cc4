"""Every operation by name, public or not: what rooms, layers and losses call."""

from .ops import _registry

globals().update({name: entry.call for name, entry in _registry.entries.items()})
