"""What the drivers share. They know nothing of mashal: each runs as it is with PyTorch and under the alias."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import runpy
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

PROGRAM = Path(os.environ["PROGRAM"])  # the repository
REPORT = Path(os.environ["REPORT"])


def script(path: str, *arguments: object, within: str = ".", names: dict[str, Any] | None = None) -> str:
    """Runs a script of the repository as a command line would, in its own folder's import path; gives what it wrote.

    ``names`` are globals that it finds; with a ``range`` of one's own, an endless loop of a script can be cut short.
    """
    file = PROGRAM / path
    _import_framework()
    said = io.StringIO()
    sys.argv = [str(file), *map(str, arguments)]
    sys.path.insert(0, str(file.parent))
    with contextlib.redirect_stdout(said), contextlib.chdir(within), clock():
        runpy.run_path(str(file), names, run_name="__main__")
    return said.getvalue()


def _import_framework() -> None:
    """Before the clock starts; PyTorch imports its compiler when the first optimizer is made."""
    import torch

    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)


def modules(path: str = ".") -> None:
    """Lets the driver import from a folder of the repository."""
    sys.path.insert(0, str(PROGRAM / path))


def stand_ins() -> None:
    """Lets the program import the stand-ins for packages that aren't installed; installed ones come first."""
    sys.path.append(str(Path(__file__).parent / "stand_ins"))
    for name in ("PIL.Image", "sklearn.datasets", "tqdm", "torchvision.datasets", "torchtext"):
        with contextlib.suppress(ImportError):  # before the clock starts, as they take longer than the programs
            importlib.import_module(name)


def shorter(count: int, at_least: int = 1000) -> Callable[..., range]:
    """A ``range`` for ``script(names=...)`` that cuts a loop of ``at_least`` turns to ``count``."""

    def short(*bounds: int) -> range:
        whole = range(*bounds)
        return whole[:count] if len(whole) >= at_least else whole

    return short


def numbers(pattern: str, text: str) -> list[float]:
    """The numbers that the group of ``pattern`` finds."""
    return [float(found) for found in re.findall(pattern, text)]


def norms(path: str | Path, unless: str = "$^") -> list[float]:
    """The norm of each floating tensor of a saved ``state_dict``: what a training came to, to more digits than printed.

    ``unless`` finds the names of those left out: where the gradient is zero but for rounding, Adam goes anywhere.
    """
    import torch

    saved = {name: x for name, x in torch.load(path).items() if not re.search(unless, name)}
    return [x.double().norm().item() for x in saved.values() if x.is_floating_point()]


def brightness(path: str | Path) -> float:
    """The mean of a picture's pixels."""
    import numpy as np
    from PIL import Image

    return float(np.asarray(Image.open(path)).mean())


_seconds = 0.0


@contextlib.contextmanager
def clock() -> Iterator[None]:
    """Around the work that counts: not the imports, not the making of data."""
    global _seconds
    start = time.perf_counter()
    yield
    _seconds += time.perf_counter() - start


def report(values: Iterable[Any]) -> None:
    """Hands losses, and other numbers that must agree, to the test."""
    REPORT.write_text(json.dumps({"numbers": [float(v) for v in values], "seconds": _seconds}))
