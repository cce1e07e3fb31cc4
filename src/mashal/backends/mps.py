"""Apple's Metal: absent."""


def is_available() -> bool:
    """Whether a Metal device can be used: False."""
    return False


def is_built() -> bool:
    """Whether Metal is compiled in: False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is macOS of such a version: False."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether this is macOS 13 or newer: False."""
    return False
