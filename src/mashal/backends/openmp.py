"""OpenMP, which runs parallel loops."""


def is_available() -> bool:
    """Whether OpenMP is compiled in: always."""
    return True
