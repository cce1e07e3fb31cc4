"""Intel MKL: absent; matrix products are OpenBLAS's."""


def is_available() -> bool:
    """Whether MKL is compiled in: False."""
    return False
