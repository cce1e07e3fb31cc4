"""What PyTorch has and mashal has not (yet): one error that says so, for attributes, ``from`` imports and modules.

Modules get the ``__getattr__`` of :func:`hook` as they are loaded (see ``_alias.py``), so none needs one of its own;
those with parts that are imported on first use call :func:`hook` themselves.
"""

from __future__ import annotations

import importlib
import importlib.util
import opcode
import sys
from collections.abc import Callable, Collection, Mapping
from types import FrameType, ModuleType
from typing import Any

_PACKAGE = __name__.rpartition(".")[0]
_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]
WHY = "mashal does not have it (yet), see docs/supported.md"


class MissingNameError(AttributeError):
    """A name that mashal does not have; ``hasattr`` sees False."""


def torch_name(name: str) -> str:
    """A dotted name of this package, as PyTorch's programs know it."""
    root, dot, rest = name.partition(".")
    return f"torch{dot}{rest}" if root == _PACKAGE else name


def hook(
    module: str, lazy: Collection[str] = (), members: Mapping[str, str] = {}, families: Mapping[str, str] = {}
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module: imports the parts named in ``lazy`` on first use; any other name is missing.

    ``members``: names that live in such a part, with the part. ``families``: how names begin that live in one.

    Raises:
        AttributeError: with the page that lists what there is. In ``from module import name`` it is an ImportError.
    """

    def attribute(name: str) -> Any:
        if name in lazy and importlib.util.find_spec(f"{module}.{name}") is not None:
            return importlib.import_module(f"{module}.{name}")
        part = members.get(name) or next((p for begin, p in families.items() if name.startswith(begin)), None)
        if part is not None and hasattr(home := importlib.import_module(f"{module}.{part}"), name):
            value = getattr(home, name)
            setattr(sys.modules[module], name, value)  # found without this function from now on
            return value
        raise _error(module, name, sys._getframe(1))

    return attribute


def _error(module: str, name: str, caller: FrameType) -> Exception:
    if name.startswith("__"):  # asked for by the interpreter and its tools, not by a program
        return AttributeError(f"module '{module}' has no attribute '{name}'", name=name)
    shown, owner = torch_name(module), sys.modules.get(module)
    # `from module import name` would replace the text of an AttributeError; another error passes through. A module that
    # is being loaded in a circle is still found by the statement itself.
    if caller.f_lasti >= 0 and caller.f_code.co_code[caller.f_lasti] == _IMPORT_FROM:
        if f"{module}.{name}" not in sys.modules:
            message = f"cannot import name '{name}' from '{shown}': {WHY}"
            return ImportError(message, name=module, path=getattr(owner, "__file__", None))
    return MissingNameError(f"module '{shown}' has no attribute '{name}': {WHY}", name=name, obj=owner)


def complete(module: ModuleType) -> None:
    """Gives a loaded module the hook, if it has none."""
    module.__dict__.setdefault("__getattr__", hook(module.__name__))


def module_error(fullname: str, finder: FrameType) -> None:
    """Raises the error of an ``import`` of a missing module; returns where somebody merely asks whether there is one.

    Args:
        finder: the frame of the ``find_spec`` that found nothing. The import statement asks it through two functions of
            the import system, ``importlib.util.find_spec`` through one.
    """
    asking = finder.f_back and finder.f_back.f_back
    if asking is not None and asking.f_code.co_name == "_find_and_load_unlocked":
        raise ModuleNotFoundError(f"No module named '{fullname}': {WHY}", name=fullname)


def explain(error: BaseException) -> None:
    """Adds a note to an AttributeError of a tensor, whose lookup is too frequent for a hook of its own."""
    from ._core import Tensor

    if isinstance(error, AttributeError) and error.name:
        owner = error.obj if isinstance(error.obj, type) else type(error.obj)
        if issubclass(owner, Tensor):
            error.add_note(f"torch.Tensor.{error.name}: {WHY}")
