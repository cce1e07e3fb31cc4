"""Whether mixed precision on CUDA is out of the question."""

from .. import is_available


def amp_definitely_not_available() -> bool:
    """Whether there is no CUDA device."""
    return not is_available()
