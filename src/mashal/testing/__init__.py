"""Comparisons for tests."""

from ._comparison import assert_allclose as assert_allclose
from ._comparison import assert_close as assert_close

__all__ = ["assert_allclose", "assert_close"]
