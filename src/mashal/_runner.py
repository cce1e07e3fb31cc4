"""Runs a program as ``python`` would, with ``import torch`` answered by mashal."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

from . import _missing
from ._alias import as_torch

USAGE = """\
usage: python -m mashal SCRIPT [ARGS]        run a file (or a folder or zip archive with a __main__.py)
       python -m mashal -m MODULE [ARGS]     run a module
       python -m mashal -c CODE [ARGS]       run a text
       python -m mashal - [ARGS]             run what stands on the standard input
       python -m mashal --version

`import torch` in the program means mashal. docs/supported.md lists what mashal has of PyTorch.
"""
_NAME = "python -m mashal"


class _RefusedError(Exception):
    """The program cannot be started."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def main(argv: list[str] | None = None) -> NoReturn:
    """Runs the program that the command line names, and leaves with its exit code."""
    args = sys.argv[1:] if argv is None else argv
    if not args or args[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if args else sys.stderr)
        sys.exit(0 if args else 2)
    if args[0] in ("-V", "--version"):
        from .version import __version__, mashal

        print(f"mashal {mashal} (as torch {__version__})")
        sys.exit(0)
    # What this package was started as is kept alive: its functions are running.
    _before = sys.modules["__main__"]
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __spec__=None, __loader__=None, __package__=None)
    sys.modules["__main__"] = module
    as_torch()
    try:
        prepare, program, arguments = _choose(args)
        code = prepare(module, program, arguments)
        exec(code, module.__dict__)
    except _RefusedError as refused:
        print(f"{_NAME}: {refused}", file=sys.stderr)
        sys.exit(refused.code)
    except (SystemExit, KeyboardInterrupt):  # the interpreter knows what to do with these
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the program did not catch
        _report(error)
        sys.exit(1)
    sys.exit(0)


def _choose(args: list[str]) -> tuple[Callable[[ModuleType, str, list[str]], CodeType], str, list[str]]:
    flag = args[0][:2]
    if flag in ("-m", "-c"):
        # `-mname` is `-m name`, as for python itself.
        rest = args[1:] if len(args[0]) == 2 else [args[0][2:], *args[1:]]
        if not rest:
            raise _RefusedError(f"argument expected for the {flag} option\n{USAGE}", 2)
        return (_module if flag == "-m" else _text), rest[0], rest[1:]
    if flag.startswith("-") and args[0] != "-":
        raise _RefusedError(f"unknown option {args[0]}; options of python go before -m mashal\n{USAGE}", 2)
    return (_stdin if args[0] == "-" else _file), args[0], args[1:]


def _first_path(entry: str) -> None:
    """Puts the program's place where ``python -m mashal`` has put the current folder."""
    if not sys.flags.safe_path:
        sys.path[0] = entry


def _text(module: ModuleType, program: str, args: list[str]) -> CodeType:
    sys.argv[:] = ["-c", *args]
    _first_path("")
    return compile(program, "<string>", "exec", dont_inherit=True)


def _stdin(module: ModuleType, program: str, args: list[str]) -> CodeType:
    sys.argv[:] = ["-", *args]
    _first_path("")
    return compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True)


def _file(module: ModuleType, program: str, args: list[str]) -> CodeType:
    sys.argv[:] = [program, *args]
    path = os.path.abspath(program)
    if os.path.isdir(path) or _is_archive(path):
        sys.path[0:0] = [path]
        spec = importlib.machinery.PathFinder.find_spec("__main__", [path])
        if spec is None:
            raise _RefusedError(f"can't find '__main__' module in '{path}'", 1)
        return _describe(module, spec)
    loader: Any
    if path.endswith(".pyc"):
        loader = importlib.machinery.SourcelessFileLoader("__main__", path)
    else:
        loader = importlib.machinery.SourceFileLoader("__main__", path)
    try:
        data = loader.get_data(path)
    except OSError as error:
        raise _RefusedError(f"can't open file '{path}': [Errno {error.errno}] {error.strerror}", 2) from None
    _first_path(os.path.dirname(os.path.realpath(path)))
    module.__dict__.update(__file__=path, __cached__=None, __loader__=loader)
    if path.endswith(".pyc"):
        return loader.get_code("__main__")  # type: ignore[no-any-return]
    return loader.source_to_code(data, path)  # type: ignore[no-any-return]


def _is_archive(path: str) -> bool:
    import zipfile

    return not path.endswith((".py", ".pyc")) and os.path.isfile(path) and zipfile.is_zipfile(path)


def _module(module: ModuleType, program: str, args: list[str]) -> CodeType:
    sys.argv[:] = ["-m", *args]
    try:
        spec = importlib.util.find_spec(program)
        if spec is not None and spec.submodule_search_locations is not None:
            program += ".__main__"
            spec = importlib.util.find_spec(program)
    except (ImportError, ValueError) as error:
        raise _RefusedError(f"Error while finding module specification for '{program}' ({error})", 1) from None
    if spec is None or spec.loader is None:
        raise _RefusedError(f"No module named {program}", 1)
    code = _describe(module, spec)
    sys.argv[0] = spec.origin or program
    return code


def _describe(module: ModuleType, spec: importlib.machinery.ModuleSpec) -> CodeType:
    """Makes ``module`` look like the one that ``spec`` describes; its code."""
    get_code = getattr(spec.loader, "get_code", None)
    code = get_code(spec.name) if get_code is not None else None
    if code is None:
        raise _RefusedError(f"No code object available for {spec.name}", 1)
    module.__dict__.update(
        __file__=spec.origin, __cached__=spec.cached, __loader__=spec.loader, __package__=spec.parent, __spec__=spec
    )
    return code


def _report(error: BaseException) -> None:
    """Prints an uncaught exception as the interpreter does, without the frames of this file."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith((__file__, "<frozen importlib")):
        trace = trace.tb_next
    error = error.with_traceback(trace)
    _missing.explain(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    sys.excepthook(type(error), error, trace)
