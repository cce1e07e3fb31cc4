"""Small helpers that PyTorch has in ``torch.serialization``."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class SourceChangeWarning(Warning):
    """The source of a class is not what it was when a module was saved."""


@contextmanager
def mkdtemp() -> Iterator[str]:
    """A temporary folder, gone at the end of the context."""
    path = tempfile.mkdtemp()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether ``module.__version__`` is at least this; each part is compared in the type of the required one.

    Raises:
        RuntimeError: for a version that cannot be compared; with ``error_if_malformed=False`` that is a warning, and
            the answer is True.
    """
    try:
        parts = module.__version__.split(".")
        found = tuple(type(wanted)(parts[i]) for i, wanted in enumerate(req_version_tuple))
        return found >= req_version_tuple
    except Exception as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared "
            f"with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(f"{message}, but continuing assuming that requirement is met", stacklevel=2)
        return True
