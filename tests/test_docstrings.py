"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import mashal
from mashal.ops._registry import entries

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# Packages whose modules are searched for classes and functions; the ops come from the registry.
PACKAGES = ("mashal.nn", "mashal.optim", "mashal.utils", "mashal.autograd", "mashal.distributions")


def _documented() -> dict[str, str]:
    """Every docstring with an example, by the name of its owner."""
    found = {f"op {name}": e.call.__doc__ or "" for name, e in entries.items()}
    modules = [mashal]
    for package in PACKAGES:
        root = importlib.import_module(package)
        modules.append(root)
        modules += [importlib.import_module(m.name) for m in pkgutil.walk_packages(root.__path__, package + ".")]
    for module in modules:
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__ or not (
                inspect.isclass(value) or inspect.isfunction(value)
            ):
                continue
            found[f"{module.__name__}.{name}"] = value.__doc__ or ""
            for member, method in vars(value).items() if inspect.isclass(value) else ():
                if inspect.isfunction(method):
                    found[f"{module.__name__}.{name}.{member}"] = method.__doc__ or ""
    return {name: text for name, text in found.items() if ">>>" in text}


DOCUMENTED = _documented()
# What an example may use without importing it.
NAMES = {"torch": mashal, "nn": mashal.nn, "F": mashal.nn.functional, "optim": mashal.optim}


@pytest.mark.filterwarnings("ignore:Anomaly Detection")  # its own example
@pytest.mark.parametrize("name", DOCUMENTED)
def test_example(name: str) -> None:
    test = doctest.DocTestParser().get_doctest(inspect.cleandoc(DOCUMENTED[name]), dict(NAMES), name, None, 0)
    printed: list[str] = []
    grad, default = mashal.is_grad_enabled(), mashal.get_default_dtype()
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=printed.append)
    assert not printed, "".join(printed)
    assert (mashal.is_grad_enabled(), mashal.get_default_dtype()) == (grad, default), (
        "the example leaves a mode changed"
    )
