"""Intel MKL: absent; matrix products are OpenBLAS's."""

from __future__ import annotations


def is_available() -> bool:
    """Whether MKL is compiled in: False."""
    return False


VERBOSE_OFF = 0
VERBOSE_ON = 1


class verbose:
    """A block in which MKL tells what it does: it is not here."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""
