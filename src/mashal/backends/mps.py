"""Apple's Metal: absent."""


def is_available() -> bool:
    """Whether a Metal device can be used: False."""
    return False


def is_built() -> bool:
    """Whether Metal is compiled in: False."""
    return False
