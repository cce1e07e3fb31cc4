"""The module that ``compile`` makes of a module."""

from __future__ import annotations

from typing import Any

from ..nn import Module

__all__ = ["OptimizedModule", "is_dynamo_supported"]


class OptimizedModule(Module):
    """Another face of a module: its child ``_orig_mod``, to which attributes and calls go."""

    _orig_mod: Module

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        super().__init__()
        self._orig_mod = mod
        self.training = mod.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module."""
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__.get("_modules", {})
        if name == "_orig_mod" and "_orig_mod" in own:
            return own["_orig_mod"]
        return getattr(super().__getattr__("_orig_mod"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        # What a program sets belongs to the module; what every Module has, to this face.
        if (
            name in ("_orig_mod", "training")
            or name in self.__dict__
            or "_orig_mod" not in self.__dict__.get("_modules", {})
        ):
            super().__setattr__(name, value)
            if name == "training" and "_orig_mod" in self.__dict__.get("_modules", {}):
                self._orig_mod.training = value
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)  # type: ignore[arg-type]

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]  # type: ignore[index]

    def __iter__(self) -> Any:
        return iter(self._orig_mod)  # type: ignore[call-overload]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self) -> Any:
        return type(self), (self._orig_mod,)


def is_dynamo_supported() -> bool:
    """Whether functions can be traced: False."""
    return False
