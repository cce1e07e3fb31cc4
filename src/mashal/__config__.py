"""How this copy was built."""

from __future__ import annotations

import os
import platform

from . import _core
from .version import __version__, mashal


def show() -> str:
    """A text for reports of bugs.

    Example:
        >>> import mashal
        >>> mashal.__config__.show().splitlines()[0]
        'mashal built with:'
    """
    from .backends import cpu, mkldnn

    lines = [
        "mashal built with:",
        f"  - Version {mashal}, as PyTorch {__version__}",
        "  - C++ Version: 202002",
        "  - OpenBLAS (products, LAPACK)",
        f"  - oneDNN {'is' if mkldnn.is_available() else 'is not'} enabled",
        "  - OpenMP",
        f"  - CPU capability usage: {cpu.get_cpu_capability()} ({platform.machine()})",
        "  - Build settings: USE_CUDA=0, USE_MKL=OFF, USE_OPENMP=ON, USE_DISTRIBUTED=0",
    ]
    return "\n".join(lines) + "\n"


def parallel_info() -> str:
    """How kernels run in parallel."""

    def environment(name: str) -> str:
        return f"\t{name} : {os.environ.get(name, '[not set]')}"

    lines = [
        "mashal parallel:",
        f"\tget_num_threads() : {_core.get_num_threads()}",
        f"hardware threads : {os.cpu_count()}",
        "Environment variables:",
        environment("OMP_NUM_THREADS"),
        environment("OPENBLAS_NUM_THREADS"),
        environment("MASHAL_ISA"),
        "parallel backend: OpenMP",
    ]
    return "\n".join(lines) + "\n"


def _cxx_flags() -> str:
    """The compiler's flags, which are not kept: an empty text."""
    return ""
