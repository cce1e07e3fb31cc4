"""``import torch`` answered by this package: :class:`as_torch`, and the finder of modules that it needs.

The submodules follow whatever name the package has in ``sys.modules``. Without the finder the import system would find
the files a second time, run them under the other name, and so replace the tables that the first copy filled.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any

from . import _core, _missing

_PACKAGE = __name__.rpartition(".")[0]
_NAME = "torch"
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_open: list[as_torch] = []


def _load(run: Callable[[ModuleType], None], module: ModuleType) -> None:
    run(module)
    _missing.complete(module)


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

    def get_code(self, fullname: str) -> CodeType | None:
        """For ``-m torch.something``."""
        spec = importlib.util.find_spec(self._name)
        loader = spec and spec.loader
        return loader.get_code(self._name) if loader is not None and hasattr(loader, "get_code") else None


class _Finder:
    """Answers for the modules of this package, under its own name and under every name it has in ``sys.modules``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root == _PACKAGE:
            spec = self._own(fullname, path, target) if rest else None
        elif not rest:
            return importlib.machinery.ModuleSpec(fullname, _SameModule(_PACKAGE)) if _open and root == _NAME else None
        elif sys.modules.get(root) is not sys.modules.get(_PACKAGE):
            return None
        else:
            name = f"{_PACKAGE}.{rest}"
            spec = None
            if name in sys.modules or importlib.util.find_spec(name) is not None:
                spec = importlib.machinery.ModuleSpec(fullname, _SameModule(name))
        if spec is None and rest:
            _missing.module_error(fullname, sys._getframe(0))
        return spec

    def _own(self, fullname: str, path: Any, target: Any) -> importlib.machinery.ModuleSpec | None:
        """What the other finders know, with a loader that adds the hook for missing names."""
        for finder in sys.meta_path:
            look = None if finder is self else getattr(finder, "find_spec", None)
            spec = look(fullname, path, target) if look is not None else None
            if spec is not None:
                loader = spec.loader
                if isinstance(loader, importlib.machinery.SourceFileLoader):
                    loader.exec_module = functools.partial(_load, loader.exec_module)  # type: ignore[method-assign]
                return spec
        return None

    def find_distributions(self, context: Any = None) -> Iterator[Any]:
        """``importlib.metadata.version("torch")`` and the like, while :class:`as_torch` holds."""
        name = getattr(context, "name", None)
        if not _open or (name is not None and name.lower() != _NAME):
            return iter(())
        return iter((_distribution(),))


def _distribution() -> Any:
    import importlib.metadata

    from .version import __version__

    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: {__version__}\nSummary: mashal as {_NAME}\n",
        "top_level.txt": f"{_NAME}\n",
        "INSTALLER": _PACKAGE,
    }

    class Distribution(importlib.metadata.Distribution):
        def read_text(self, filename: Any) -> str | None:
            return texts.get(str(filename))

        def locate_file(self, path: Any) -> Any:
            import pathlib

            return pathlib.Path(_ROOT, path)

    return Distribution()


class as_torch:
    """``import torch`` means mashal from here on, or for a ``with`` block; ``python -m mashal`` runs a program so.

    Submodules, ``importlib.metadata.version("torch")``, the texts of dtypes and sizes (``torch.float32``) and the
    processes that ``multiprocessing`` starts follow. Other programs started by this one do not.

    Raises:
        RuntimeError: if PyTorch has been imported already: its classes are in use.

    Example:
        >>> import mashal
        >>> with mashal.as_torch():
        ...     import torch
        ...     torch is mashal, torch.ones(2).dtype
        (True, torch.float32)
    """

    def __init__(self) -> None:
        package = sys.modules[_PACKAGE]
        there = sys.modules.get(_NAME)
        if there is not None and there is not package:
            raise RuntimeError(
                "as_torch: PyTorch must not have been imported yet, got the one at "
                f"{getattr(there, '__file__', None)}. "
                "Call as_torch() before the first `import torch`, or run the program with `python -m mashal`."
            )
        if not _open:
            sys.modules[_NAME] = package
            _core.set_display_name(_NAME)
            _processes.begin()
        _open.append(self)

    def __enter__(self) -> ModuleType:
        return sys.modules[_PACKAGE]

    def __exit__(self, *exc: object) -> None:
        self.undo()

    def undo(self) -> None:
        """``import torch`` means PyTorch again, once every :class:`as_torch` is undone."""
        if self not in _open:
            return
        _open.remove(self)
        if not _open:
            for name in [n for n in sys.modules if n == _NAME or n.startswith(f"{_NAME}.")]:
                del sys.modules[name]
            _core.set_display_name(_PACKAGE)
            _processes.end()


class _Inherit:
    """Travels to a new process with what it is told before it imports the program, and makes torch mashal there."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # A text, because the new process does not have the path of this one yet when it reads this.
        load = f"sys.path.append({_ROOT!r})\nimport {_PACKAGE}\nsys.path.remove({_ROOT!r})"
        return exec, (f"import sys\n{load}\n{_PACKAGE}.as_torch()\n",)


class _Processes:
    """Makes the processes of ``multiprocessing`` inherit the alias, however they are started."""

    def begin(self) -> None:
        from multiprocessing import spawn

        self._describe = describe = spawn.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, Any]:
            return {**describe(name), "as_torch": _Inherit()}

        spawn.get_preparation_data = get_preparation_data
        # The fork server would import the program before it hears of the alias; its children import it themselves.
        import multiprocessing

        multiprocessing.set_forkserver_preload([f"{_PACKAGE}._as_torch"])

    def end(self) -> None:
        import multiprocessing
        from multiprocessing import spawn

        spawn.get_preparation_data = self._describe
        multiprocessing.set_forkserver_preload(["__main__"])


_processes = _Processes()


def install() -> None:
    """Ahead of the finder of files; the modules loaded until now get their hook here."""
    sys.meta_path.insert(0, _Finder())
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None) if name.startswith(f"{_PACKAGE}.") else None
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            _missing.complete(module)
