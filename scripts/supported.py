#!/usr/bin/env python3
"""Writes docs/supported.md: every public name that mashal has. `--check` compares instead of writing."""

from __future__ import annotations

import argparse
import importlib
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import mashal

PAGE = Path(__file__).parents[1] / "docs" / "supported.md"

HEAD = """\
# Supported names

Written by `scripts/supported.py`; a test compares. `torch.<name>` of a PyTorch program is `mashal.<name>` here. A name
that is missing raises `AttributeError` (`ImportError` where it is imported); what is planned is in [plan.md](plan.md),
what differs on purpose in [differences.md](differences.md). In-place methods (`add_`) are listed with the others. The
modules of devices and machinery that are not here (`cuda`, `xpu`, `mps`, `mtia`, `accelerator`, `distributed`, `jit`,
`compiler`) list the names that are answered, or raise, as in a PyTorch without them; see differences.md.
"""

NAMESPACES = (
    "", "Tensor", "accelerator", "amp", "autograd", "autograd.functional", "autograd.graph", "autograd.profiler",
    "backends.cpu", "backends.cuda", "backends.cudnn", "backends.mkl", "backends.mkldnn", "backends.mps",
    "backends.openmp", "backends.opt_einsum", "compiler", "__config__", "cpu", "cpu.amp", "cuda", "cuda.amp",
    "cuda.memory", "cuda.nvtx", "cuda.random", "distributed", "distributions", "distributions.constraints",
    "distributions.transforms", "fft", "func", "functional", "futures", "hub", "jit", "library", "linalg", "mps",
    "mtia", "multiprocessing", "nn", "nn.attention", "nn.functional", "nn.init", "nn.parallel", "nn.utils",
    "nn.utils.fusion", "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune", "nn.utils.rnn",
    "nn.utils.stateless", "optim", "optim.lr_scheduler", "optim.swa_utils", "overrides", "profiler", "random",
    "return_types", "serialization", "signal.windows", "sparse", "special", "storage", "testing", "torch_version",
    "types", "utils", "utils._pytree", "utils.benchmark", "utils.checkpoint", "utils.collect_env",
    "utils.cpp_extension", "utils.data", "utils.dlpack", "utils.hooks", "utils.model_zoo", "utils.safetensors",
    "utils.serialization", "utils.tensorboard", "version", "xpu",
)  # fmt: skip


def find(path: str) -> Any:
    """The module or class of a dotted path below mashal."""
    if path == "":
        return mashal
    if path == "Tensor":
        return mashal.Tensor
    return importlib.import_module(f"mashal.{path}")


def is_ours(owner: Any, name: str, value: Any) -> bool:
    """Whether a name of a module is part of its public face, and not something it imported for itself."""
    if name.startswith("_"):
        return False
    if isinstance(value, types.ModuleType):
        return value.__name__ == f"{owner.__name__}.{name}" and name != "ops"
    origin = getattr(value, "__module__", None)
    if not isinstance(origin, str) or owner is mashal:
        return origin not in ("typing", "__future__")
    return f"{origin}.".startswith((f"{owner.__name__}.", "mashal.ops.")) or origin == "mashal"


def public_names(owner: Any) -> list[str]:
    if isinstance(owner, type):
        return sorted(name for name in vars(owner) if not name.startswith("_"))
    if hasattr(owner, "__all__"):
        return sorted(set(owner.__all__))
    names = {name for name, value in vars(owner).items() if is_ours(owner, name, value)}
    return sorted(names | {*mashal._LAZY_MEMBERS} if owner is mashal else names - {"Tensor"})


def page() -> str:
    parts = [HEAD]
    for path in NAMESPACES:
        # All are imported first: a package lists the parts that some other import has loaded.
        find(path)
    for path in NAMESPACES:
        names = public_names(find(path))
        title = ".".join(p for p in ("torch", path) if p)
        listed = textwrap.fill(" ".join(f"`{n}`" for n in names), 120, break_long_words=False, break_on_hyphens=False)
        parts.append(f"## {title} ({len(names)})\n\n{listed}\n")
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the page instead of writing it")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        print("docs/supported.md is out of date: run scripts/supported.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
