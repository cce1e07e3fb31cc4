"""``sys.modules["torch"] = mashal`` makes programs that say ``import torch.nn`` run: the submodules follow.

Without this the import system would find the files of this package a second time, run them under the other name, and
so replace the tables that the first copy filled.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

_PACKAGE = __name__.rpartition(".")[0]


class _SameModule:
    """Gives the module of this package, as it is."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put the other name's there


class _Finder:
    """Answers for the submodules of every name under which this package stands in ``sys.modules``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if not rest or root == _PACKAGE or sys.modules.get(root) is not sys.modules.get(_PACKAGE):
            return None
        name = f"{_PACKAGE}.{rest}"
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _SameModule(name))


def install() -> None:
    """Ahead of the finder of files."""
    sys.meta_path.insert(0, _Finder())
