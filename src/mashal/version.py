"""Which versions these are, and what mashal was built for.

``__version__`` names the PyTorch whose behaviour mashal has, because programs compare it; ``mashal`` is its own.
"""

from __future__ import annotations

from . import _version

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "mashal", "rocm", "xpu"]

__version__ = f"{_version.torch}+mashal"
mashal = _version.__version__
debug = False
git_version: str | None = None
# No accelerator is compiled in.
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
