"""Every operation by name, public or not: what rooms, layers and losses call."""

from .ops import _registry

for _name, _entry in _registry.entries.items():
    globals()[_name] = _entry.call
    if _entry.inplace:
        globals()[_name + "_"] = _entry.call._method(_name + "_", True) if _entry.primitive else _entry.inplace_call
