"""oneDNN (once MKL-DNN), which computes convolutions and products of half types."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path

from ._flags import held

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether oneDNN is compiled in: it then lies beside the package."""
    return any((Path(__file__).parents[1] / "lib").glob("libdnnl*"))


def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> AbstractContextManager[None]:
    """The switches for a block."""
    return held(sys.modules[__name__], enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
