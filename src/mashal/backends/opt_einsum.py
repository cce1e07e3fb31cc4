"""opt_einsum, a library that orders products: absent; einsum goes from left to right."""

enabled = False
strategy = None


def is_available() -> bool:
    """Whether opt_einsum is used: False."""
    return False
