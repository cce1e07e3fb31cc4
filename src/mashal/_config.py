"""Settings of machinery that is not here yet: they keep what programs set."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any


class Config(ModuleType):
    """A module of settings: any may be set; one that was not is None. A module, so that it can be imported from."""

    def __init__(self, name: str, **defaults: Any) -> None:
        super().__init__(f"{__package__}.{name}", "Settings that programs make; nothing here reads them.")
        self.__dict__.update(defaults)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        # Assigning to a part (`config.triton.cudagraphs = True`) makes it.
        return self.__dict__.setdefault(name, Config(f"{self.__name__.partition('.')[2]}.{name}"))

    def __bool__(self) -> bool:
        return False  # what an unset switch is

    @contextlib.contextmanager
    def patch(self, arg: Any = None, value: Any = None, **changes: Any) -> Iterator[None]:
        """Settings for a block or a function: ``patch(a=1)``, ``patch("a", 1)`` or ``patch({"a": 1})``."""
        if isinstance(arg, str):
            changes[arg] = value
        else:
            changes.update(arg or {})
        before = {name: self.__dict__[name] for name in changes if name in self.__dict__}
        self.__dict__.update(changes)
        try:
            yield
        finally:
            for name in changes:
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
