"""The processor that kernels run on."""

from __future__ import annotations

from .. import _core


def get_cpu_capability() -> str:
    """The instruction set of the kernels: "AVX512", "AVX2" or "DEFAULT". ``MASHAL_ISA`` can ask for a smaller one.

    Example:
        >>> import mashal
        >>> mashal.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
        True
    """
    isa: str = _core.active_isa()
    return "DEFAULT" if isa == "baseline" else isa.upper()
