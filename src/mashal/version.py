"""Which mashal this is, and what it was built for."""

from __future__ import annotations

from ._version import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

debug = False
git_version: str | None = None
# No accelerator is compiled in.
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
