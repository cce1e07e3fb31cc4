"""A stand-in for six: only names that moved between the versions of Python, see ``moves``."""
